//! The command that runs under the lock: a process, and the group of all that it starts.

use std::{
    ffi::OsString,
    fmt, io,
    os::unix::process::CommandExt,
    path::Path,
    process::{self, Command},
};

use rustix::{
    io::Errno,
    process::{
        Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
        test_kill_process_group, wait,
    },
};

use super::{family, notify::NOTIFY_SOCKET, program, voice::Voice};
use crate::guard::Guard;

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Exited(i32),
    /// Ended by the signal of this number.
    Killed(i32),
}

impl Status {
    /// Returns the exit code that a shell has for it.
    pub(super) fn code(self) -> u8 {
        let code = match self {
            Self::Exited(code) => code,
            Self::Killed(signal) => 128 + signal,
        };
        // Both fit: the kernel keeps 8 bits of a code, and there are 64 signals.
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Killed(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// A command with its process group, whose number is that of the process.
pub(super) struct Child {
    process: process::Child,
    /// It ends the group if this value goes before nothing of it lives.
    guard: Option<Guard>,
    voice: Voice,
    group: Pid,
    status: Option<Status>,
    killed: bool,
}

impl Child {
    /// Starts the command in a process group of its own, with these variables set or removed. It is guarded if there is a
    /// shell to do that. `file` is where it was found.
    pub(super) fn start(
        command: &[OsString],
        file: &Path,
        environment: &[(OsString, Option<OsString>)],
        voice: Voice,
    ) -> io::Result<Self> {
        // What the command leaves behind becomes a child of this process when its parent ends, so that its end is seen. A
        // process that is the first of its namespace has that without asking.
        set_child_subreaper(Some(getpid()))?;
        let unguarded =
            |error| voice.tell(format_args!("the command is not guarded: sh does not start: {error}"));
        let mut guard = Guard::start().unwrap_or_else(|error| {
            unguarded(error);
            None
        });
        // Until the guard knows its number, KILL to this process leaves the group unguarded.
        let process = spawn(command, file, environment)?;
        let group = Pid::from_child(&process);
        if let Some(Err(error)) = guard.as_mut().map(|guard| guard.watch(group)) {
            unguarded(error);
        }
        Ok(Self { group, process, guard, voice, status: None, killed: false })
    }

    pub(super) const fn group(&self) -> Pid {
        self.group
    }

    /// Returns how the process ended, if it has.
    pub(super) const fn status(&self) -> Option<Status> {
        self.status
    }

    /// Returns how the process ended, if nothing of its group lives any more.
    pub(super) fn gone(&self) -> Option<Status> {
        self.status.filter(|_| !self.lives())
    }

    /// Returns true if anything of the group lives.
    pub(super) fn lives(&self) -> bool {
        // There may be members that have ended, and that a parent elsewhere does not collect. While the command itself runs
        // nobody needs to know.
        let may_have_ended = self.killed || self.status.is_some();
        test_kill_process_group(self.group) != Err(Errno::SRCH)
            && (!may_have_ended || family::runs(self.group))
    }

    /// Dismisses the guard, when nothing of the group lives.
    pub(super) fn dismiss_guard(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
    }

    /// Collects all children that have ended: the process, and what was left to this one. Returns the signal that has stopped
    /// the process, if one has.
    pub(super) fn reap(&mut self) -> io::Result<Option<i32>> {
        let mut stopped = None;
        loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((pid, status))) if pid == self.group => {
                    stopped = status.stopping_signal();
                    let exited = status.exit_status().map(Status::Exited);
                    self.status = exited.or_else(|| status.terminating_signal().map(Status::Killed));
                }
                Ok(Some((pid, status))) if !status.stopped() => self.collected(pid),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(stopped),
                Err(Errno::CHILD) if self.status.is_some() => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Says so if it was the guard that was collected: its number may be that of another process from now on.
    fn collected(&mut self, process: Pid) {
        if self.guard.take_if(|guard| guard.is(process)).is_some() {
            self.voice.say("the command is not guarded any more: somebody ended its guard");
        }
    }

    /// Sends a signal to the whole group.
    pub(super) fn signal(&mut self, signal: Signal) -> io::Result<()> {
        self.killed |= signal == Signal::KILL;
        match kill_process_group(self.group, signal) {
            // It has ended meanwhile.
            Err(Errno::SRCH) => Ok(()),
            sent => Ok(sent?),
        }
    }

    /// Sends a signal to the process alone.
    pub(super) fn signal_process(&self, signal: Signal) -> io::Result<()> {
        // The number of a process that was collected may be that of another one.
        if self.status.is_some() {
            return Ok(());
        }
        Ok(kill_process(Pid::from_child(&self.process), signal)?)
    }
}

/// Starts a command in a process group of its own: a script that says nothing of its interpreter with `sh`, as execvp(3) does.
fn spawn(
    command: &[OsString],
    file: &Path,
    environment: &[(OsString, Option<OsString>)],
) -> io::Result<process::Child> {
    let start = |mut process: Command| {
        // The service manager listens to this process, and not to the command.
        process.args(&command[1..]).process_group(0).env_remove(NOTIFY_SOCKET);
        for (name, value) in environment {
            match value {
                Some(value) => process.env(name, value),
                None => process.env_remove(name),
            };
        }
        process.spawn()
    };
    match start(Command::new(&command[0])) {
        Err(error)
            if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) && program::is_script(file) =>
        {
            let mut shell = Command::new("/bin/sh");
            shell.arg(file);
            start(shell)
        }
        started => started,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_status_is_that_of_a_shell() {
        for (status, code) in [
            (Status::Exited(0), 0),
            (Status::Exited(255), 255),
            (Status::Killed(15), 143),
            (Status::Killed(64), 192),
        ] {
            assert_eq!(status.code(), code);
        }
    }
}
