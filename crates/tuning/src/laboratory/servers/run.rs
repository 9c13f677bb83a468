//! A run of a workload on a real server: a process for each of its processes, and the server's figures around it.

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::process::Pid;

use super::{
    Failure,
    info::Servers,
    slow::Slowness,
    worker::{READY, WorkerJob, WorkerOutcome},
};
use crate::laboratory::{
    drive::Served,
    report::{Report, Spent},
    workload::Workload,
};

/// A run of a workload on real servers, with as many processes as it says.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// The file of it, which each process reads again.
    pub file: &'a Path,
    /// The keys of it that have other values.
    pub set: &'a [(String, String)],
    /// The address of the servers.
    pub url: &'a str,
    /// The processes of servers that were started for this run, and can be slowed down.
    pub servers: &'a [u32],
    /// The arguments with which this program calls [`worker`](super::worker()).
    pub worker: &'a [&'a str],
}

/// A process, which is killed if it is not waited for.
struct WorkerProcess {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Run<'_> {
    /// Runs it, and returns its report.
    ///
    /// # Errors
    /// When a server or a process cannot be used.
    pub fn report(&self) -> Result<Report, Failure> {
        let (served, spent) = self.go()?;
        Ok(Report::new(self.workload, &served, &spent))
    }

    /// Runs it, and returns how its requests ended, and what that needed.
    ///
    /// # Errors
    /// When a server or a process cannot be used.
    pub fn go(&self) -> Result<(Vec<Served>, Spent), Failure> {
        // A run does not see the locks of another one.
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let mut servers = Servers::connect(self.url)?;
        let job = |process| WorkerJob {
            file: self.file.to_owned(),
            set: self.set.to_vec(),
            url: self.url.to_owned(),
            // The members of a quorum count for one prefix.
            prefix: format!("tune:{}:{run}", std::process::id()),
            process,
        };
        let mut workers = (0..self.workload.processes)
            .map(|it| WorkerProcess::start(self.worker, &job(it)))
            .collect::<Result<Vec<_>, _>>()?;
        for worker in &mut workers {
            worker.is_ready()?;
        }
        let before = servers.done()?;
        for worker in &mut workers {
            worker.tell("go")?;
        }
        let slowness = self.slow_down();
        let mut spent = Spent::default();
        let mut served = Vec::new();
        for worker in workers {
            let done = worker.done()?;
            served.extend(done.served);
            spent.attempts += done.attempts;
            spent.elapsed = spent.elapsed.max(done.elapsed);
            spent.changes.extend(done.changes);
        }
        drop(slowness);
        let done = servers.done()?.since(before);
        (spent.commands, spent.server_time) = (done.calls, done.processor);
        spent.changes.sort_by_key(|change| change.at);
        Ok((served, spent))
    }

    /// Makes the servers slow, if the workload wants that.
    fn slow_down(&self) -> Option<Slowness> {
        let slow = self.workload.slow_server.clone()?;
        let servers: Vec<_> = self.servers.iter().filter_map(|it| Pid::from_raw(it.cast_signed())).collect();
        (!servers.is_empty()).then(|| Slowness::begin(servers, slow))
    }
}

impl WorkerProcess {
    fn start(arguments: &[&str], job: &WorkerJob) -> Result<Self, Failure> {
        let mut process = Command::new(env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("a worker has no output")?;
        let mut worker = Self { process, output: BufReader::new(output) };
        worker.tell(&serde_json::to_string(job)?)?;
        Ok(worker)
    }

    fn tell(&mut self, line: &str) -> Result<(), Failure> {
        let input = self.process.stdin.as_mut().ok_or("a worker has no input")?;
        // Its pipe is not the output of this command, whose reader may go.
        writeln!(input, "{line}").map_err(|error| format!("a process of the run has ended: {error}").into())
    }

    fn is_ready(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        // It has said why on the standard error, which is ours.
        if line.trim_end() == READY { Ok(()) } else { Err("a process of the run did not get ready".into()) }
    }

    fn done(mut self) -> Result<WorkerOutcome, Failure> {
        let mut text = String::new();
        self.output.read_to_string(&mut text)?;
        let status = self.process.wait()?;
        if status.success() {
            return Ok(serde_json::from_str(&text)?);
        }
        Err(format!("a process of the run failed: {status}").into())
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
