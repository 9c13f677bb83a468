//! Seeded worlds: managers and clients on a store behind a bad network, 60 simulated seconds each, judged afterwards.
//!
//! | Property | Here |
//! |---|---|
//! | P1 mutual exclusion | between what clients believe, and between what the store grants |
//! | P2 fences | grow in the order of grants, and beyond all that was known when asked; equal for re-entries |
//! | P3, P4 fenced resource | work is accepted exactly while nobody who came later has worked |
//! | P5 re-entry | the counts of every grant and release, repeats included |
//! | P6, P7 readers and writers, permits | as P1, by mode |
//! | P8 wake-up | the head never waits for what is free; nobody drops out of the queue; no hand-over outlasts its window |
//! | P9 order | only the head is handed over or granted, re-entries excepted, and `ahead` is right |
//! | P10, P11 loss | told before the end in the store; no look says "valid" after it |
//! | P12 release and renewal | only for a token that holds |
//! | P13, P14 leftovers | no key, no pending request, no held lease, no task |
//! | P15 renewals | none is sent after the end of a lease |
//! | P16 liveness | no answer after the deadline; in quiet times everybody gets everything |
//! | P17 kinds of errors | not here: the memory store has none of a server's |
//! | P18 ghosts | no token is held for a client that failed, cancelled, released or dropped |
//! | sums | those that the statistics promise |
//!
//! `LEASEHOLD_SIM_SEED=7` runs one seed, `LEASEHOLD_SIM_SEEDS=12` the first twelve of the fixed ones.

mod sim;

use std::{
    collections::BTreeSet,
    env,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use sim::{
    PLANNED, QUIET,
    checker::{Checker, Findings},
    history::{self, Event},
    history_of,
};

/// Seeds that once broke a promise by chance; what each of them found.
const KNOWN: [u64; 7] = [
    // P3: the repeat of an acquisition, executed after the end of its hold, made the checker forget the earlier grant
    // to the same token.
    1_784_440_709,
    // P1, P10, P10: a renewal by hand waited for a manager that was being started again, beyond the end of its lease.
    3_056_942_909,
    2_855_521_779,
    4_293_621_220,
    // P18: a grant that nobody took up was passed on, though another attempt for its token was still on its way.
    1_280_130_582,
    // P18: answers that travelled together were forgotten when the manager panicked over one of them.
    1_623_233_132,
    3_595_129_792,
];
const FIXED: u64 = 200;
const RANDOM: u64 = 200;

/// The panics of the simulation are wanted; their messages would only hide a real one.
fn quietly() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str() != Some(PLANNED) {
            usual(panic);
        }
    }));
}

fn number_from(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

fn seeds() -> Vec<u64> {
    if let Some(seed) = number_from("LEASEHOLD_SIM_SEED") {
        return vec![seed];
    }
    if let Some(few) = number_from("LEASEHOLD_SIM_SEEDS") {
        return (0..few).collect();
    }
    let first = rand::random::<u32>().into();
    println!("random seeds: {first} to {}", first + RANDOM - 1);
    KNOWN.into_iter().chain(0..FIXED).chain(first..first + RANDOM).collect()
}

fn report(seed: u64, events: &[Event], findings: &Findings) {
    const SHOWN: usize = 40;
    let Some(first) = findings.violations.first() else { return };
    let properties: BTreeSet<_> = findings.violations.iter().map(|violation| violation.property).collect();
    println!("seed {seed} broke {properties:?}; replay it with LEASEHOLD_SIM_SEED={seed}");
    println!("first {} by event {}: {}", first.property, first.event, first.details);
    let resource = events[first.event].resource;
    let before = events[..=first.event].iter().filter(|event| match first.about {
        Some((token, request)) => event.what.is_about(token, request),
        None => event.resource == resource,
    });
    let before: Vec<_> = before.collect();
    for event in &before[before.len().saturating_sub(SHOWN)..] {
        println!("  {event:?}");
    }
}

#[test]
fn every_seed_keeps_every_promise() {
    quietly();
    let (began, seeds, next) = (Instant::now(), seeds(), AtomicUsize::new(0));
    let total = Mutex::new((0, 0, Vec::new()));
    let work = || {
        while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let events = history_of(seed);
            let findings = Checker::check(&events, QUIET);
            let mut total = total.lock().expect("no check panics");
            report(seed, &events, &findings);
            total.0 += findings.grants;
            total.1 += findings.checks;
            total.2.extend((!findings.violations.is_empty()).then_some(seed));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let (grants, checks, broken) = total.into_inner().expect("no check panics");
    println!("{} seeds, {grants} grants, {checks} checks, {:?}", seeds.len(), began.elapsed());
    assert!(grants as usize > seeds.len() * 20, "hardly anything was granted: {grants}");
    assert!(broken.is_empty(), "seeds that broke a promise: {broken:?}");
}

#[test]
fn a_seed_replays_identically() {
    quietly();
    for seed in 1_000..1_003 {
        let (first, second) = (history_of(seed), history_of(seed));
        let difference = first.iter().zip(&second).find(|(a, b)| format!("{a:?}") != format!("{b:?}"));
        assert_eq!(history::hash(&first), history::hash(&second), "seed {seed}: {difference:?}");
    }
}
