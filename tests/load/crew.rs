//! The processes in which callers work, and their reports.

use std::{
    env,
    ops::Range,
    path::Path,
    process::{ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use leasehold_testing::{process::Process, waiting::until};
use tempfile::TempDir;

use super::{marks::Marks, plan::Plan, report::Report, worker};

/// The first argument of a process of callers.
const ROLE: &str = "worker";

/// The time after which there are fewer processes.
const TURN: Duration = Duration::from_secs(8);

/// If this process was started to be one of a crew: works, and says so.
pub(crate) fn work_if_asked(arguments: &[String]) -> bool {
    let [role, plan, file, seed] = arguments else { return false };
    if role != ROLE {
        return false;
    }
    worker::run(serde_json::from_str(plan).unwrap(), Path::new(file), seed.parse().unwrap());
    true
}

/// Processes that work until they are told to end, or until this value is gone.
pub(crate) struct Crew {
    directory: TempDir,
    /// Each with its input, until it was told to end.
    workers: Vec<(Process, Option<ChildStdin>)>,
}

impl Crew {
    /// Starts so many processes of this very program, which all have the same to do.
    pub(crate) fn start(processes: usize, plan: &Plan) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let plan = serde_json::to_string(plan).unwrap();
        let start = |seed: usize| {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args([ROLE, &plan]).arg(directory.path().join(seed.to_string())).arg(seed.to_string());
            let mut process = Process::start(command.stdin(Stdio::piped()));
            let input = process.stdin();
            (process, Some(input))
        };
        let workers = (0..processes).map(start).collect();
        Self { directory, workers }
    }

    /// Checks that none of them has failed.
    pub(crate) fn is_well(&mut self) {
        for (worker, _) in self.workers.iter_mut().filter(|(_, input)| input.is_some()) {
            let ended = worker.ended();
            assert!(ended.is_none(), "a worker failed: {ended:?}");
        }
    }

    /// Waits until each of these resources was granted to one of them. After each [`TURN`] in vain one process less works: a machine
    /// that is too busy for all of them has time for fewer.
    pub(crate) fn wait_for_grants(&mut self, resources: Range<usize>) {
        let mut turn = Instant::now();
        until("every resource is granted", || {
            self.is_well();
            if turn.elapsed() > TURN {
                turn = Instant::now();
                let mut working = self.workers.iter_mut().filter(|(_, input)| input.is_some());
                if let (Some((_, input)), Some(_)) = (working.next(), working.next()) {
                    *input = None;
                }
            }
            resources.clone().all(|resource| self.marks().any(|marks| marks.has(resource)))
        });
    }

    /// Forgets what was granted so far.
    pub(crate) fn forget_grants(&self, resources: Range<usize>) {
        resources.for_each(|resource| self.marks().for_each(|marks| marks.clear(resource)));
    }

    fn marks(&self) -> impl Iterator<Item = Marks> {
        (0..self.workers.len()).map(|seed| Marks::beside(&self.directory.path().join(seed.to_string())))
    }

    /// Tells them to end, and waits for what they report.
    pub(crate) fn end(self) -> Vec<Report> {
        let mut workers: Vec<_> = self.workers.into_iter().map(|(worker, _closed)| worker).collect();
        for worker in &mut workers {
            let status = worker.end();
            assert!(status.success(), "a worker failed: {status}");
        }
        let file = |seed: usize| self.directory.path().join(seed.to_string());
        (0..workers.len()).map(|seed| Report::read(&file(seed))).collect()
    }
}
