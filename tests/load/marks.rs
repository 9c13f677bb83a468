//! Marks of the resources that were granted, by which a test knows how far callers in other processes are.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The marks of one process: files beside its report.
pub(super) struct Marks(PathBuf);

impl Marks {
    pub(super) fn beside(report: &Path) -> Self {
        Self(report.to_owned())
    }

    fn of(&self, resource: usize) -> PathBuf {
        self.0.with_extension(resource.to_string())
    }

    pub(super) fn set(&self, resource: usize) {
        let mark = self.of(resource);
        if !mark.exists() {
            fs::write(mark, "").unwrap();
        }
    }

    pub(super) fn has(&self, resource: usize) -> bool {
        self.of(resource).exists()
    }

    /// Removes the mark of a resource, if it is there.
    pub(super) fn clear(&self, resource: usize) {
        let _ = fs::remove_file(self.of(resource));
    }
}
