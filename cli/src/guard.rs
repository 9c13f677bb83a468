//! The guard of what `leasehold` has started: a process that ends it if `leasehold` is killed and can no longer do so itself.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    process::{self, Command, Stdio},
};

use rustix::process::{Pid, getpid};

/// It reads the number of a process group, and then another line, which dismisses it. Without that it ends the group.
const SCRIPT: &str =
    "trap '' TERM INT HUP QUIT; read -r group && { read -r _ || kill -s KILL -- \"-$group\"; }";

/// A shell that waits for the end of this process, or of this value.
pub(crate) struct Guard(process::Child);

impl Guard {
    /// Starts a guard, which watches nobody yet. `None` if this is the first process of its namespace, with which the kernel
    /// ends all others.
    pub(crate) fn start() -> io::Result<Option<Self>> {
        if getpid() == Pid::INIT {
            return Ok(None);
        }
        // In a group of its own it gets none of the signals that are sent to this one.
        let shell = Command::new("sh")
            .args(["-c", SCRIPT])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Some(Self(shell)))
    }

    /// Has it end this process group if this process ends before it is dismissed.
    pub(crate) fn watch(&mut self, group: Pid) -> io::Result<()> {
        let pipe = self.0.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(pipe, "{group}")
    }

    /// Has it end, and nothing else: the group is gone, and its number may become that of another one.
    pub(crate) fn dismiss(mut self) {
        self.tell_to_end();
    }

    /// Does the same, and waits for its end, for whoever does not wait for all processes.
    pub(crate) fn end(mut self) {
        self.tell_to_end();
        // It fails only if it was waited for already.
        let _ = self.0.wait();
    }

    fn tell_to_end(&mut self) {
        if let Some(pipe) = &mut self.0.stdin {
            // It fails only if it has ended already.
            let _ = writeln!(pipe);
        }
    }

    pub(crate) fn is(&self, process: Pid) -> bool {
        Pid::from_child(&self.0) == process
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

    use super::*;

    #[test]
    fn a_guard_that_goes_ends_the_group_and_one_that_is_dismissed_leaves_it() {
        for (is_dismissed, expected) in [(false, Signal::KILL), (true, Signal::TERM)] {
            let mut process = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
            let mut guard =
                Guard::start().unwrap().expect("a process that is not the first of its namespace");
            guard.watch(Pid::from_child(&process)).unwrap();
            let shell = Pid::from_child(&guard.0);
            match is_dismissed {
                true => guard.dismiss(),
                false => drop(guard),
            }
            waitpid(Some(shell), WaitOptions::empty()).unwrap();
            // It has done what it does: this comes too late, or first.
            kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
            assert_eq!(process.wait().unwrap().signal(), Some(expected.as_raw()));
        }
    }
}
