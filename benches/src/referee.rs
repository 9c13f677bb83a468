//! Watches that nobody holds a resource beside somebody else, without a word to the server that is measured.
//!
//! Within a process that is a counter; between processes it is a lock of the operating system on a file, taken while
//! the lock that is measured is held: it must always be free.

use std::{
    cell::Cell,
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::{Failure, meters};

/// Somebody who only reads does so beside other readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reader,
    Writer,
}

/// Watches one resource.
pub(crate) struct Referee {
    readers: Cell<u32>,
    writers: Cell<u32>,
    violations: Cell<u64>,
    highest_fence: Cell<u64>,
    /// When it was released last.
    released: Cell<u64>,
    /// What the processes share.
    shared: Option<File>,
}

/// Where the processes of a measurement keep what they share about a resource.
pub(crate) fn shared_file(directory: &Path, resource: usize) -> PathBuf {
    directory.join(format!("resource-{resource}"))
}

impl Referee {
    /// Watches a resource in this process, and in others that share this file.
    pub(crate) fn new(shared: Option<&Path>) -> Result<Self, Failure> {
        let open = |path| File::options().read(true).write(true).create(true).truncate(false).open(path);
        Ok(Self {
            readers: Cell::new(0),
            writers: Cell::new(0),
            violations: Cell::new(0),
            highest_fence: Cell::new(0),
            released: Cell::new(0),
            shared: shared.map(open).transpose()?,
        })
    }

    /// Somebody was granted the resource. Answers when it was released last.
    pub(crate) fn enter(&self, role: Role, fence: Option<u64>) -> Result<u64, Failure> {
        let beside = match role {
            Role::Reader => self.writers.get(),
            Role::Writer => self.writers.get() + self.readers.get(),
        };
        let fence_fell = fence.is_some_and(|fence| fence <= self.highest_fence.replace(fence));
        let count = self.of(role);
        count.set(count.get() + 1);
        if beside > 0 || fence_fell {
            self.violations.set(self.violations.get() + 1);
        }
        let Some(shared) = &self.shared else {
            return Ok(self.released.get());
        };
        // Never waited for: whoever has it now holds what was granted to us.
        if shared.try_lock().is_err() {
            self.violations.set(self.violations.get() + 1);
        }
        let mut released = [0; 8];
        match shared.read_at(&mut released, 0)? {
            8 => Ok(u64::from_ne_bytes(released)),
            _ => Ok(0),
        }
    }

    /// Its holder is about to release it.
    pub(crate) fn leave(&self, role: Role) -> Result<(), Failure> {
        let count = self.of(role);
        count.set(count.get() - 1);
        let now = meters::now();
        self.released.set(now);
        if let Some(shared) = &self.shared {
            shared.write_all_at(&now.to_ne_bytes(), 0)?;
            shared.unlock()?;
        }
        Ok(())
    }

    pub(crate) fn violations(&self) -> u64 {
        self.violations.get()
    }

    fn of(&self, role: Role) -> &Cell<u32> {
        match role {
            Role::Reader => &self.readers,
            Role::Writer => &self.writers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_no_violation_and_a_writer_beside_them_is() {
        let referee = Referee::new(None).unwrap();
        referee.enter(Role::Reader, None).unwrap();
        referee.enter(Role::Reader, None).unwrap();
        assert_eq!(referee.violations(), 0);
        referee.enter(Role::Writer, None).unwrap();
        assert_eq!(referee.violations(), 1);
    }

    #[test]
    fn a_fence_that_does_not_grow_is_a_violation() {
        let referee = Referee::new(None).unwrap();
        for fence in [7, 8, 8] {
            referee.enter(Role::Writer, Some(fence)).unwrap();
            referee.leave(Role::Writer).unwrap();
        }
        assert_eq!(referee.violations(), 1);
    }

    #[test]
    fn two_processes_in_one_resource_are_a_violation() {
        let directory = tempfile::tempdir().unwrap();
        let path = shared_file(directory.path(), 0);
        let [one, other] = [(); 2].map(|()| Referee::new(Some(&path)).unwrap());
        one.enter(Role::Writer, None).unwrap();
        other.enter(Role::Writer, None).unwrap();
        assert_eq!(other.violations(), 1);
    }
}
