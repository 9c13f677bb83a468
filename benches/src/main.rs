//! Measures leasehold beside other locks, on one redis-server or on several as a quorum, and prints what it found as
//! tables.
//!
//! # Layout
//! Read in this order: [`plan`] (what is measured), [`workloads`] (what a worker does), [`lockers`] (with what),
//! [`worker`] (a process that does it), [`coordinator`] (starts servers and workers and looks at them), [`summary`]
//! (repetitions made one), [`report`] and [`svg`] (what is shown). Apart from them stand [`quorum`], a comparison of
//! stores on quorums, [`scripts`], the longest scripts, [`instructions`], the cost of a turn without a clock,
//! [`overload`], more requests than a server can serve, and two judges of
//! the package leasehold-tuning: [`check`], of its predictions, and [`shifting`], of its tuner.
//!
//! Every measurement has worker processes of its own and empty servers. The lockers take turns, so that whatever
//! else the machine does meets all of them alike. Everything that is started is on this machine, and is killed when it has
//! done its work or when this process ends.

#[cfg(test)]
mod baselines;
mod check;
mod coordinator;
mod instructions;
mod lockers;
mod meters;
mod monitor;
mod overload;
mod plan;
mod quorum;
mod referee;
mod relay;
mod report;
mod sample;
mod scripts;
mod server;
mod shifting;
mod summary;
mod svg;
mod worker;
mod workloads;

use std::{error::Error, fs, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};

use self::{coordinator::Coordinator, lockers::Kind, plan::Measured, summary::Summary, workloads::TTL};

/// Whatever stops a measurement.
type Failure = Box<dyn Error + Send + Sync>;

/// The longest time for which commands are counted.
const COUNTED_FOR: Duration = Duration::from_millis(500);

/// The command of one process of a workload.
const WORKLOAD_WORKER: &str = "workload-worker";

/// Measures leasehold beside redis-rs used directly (raw), rslock, and a lock with Redisson's commands.
#[derive(Parser)]
struct Options {
    /// Only workloads, or kinds of overload, with this in their name; may be given several times
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Only these lockers, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    lockers: Vec<Kind>,
    /// The number of repetitions of each measurement [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: Option<u32>,
    /// The length of each measurement, apart from that of renewed leases [default: 4]
    #[arg(long, value_parser = positive)]
    seconds: Option<f64>,
    /// The time for which leases are renewed: 30s (their TTL) to 1h
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = ttl_or_more)]
    renewed_for: Duration,
    /// See that everything runs: one measurement of 0.2 s each, and no renewed leases. The figures are worth nothing
    #[arg(long)]
    quick: bool,
    /// Draw the ratios to raw
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write every figure
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Five servers as a quorum, of which two are killed, or stopped; --seconds is for each that is compared
    Quorum,
    /// Locks at 500, 2,000 and 10,000 moments a second that are set beforehand: what an application feels
    Paced,
    /// The longest script when very many read, wait, have ended or are dead; fails above 5 ms
    Scripts,
    /// Five times as many requests as the server can serve, of each kind, and a server that stands still for two seconds;
    /// --seconds is for each kind [default: 60]. Fails if a lease is lost, a free lock takes long, or memory grows
    Overload,
    Check(check::Options),
    Shifting(shifting::Options),
    /// The instructions of a turn, of the client and of the server; needs valgrind
    Instructions(instructions::Options),
    /// One process whose instructions are counted, which the count starts by itself
    #[command(hide = true)]
    Turns(instructions::Turns),
    /// One process of a workload, which the judges start by themselves
    #[command(name = WORKLOAD_WORKER, hide = true)]
    WorkloadWorker,
    /// What the benchmark starts by itself: a process that does the work of one measurement
    #[command(hide = true)]
    Worker {
        job: String,
    },
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.05..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("must be 0.05 to 600".to_owned()),
    }
}

fn ttl_or_more(text: &str) -> Result<Duration, String> {
    let most = Duration::from_secs(60 * 60);
    match humantime::parse_duration(text) {
        Ok(length) if (TTL..=most).contains(&length) => Ok(length),
        _ => Err("must be 30s to 1h".to_owned()),
    }
}

