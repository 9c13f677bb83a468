//! The folder in which tests keep their histories, if one is named.

use std::{
    env,
    fs::{self, File},
    io::{ErrorKind, Write},
    path::PathBuf,
};

use super::Transcript;

/// The variable that names the folder.
const FOLDER: &str = "LEASEHOLD_HISTORIES";

fn folder() -> Option<PathBuf> {
    let folder = env::var_os(FOLDER).filter(|folder| !folder.is_empty()).map(PathBuf::from)?;
    // Each test program runs in the folder of its package.
    assert!(folder.is_absolute(), "{FOLDER} has to be an absolute path, and is {}", folder.display());
    Some(folder)
}

/// Returns true if the histories of tests are to be kept, because `LEASEHOLD_HISTORIES` names a folder, by an absolute path.
pub fn is_wanted() -> bool {
    folder().is_some()
}

impl Transcript {
    /// Writes the history to `NAME-1.jsonl` in the folder that `LEASEHOLD_HISTORIES` names, or with the first number that is free.
    /// Without the variable nothing is written, nor if the history is empty.
    pub fn keep(&self, name: &str) {
        let Some(folder) = folder().filter(|_| !self.leases.is_empty()) else { return };
        fs::create_dir_all(&folder).expect("a folder for histories");
        // Other processes of this test may be writing theirs.
        let mut file =
            (1..).find_map(|number| match File::create_new(folder.join(format!("{name}-{number}.jsonl"))) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
                opened => Some(opened),
            });
        let file = file.as_mut().expect("a free number").as_mut().expect("a file for a history");
        file.write_all(self.to_lines().as_bytes()).expect("a history that can be written");
    }
}
