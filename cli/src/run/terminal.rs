//! The terminal of `leasehold run`, which is lent to the process group of the command, and the stop of a whole job.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, IsTerminal},
};

use nix::sys::signal::{SigSet, SigmaskHow, Signal as Masked};
use rustix::{
    process::{Pid, Signal, getpgid, getpgrp, getpid, getppid, getsid, kill_current_process_group},
    termios::{tcgetpgrp, tcsetpgrp},
};

/// The controlling terminal of this process.
pub(super) struct Terminal {
    device: File,
    /// True if the command gets it without asking: somebody sits there, and no pipe is between.
    pub(super) interactive: bool,
}

impl Terminal {
    /// Opens the terminal. `None` if this process has none, as under cron, systemd and in most containers.
    pub(super) fn open() -> Option<Self> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { device, interactive: io::stdin().is_terminal() && io::stdout().is_terminal() })
    }

    /// Lends it to this process group, if this process or that group has it. Returns true if the group has it then.
    pub(super) fn lend(&self, group: Pid) -> io::Result<bool> {
        let front = tcgetpgrp(&self.device)?;
        if front == getpgrp() {
            self.bring_to_front(group)?;
        }
        Ok(front == getpgrp() || front == group)
    }

    /// Takes it back from this process group, if that has it.
    pub(super) fn take_back(&self, group: Pid) -> io::Result<()> {
        if tcgetpgrp(&self.device)? == group {
            self.bring_to_front(getpgrp())?;
        }
        Ok(())
    }

    fn bring_to_front(&self, group: Pid) -> io::Result<()> {
        // Whoever does this from the background is stopped by this signal, unless it is blocked.
        let mut stop = SigSet::empty();
        stop.add(Masked::SIGTTOU);
        let before = stop.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let brought = tcsetpgrp(&self.device, group);
        before.thread_set_mask()?;
        Ok(brought?)
    }
}

/// Stops this process and what is in its group, as Ctrl-Z does, until somebody continues it. Returns false, without a stop, if
/// there is no shell that would.
pub(super) fn stop_this_job() -> bool {
    // The kernel does not stop the first process of a namespace.
    let can = getpid() != Pid::INIT && is_a_job() && kill_current_process_group(Signal::STOP).is_ok();
    // Here the process was continued.
    can
}

/// Returns true if the group of this process is a job of a shell: if the nearest ancestor outside of the group is in the same
/// session.
fn is_a_job() -> bool {
    let (own, session) = (getpgrp(), getsid(None).ok());
    let mut ancestor = getppid();
    while let Some(pid) = ancestor {
        match getpgid(Some(pid)) {
            Ok(group) if group == own => ancestor = parent_of(pid),
            Ok(_) => return getsid(Some(pid)).ok() == session,
            Err(_) => return false,
        }
    }
    false
}

/// Returns the parent of another process.
fn parent_of(pid: Pid) -> Option<Pid> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).ok()?;
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    Pid::from_raw(parent.trim().parse().ok()?)
}
