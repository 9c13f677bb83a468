//! A run of a workload on a real server: a process for each of its processes, and the server's figures around it.

use std::{
    env,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use leasehold_tuning::{Report, Served, Spent, Workload};

use super::{
    info::Servers,
    input::Source,
    own_server::OwnServer,
    slow_server::Slowness,
    worker::{Done, Job, READY},
};
use crate::Failure;

/// A process, which is killed if it is not waited for.
struct Worker {
    process: Child,
    output: BufReader<ChildStdout>,
}

/// A run of a workload.
pub(crate) struct Run<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) source: &'a Source,
    pub(crate) set: &'a [(String, String)],
    /// The address of its servers.
    pub(crate) url: &'a str,
    /// Those of them that are our own, and can be slowed down.
    pub(crate) servers: &'a [OwnServer],
}

impl Run<'_> {
    /// Runs it, and returns its report.
    pub(crate) fn report(&self) -> Result<Report, Failure> {
        let (served, spent) = self.go()?;
        Ok(Report::new(self.workload, &served, &spent))
    }

    /// Runs it, and returns how its requests ended, and what that needed.
    pub(crate) fn go(&self) -> Result<(Vec<Served>, Spent), Failure> {
        // A run does not see the locks of another one.
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let mut servers = Servers::connect(self.url)?;
        let job = |process| Job {
            source: self.source.clone(),
            set: self.set.to_vec(),
            url: self.url.to_owned(),
            // The members of a quorum count for one prefix.
            prefix: format!("tune:{}:{run}", std::process::id()),
            process,
        };
        let mut workers =
            (0..self.workload.processes).map(|it| Worker::start(&job(it))).collect::<Result<Vec<_>, _>>()?;
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

    /// Makes our own servers slow, if the workload wants that.
    fn slow_down(&self) -> Option<Slowness> {
        let slow = self.workload.slow_server.clone().filter(|_| !self.servers.is_empty())?;
        Some(Slowness::begin(self.servers.iter().map(OwnServer::id).collect(), slow))
    }
}

impl Worker {
    fn start(job: &Job) -> Result<Self, Failure> {
        let mut process = Command::new(env::current_exe()?)
            .args(["tune", "worker"])
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

    fn done(mut self) -> Result<Done, Failure> {
        let mut text = String::new();
        self.output.read_to_string(&mut text)?;
        let status = self.process.wait()?;
        if status.success() {
            return Ok(serde_json::from_str(&text)?);
        }
        Err(format!("a process of the run failed: {status}").into())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
