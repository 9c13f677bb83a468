//! The file of winners, and its guard: whoever has an older fence than the one seen last is turned away.
//!
//! A lease alone cannot keep a frozen holder from writing when it wakes up. What is written to can: it remembers the
//! largest fence it has seen, and compares and writes in one step. Here that step is made of an operating-system lock on
//! a file beside the result, which holds nothing but that fence and who had it.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use leasehold::Fence;

/// Where the winners are written, once.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    file: PathBuf,
    guard: PathBuf,
}

/// What became of an attempt to enter, or to write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was let through.
    Accepted,
    /// The winners are there already.
    AlreadyDrawn,
    /// Somebody with a larger fence has been here.
    Stale,
}

impl Results {
    pub(crate) fn new(file: &Path) -> Self {
        let mut guard = file.as_os_str().to_owned();
        guard.push(".fence");
        Self { file: file.to_owned(), guard: guard.into() }
    }

    /// Takes note of a fence, before the draw: from now on every smaller one is stale.
    pub(crate) fn enter(&self, fence: Fence, who: &str) -> io::Result<Verdict> {
        self.guarded(fence, who, || Ok(()))
    }

    /// Writes the winners, unless they are there or the fence is stale.
    pub(crate) fn write(&self, fence: Fence, who: &str, winners: &[u32]) -> io::Result<Verdict> {
        self.guarded(fence, who, || {
            let lines: String = winners.iter().map(|id| format!("{id}\n")).collect();
            // Under the name that readers look for, the file is there as a whole or not at all.
            let draft = self.file.with_extension(format!("draft-{}", fence.get()));
            fs::write(&draft, lines)?;
            fs::rename(draft, &self.file)
        })
    }

    /// Who drew, if the winners are there.
    pub(crate) fn drawn_by(&self) -> io::Result<Option<String>> {
        if !self.file.try_exists()? {
            return Ok(None);
        }
        let seen = fs::read_to_string(&self.guard)?;
        Ok(Some(parse(&seen).1.to_owned()))
    }

    /// Compares with the largest fence so far and acts, while nobody else can.
    fn guarded(&self, fence: Fence, who: &str, act: impl FnOnce() -> io::Result<()>) -> io::Result<Verdict> {
        let mut guard =
            File::options().read(true).write(true).create(true).truncate(false).open(&self.guard)?;
        // Held until the file is closed, also by the death of the process.
        guard.lock()?;
        let mut seen = String::new();
        guard.read_to_string(&mut seen)?;
        let (largest, _) = parse(&seen);
        if self.file.try_exists()? {
            return Ok(Verdict::AlreadyDrawn);
        }
        if fence.get() < largest {
            return Ok(Verdict::Stale);
        }
        let seen = format!("{fence} {who}");
        guard.rewind()?;
        guard.write_all(seen.as_bytes())?;
        guard.set_len(seen.len() as u64)?;
        act()?;
        Ok(Verdict::Accepted)
    }
}

/// The fence and the name that the guard holds; zero and nobody before the first.
fn parse(seen: &str) -> (u64, &str) {
    let (fence, who) = seen.split_once(' ').unwrap_or_default();
    (fence.parse().unwrap_or(0), who)
}
