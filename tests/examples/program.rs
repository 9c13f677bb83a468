//! A compiled example, run as a process: its lines are read as they come.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use leasehold_testing::{process::Process, waiting::PATIENCE};

/// A running example, killed when dropped.
pub(crate) struct Program {
    process: Process,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Program {
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        Self::start_with(name, arguments, &[])
    }

    /// Starts an example with these environment variables.
    pub(crate) fn start_with(name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_in(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")), name, arguments, variables)
    }

    /// Starts an example in this directory, with these environment variables.
    pub(crate) fn start_in(
        directory: &Path,
        name: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new(example(name));
        // The machine may be busy.
        command
            .envs([("LEASEHOLD_STORE_CONNECT_TIMEOUT", "10s"), ("LEASEHOLD_STORE_RESPONSE_TIMEOUT", "5s")]);
        command.current_dir(directory).args(arguments).envs(variables.iter().copied());
        let mut process = Process::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
        let (sender, lines) = mpsc::channel();
        process.tell(move |line| sender.send(line).is_ok());
        Self { process, lines, said: Vec::new() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the next line that contains these words.
    pub(crate) fn hears(&mut self, words: &str) -> String {
        let give_up = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(give_up.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.said.push(line.clone());
                    if line.contains(words) {
                        return line;
                    }
                }
                Err(end) => panic!("never said `{words}` ({end}): {:#?}", self.said),
            }
        }
    }

    /// Waits so long for the next line that contains these words.
    pub(crate) fn hears_within(&mut self, words: &str, time: Duration) -> Option<String> {
        let end = Instant::now() + time;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.said.push(line.clone());
            if line.contains(words) {
                return Some(line);
            }
        }
        None
    }

    /// Waits for its end. Answers everything that it, and the processes it started, have said.
    pub(crate) fn ends(mut self) -> (ExitStatus, Vec<String>) {
        let give_up = Instant::now() + PATIENCE;
        loop {
            match self.lines.recv_timeout(give_up.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("does not end: {:#?}", self.said),
            }
        }
        (self.process.end(), std::mem::take(&mut self.said))
    }

    /// Runs it to its end, which must be a good one.
    pub(crate) fn succeeds(self) -> Vec<String> {
        let (status, said) = self.ends();
        assert!(status.success(), "{status}: {said:#?}");
        said
    }
}

/// Sends a signal, by its name, to a process.
pub(crate) fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status().unwrap();
    assert!(sent.success(), "kill -{name} {pid}");
}

/// Examples lie beside the folder of the test binaries.
pub(crate) fn example(name: &str) -> PathBuf {
    let this = env::current_exe().unwrap();
    this.ancestors().nth(2).map(Path::to_owned).unwrap().join("examples").join(name)
}
