//! Starts the worker processes of a measurement, and looks at the server meanwhile.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::Duration,
};

use serde::Serialize;
use tempfile::TempDir;

use crate::{
    Failure,
    lockers::Kind,
    monitor::Monitor,
    plan::Measured,
    sample::Sample,
    server::{Server, command},
    worker::Job,
};

/// The server, and the folder that workers share.
pub(crate) struct Coordinator {
    server: Server,
    directory: TempDir,
}

/// What one repetition gave.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) samples: Vec<Sample>,
    /// Seconds of processor time of the server.
    pub(crate) server: f64,
}

impl Outcome {
    pub(crate) fn turns(&self) -> u64 {
        self.samples.iter().flat_map(|sample| &sample.turns).sum()
    }
}

impl Coordinator {
    pub(crate) fn start() -> Result<Self, Failure> {
        Ok(Self { server: Server::start()?, directory: tempfile::tempdir()? })
    }

    /// Measures once.
    pub(crate) fn measure(
        &mut self,
        locker: Kind,
        measured: &Measured,
        length: Duration,
    ) -> Result<Outcome, Failure> {
        let mut workers = self.workers(locker, measured, length)?;
        let before = self.server.processor()?;
        let samples = run(&mut workers)?;
        Ok(Outcome { samples, server: self.server.processor()? - before })
    }

    /// How many commands the clients send for a turn; nothing where nobody takes turns.
    pub(crate) fn commands_per_turn(
        &mut self,
        locker: Kind,
        measured: &Measured,
    ) -> Result<Option<f64>, Failure> {
        const LENGTH: Duration = Duration::from_millis(500);
        if measured.is_renewed() {
            return Ok(None);
        }
        let mut workers = self.workers(locker, measured, LENGTH)?;
        let monitor = Monitor::start(self.server.port())?;
        let samples = run(&mut workers)?;
        let commands = monitor.commands();
        let turns = Outcome { samples, server: 0.0 }.turns();
        Ok((turns > 0).then(|| commands as f64 / turns as f64))
    }

    fn workers(
        &mut self,
        locker: Kind,
        measured: &Measured,
        length: Duration,
    ) -> Result<Vec<Worker>, Failure> {
        self.server.empty()?;
        let shared = (measured.processes > 1).then(|| self.directory.path().to_owned());
        let job = Job {
            url: self.server.url(),
            locker,
            workload: measured.workload,
            threads: measured.threads,
            length,
            shared,
        };
        let job = serde_json::to_string(&job)?;
        let mut workers =
            (0..measured.processes).map(|_| Worker::start(&job)).collect::<Result<Vec<_>, _>>()?;
        for worker in &mut workers {
            worker.read()?;
        }
        Ok(workers)
    }
}

/// Lets all workers begin at once, and gathers what they counted.
fn run(workers: &mut [Worker]) -> Result<Vec<Sample>, Failure> {
    for worker in &mut *workers {
        worker.stdin.write_all(b"go\n")?;
    }
    workers.iter_mut().map(|worker| Ok(serde_json::from_str(&worker.read()?)?)).collect()
}

/// A process that works; killed when this is dropped.
struct Worker {
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Worker {
    fn start(job: &str) -> Result<Self, Failure> {
        let mut process = command(env::current_exe()?)
            .args(["worker", job])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = process.stdin.take().ok_or("a worker without input")?;
        let stdout = process.stdout.take().ok_or("a worker without output")?;
        Ok(Self { process, stdin, stdout: BufReader::new(stdout) })
    }

    fn read(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.stdout.read_line(&mut line)? {
            0 => Err("a worker ended before its time".into()),
            _ => Ok(line),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
