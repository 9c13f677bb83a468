//! Starts the worker processes of a measurement, and looks at the server meanwhile.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{ChildStdin, ChildStdout, Stdio},
    thread,
    time::Duration,
};

use leasehold_testing::process::Process;
use serde::{Serialize, de::DeserializeOwned};
use tempfile::TempDir;

use crate::{
    Failure,
    lockers::Kind,
    meters::{self, Machine},
    monitor::Monitor,
    plan::{Fault, Measured},
    sample::Sample,
    server::{Server, command},
    worker::Job,
};

/// The time between a fault and the measurement, which is of the state that the fault leads to.
const AFTER_FAULT: Duration = Duration::from_millis(500);
/// The number of servers that a fault hits: the first ones.
const FAULTY: usize = 1;

/// The servers, and the folder that workers share.
pub(crate) struct Coordinator {
    servers: Vec<Server>,
    directory: TempDir,
}

/// What one repetition gave.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) samples: Vec<Sample>,
    /// Seconds of processor time of the servers.
    pub(crate) server: f64,
    /// Cores of the machine that had nothing to do, on average.
    pub(crate) idle: f64,
    /// Resources that stayed locked when everybody had released.
    pub(crate) left: u64,
}

impl Outcome {
    pub(crate) fn turns(&self) -> u64 {
        turns(&self.samples)
    }
}

fn turns(samples: &[Sample]) -> u64 {
    samples.iter().flat_map(|sample| &sample.turns).sum()
}

impl Coordinator {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self { servers: Vec::new(), directory: tempfile::tempdir()? })
    }

    /// Measures once.
    pub(crate) fn measure(
        &mut self,
        locker: Kind,
        measured: &Measured,
        length: Duration,
    ) -> Result<Outcome, Failure> {
        let mut workers = self.workers(locker, measured, length)?;
        let (server, machine) = (self.processor(measured)?, Machine::now()?);
        let samples = gather(&mut workers)?;
        let server = self.processor(measured)? - server;
        let idle = Machine::now()?.idle_since(machine);
        let left = if measured.finishes() { gather::<u64>(&mut workers)?.iter().sum() } else { 0 };
        Ok(Outcome { samples, server, idle, left })
    }

    /// Counts the commands of a turn, on the servers without a fault; nothing where nobody takes turns.
    pub(crate) fn commands_per_turn(
        &mut self,
        locker: Kind,
        measured: &Measured,
        length: Duration,
    ) -> Result<Option<f64>, Failure> {
        if measured.is_renewed() {
            return Ok(None);
        }
        let mut workers = self.workers(locker, measured, length)?;
        let monitors = self.working(measured).iter().map(|server| Monitor::start(server.port()));
        let monitors = monitors.collect::<Result<Vec<_>, _>>()?;
        let commands = || monitors.iter().map(Monitor::commands).sum::<u64>();
        let before = commands();
        let turns = turns(&gather(&mut workers)?);
        let commands = commands() - before;
        Ok((turns > 0).then(|| commands as f64 / turns as f64))
    }

    /// Starts the workers, which warm up; then the fault happens.
    fn workers(
        &mut self,
        locker: Kind,
        measured: &Measured,
        length: Duration,
    ) -> Result<Vec<Worker>, Failure> {
        self.empty_servers(measured.masters)?;
        let job = Job {
            urls: self.servers.iter().map(Server::url).collect(),
            locker,
            workload: measured.workload,
            threads: measured.threads,
            length,
            shared: (measured.processes > 1).then(|| self.directory.path().to_owned()),
        };
        let job = serde_json::to_string(&job)?;
        let mut workers =
            (0..measured.processes).map(|_| Worker::start(&job)).collect::<Result<Vec<_>, _>>()?;
        workers.iter_mut().try_for_each(|worker| worker.read().map(drop))?;
        workers.iter_mut().try_for_each(Worker::go)?;
        workers.iter_mut().try_for_each(|worker| worker.read().map(drop))?;
        if let Some(fault) = measured.fault {
            for server in &mut self.servers[..FAULTY] {
                match fault {
                    Fault::Killed => server.kill(),
                    Fault::Stopped => server.stop(),
                }
            }
            thread::sleep(AFTER_FAULT);
        }
        Ok(workers)
    }

    /// Empties the server, or starts a new quorum. Emptied servers of a quorum would have to recover, and some may have
    /// failed.
    fn empty_servers(&mut self, masters: usize) -> Result<(), Failure> {
        if let (1, [server]) = (masters, &mut *self.servers) {
            return server.empty();
        }
        self.servers.clear();
        self.servers = (0..masters).map(|_| Server::start()).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn working(&self, measured: &Measured) -> &[Server] {
        let faulty = measured.fault.map_or(0, |_| FAULTY);
        &self.servers[faulty..]
    }

    fn processor(&self, measured: &Measured) -> Result<f64, Failure> {
        self.working(measured).iter().map(|server| meters::processor_of(server.process())).sum()
    }
}

/// Lets all workers go on at once, and gathers their results.
fn gather<T: DeserializeOwned>(workers: &mut [Worker]) -> Result<Vec<T>, Failure> {
    workers.iter_mut().try_for_each(Worker::go)?;
    workers.iter_mut().map(|worker| Ok(serde_json::from_str(&worker.read()?)?)).collect()
}

/// A process that works; killed when this is dropped.
struct Worker {
    _process: Process,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Worker {
    fn start(job: &str) -> Result<Self, Failure> {
        let mut command = command(env::current_exe()?);
        command.args(["worker", job]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let (stdin, stdout) = (process.stdin(), process.stdout());
        Ok(Self { _process: process, stdin, stdout: BufReader::new(stdout) })
    }

    /// Lets it go on.
    fn go(&mut self) -> Result<(), Failure> {
        Ok(self.stdin.write_all(b"go\n")?)
    }

    fn read(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.stdout.read_line(&mut line)? {
            0 => Err("a worker ended before its time".into()),
            _ => Ok(line),
        }
    }
}
