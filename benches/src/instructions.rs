//! The instructions of one turn, an uncontended acquire and release, counted by callgrind: those of the client and those
//! of the server, each in a run of its own.
//!
//! A figure is the difference between two counts with different numbers of turns, divided by the difference between these
//! numbers, so it has nothing of the start. It depends on the code, the compiler and the libraries, and hardly on the machine: what
//! else runs there does not matter, and neither does how fast it is. What is compiled for tests has figures of its own, so that
//! nothing has to be compiled once more for a check.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    slice,
    sync::Arc,
};

use actix::System;
use clap::Args;
use futures_util::future::try_join_all;

use crate::{
    Failure,
    lockers::{Kind, Locker},
    report,
    server::{self, Server},
    workloads::uncontended::pair,
};

/// The options of a count.
#[derive(Args)]
pub(crate) struct Options {
    /// Fail if a figure of the client is more than 10 % above the one that is written down
    #[arg(long)]
    check: bool,
    /// Write the figures down
    #[arg(long)]
    write: bool,
    /// Keep the profiles in this directory, for callgrind_annotate
    #[arg(long, value_name = "DIRECTORY")]
    keep: Option<PathBuf>,
    /// Only figures with this in their name, such as client/leasehold/1
    #[arg(long, value_name = "PATTERN")]
    figure: Option<String>,
}

/// The work of a process whose instructions are counted.
#[derive(Args)]
pub(crate) struct Turns {
    locker: Kind,
    callers: u32,
    turns: u32,
    url: String,
}

/// The largest figure that passes, in percent of the one that is written down.
const AT_MOST: u64 = 110;

/// The figures that are written down, of what is compiled for tests and of what is optimized.
const WRITTEN: [(&str, &str); 2] = [
    ("instructions-of-tests.json", include_str!("../instructions-of-tests.json")),
    ("instructions.json", include_str!("../instructions.json")),
];

/// The figures that are aimed at, where all is optimized.
const BARS: [(&str, u64); 8] = [
    ("client/leasehold/1", 45_000),
    ("client/leasehold/64", 20_000),
    ("client/start_here/1", 40_000),
    ("client/start_here/64", 18_000),
    ("server/leasehold/1", 70_000),
    ("server/leasehold/64", 30_000),
    ("server/start_here/1", 70_000),
    ("server/start_here/64", 30_000),
];

const LOCKERS: [Kind; 3] = [Kind::Raw, Kind::Leasehold, Kind::StartHere];
const CALLERS: [u32; 2] = [1, 64];
const SIDES: [&str; 2] = ["client", "server"];

/// Counts all figures. Returns false if one of them has grown too much, and that was to be checked.
pub(crate) fn run(options: &Options) -> Result<bool, Failure> {
    let (file, text) = WRITTEN[usize::from(!cfg!(debug_assertions))];
    let written: BTreeMap<String, u64> = serde_json::from_str(text)?;
    let directory = tempfile::tempdir()?;
    let profiles = options.keep.as_deref().unwrap_or(directory.path());
    fs::create_dir_all(profiles)?;
    let mut figures = BTreeMap::new();
    for (side, locker, callers) in all() {
        let name = name(side, locker, callers);
        if options.figure.as_ref().is_none_or(|wanted| name.contains(wanted)) {
            eprintln!("{name}");
            figures.insert(name, figure(side, locker, callers, profiles)?);
        }
    }
    println!("{}", table(&figures, &written));
    let grown = grown(&figures, &written);
    for (name, now, before) in &grown {
        eprintln!("{name}: {now} instructions a turn, and {before} are written down");
    }
    if options.write {
        let all = written.into_iter().chain(figures).collect::<BTreeMap<_, _>>();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        fs::write(file, serde_json::to_string_pretty(&all)? + "\n")?;
    }
    Ok(!options.check || grown.is_empty())
}

/// Takes turns, and ends.
pub(crate) fn take_turns(&Turns { locker, callers, turns, ref url }: &Turns) -> Result<(), Failure> {
    System::new().block_on(async {
        let locker = Arc::new(Locker::connect(locker, slice::from_ref(url)).await?);
        let callers = (0..callers).map(|caller| {
            let locker = Arc::clone(&locker);
            actix_rt::spawn(async move {
                let resource = format!("bench/own/{caller}");
                for _ in 0..turns {
                    pair(&locker, &resource).await?;
                }
                Ok::<_, Failure>(())
            })
        });
        try_join_all(callers).await?.into_iter().collect()
    })
}

fn all() -> impl Iterator<Item = (&'static str, Kind, u32)> {
    let of_a_locker = |locker| CALLERS.map(|callers| (locker, callers));
    SIDES.into_iter().flat_map(move |side| {
        LOCKERS.into_iter().flat_map(of_a_locker).map(move |(locker, callers)| (side, locker, callers))
    })
}

fn name(side: &str, locker: Kind, callers: u32) -> String {
    format!("{side}/{}/{callers}", locker.name())
}

