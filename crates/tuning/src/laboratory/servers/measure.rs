//! The profile of a real server, for simulations.

use std::time::Duration;

use leasehold::{Acquire, Config, Shutdown};

use super::{
    Failure,
    info::{Servers, addresses},
    work::{BETWEEN, Samples, ServerMeter},
};
use crate::laboratory::{
    drive::warm_up,
    pace::{Pace, RealPace},
    profile::ServerProfile,
    units::micros,
};

/// Measures the server of this configuration, or the first of a quorum: round trips, and its processor time for each kind of
/// command.
///
/// It takes locks below a prefix of its own, one after the other, and releases them. They end within a minute in any case. Other
/// load on the server makes the figures too large.
///
/// # Errors
/// When the server cannot be used, and outside of an actix system.
pub async fn measure(config: &Config, samples: Samples) -> Result<ServerProfile, Failure> {
    let mut config = config.clone();
    let nodes = addresses(config.store.url.reveal())?;
    config.store.prefix = format!("{}:tune:{}", config.store.prefix, std::process::id());
    let mut profile = ServerProfile::default();
    {
        let mut one = config.clone();
        one.store.url = nodes[0].as_str().into();
        let (store, servers) = (one.open_store()?, Servers::connect(&nodes[0])?);
        ServerMeter::new(&*store, servers, samples).measure(&mut profile).await?;
    }
    on_the_way(&config, samples, &mut profile).await?;
    profile.check()?;
    Ok(profile)
}

/// Measures uncontended requests through a lock manager, some after pauses and as many after another one: their times without
/// that of the server, and how late timers are, in parts of the same size.
async fn on_the_way(config: &Config, samples: Samples, profile: &mut ServerProfile) -> Result<(), Failure> {
    let locks = config.start()?;
    warm_up(&locks).await?;
    let pace = RealPace::start()?;
    let warm_service = profile.call + profile.granted;
    let (mut cold, mut warm, mut late) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..samples.trips {
        let due = pace.now() + BETWEEN;
        pace.until(due).await;
        late.push(micros(pace.now() - due));
        for (trips, service) in [(&mut cold, warm_service + profile.wake), (&mut warm, warm_service)] {
            let asked = pace.now();
            let lease = locks.send(Acquire::new(format!("trip/{}", number % 16))).await??;
            trips.push((micros(pace.now() - asked) - service).max(1.0));
            lease.release().await?;
        }
    }
    locks.send(Shutdown { drain: Duration::ZERO }).await?;
    (profile.round_trips, profile.warm_round_trips, profile.late) = (parts(cold), parts(warm), parts(late));
    Ok(())
}

/// Returns the middles of parts of the same size, so that a single outlier is not taken for a part.
fn parts(mut values: Vec<f64>) -> Vec<f64> {
    const PARTS: usize = 50;
    values.sort_by(f64::total_cmp);
    let middle = |part: usize| values[values.len() * (2 * part + 1) / (2 * PARTS)];
    (0..PARTS).map(middle).map(|value| (value * 10.0).round() / 10.0).collect()
}
