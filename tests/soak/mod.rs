//! An hour of everything at once: every topology, all modes, a schedule, a singleton, partitions and revokes in each, while servers are
//! killed and frozen, clocks jump, packets are lost, and callers come in bursts.
//!
//! `LEASEHOLD_SOAK=1h` is its length; without it there is no soak. `LEASEHOLD_SOAK_SEED=7` gives the order of faults of that seed. The
//! report goes to `target/soak`, or to the folder that `LEASEHOLD_SOAK_FOLDER` names. What a limit of `docs/limits.md` allows is
//! counted; all else that breaks a promise is a violation.

pub(crate) mod checks;
mod checks_of_faults;
mod client;
mod failures;
mod fault;
mod judge;
mod leading;
mod ledger;
mod lie;
mod limits;
mod net;
mod picture;
mod report;
mod revoked;
mod sampler;
mod spans;
mod stage;
mod tables;
mod topology;
mod totals;
mod watching;
mod worker;

use std::{
    env, fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use leasehold_testing::process::kept;

use self::{
    lie::Lie,
    net::Network,
    report::Facts,
    stage::{Setting, Stage, locked},
};
use crate::load::micros;

/// The name of the test.
pub(crate) const NAME: &str = "soak";
/// The first argument of a process of callers.
const ROLE: &str = "soaked";
/// How often what processes said is checked.
const CHECK: Duration = Duration::from_secs(20);

/// If this process was started by a soak: works, and says so.
pub(crate) fn work_if_asked(arguments: &[String]) -> bool {
    let [role, task] = arguments else { return false };
    if role != ROLE {
        return false;
    }
    worker::run(serde_json::from_str(task).unwrap());
    true
}

/// Its length, if the environment asks for a soak.
pub(crate) fn length() -> Option<Duration> {
    let time = env::var("LEASEHOLD_SOAK").ok()?;
    Some(humantime::parse_duration(&time).expect("LEASEHOLD_SOAK is a duration such as 1h"))
}

/// Runs it, and writes its report. Returns true if every promise was kept. Begins this program again, in a network of its own.
pub(crate) fn holds(time: Duration) -> bool {
    net::enter();
    let seed = env::var("LEASEHOLD_SOAK_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
    println!("running 1 test: a soak of {time:?}; LEASEHOLD_SOAK_SEED={seed} has the same order of faults");
    let network = Network::prepare();
    let lie = env::var("LEASEHOLD_SOAK_LIE").ok();
    let lie: Option<Lie> = lie.map(|lie| serde_json::from_value(lie.into()).expect("the name of a lie"));
    let (folder, marks) = (folder(), tempfile::tempdir().unwrap());
    let began = micros();
    let ends = Instant::now() + time;
    let setting = Setting { seed, network: network.clone().ok(), folder: marks.path(), lie, began, ends };
    let (stages, grounds): (Vec<_>, Vec<_>) = thread::scope(|scope| {
        let start = |number| {
            scope.spawn({
                let setting = &setting;
                move || Stage::start(number, setting)
            })
        };
        let starting: Vec<_> = (0..topology::ALL.len()).map(start).collect();
        starting.into_iter().map(|stage| stage.join().expect("servers that start")).unzip()
    });
    let facts = |is_over| Facts { seed, time, began, network: &network, stages: &stages, is_over };
    thread::scope(|scope| {
        for (stage, ground) in stages.iter().zip(grounds) {
            let setting = &setting;
            scope.spawn(move || stage.play(ground, setting));
            scope.spawn(|| check(stage));
        }
        watch(&stages, || facts(false).write(&folder));
    });
    let facts = facts(true);
    facts.note_growth();
    facts.write(&folder);
    let violations = facts.violations();
    violations.iter().take(20).for_each(|violation| println!("  {violation}"));
    println!("the report is {}", folder.join("report.md").display());
    let verdict = if violations.is_empty() { "ok" } else { "FAILED" };
    println!("{}", facts.coverage());
    println!("\ntest result: {verdict}. {} violations", violations.len());
    violations.is_empty()
}

/// The folder of the report, which is there.
fn folder() -> PathBuf {
    let beside = || kept().with_file_name("soak");
    let folder = env::var_os("LEASEHOLD_SOAK_FOLDER").map_or_else(beside, PathBuf::from);
    fs::create_dir_all(&folder).expect("a folder for the report");
    folder
}

/// Checks what the processes of a topology said, now and then until it is over.
fn check(stage: &Stage) {
    let mut last = Instant::now();
    while !stage.is_over() {
        thread::sleep(Duration::from_millis(200));
        if last.elapsed() > CHECK && *locked(&stage.now) != "ends" {
            locked(&stage.ledger).check(micros(), false);
            last = Instant::now();
        }
    }
}

/// Samples the processes each second, tells each ten seconds how far it is, and has the report written each minute.
fn watch(stages: &[Stage], write: impl Fn()) {
    let (start, mut seconds) = (Instant::now(), 0);
    while !stages.iter().all(Stage::is_over) {
        thread::sleep(Duration::from_millis(50));
        // One that comes late is repeated, so that their number is the time.
        while seconds < start.elapsed().as_secs() {
            seconds += 1;
            stages.iter().for_each(Stage::sample);
            if seconds % 10 == 0 {
                println!("{}", report::progress(seconds, stages));
            }
            if seconds % 60 == 0 {
                write();
            }
        }
    }
}
