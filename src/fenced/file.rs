//! A file that an overtaken holder cannot write.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{
    FencedWriteError, StaleFenceError,
    links::{behind_links, directory_of, unless_missing},
};
use crate::core::Fence;

/// A file that only the holder with the largest fence writes, as a whole.
///
/// Two files stand beside it: `NAME.fence` has the largest fence, and `NAME.lock` is locked by the operating system for as
/// long as a comparison with its write takes. The lock ends with its process; a process that is frozen while it writes makes
/// the others wait. A reader sees the file as it was or as it is, never a part of it. After [`write`](Self::write) it is on
/// the disk.
///
/// All writers have to write in this way, in a directory of their own, on a file system on which locks work: on network file
/// systems they may not. Remove the two files only together with the file, and restore all of them from a backup: without
/// `NAME.fence` every fence is let in.
///
/// A symbolic link stands for the file that it leads to, which need not exist yet: the two files are beside that one, and the
/// link stays as it is. Whoever lets it lead elsewhere names another file, with a fence of its own. So does a hard link: after
/// a write it still has what was there before.
///
/// The calls block: in async code make them inside of `spawn_blocking`.
#[derive(Clone, Debug)]
pub struct FencedFile {
    file: PathBuf,
}

/// The three files, where they are in truth.
struct Places {
    file: PathBuf,
    fence: PathBuf,
    lock: PathBuf,
}

type FileResult<T> = Result<T, FencedWriteError<io::Error>>;

impl FencedFile {
    /// Names the file. Nothing is opened. Its directory has to exist when it is written.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    /// Returns the path of the file, as it was named.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Enters with a fence before the work: from now on every smaller one is refused.
    ///
    /// # Errors
    /// [`FencedWriteError::Stale`]: a larger fence is known. [`FencedWriteError::Failed`]: the files could not be read or
    /// written, or `NAME.fence` has no number.
    pub fn enter(&self, fence: Fence) -> FileResult<()> {
        self.guarded(fence, |_| Ok(()))
    }

    /// Writes the whole file, unless a larger fence is known.
    ///
    /// # Errors
    /// As for [`enter`](Self::enter). After [`FencedWriteError::Failed`] the file is as it was, or written.
    pub fn write(&self, fence: Fence, content: impl AsRef<[u8]>) -> FileResult<()> {
        self.guarded(fence, |file| replace(file, content.as_ref()))
    }

    /// Returns the largest fence so far, if there was one.
    ///
    /// # Errors
    /// The error of reading `NAME.fence`; [`io::ErrorKind::InvalidData`] when it has no number.
    pub fn largest(&self) -> io::Result<Option<Fence>> {
        // Where there is no directory there is no fence.
        unless_missing(Places::of(&self.file))?.map_or(Ok(None), |places| places.largest())
    }

    /// Compares with the largest fence and acts on the file, while nobody else can.
    fn guarded(&self, fence: Fence, act: impl FnOnce(&Path) -> io::Result<()>) -> FileResult<()> {
        let known = || {
            let places = Places::of(&self.file)?;
            let lock = File::options().write(true).create(true).truncate(false).open(&places.lock)?;
            lock.lock()?;
            Ok((places.largest()?, places, lock))
        };
        // The file stays locked until it is closed, at the end of this function.
        let (known, places, _locked) = known().map_err(FencedWriteError::Failed)?;
        if known.is_some_and(|known| fence < known) {
            return Err(StaleFenceError::new(fence, known).into());
        }
        let write = || {
            // Also if it is the same: that it is on the disk is not certain.
            replace(&places.fence, format!("{fence}\n").as_bytes())?;
            act(&places.file)
        };
        write().map_err(FencedWriteError::Failed)
    }
}

impl Places {
    fn of(named: &Path) -> io::Result<Self> {
        let file = behind_links(named)?;
        let (fence, lock) = (beside(&file, ".fence"), beside(&file, ".lock"));
        Ok(Self { file, fence, lock })
    }

    fn largest(&self) -> io::Result<Option<Fence>> {
        let Some(text) = unless_missing(fs::read_to_string(&self.fence))? else { return Ok(None) };
        let no_number = |error| {
            let text = format!("{}: {text:?} is no fence: {error}", self.fence.display());
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        text.trim_end().parse().map(|number| Some(Fence::new(number))).map_err(no_number)
    }
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Replaces a file by another of the same name and permissions, so that it is there as a whole. The lock keeps others from the
/// draft.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = beside(path, ".draft");
    // A draft that is there was left by a crash.
    unless_missing(fs::remove_file(&draft))?;
    let mut file = File::create_new(&draft)?;
    if let Some(known) = unless_missing(fs::metadata(path))? {
        file.set_permissions(known.permissions())?;
    }
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_directory_of(path)
}

/// Writes the name of a file to the disk: it stands in its directory.
#[cfg(unix)]
fn sync_directory_of(path: &Path) -> io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory_of(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_by_the_largest_fence_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = FencedFile::new(directory.path().join("winners"));
        file.write(Fence::new(9), "nine").unwrap();
        file.write(Fence::new(9), "nine again").unwrap();
        file.enter(Fence::new(10)).unwrap();
        let refused = file.write(Fence::new(9), "late").unwrap_err();
        assert_eq!(refused.to_string(), "fence 9 is stale: 10 is known");
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "nine again");
        assert_eq!(file.largest().unwrap(), Some(Fence::new(10)));
    }

    #[test]
    fn a_fence_that_cannot_be_read_lets_nobody_write() {
        let directory = tempfile::tempdir().unwrap();
        let file = FencedFile::new(directory.path().join("winners"));
        assert_eq!(file.largest().unwrap(), None);
        fs::write(directory.path().join("winners.fence"), "torn").unwrap();
        assert!(matches!(file.write(Fence::new(9), "nine"), Err(FencedWriteError::Failed(_))));
        assert!(!file.path().exists());
    }

    #[test]
    fn threads_beside_each_other_leave_the_content_of_the_largest_fence() {
        let directory = tempfile::tempdir().unwrap();
        let file = FencedFile::new(directory.path().join("winners"));
        std::thread::scope(|scope| {
            for number in (1..=50_u64).rev() {
                let file = &file;
                scope.spawn(move || match file.write(Fence::new(number), number.to_string()) {
                    Ok(()) | Err(FencedWriteError::Stale(_)) => {}
                    Err(error) => panic!("{error:?}"),
                });
            }
        });
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "50");
    }
}
