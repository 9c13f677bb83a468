//! Each target on its corpus, and on mutations of it from a fixed seed.
//!
//! `LEASEHOLD_FUZZ_INPUTS=100000` sets the number of mutations for each target, `LEASEHOLD_FUZZ_SECONDS=30` the time for them: the
//! first of the same ones.

use std::{
    cell::Cell,
    env, fs,
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::Once,
    time::{Duration, Instant},
};

use leasehold_fuzz::{TOLD, Target, reached, targets};
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// The longest input that mutations make.
const LONGEST: usize = 1_024;

/// Returns the files of the corpus of a target, in the order of their names.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let read = |path: &Path| (path.display().to_string(), fs::read(path).unwrap());
    let mut files: Vec<_> = files.map(|entry| read(&entry.unwrap().path())).collect();
    files.sort();
    files
}

/// Changes an input a little: bytes, pieces of it, or a piece of another one in place of its own.
fn mutate(input: &mut Vec<u8>, other: &[u8], random: &mut StdRng) {
    let at = random.random_range(0..=input.len());
    let end = random.random_range(at..=input.len()).min(at + 64);
    match random.random_range(0..6) {
        0 => input[at..end].iter_mut().take(1).for_each(|byte| *byte ^= 1 << random.random_range(0..8)),
        1 => input[at..end].iter_mut().take(2).for_each(|byte| *byte = random.random()),
        2 => drop(input.drain(at..end)),
        3 => input.insert(at, random.random()),
        4 => {
            let piece = input[at..end].to_vec();
            drop(input.splice(at..at, piece));
        }
        _ => {
            let from = random.random_range(0..=other.len());
            let to = random.random_range(from..=other.len()).min(from + 64);
            drop(input.splice(at..end, other[from..to].iter().copied()));
        }
    }
    input.truncate(LONGEST);
}

thread_local! {
    /// The panics of this thread, also those that a runtime catches.
    static PANICS: Cell<usize> = const { Cell::new(0) };
}

/// Runs a target on an input, and tells the input if anything panics.
fn run(target: Target, what: &str, input: &[u8]) {
    static COUNTED: Once = Once::new();
    COUNTED.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |told| {
            PANICS.set(PANICS.get() + 1);
            usual(told);
        }));
    });
    // What is left after a panic is not used again.
    let caught = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    if caught.is_err() || PANICS.get() > 0 {
        eprintln!("in bytes: {input:?}");
        panic!("{} panics for {what}: {:?}", target.name, String::from_utf8_lossy(input));
    }
}

fn takes_its_corpus_and_mutations_of_it(name: &str) {
    let target = targets().into_iter().find(|target| target.name == name).unwrap();
    let corpus = corpus(name);
    assert!(!corpus.is_empty(), "an empty corpus");
    for (file, input) in &corpus {
        run(target, file, input);
    }
    let mut random = StdRng::seed_from_u64(27);
    let (mut number, enough) = (0, enough(target));
    while !enough(number) {
        let [(_, input), (_, other)] = [(); 2].map(|()| &corpus[random.random_range(0..corpus.len())]);
        let mut input = input.clone();
        (0..random.random_range(1..=4)).for_each(|_| mutate(&mut input, other, &mut random));
        run(target, &format!("mutation {number}"), &input);
        number += 1;
    }
    println!("{name}: {number} mutations");
    if name == "answers" {
        every_decoder_has_read_an_answer();
    }
}

/// Returns what says whether so many mutations are enough.
fn enough(target: Target) -> Box<dyn Fn(usize) -> bool> {
    let set = |name| env::var(name).ok().map(|number| number.parse().expect("a number"));
    let (seconds, inputs) = (set("LEASEHOLD_FUZZ_SECONDS"), set("LEASEHOLD_FUZZ_INPUTS"));
    match seconds {
        Some(seconds) => {
            let end = Instant::now() + Duration::from_secs(seconds);
            Box::new(move |_| Instant::now() >= end)
        }
        None => {
            let inputs = inputs.map_or(target.usual, |inputs| inputs as usize);
            Box::new(move |number| number >= inputs)
        }
    }
}

/// The functions that decode answers.
const DECODERS: &str = include_str!("../../src/store/redis/wire/decode.rs");

fn every_decoder_has_read_an_answer() {
    let functions = DECODERS.lines().filter_map(|line| line.strip_prefix("pub(crate) fn "));
    let decode = functions.filter(|line| line.contains(": Value") && line.contains("-> Result<"));
    let names = decode.filter_map(|line| line.split('(').next());
    let reached = reached();
    println!("answers were read by {reached:?}");
    let missed: Vec<_> =
        names.chain(["inspected", TOLD]).filter(|name| !reached.contains_key(name)).collect();
    assert!(missed.is_empty(), "no answer was read by {missed:?}");
    assert!(reached.contains_key("capacity_set"), "the names are not those of functions: {reached:?}");
}

macro_rules! tests {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            takes_its_corpus_and_mutations_of_it(stringify!($name));
        }
    )*};
}

tests! { answers config console cron name records run_arguments url }

#[test]
fn an_input_that_has_the_password_itself_raises_no_alarm() {
    let inside = "hunter2hunter2secretsecret";
    for (name, input) in [
        ("run_arguments", format!("ls\n--{inside}").as_bytes()),
        ("run_arguments", b"ls\n--hunter2secret\n\xad"),
        ("run_arguments", b"ls\n--hunter2\x1b[0msecret"),
        ("config", format!("[{inside}]\nttl = 1").as_bytes()),
        ("config", format!("\n---\nLEASEHOLD_{inside}=1").as_bytes()),
        ("url", format!("redis://{inside}").as_bytes()),
        ("url", format!("{inside}://host").as_bytes()),
    ] {
        let target = targets().into_iter().find(|target| target.name == name).unwrap();
        run(target, "an input that has the password", input);
    }
}

#[test]
fn each_target_has_a_test_and_a_program() {
    let programs = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/targets/Cargo.toml")).unwrap();
    let tested =
        include_str!("inputs.rs").split("tests! { ").nth(1).and_then(|rest| rest.split('}').next()).unwrap();
    for target in targets() {
        assert!(programs.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
        assert!(tested.contains(target.name), "{}", target.name);
    }
}
