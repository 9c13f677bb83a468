//! The file that symbolic links lead to.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Returns the file to which symbolic links lead, in its true directory. The file itself need not exist.
pub(super) fn behind_links(named: &Path) -> io::Result<PathBuf> {
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

pub(super) fn directory_of(file: &Path) -> &Path {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}

/// Returns `None` in place of the error that something is not there.
pub(super) fn unless_missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{
        core::Fence,
        fenced::{FencedFile, FencedWriteError},
    };

    /// A directory with `data/winners`, and another one with links to it.
    fn linked() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let below = |name: &str| directory.path().join(name);
        fs::create_dir(below("data")).unwrap();
        fs::create_dir(below("links")).unwrap();
        symlink(below("data/winners"), below("links/absolute")).unwrap();
        symlink("../data/winners", below("links/relative")).unwrap();
        symlink("relative", below("links/chain")).unwrap();
        symlink("../data", below("links/directory")).unwrap();
        directory
    }

    #[test]
    fn a_link_and_its_file_share_one_fence() {
        for name in ["absolute", "relative", "chain", "directory/winners", "directory/../data/winners"] {
            for exists in [true, false] {
                let directory = linked();
                let file = FencedFile::new(directory.path().join("data/winners"));
                let link = FencedFile::new(directory.path().join("links").join(name));
                if exists {
                    file.write(Fence::new(5), "five").unwrap();
                }
                link.write(Fence::new(9), "nine").unwrap();
                let refused = file.write(Fence::new(8), "late").unwrap_err();
                assert_eq!(refused.to_string(), "fence 8 is stale: 9 is known", "{name}");
                file.write(Fence::new(10), "ten").unwrap();
                assert!(
                    matches!(link.write(Fence::new(9), "late"), Err(FencedWriteError::Stale(_))),
                    "{name}"
                );
                assert_eq!(link.largest().unwrap(), Some(Fence::new(10)), "{name}");
                assert_eq!(fs::read_to_string(link.path()).unwrap(), "ten", "{name}");
                assert_eq!(fs::read_to_string(file.path()).unwrap(), "ten", "{name}");
            }
        }
    }

    #[test]
    fn a_write_leaves_a_link_as_it_is() {
        let directory = linked();
        for name in ["absolute", "relative", "chain"] {
            let link = directory.path().join("links").join(name);
            let before = fs::read_link(&link).unwrap();
            FencedFile::new(&link).write(Fence::new(9), "nine").unwrap();
            assert_eq!(fs::read_link(&link).unwrap(), before);
        }
        assert_eq!(
            fs::read_dir(directory.path().join("links")).unwrap().count(),
            4,
            "nothing is written beside the links"
        );
    }

    #[test]
    fn links_in_a_circle_are_an_error() {
        let directory = tempfile::tempdir().unwrap();
        symlink("b", directory.path().join("a")).unwrap();
        symlink("a", directory.path().join("b")).unwrap();
        let failed = FencedFile::new(directory.path().join("a")).write(Fence::new(9), "nine").unwrap_err();
        let FencedWriteError::Failed(cause) = failed else { panic!("{failed}") };
        assert!(cause.to_string().contains("too many symbolic links"), "{cause}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn another_hard_link_keeps_its_content() {
        let directory = linked();
        let file = FencedFile::new(directory.path().join("data/winners"));
        file.write(Fence::new(5), "five").unwrap();
        let backup = directory.path().join("backup");
        fs::hard_link(file.path(), &backup).unwrap();
        file.write(Fence::new(9), "nine").unwrap();
        assert_eq!(fs::read_to_string(backup).unwrap(), "five");
    }
}
