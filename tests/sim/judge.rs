//! Judge of written histories: gives each to an external checker, and says whether it is that of a lock with fences.
//!
//! `cargo run --release -p leasehold-sim --bin judge -- DIR` reads all files `NAME-NUMBER.jsonl` of a folder. Its table counts as left out
//! the leases that are in no history: those around the time in which the store may forget, those without a fence, and those that were over
//! when their holder heard of them and that nobody could re-enter.

use std::{
    collections::BTreeMap,
    error::Error,
    fmt, fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;
use leasehold_sim::{
    contention::contended,
    linearizable::{histories, is_judged, is_that_of_a_lock},
};
use leasehold_testing::history::lines::Transcript;

/// Gives histories of leases to a linearizability checker.
#[derive(Parser)]
#[command(name = "judge")]
struct Arguments {
    /// Files of histories (JSON lines), or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
}

/// The sums of all files of one name.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    files: usize,
    leases: usize,
    contended: usize,
    refused_requests: usize,
    left_out: usize,
    accepted: usize,
    refused: usize,
}

impl Sums {
    fn add(&mut self, more: Self) {
        self.files += more.files;
        self.leases += more.leases;
        self.contended += more.contended;
        self.refused_requests += more.refused_requests;
        self.left_out += more.left_out;
        self.accepted += more.accepted;
        self.refused += more.refused;
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let histories = self.accepted + self.refused;
        write!(
            f,
            "{} | {} | {} | {} | {} | {histories} | {} | {} |",
            self.files,
            self.leases,
            self.contended,
            self.refused_requests,
            self.left_out,
            self.accepted,
            self.refused
        )
    }
}

fn main() -> ExitCode {
    match judge(&Arguments::parse().paths) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("judge: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a table, and returns true if all was accepted.
fn judge(paths: &[PathBuf]) -> Result<bool, Box<dyn Error>> {
    let (mut table, mut is_good) = (BTreeMap::<String, Sums>::new(), true);
    for file in files(paths)? {
        match judged(&file) {
            Ok(sums) => {
                is_good &= sums.refused == 0;
                table.entry(scenario(&file)).or_default().add(sums);
            }
            Err(error) => {
                is_good = false;
                eprintln!("{}: {error}", file.display());
            }
        }
    }
    println!(
        "| scenario | files | leases | contended | refused requests | left out | histories | accepted | refused |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    let mut all = Sums::default();
    for (scenario, sums) in table {
        all.add(sums);
        println!("| {scenario} | {sums}");
    }
    println!("| all | {all}");
    if all.files == 0 {
        return Err("there is no history".into());
    }
    Ok(is_good)
}

/// Returns the files that were named, and those of the folders that were named.
fn files(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        for entry in fs::read_dir(path)? {
            let file = entry?.path();
            files.extend(
                Some(file).filter(|file| file.extension().is_some_and(|extension| extension == "jsonl")),
            );
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the name of a file without its number.
fn scenario(file: &Path) -> String {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    match name.rsplit_once('-') {
        Some((scenario, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => scenario.to_owned(),
        _ => name.into_owned(),
    }
}

/// Judges the histories of one file, and tells of those that are refused.
fn judged(file: &Path) -> Result<Sums, Box<dyn Error>> {
    let read = Transcript::read(&fs::read_to_string(file)?)?;
    let counts: Vec<_> = read.that_must_hold().collect();
    let judged = counts.iter().filter(|lease| is_judged(lease)).count();
    let mut sums = Sums {
        files: 1,
        leases: read.leases.len(),
        refused_requests: read.refused.len(),
        left_out: read.leases.len() - judged,
        contended: contended(counts.iter().copied()),
        ..Sums::default()
    };
    for history in histories(counts) {
        if is_that_of_a_lock(&history) {
            sums.accepted += 1;
        } else {
            sums.refused += 1;
            let (resource, fences) = (&history[0].resource, history.iter().filter_map(|lease| lease.fence));
            let fences: Vec<_> = fences.map(|fence| fence.get()).collect();
            eprintln!("{}: no history of a lock with fences: {resource}, fences {fences:?}", file.display());
        }
    }
    Ok(sums)
}
