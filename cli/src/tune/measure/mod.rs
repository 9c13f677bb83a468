//! `leasehold tune measure`: the profile of a real server, for simulations.

mod work;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use leasehold::{Acquire, Config, store::Store};
use leasehold_tuning::{Pace, RealPace, ServerProfile, warm_up};

use self::work::Work;
use super::{
    figures::time,
    info::{Servers, addresses},
    input::{check_writable, write},
};
use crate::{Failure, print, settings};

/// Measures a server for about ten seconds: round trips, and its processor time for each kind of command
///
/// It takes locks below a prefix of its own, one after the other, and releases them. They end within a minute in any case.
/// Other load on the server makes the figures too large.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  leasehold tune measure --store redis://127.0.0.1:6379")]
pub(crate) struct Options {
    #[command(flatten)]
    source: settings::Source,
    /// Write the profile to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Take fewer samples: about a second, for a rough profile
    #[arg(long)]
    quick: bool,
}

/// The number of samples of each kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples {
    pub(crate) trips: u32,
    pub(crate) work: u32,
    /// The time in which nothing is done, to see what an idle server needs.
    pub(crate) idle: Duration,
}

impl Samples {
    /// The samples of about ten seconds.
    pub(crate) const USUAL: Self = Self { trips: 250, work: 80, idle: Duration::from_secs(1) };
    /// The samples of about a second.
    pub(crate) const QUICK: Self = Self { trips: 30, work: 12, idle: Duration::from_millis(150) };
}

/// The pause between two samples. A server that is asked a hundred times a second has cold caches and a processor that sleeps,
/// and needs several times as long as one that is asked all the time.
pub(super) const BETWEEN: Duration = ServerProfile::COLD_AFTER;

pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let config = options.source.config()?;
    check_writable(options.output.as_ref())?;
    let samples = if options.quick { Samples::QUICK } else { Samples::USUAL };
    let profile = actix::System::new().block_on(measure(&config, samples))?;
    let text = profile.to_toml();
    match &options.output {
        Some(file) => write(file, &text)?,
        None => print::lines(&text)?,
    }
    let middle = profile.round_trips[profile.round_trips.len() / 2];
    eprintln!(
        "round trip {} in the median; the server takes {} for an acquisition and {} for a release",
        time(middle),
        time(profile.wake + profile.call + profile.granted),
        time(profile.wake + profile.call + profile.released),
    );
    Ok(ExitCode::SUCCESS)
}

/// Measures the server of this configuration, or the first of a quorum. Must run in an actix system.
pub(crate) async fn measure(config: &Config, samples: Samples) -> Result<ServerProfile, Failure> {
    let mut config = config.clone();
    let nodes = addresses(config.store.url.reveal())?;
    config.store.prefix = format!("{}:tune:{}", config.store.prefix, std::process::id());
    let mut profile = ServerProfile::default();
    {
        let mut one = config.clone();
        one.store.url = nodes[0].as_str().into();
        let (store, servers) = (one.open_store()?, Servers::connect(&nodes[0])?);
        Work::new(&*store as &dyn Store, servers, samples).measure(&mut profile).await?;
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
    locks.send(leasehold::Shutdown { drain: Duration::ZERO }).await?;
    (profile.round_trips, profile.warm_round_trips, profile.late) = (parts(cold), parts(warm), parts(late));
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns the middles of parts of the same size, so that a single outlier is not taken for a part.
fn parts(mut values: Vec<f64>) -> Vec<f64> {
    const PARTS: usize = 50;
    values.sort_by(f64::total_cmp);
    let middle = |part: usize| values[values.len() * (2 * part + 1) / (2 * PARTS)];
    (0..PARTS).map(middle).map(|value| (value * 10.0).round() / 10.0).collect()
}
