//! The calibration of a profile: several processes take locks together, as they do in an application.
//!
//! One process that does one thing after the other finds a server at its best. Where several share its processors and caches,
//! and it is asked for something else each time, it takes longer for the same work: on a machine of two cores a quarter.

use std::time::Duration;

use leasehold::{
    Config, Layout,
    tuning::{Report, ServerProfile, Waits, Workload, simulate},
};

use crate::{
    Failure,
    tune::{fleet::measured, input::Source},
};

/// Locks of which most are free when they are asked for, so that the median wait is a round trip, and some are handed over.
const WORKLOAD: &str = r#"
name = "calibration"
processes = 4
arrivals = { kind = "callers", callers = 12, pause = { kind = "exponential", mean = "27ms" } }
hold = { kind = "exponential", mean = "2ms" }
resources = { kind = "zipf", count = 50, exponent = 0.8 }

[config]
wait.timeout = "1s"
"#;

/// The bounds of a correction. What is beyond them is no better profile, but a machine with other things to do.
const CORRECTIONS: (f64, f64) = (0.5, 3.0);

/// Returns the profile with which the simulation of a workload comes to what is measured when several processes run it for
/// this time on the server of the configuration.
pub(super) fn calibrated(
    alone: ServerProfile,
    config: &Config,
    duration: Duration,
) -> Result<ServerProfile, Failure> {
    let (source, set) = (Source::Text(WORKLOAD.to_owned()), settings(config, duration)?);
    let workload: Workload = source.read(&set)?;
    let measured = measured(&workload, &source, &set, config.store.url.reveal())?;
    let predicted = simulate(&workload, &alone)?;
    let work = correction(work(&predicted, &alone), work(&measured, &alone));
    let service = alone.call + alone.granted;
    let trip = |waits: &Waits, service: f64| waits.p50 - service;
    let trips = correction(trip(&predicted.waited, service), trip(&measured.waited, service * work));
    Ok(alone.scaled(work, trips))
}

/// The settings of the configuration that say how its server is reached, and for how long locks are taken.
fn settings(config: &Config, duration: Duration) -> Result<Vec<(String, String)>, Failure> {
    let store = &config.store;
    let layout = if store.layout == Layout::Plain { "plain" } else { "full" };
    let mut settings = vec![
        ("duration".to_owned(), format!("{}ms", duration.as_millis())),
        ("store.layout".to_owned(), layout.to_owned()),
        // A string in JSON is one in TOML.
        ("store.prefix".to_owned(), serde_json::to_string(&store.prefix)?),
    ];
    let files = [
        ("store.tls_ca", &store.tls_ca),
        ("store.tls_certificate", &store.tls_certificate),
        ("store.tls_key", &store.tls_key),
    ];
    for (key, file) in files {
        settings.push((key.to_owned(), serde_json::to_string(file)?));
    }
    Ok(settings)
}

/// Returns the processor time of the server for an acquisition, without what it needs while it has nothing to do.
fn work(report: &Report, profile: &ServerProfile) -> f64 {
    report.server_time * (1.0 - profile.idle / report.server_load)
}

/// Returns how many times as long something takes as was predicted.
fn correction(predicted: f64, measured: f64) -> f64 {
    let (least, most) = CORRECTIONS;
    match measured / predicted {
        times if times.is_finite() && times > 0.0 => times.clamp(least, most),
        // Nothing was measured that could be compared.
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_stays_within_its_bounds_and_nothing_corrects_nothing() {
        for (predicted, measured, expected) in [
            (100.0, 125.0, 1.25),
            (100.0, 1.0, 0.5),
            (100.0, 900.0, 3.0),
            (0.0, 5.0, 1.0),
            (-3.0, 5.0, 1.0),
            (f64::NAN, 5.0, 1.0),
        ] {
            assert_eq!(correction(predicted, measured), expected, "{predicted} {measured}");
        }
    }

    #[test]
    fn the_calibration_is_a_workload_in_both_layouts() {
        for layout in [Layout::Full, Layout::Plain] {
            let mut config = Config::default();
            (config.store.layout, config.store.prefix) = (layout, "a \"b\" 1".to_owned());
            let set = settings(&config, Duration::from_secs(3)).unwrap();
            let workload = Source::Text(WORKLOAD.to_owned()).read(&set).unwrap();
            let read = workload.config().unwrap().store;
            assert_eq!((read.layout, read.prefix), (layout, config.store.prefix));
        }
    }
}
