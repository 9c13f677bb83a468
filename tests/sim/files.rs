//! The judgement of written histories, file by file.

use std::{
    collections::BTreeMap,
    error::Error,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use leasehold_testing::history::lines::Transcript;

use crate::{
    contention::contended,
    linearizable::{histories, is_judged, is_that_of_a_lock},
    refusals::unfounded,
};

/// The sums of all files of one name.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    files: usize,
    leases: usize,
    contended: usize,
    refused_requests: usize,
    /// The refused requests that had nothing in their way.
    unfounded: usize,
    /// The leases with a fence.
    fenced: usize,
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
        self.unfounded += more.unfounded;
        self.fenced += more.fenced;
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
            "{} | {} | {} | {} | {} | {} | {histories} | {} | {} |",
            self.files,
            self.leases,
            self.contended,
            self.refused_requests,
            self.unfounded,
            self.left_out,
            self.accepted,
            self.refused
        )
    }
}

/// Prints a table, and returns true if all was accepted.
///
/// # Errors
///
/// A file or folder that cannot be read, or that nothing was judged: of all, or of a scenario whose leases have fences.
pub fn judge(paths: &[PathBuf]) -> Result<bool, Box<dyn Error>> {
    let (mut table, mut is_good) = (BTreeMap::<String, Sums>::new(), true);
    for file in files(paths)? {
        match judged(&file) {
            Ok(sums) => {
                is_good &= sums.refused == 0 && sums.unfounded == 0;
                table.entry(scenario(&file)).or_default().add(sums);
            }
            Err(error) => {
                is_good = false;
                eprintln!("{}: {error}", file.display());
            }
        }
    }
    println!(
        "| scenario | files | leases | contended | refused requests | without a reason | left out | histories | accepted | refused |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    let (mut all, mut unjudged) = (Sums::default(), Vec::new());
    for (scenario, sums) in table {
        all.add(sums);
        println!("| {scenario} | {sums}");
        if sums.fenced > 0 && sums.accepted + sums.refused == 0 {
            unjudged.push(scenario);
        }
    }
    println!("| all | {all}");
    if all.files == 0 {
        return Err("there is no history".into());
    }
    // Nobody knows whether what was not looked at is right.
    if !unjudged.is_empty() {
        return Err(format!("fences, but nothing that could be judged: {}", unjudged.join(", ")).into());
    }
    if all.accepted + all.refused == 0 {
        return Err("nothing could be judged".into());
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
        fenced: read.leases.iter().filter(|(_, lease)| lease.fence.is_some()).count(),
        left_out: read.leases.len() - judged,
        contended: contended(counts.iter().copied()),
        ..Sums::default()
    };
    for request in unfounded(&read) {
        sums.unfounded += 1;
        eprintln!("{}: refused, and nothing was in the way: {request:?}", file.display());
    }
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
