//! Wall clocks that a test moves, of servers and of other processes; and the disks of servers.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::PathBuf,
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use tempfile::TempDir;

use crate::process::kept;

/// The bytes of each number in the file.
const WORD: u64 = 8;

/// The wall clock of a process, which is not that of this machine. It is there until this is dropped.
///
/// A library that a C compiler makes of a few lines stands before the process's calls for the time, and before those that write to
/// files. It reads from a file how far the clock is ahead, and what ails the disk.
#[derive(Debug)]
pub struct WallClock {
    directory: TempDir,
    file: File,
}

impl WallClock {
    /// Makes the clock of a process that is going to be started, in seconds ahead of this machine.
    pub fn of(process: &mut Command, seconds: i64) -> Self {
        let clock = Self::new();
        clock.step(seconds * 1_000_000_000);
        clock.is_that_of(process);
        clock
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.step(nanos(by));
    }

    /// Sets the clock back.
    pub fn set_back(&self, by: Duration) {
        self.step(-nanos(by));
    }

    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory for a clock");
        let mut options = File::options();
        let options = options.create_new(true).read(true).write(true);
        let file = options.open(directory.path().join("clock")).expect("a clock file");
        file.write_all_at(&[0; 3 * WORD as usize], 0).expect("a clock that starts at zero");
        Self { directory, file }
    }

    pub(super) fn is_that_of(&self, process: &mut Command) {
        process.env("LD_PRELOAD", library()).env("CLOCKSHIM", self.directory.path().join("clock"));
    }

    /// Lets writes to files fail as on a full disk, or not.
    pub(super) fn fill_disk(&self, is_full: bool) {
        self.set(WORD, i64::from(is_full));
    }

    /// Sets the time until what is written has reached the disk.
    pub(super) fn slow_disk(&self, by: Duration) {
        self.set(2 * WORD, nanos(by));
    }

    fn step(&self, by: i64) {
        let mut nanos = [0; 8];
        self.file.read_exact_at(&mut nanos, 0).expect("a clock that can be read");
        self.set(0, i64::from_ne_bytes(nanos) + by);
    }

    fn set(&self, at: u64, value: i64) {
        self.file.write_all_at(&value.to_ne_bytes(), at).expect("a file that can be written");
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).expect("less than 292 years")
}

/// Compiles the library, once a process.
fn library() -> &'static PathBuf {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let library = kept().join("shim.so");
        // Other processes may be compiling it at this moment.
        let workplace = tempfile::tempdir_in(kept()).expect("a directory for the compiler");
        let [source, unfinished] = ["shim.c", "shim.so"].map(|name| workplace.path().join(name));
        fs::write(&source, include_str!("shim.c")).expect("a file");
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&unfinished).arg(&source);
        assert!(compiler.status().expect("a C compiler must be installed").success(), "it must compile");
        // Renamed as a whole: another process may be starting with it.
        fs::rename(unfinished, &library).expect("a library that can be renamed");
        library
    })
}
