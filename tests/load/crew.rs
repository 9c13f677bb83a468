//! The processes in which callers work, and their reports.

use std::{
    env,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::{plan::Plan, report::Report, worker};

/// The first argument of a process of callers.
const ROLE: &str = "worker";
/// How long the callers may take to end what they are doing.
const END_WITHIN: Duration = Duration::from_secs(60);

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
    workers: Vec<(Running, ChildStdin)>,
}

impl Crew {
    /// Starts so many processes of this very program, which all have the same to do.
    pub(crate) fn start(processes: usize, plan: &Plan) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let plan = serde_json::to_string(plan).unwrap();
        let start = |seed: usize| {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args([ROLE, &plan]).arg(directory.path().join(seed.to_string())).arg(seed.to_string());
            let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
            let input = child.stdin.take().unwrap();
            (Running(child), input)
        };
        let workers = (0..processes).map(start).collect();
        Self { directory, workers }
    }

    /// Checks that none of them has failed.
    pub(crate) fn is_well(&mut self) {
        for (Running(child), _) in &mut self.workers {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "a worker failed: {ended:?}");
        }
    }

    /// Tells them to end, and waits for what they report.
    pub(crate) fn end(self) -> Vec<Report> {
        let mut children: Vec<_> = self.workers.into_iter().map(|(child, _closed)| child).collect();
        let start = Instant::now();
        for Running(child) in &mut children {
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                assert!(start.elapsed() < END_WITHIN, "a worker does not end");
                thread::sleep(Duration::from_millis(20));
            };
            assert!(status.success(), "a worker failed: {status}");
        }
        let file = |seed: usize| self.directory.path().join(seed.to_string());
        (0..children.len()).map(|seed| Report::read(&file(seed))).collect()
    }
}

/// A process that is killed if it still runs when this value is gone.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if the process has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