/// Counts one figure.
fn figure(side: &str, locker: Kind, callers: u32, profiles: &Path) -> Result<u64, Failure> {
    let (few, many) = if callers == 1 { (400, 1_600) } else { (10, 60) };
    let count = |turns: u32| {
        let profile = profiles.join(format!("{side}-{}-{callers}-{turns}.callgrind", locker.name()));
        match side {
            "client" => count_client(locker, callers, turns, &profile),
            _ => count_server(locker, callers, turns, &profile),
        }
    };
    let (before, after) = (count(few)?, count(many)?);
    Ok(after.saturating_sub(before) / u64::from((many - few) * callers))
}

fn count_client(locker: Kind, callers: u32, turns: u32, profile: &Path) -> Result<u64, Failure> {
    let server = Server::start()?;
    let mut counted = server::command("valgrind");
    counted.args(callgrind(profile)).arg(env::current_exe()?);
    take(&mut counted, locker, callers, turns, &server)?;
    counted_in(profile)
}

fn count_server(locker: Kind, callers: u32, turns: u32, profile: &Path) -> Result<u64, Failure> {
    let tool = callgrind(profile);
    let tool: Vec<_> = ["valgrind"].into_iter().chain(tool.iter().map(String::as_str)).collect();
    let mut server = Server::under(&tool)?;
    server.be_idle()?;
    take(&mut server::command(env::current_exe()?), locker, callers, turns, &server)?;
    server.shut_down()?;
    counted_in(profile)
}

/// Runs the command for a process that takes turns on this server.
fn take(
    command: &mut Command,
    locker: Kind,
    callers: u32,
    turns: u32,
    server: &Server,
) -> Result<(), Failure> {
    let numbers = [callers, turns].map(|number| number.to_string());
    command.args(["turns", locker.name()]).args(numbers).arg(server.url());
    let output = command.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

fn callgrind(profile: &Path) -> [String; 3] {
    let file = format!("--callgrind-out-file={}", profile.display());
    ["--tool=callgrind".to_owned(), "--quiet".to_owned(), file]
}

/// Returns the number of instructions in a profile.
fn counted_in(profile: &Path) -> Result<u64, Failure> {
    let text = fs::read_to_string(profile)?;
    let total = text.lines().rev().find_map(|line| line.strip_prefix("totals: "));
    Ok(total.ok_or("the profile has no total")?.trim().parse()?)
}

fn table(figures: &BTreeMap<String, u64>, written: &BTreeMap<String, u64>) -> String {
    let mut cells =
        vec![["instructions a turn", "now", "written down", "bar"].map(ToOwned::to_owned).to_vec()];
    let shown =
        |figure: Option<&u64>| figure.map_or("-".to_owned(), |figure| report::grouped(figure.to_string()));
    for (name, now) in figures {
        let bar = BARS.iter().find(|(of, _)| of == name && !cfg!(debug_assertions)).map(|(_, bar)| bar);
        cells.push(vec![name.clone(), shown(Some(now)), shown(written.get(name)), shown(bar)]);
    }
    report::aligned(&cells)
}

/// Returns the figures of the client that have grown too much, with what they are and what they were.
fn grown(figures: &BTreeMap<String, u64>, written: &BTreeMap<String, u64>) -> Vec<(String, u64, u64)> {
    let of_client = figures.iter().filter(|(name, _)| name.starts_with("client/"));
    let known = of_client.filter_map(|(name, now)| Some((name.clone(), *now, *written.get(name)?)));
    known.filter(|(_, now, before)| now * 100 > before * AT_MOST).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn figures<const N: usize>(of: [(&str, u64); N]) -> BTreeMap<String, u64> {
        of.map(|(name, figure)| (name.to_owned(), figure)).into()
    }

    #[test]
    fn a_figure_of_the_client_has_grown_if_it_is_more_than_a_tenth_above_the_one_written_down() {
        let written = figures([("client/raw/1", 1_000), ("client/raw/64", 1_000), ("server/raw/1", 1_000)]);
        let now =
            [("client/raw/1", 1_100), ("client/raw/64", 1_101), ("server/raw/1", 2_000), ("client/new/1", 5)];
        assert_eq!(grown(&figures(now), &written), [("client/raw/64".to_owned(), 1_101, 1_000)]);
    }

    #[test]
    fn each_bar_has_a_figure_that_is_written_down() {
        let names: BTreeSet<_> = all().map(|(side, locker, callers)| name(side, locker, callers)).collect();
        assert!(BARS.iter().all(|(name, _)| names.contains(*name)));
        for (file, text) in WRITTEN {
            let written: BTreeMap<String, u64> = serde_json::from_str(text).unwrap();
            // The server's depend on its package, not on how the client was compiled.
            let has = |name: &&String| name.starts_with("client/") || file == "instructions.json";
            assert!(names.iter().filter(has).eq(written.keys()), "{file}: {written:?}");
        }
    }
}
