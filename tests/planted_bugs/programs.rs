//! The programs that look for bugs: compiled once with every point for a bug, and run with one bug at a time.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    io::{self, BufRead, BufReader},
    ops::Range,
    path::{Path, PathBuf},
    process::Command,
};

/// The suites that look for bugs, and the programs that have them.
const SUITES: [(&str, &str); 6] = [
    ("simulation", "orders"),
    ("quorum", "orders"),
    ("manager", "callers"),
    ("election", "callers"),
    ("partitions", "callers"),
    ("redis", "redis_store"),
];

/// The packages that have bugs or tests that catch them, as arguments of cargo.
const ALONE: &str = "--package=leasehold\n--package=leasehold-tests\n--package=leasehold-tuning";

/// The program of the library's unit tests.
pub(crate) const UNIT_TESTS: &str = "leasehold";

/// The program of the unit tests of tuners, and of their simulations.
pub(crate) const TUNING: &str = "leasehold_tuning";

/// The programs, by their names.
pub(crate) struct Programs(BTreeMap<&'static str, PathBuf>);

/// The end of a run.
pub(crate) struct Found {
    /// True if it ran to its end and found nothing.
    pub(crate) is_healthy: bool,
    pub(crate) output: String,
}

impl Programs {
    /// Compiles the crate with the points for bugs. The dependencies are those of every other build: cargo calls a
    /// wrapper for the crates of the workspace alone, and keeps what comes of that apart.
    pub(crate) fn compile() -> Self {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let mut cargo = Command::new(env!("CARGO"));
        // What cargo tells a test about its crate would make build scripts of dependencies run again.
        for (name, _) in env::vars().filter(|(name, _)| name.starts_with("CARGO") && name != "CARGO_HOME") {
            cargo.env_remove(name);
        }
        // With other packages the dependencies would have other features, and be compiled once more.
        let packages = env::var("LEASEHOLD_TESTED").unwrap_or_else(|_| ALONE.to_owned());
        let output = cargo
            .args(["test", "--offline", "--no-run", "--message-format", "json", "--lib"])
            .args(packages.lines())
            // Most bugs show themselves soon: to optimise would take longer than it saves.
            .args(["--config", "profile.test.package.leasehold.opt-level=0"])
            .args(programs_of_suites().iter().flat_map(|program| ["--test", program]))
            // Nobody changes something and compiles it again.
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap())
            // By its path: a dependency may name another toolchain in its folder, which `rustc` from rustup would look for.
            .env("RUSTC", Path::new(env!("CARGO")).with_file_name("rustc"))
            .env("RUSTC_WORKSPACE_WRAPPER", root.join("tests/planted_bugs/compiler"))
            .current_dir(root)
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "it does not compile with the points for bugs:\n{messages}{errors}");
        let built = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let programs = built.filter_map(|message| {
            let mut names = programs_of_suites().into_iter().chain([UNIT_TESTS, TUNING]);
            let name = names.find(|name| message["target"]["name"] == *name)?;
            Some((name, PathBuf::from(message["executable"].as_str()?)))
        });
        Self(programs.collect())
    }

    /// Runs one test with this bug.
    pub(crate) fn test(&self, program: &str, test: &str, bug: &str) -> Found {
        run(self.command(program, test, bug), |_| false)
    }

    /// Simulates a world of each seed with this bug, until a line of the output is `enough`.
    pub(crate) fn simulate(
        &self,
        world: &str,
        seeds: Range<usize>,
        bug: &str,
        enough: impl Fn(&str) -> bool,
    ) -> Found {
        let mut command = self.command("simulation", world, bug);
        command.env_remove("LEASEHOLD_SIM_SEED");
        command.env("LEASEHOLD_SIM_FROM", seeds.start.to_string());
        command.env("LEASEHOLD_SIM_SEEDS", seeds.len().to_string());
        run(command, enough)
    }

    /// The command that runs one test of a suite, or of a program that is no suite.
    fn command(&self, suite: &str, test: &str, bug: &str) -> Command {
        let found = SUITES.iter().find(|(name, _)| *name == suite);
        let (program, test) =
            found.map_or((suite, test.to_owned()), |(_, program)| (program, format!("{suite}::{test}")));
        let mut command = Command::new(&self.0[program]);
        command.args([&test, "--exact", "--nocapture"]).env("LEASEHOLD_PLANTED", bug);
        command
    }
}

/// Each program that has such a suite, once.
fn programs_of_suites() -> BTreeSet<&'static str> {
    SUITES.into_iter().map(|(_, program)| program).collect()
}

/// Runs a command to its end, or until a line of its output is `enough`.
fn run(mut command: Command, enough: impl Fn(&str) -> bool) -> Found {
    let (output, writer) = io::pipe().unwrap();
    let mut child = command.stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
    // The end of the output comes when the last writer is gone, and the command keeps two.
    drop(command);
    let mut lines = Vec::new();
    for line in BufReader::new(output).lines() {
        lines.push(line.unwrap());
        if lines.last().is_some_and(|line| enough(line)) {
            child.kill().unwrap();
            break;
        }
    }
    Found { is_healthy: child.wait().unwrap().success(), output: lines.join("\n") }
}
