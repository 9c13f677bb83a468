//! Bugs that are planted on purpose, to see that the simulation finds them.
//!
//! One copy of the crate is made, with every bug in it, each behind a question to the environment; it is compiled once
//! and its simulation runs once a bug, or the test that looks at what no simulated client can see. A simulation that finds nothing in a world that has nothing wrong proves
//! little; this proves that it looks.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Instant,
};

/// What is put in place of what, in which file, and the properties of which one must notice it.
struct Bug {
    name: &'static str,
    file: &'static str,
    /// Must stand in the file exactly once.
    right: &'static str,
    wrong: &'static str,
    /// Properties of the simulation, or one test: `file::name`.
    caught_by: &'static [&'static str],
}

const BUGS: &[Bug] = &[
    Bug {
        name: "validity counted from the reply to an acquisition",
        file: "src/manager/waiting/attempts.rs",
        right: "(attempt.acquisition.hold.token, attempt.sent);",
        wrong: "(attempt.acquisition.hold.token, attempt.sent);
        let sent = if crate::planted(NAME) { self.clock.now() } else { sent };",
        caught_by: &["P1", "P10", "P11"],
    },
    Bug {
        name: "validity counted from the reply to a renewal",
        file: "src/manager/renew.rs",
        right: "if lease.renewed(sent) =>",
        wrong: "if lease.renewed(if crate::planted(NAME) { lease.clock.now() } else { sent }) =>",
        caught_by: &["P1", "P10", "P11"],
    },
    Bug {
        name: "release without a look at the token",
        file: "src/store/memory/resource.rs",
        right: "        let held = self.holders.holds(hold.token);
        // Whoever brings",
        wrong: "        let first = self.holders.in_order_of_end().next().map(|record| record.token);
        let first = first.filter(|_| crate::planted(NAME));
        let hold = &Hold { token: first.unwrap_or(hold.token), ..hold.clone() };
        let held = self.holders.holds(hold.token);
        // Whoever brings",
        caught_by: &["P12"],
    },
    Bug {
        name: "renewal without a look at the token",
        file: "src/store/memory/resource.rs",
        right: "if self.holders.extend(hold.token, ttl, now) { Renewed::Extended",
        wrong: "let first = self.holders.in_order_of_end().next().map(|record| record.token);
        let first = first.filter(|_| crate::planted(NAME));
        if self.holders.extend(first.unwrap_or(hold.token), ttl, now) { Renewed::Extended",
        caught_by: &["P12"],
    },
    Bug {
        name: "a fence that expires",
        file: "src/store/memory/turn.rs",
        right: "*self.last_fence = (*self.last_fence + 1).max(self.clock().get()).max(self.least_fence);",
        wrong: "let (last, micros) = (*self.last_fence, self.clock().get());
        let idle = micros.saturating_sub(last) > 1_000_000;
        let wrong = if idle { 1 } else { last + 1 };
        let right = (last + 1).max(micros).max(self.least_fence);
        *self.last_fence = if crate::planted(NAME) { wrong } else { right };",
        caught_by: &["P2"],
    },
    Bug {
        name: "a retry that counts twice",
        file: "src/store/memory/resource.rs",
        right: "return Ok(if record.holds() { self.granted(record.fence, owner) } else { refused() });",
        wrong: "if record.holds() && crate::planted(NAME) {
                let holds = self.holders.holds_of(owner).max(1) + 1;
                return Ok(Acquired::Granted(Grant { fence: Some(record.fence), holds }));
            }
            return Ok(if record.holds() { self.granted(record.fence, owner) } else { refused() });",
        caught_by: &["P5"],
    },
    Bug {
        name: "a loss that is told late",
        file: "src/core/validity.rs",
        right: "sent + ttl.saturating_sub(drift_allowance(ttl) + guard_band(ttl))",
        wrong: "if crate::planted(NAME) { sent + ttl + guard_band(ttl) } else {
            sent + ttl.saturating_sub(drift_allowance(ttl) + guard_band(ttl))
        }",
        caught_by: &["P1", "P10", "P11"],
    },
    Bug {
        name: "a renewer that goes on after the release",
        file: "src/manager/release.rs",
        right: "let (lease, token) = (release.lease.clone(), release.token);",
        wrong: "let (lease, token) = (release.lease.clone(), release.token);
        if let Some(lease) = lease.clone().filter(|_| crate::planted(NAME)) {
            let store = Arc::clone(&self.store);
            actix_rt::spawn(async move {
                loop {
                    tokio::time::sleep(lease.ttl() / 3).await;
                    let _ = store.renew_each(&[(&lease.hold, lease.ttl())]).await;
                }
            });
        }",
        caught_by: &["P15"],
    },
    Bug {
        name: "the grant of a caller that went away is kept",
        file: "src/manager/waiting/answers.rs",
        right: "            return self.hand_off_or_release(&request.acquisition, sent, unknown_until);
        }
        let acquisition",
        wrong: "            if crate::planted(NAME) { return; }
            return self.hand_off_or_release(&request.acquisition, sent, unknown_until);
        }
        let acquisition",
        caught_by: &["P18"],
    },
    Bug {
        name: "the first release is the last word, though an attempt is still on its way",
        file: "src/manager/reclaim.rs",
        right: "if executed == Executed::Certainly {",
        wrong: "if executed == Executed::Certainly || crate::planted(NAME) {",
        caught_by: &["P18"],
    },
    Bug {
        name: "what is given back of a lost lease cuts its lock delay short",
        file: "src/manager/mod.rs",
        right: "let (reclaimer, opening) = (self.reclaimer(), lease.opens_at());",
        wrong: "let (reclaimer, mut opening) = (self.reclaimer(), lease.opens_at());
                if crate::planted(NAME) { opening = self.clock.now(); }",
        caught_by: &[
            "manager::keeping_closed::a_lock_delay_holds_also_while_an_unknown_attempt_may_still_be_executed",
        ],
    },
    Bug {
        name: "a part of a set that was not granted is closed for its minimum hold",
        file: "src/lease/cooldown.rs",
        right: "_ if !self.is_handed_out() => Duration::ZERO,",
        wrong: "_ if !self.is_handed_out() && !crate::planted(NAME) => Duration::ZERO,",
        caught_by: &[
            "manager::keeping_closed::the_parts_of_a_set_that_was_not_granted_open_at_once_whatever_their_minimum_hold",
        ],
    },
    Bug {
        name: "a waiter is forgotten when the manager restarts",
        file: "src/manager/mod.rs",
        right: "        for token in self.waiters.tokens() {
            self.on_or_fail(token, Event::Dismissed, Some(AcquireError::Restarted));",
        wrong: "        for token in self.waiters.tokens() {
            if crate::planted(NAME) { drop(self.waiters.remove(token)); continue }
            self.on_or_fail(token, Event::Dismissed, Some(AcquireError::Restarted));",
        caught_by: &["P14", "P16", "P18", "sums"],
    },
    Bug {
        name: "a resource is passed on without a limit",
        file: "src/core/cohort.rs",
        right: "Some((*next, self.hand_offs < limit))",
        wrong: "Some((*next, self.hand_offs < limit || crate::planted(NAME)))",
        caught_by: &["P9"],
    },
    Bug {
        name: "a reader beside a writer",
        file: "src/store/memory/holders.rs",
        right: "(Mode::Exclusive, _) | (_, Mode::Exclusive) => Ok(Verdict::InTheWay(last)),",
        wrong: "(Mode::Shared, Mode::Exclusive) if crate::planted(NAME) => Ok(Verdict::Fits(None)),
            (Mode::Exclusive, _) | (_, Mode::Exclusive) => Ok(Verdict::InTheWay(last)),",
        caught_by: &["P6"],
    },
    Bug {
        name: "a hand-over without a new fence",
        file: "src/store/memory/resource.rs",
        right: "let fence = re_entered.unwrap_or_else(|| turn.new_fence());",
        wrong: "let fence = re_entered.unwrap_or_else(|| {
                if crate::planted(NAME) { Fence::new(1) } else { turn.new_fence() }
            });",
        caught_by: &["P2"],
    },
    Bug {
        name: "last come, first served",
        file: "src/store/memory/queue.rs",
        right: "        let arrival = self.next;",
        wrong: "        let arrival = if crate::planted(NAME) { u64::MAX / 2 - self.next } else { self.next };",
        caught_by: &["P9"],
    },
    Bug {
        name: "a newcomer overtakes those who wait",
        file: "src/store/memory/resource.rs",
        right: "            Ok(Verdict::Fits(_)) if self.queue.is_empty() => turn.new_fence(),",
        wrong: "            Ok(Verdict::Fits(_)) if self.queue.is_empty() || crate::planted(NAME) => turn.new_fence(),",
        caught_by: &["P9"],
    },
    Bug {
        name: "a waiter that gives up keeps its place",
        file: "src/core/acquisition.rs",
        right: "            None => self.ticket.then(",
        wrong: "            None => (self.ticket && !crate::planted(NAME)).then(",
        caught_by: &["P18"],
    },
    Bug {
        name: "a release hands nothing over",
        file: "src/store/memory/resource.rs",
        right: "        self.hand_over(None, turn);
        released",
        wrong: "        if !crate::planted(NAME) { self.hand_over(None, turn); }
        released",
        caught_by: &["P8"],
    },
    Bug {
        name: "the dead are handed over one after the other",
        file: "src/store/memory/resource.rs",
        right: "|| !self.reaches_head(inbox, turn)) {",
        wrong: "|| !self.reaches_head(inbox, turn)) && !crate::planted(NAME) {",
        caught_by: &["P16"],
    },
    Bug {
        name: "a majority of half",
        file: QUORUM_RULES,
        right: "of / 2 + 1",
        wrong: "of / 2 + usize::from(!crate::planted(NAME))",
        caught_by: &["P1", "P6"],
    },
    Bug {
        name: "a node votes as soon as it was started again",
        file: "src/core/recovery.rs",
        right: "match first_start {",
        wrong: "match first_start || crate::planted(NAME) {",
        caught_by: &["P1", "P6"],
    },
    Bug {
        name: "the largest fence is not written back",
        file: "src/store/quorum/acquire.rs",
        right: "        if raises.is_empty() {
            return;
        }
        let mut raised",
        wrong: "        if raises.is_empty() || crate::planted(NAME) {
            return;
        }
        let mut raised",
        caught_by: &["P2"],
    },
    Bug {
        name: "what a node grants to a failed attempt is left there",
        file: "src/store/quorum/acquire.rs",
        right: "ballot.filter(|_| grant.is_none())",
        wrong: "ballot.filter(|_| grant.is_none() && !crate::planted(NAME))",
        caught_by: &["P18"],
    },
    Bug {
        name: "what a node grants late to a failed attempt is left there",
        file: "src/store/quorum/acquire.rs",
        right: "                    _ => self.release_later(node, which, ballot),",
        wrong: "                    _ if crate::planted(NAME) => {}
                    _ => self.release_later(node, which, ballot),",
        caught_by: &["P18"],
    },
    Bug {
        name: "a node that lost the lease counts for its renewal",
        file: "src/store/quorum/renew_release.rs",
        right: "            Ok(_) => tally.no(),",
        wrong: "            Ok(_) if crate::planted(NAME) => tally.yes(),
            Ok(_) => tally.no(),",
        caught_by: &["P12"],
    },
    Bug {
        name: "a node that may have forgotten fences votes when it is old enough",
        file: "src/store/quorum/node.rs",
        right: "Self::Leases => grant.fence.is_none(),",
        wrong: "Self::Leases => grant.fence.is_none() || crate::planted(NAME),",
        caught_by: &["quorum::forgotten::a_node_that_forgot_fences_counts_for_nothing_until_it_is_taught"],
    },
    Bug {
        name: "a raise lowers a fence",
        file: "src/store/memory/holders.rs",
        right: "        record.fence = record.fence.max(fence);
        if record.mode == Mode::Exclusive {",
        wrong: "        record.fence = if crate::planted(NAME) { fence } else { record.fence.max(fence) };
        if record.mode == Mode::Exclusive && !crate::planted(NAME) {",
        caught_by: &["quorum::forgotten::a_smaller_fence_is_not_written"],
    },
    Bug {
        name: "the largest epoch counts per question",
        file: "src/store/redis/net/belief.rs",
        right: "Some(known) if epoch < known.epoch &&",
        wrong: "Some(known) if !crate::planted(NAME) && epoch < known.epoch &&",
        caught_by: &[
            "leasehold::store::redis::net::belief::tests::an_older_epoch_is_not_believed_while_one_that_knows_better_may_be_missing",
        ],
    },
];

const QUORUM_RULES: &str = "src/core/vote.rs";

const HELPER: &str = r#"
/// Whether this bug is planted.
pub(crate) fn planted(bug: &str) -> bool {
    static PLANTED: std::sync::LazyLock<Option<String>> =
        std::sync::LazyLock::new(|| std::env::var("LEASEHOLD_PLANTED").ok());
    PLANTED.as_deref() == Some(bug)
}
"#;

/// A bug has to show in one of this many seeds.
const SEEDS: usize = 128;
/// So many are simulated at once; most bugs are found in the first.
const AT_ONCE: usize = 16;

/// The files of tests that look for bugs.
const TESTS: [&str; 3] = ["simulation", "manager", "quorum"];

/// The unit tests of the library, as `caught_by` calls them.
const UNIT_TESTS: &str = "leasehold";

/// The tests that simulate worlds.
const ONE_STORE: &str = "every_seed_keeps_every_promise";
const QUORUM: &str = "every_seed_of_a_quorum_keeps_every_promise";

#[test]
fn every_planted_bug_is_caught() {
    let began = Instant::now();
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("planted");
    copy_crate(&copy);
    make_way(&copy);
    for bug in BUGS {
        plant(&copy, bug);
    }
    let helped = copy.join("src/lib.rs");
    let lib = fs::read_to_string(&helped).unwrap();
    fs::write(&helped, lib + HELPER).unwrap();
    let tests = compile(&copy);
    println!("compiled after {:?}", began.elapsed());
    for world in [ONE_STORE, QUORUM] {
        let (healthy, output) = run(&tests["simulation"], world, "");
        assert!(healthy, "without a bug the simulation must find nothing:\n{output}");
    }
    for bug in BUGS {
        if let Some((file, test)) = bug.caught_by.iter().find_map(|test| test.split_once("::")) {
            assert!(run(&tests[file], test, "").0, "{test} fails without a bug");
            assert!(!run(&tests[file], test, bug.name).0, "not caught: {}", bug.name);
            println!("{test} caught: {}", bug.name);
            continue;
        }
        let of_a_quorum = ["quorum", "recovery", "vote"].iter().any(|word| bug.file.contains(word));
        let world = if of_a_quorum { QUORUM } else { ONE_STORE };
        let found = (0..SEEDS).step_by(AT_ONCE).find_map(|from| {
            let (healthy, output) = run_from(from, &tests["simulation"], world, bug.name);
            (!healthy).then_some(output)
        });
        let output = found.unwrap_or_else(|| panic!("not caught in {SEEDS} seeds: {}", bug.name));
        let caught: Vec<_> = bug
            .caught_by
            .iter()
            .filter(|property| {
                let named = format!("{property:?}");
                output.lines().any(|line| line.starts_with("seed ") && line.contains(&named))
            })
            .collect();
        assert!(!caught.is_empty(), "{} was not caught by {:?}:\n{output}", bug.name, bug.caught_by);
        println!("{caught:?} caught: {}", bug.name);
    }
    println!("{} bugs caught, {:?}", BUGS.len(), began.elapsed());
}

/// Copies what makes the library and the tests that look for bugs.
fn copy_crate(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"));
    if to.exists() {
        fs::remove_dir_all(to).unwrap();
    }
    fs::create_dir_all(to.join("tests")).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
    for tree in ["src", "docs", "tests/sim", "tests/support"] {
        copy_tree(&from.join(tree), &to.join(tree));
    }
    for test in TESTS {
        let (file, folder) = (format!("tests/{test}.rs"), format!("tests/{test}"));
        match from.join(&file).exists() {
            true => drop(fs::copy(from.join(&file), to.join(&file)).unwrap()),
            false => copy_tree(&from.join(&folder), &to.join(&folder)),
        }
    }
    call_it_another_version(to);
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// As a version of its own, the copy shares compiled dependencies with the crate and overwrites nothing that was compiled
/// of the crate itself. Tests, examples, benches and binaries that the manifest names are not in the copy.
fn call_it_another_version(copy: &Path) {
    const VERSION: &str = "0.0.0";
    let manifest = copy.join("Cargo.toml");
    let mut table: toml::Table = fs::read_to_string(&manifest).unwrap().parse().unwrap();
    for targets in ["test", "example", "bench", "bin"] {
        table.remove(targets);
    }
    // A workspace of its own, without the benchmarks; cargo takes what only they need out of the copy's lock file.
    table.insert("workspace".to_owned(), toml::Table::new().into());
    let package = table["package"].as_table_mut().unwrap();
    package.insert("autobins".to_owned(), false.into());
    let before = package.insert("version".to_owned(), VERSION.into()).unwrap();
    fs::write(manifest, toml::to_string(&table).unwrap()).unwrap();

    let lock = copy.join("Cargo.lock");
    let text = fs::read_to_string(&lock).unwrap();
    let entry = |version: &str| format!("name = \"leasehold\"\nversion = \"{version}\"");
    fs::write(lock, text.replace(&entry(before.as_str().unwrap()), &entry(VERSION))).unwrap();
}

/// A bug asks the environment, which no constant function can.
fn make_way(copy: &Path) {
    let path = copy.join(QUORUM_RULES);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, text.replace("const fn", "fn")).unwrap();
}

fn plant(copy: &Path, bug: &Bug) {
    let path = copy.join(bug.file);
    let text = fs::read_to_string(&path).unwrap();
    let found = text.matches(bug.right).count();
    assert_eq!(found, 1, "{}: its place in {} has changed:\n{}", bug.name, bug.file, bug.right);
    let wrong = bug.wrong.replace("NAME", &format!("{:?}", bug.name));
    fs::write(path, text.replace(bug.right, &wrong)).unwrap();
}

/// Compiles the copy beside the crate itself, whose dependencies it shares, and answers the executable of each test.
fn compile(copy: &Path) -> BTreeMap<&'static str, PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    // What cargo tells a test about its crate would make build scripts of dependencies run again.
    for (name, _) in env::vars().filter(|(name, _)| name.starts_with("CARGO") && name != "CARGO_HOME") {
        cargo.env_remove(name);
    }
    let output = cargo
        .args(["test", "--offline", "--no-run", "--message-format", "json", "--lib"])
        .args(TESTS.iter().flat_map(|test| ["--test", test]))
        .env("CARGO_TARGET_DIR", target)
        .current_dir(copy)
        .output()
        .unwrap();
    let messages = text_of(&output);
    assert!(output.status.success(), "the copy does not compile:\n{messages}");
    let built = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let executables = built.filter_map(|message| {
        let mut names = TESTS.into_iter().chain([UNIT_TESTS]);
        let test = names.find(|test| message["target"]["name"] == *test)?;
        Some((test, PathBuf::from(message["executable"].as_str()?)))
    });
    executables.collect()
}

/// Runs a test, or the first seeds of a world, with this bug; answers whether it found nothing, and what it said.
fn run(executable: &Path, test: &str, bug: &str) -> (bool, String) {
    run_from(0, executable, test, bug)
}

/// The same with the seeds from this one on.
fn run_from(seed: usize, executable: &Path, test: &str, bug: &str) -> (bool, String) {
    let output = Command::new(executable)
        .args([test, "--exact", "--nocapture"])
        .env("LEASEHOLD_PLANTED", bug)
        .env("LEASEHOLD_SIM_FROM", seed.to_string())
        .env("LEASEHOLD_SIM_SEEDS", AT_ONCE.to_string())
        .env_remove("LEASEHOLD_SIM_SEED")
        .output()
        .unwrap();
    (output.status.success(), text_of(&output))
}

fn text_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
