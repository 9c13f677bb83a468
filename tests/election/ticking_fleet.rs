//! A fleet that runs a schedule, with clocks that are apart: no tick runs twice, and few are left out.
//!
//! `LEASEHOLD_FLEET_SECONDS=120 LEASEHOLD_FLEET_SEED=7` makes it longer, and other.

use std::collections::BTreeSet;

use crate::election::{fleet::live, process::TICK};

#[test]
fn no_tick_runs_twice_and_few_are_left_out_though_clocks_are_apart() {
    let tick = TICK.as_micros() as u64;
    let (fleet, mut violations, time) = live(true, |fleet| {
        // Three runners were stopped by SIGTERM. What they say comes through pipes of their own.
        let mut times: Vec<_> = fleet.runs.iter().map(|(_, time, _)| *time).collect();
        times.sort_unstable();
        let left_out = times.windows(2).map(|two| ((two[1] - two[0]) / tick).saturating_sub(1));
        let mut left_out: Vec<_> = left_out.collect();
        left_out.sort_unstable();
        println!("ticks that were left out by SIGTERM: {left_out:?}");
        // Without a release ten would be left out each time. A busy machine may be that late once.
        let [.., second, most] = left_out[..] else { panic!("too few runs: {:?}", fleet.runs) };
        assert!(
            second <= 7 && most <= 20,
            "ticks were left out by SIGTERM: {left_out:?} of {:?}",
            fleet.runs
        );
    });
    let mut runs = fleet.runs.clone();
    runs.sort_unstable();
    for two in runs.windows(2) {
        let [(number, time, fence), (next, later, larger)] = [two[0], two[1]];
        if next <= number || later <= time || larger < fence {
            violations.push(format!("twice, or out of order: {two:?}"));
        }
    }
    let off_plan = runs.iter().filter(|(_, time, _)| time % tick != 0);
    violations.extend(off_plan.map(|run| format!("not of the plan: {run:?}")));
    assert!(violations.is_empty(), "{violations:#?}");
    let fences: BTreeSet<_> = runs.iter().map(|(.., fence)| fence).collect();
    assert!(fences.len() as u64 > time.as_secs() / 6, "too little happened: {} runners", fences.len());
    let apart = fleet.clocks.iter().map(|(wall, true_time)| wall.abs_diff(*true_time)).max();
    assert!(apart > Some(100), "the clocks were not apart: {apart:?} s");
    println!("{} runs of {} runners, clocks up to {apart:?} s off", runs.len(), fences.len());
}
