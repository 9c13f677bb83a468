//! A file that an overtaken holder cannot write.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{FencedWriteError, StaleFenceError};
use crate::core::Fence;

/// A file that only the holder with the largest fence writes, as a whole.
///
/// Two files stand beside it: `NAME.fence` has the largest fence, and `NAME.lock` is locked by the operating system for as long as
/// a comparison with its write takes. The lock ends with its process; a process that is frozen while it writes makes the others
/// wait. A reader sees the file as it was or as it is, never a part of it. After [`write`](Self::write) it is on the disk.
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
        unless_missing(behind_links(&self.file))?.map_or(Ok(None), |file| largest_beside(&file))
    }

    /// Compares with the largest fence and acts on the file, while nobody else can.
    fn guarded(&self, fence: Fence, act: impl FnOnce(&Path) -> io::Result<()>) -> FileResult<()> {
        let known = || {
            let file = behind_links(&self.file)?;
            let lock = file.with_added_extension("lock");
            let lock = File::options().write(true).create(true).truncate(false).open(lock)?;
            lock.lock()?;
            Ok((largest_beside(&file)?, file, lock))
        };
        // The file stays locked until it is closed, at the end of this function.
        let (known, file, _locked) = known().map_err(FencedWriteError::Failed)?;
        if known.is_some_and(|known| fence < known) {
            return Err(StaleFenceError::new(fence, known).into());
        }
        let write = || {
            // Also if it is the same: that it is on the disk is not certain.
            replace(&file.with_added_extension("fence"), format!("{fence}\n").as_bytes())?;
            act(&file)
        };
        write().map_err(FencedWriteError::Failed)
    }
}

fn largest_beside(file: &Path) -> io::Result<Option<Fence>> {
    let path = file.with_added_extension("fence");
    let Some(text) = unless_missing(fs::read_to_string(&path))? else { return Ok(None) };
    let no_number = |error| {
        let text = format!("{}: {text:?} is no fence: {error}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, text)
    };
    text.trim_end().parse().map(|number| Some(Fence::new(number))).map_err(no_number)
}

/// Replaces a file by another of the same name and permissions, so that it is there as a whole. The lock keeps others from the
/// draft.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_added_extension("draft");
    // A draft that is there was left by a crash.
    unless_missing(fs::remove_file(&draft))?;
    let mut file = File::create_new(&draft)?;
    if let Some(known) = unless_missing(fs::metadata(path))? {
        file.set_permissions(known.permissions())?;
    }
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    // Its new name stands in the directory, which other systems do not open as a file.
    if cfg!(unix) { File::open(directory_of(path))?.sync_all() } else { Ok(()) }
}

/// Returns the file to which symbolic links lead, in its true directory. The file itself need not exist.
fn behind_links(named: &Path) -> io::Result<PathBuf> {
    // As many as Linux follows.
    const LINKS_AT_MOST: u32 = 40;
    let mut file = named.to_owned();
    for _ in 0..=LINKS_AT_MOST {
        let Some(name) = file.file_name() else {
            let text = format!("{}: not the name of a file", file.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        };
        file = fs::canonicalize(directory_of(&file))?.join(name);
        if unless_missing(fs::symlink_metadata(&file))?.is_none_or(|known| !known.is_symlink()) {
            return Ok(file);
        }
        file = directory_of(&file).join(fs::read_link(&file)?);
    }
    Err(io::Error::other(format!("{}: too many symbolic links, perhaps in a circle", named.display())))
}

fn directory_of(file: &Path) -> &Path {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}

/// Returns `None` in place of the error that something is not there.
fn unless_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}
