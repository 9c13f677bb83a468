//! Processes of a test: killed when their value is gone, and stopped, heard or started again on the way.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    thread,
};

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

use crate::waiting::until;

/// A process that is killed when this value is gone.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a process.
    ///
    /// # Panics
    ///
    /// If the program cannot be started, because it is not installed for instance.
    #[must_use]
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|error| panic!("{:?}: {error}", command.get_program())))
    }

    /// Returns the number of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Returns its end, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().expect("the state of a child")
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// If it does not end within [`PATIENCE`](crate::waiting::PATIENCE).
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let mut ended = None;
        until("the process ends", || {
            ended = self.ended();
            ended.is_some()
        });
        ended.expect("it has ended")
    }

    /// Kills it (SIGKILL), also if it is stopped, and waits until it is gone.
    pub fn kill(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Stops it where it stands (SIGSTOP): its connections stay open, and nothing is answered.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on (SIGCONT), with what has arrived meanwhile.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("a process that can be sent a signal");
    }

    /// Takes its standard input, which was piped. It is closed when that value is gone.
    pub fn stdin(&mut self) -> ChildStdin {
        self.0.stdin.take().expect("an input that was piped")
    }

    /// Takes its standard error, which was piped.
    pub fn stderr(&mut self) -> ChildStderr {
        self.0.stderr.take().expect("an output for errors that was piped")
    }

    /// Takes its standard output, which was piped.
    pub fn stdout(&mut self) -> ChildStdout {
        self.0.stdout.take().expect("an output that was piped")
    }

    /// Gives each line of its standard output, which was piped, to `told`, on a thread of its own, until that returns false.
    pub fn tell(&mut self, told: impl FnMut(String) -> bool + Send + 'static) {
        let stdout = BufReader::new(self.stdout());
        thread::spawn(move || stdout.lines().map_while(Result::ok).all(told));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns the folder for what tests make once and keep: that of cargo's target directory, or else the system's for temporary files.
///
/// # Panics
///
/// If it cannot be made.
#[must_use]
pub fn kept() -> PathBuf {
    let program = env::current_exe().expect("the path of this program");
    let target = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    let kept = target.map_or_else(env::temp_dir, |target| target.join("tmp"));
    fs::create_dir_all(&kept).expect("a folder that can be made");
    kept
}

/// Returns the command that runs an ignored test of this very program, as a process of another test, with its output piped. What
/// the harness prints stands between the lines of the test.
#[must_use]
pub fn this_program(test: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("the path of this program"));
    command.args(["--exact", test, "--ignored", "--nocapture", "--quiet"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}
