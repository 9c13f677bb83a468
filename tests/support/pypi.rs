//! Programs from the Python package index, each in a virtual environment that is made at its first use.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

use leasehold_testing::process::kept;

/// Where a package of this version (`name==version`) is installed, with all that it needs.
pub fn environment(package: &str) -> PathBuf {
    // The tests of a process come one after the other, so that the first one makes it for all.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = kept();
    let environment = directory.join(package.replace("==", "-"));
    if environment.exists() {
        return environment;
    }
    let unfinished = tempfile::tempdir_in(&directory).expect("a temporary directory");
    let made = unfinished.path().join("environment");
    run(Command::new("python3").args(["-m", "venv"]).arg(&made));
    run(Command::new(python(&made)).args(["-m", "pip", "install", "--quiet", package]));
    // The scripts of an environment know where it was made, its programs do not. Another process may have been faster.
    if let Err(error) = fs::rename(&made, &environment) {
        assert!(environment.exists(), "{error}");
    }
    environment
}

/// The python of an environment.
pub fn python(environment: &Path) -> PathBuf {
    environment.join("bin/python")
}

/// A file of a package in its environment.
pub fn file(environment: &Path, of_package: &str) -> PathBuf {
    let versions = fs::read_dir(environment.join("lib")).expect("the libraries of an environment");
    let files = versions.map(|version| version.unwrap().path().join("site-packages").join(of_package));
    files.into_iter().find(|file| file.exists()).unwrap_or_else(|| panic!("there is no {of_package}"))
}

fn run(step: &mut Command) {
    let done = step.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{step:?}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{step:?} (it needs the Python package index): {said}");
}