impl Options {
    fn lockers(&self, measured: &Measured) -> Vec<Kind> {
        let asked = if self.lockers.is_empty() { &Kind::ALL[..] } else { &self.lockers };
        asked.iter().copied().filter(|locker| measured.suits(*locker)).collect()
    }

    fn repetitions(&self, measured: &Measured) -> u32 {
        let by_default = if self.quick { 1 } else { 5 };
        measured.repetitions(self.repetitions.unwrap_or(by_default))
    }

    fn length(&self) -> Duration {
        let by_default = if self.quick { 0.2 } else { 4.0 };
        Duration::from_secs_f64(self.seconds.unwrap_or(by_default))
    }

    fn length_of(&self, measured: &Measured) -> Duration {
        if measured.is_renewed() { self.renewed_for } else { self.length() }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.command {
        Some(Command::Worker { job }) => worker::run(job).map(|()| true),
        Some(Command::Quorum) => quorum(&options).map(|()| true),
        Some(Command::Paced) => measure(&options, &["paced/".to_owned()]),
        Some(Command::Scripts) => scripts(),
        Some(Command::Overload) => overload(&options),
        Some(Command::Check(options)) => check::run(options),
        Some(Command::Shifting(options)) => shifting::run(options).map(|()| true),
        Some(Command::Instructions(options)) => instructions::run(options),
        Some(Command::Turns(turns)) => instructions::take_turns(turns).map(|()| true),
        Some(Command::WorkloadWorker) => leasehold_tuning::servers::worker().map(|()| true),
        None => measure(&options, &options.only),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("leasehold-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn quorum(options: &Options) -> Result<(), Failure> {
    println!("{}", quorum::measure(options.length())?);
    Ok(())
}

/// Returns true if all bounds were kept.
fn overload(options: &Options) -> Result<bool, Failure> {
    let (table, kept) =
        overload::measure(Duration::from_secs_f64(options.seconds.unwrap_or(60.0)), &options.only)?;
    println!("{table}");
    Ok(kept)
}

/// Answers whether no script took too long.
fn scripts() -> Result<bool, Failure> {
    let (table, in_bounds) = scripts::measure()?;
    println!("{table}");
    if !in_bounds {
        eprintln!("a script kept the server for more than 5 ms");
    }
    Ok(in_bounds)
}

/// Measures all that is asked for. Returns false if mutual exclusion was broken, a lease lost or a lock left.
fn measure(options: &Options, only: &[String]) -> Result<bool, Failure> {
    let mut coordinator = Coordinator::new()?;
    let mut summaries = Vec::new();
    for measured in plan::measured(only, options.quick) {
        let lockers = options.lockers(&measured);
        if lockers.is_empty() {
            continue;
        }
        let summary = repeat(&mut coordinator, &measured, &lockers, options)?;
        println!("{}", report::table(&summary));
        summaries.push(summary);
    }
    if summaries.is_empty() {
        return Err("no workload has such a name and suits these lockers".into());
    }
    if let Some(path) = &options.json {
        fs::write(path, serde_json::to_string_pretty(&summaries)?)?;
    }
    if let Some(path) = &options.svg {
        fs::write(path, svg::chart(&summaries))?;
    }
    let faults: u64 = summaries.iter().map(Summary::faults).sum();
    if faults > 0 {
        eprintln!("{faults} times mutual exclusion was broken, a lease was lost or a lock was left");
    }
    Ok(faults == 0)
}

fn repeat(
    coordinator: &mut Coordinator,
    measured: &Measured,
    lockers: &[Kind],
    options: &Options,
) -> Result<Summary, Failure> {
    let mut summary = Summary::new(measured, lockers);
    let length = options.length_of(measured);
    for repetition in 0..options.repetitions(measured) {
        eprintln!("{}: repetition {}", measured.name, repetition + 1);
        // Whoever comes first meets a processor that is cool; so everybody does in turn.
        for turn in 0..lockers.len() {
            let place = (turn + repetition as usize) % lockers.len();
            summary.add(place, coordinator.measure(lockers[place], measured, length)?)?;
        }
    }
    for (place, locker) in lockers.iter().enumerate() {
        let commands = coordinator.commands_per_turn(*locker, measured, length.min(COUNTED_FOR))?;
        summary.count_commands(place, commands);
    }
    Ok(summary)
}
