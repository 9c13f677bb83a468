//! 200 callers in each of 8 processes fight for 20 resources in all modes for 30 seconds, on one real server.
//!
//! What they write down is checked: no two conflicting leases valid at once, fences in order, losses told in time, the
//! counters' sums, and no key left over.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use crate::load::{self, Crew, Kind, PERMITS, Plan, Report};
use leasehold::Mode;
use leasehold_sim::linearizable;
use leasehold_testing::history;
use leasehold_testing::servers::RedisServer;
use leasehold_testing::waiting::until;

const PROCESSES: usize = 8;
const TIME: Duration = Duration::from_secs(30);

fn plan(server: &RedisServer) -> Plan {
    Plan {
        config: format!("store.url = {:?}", server.url()),
        repeated: false,
        managers: 1,
        callers: 200,
        keepers: 0,
        kinds: vec![Kind::Exclusive, Kind::ReadWrite, Kind::Permits, Kind::ReEntrant],
        resources: 20,
        kept: 0,
        ttl: (Duration::from_secs(1), Duration::from_secs(2)),
        pause: Duration::from_millis(20),
        long: 0.01,
        not_renewed: 0.1,
    }
}

/// The name of the test.
pub(crate) const NAME: &str = "stress";

/// Runs it; panics if a promise was broken.
pub(crate) fn test() {
    let server = RedisServer::start();
    let plan = plan(&server);
    println!("running 1 test: {PROCESSES} processes of {} callers for {TIME:?}", plan.callers);
    let mut crew = Crew::start(PROCESSES, &plan);
    let start = Instant::now();
    while start.elapsed() < TIME {
        crew.is_well();
        let endless: Vec<_> = server.keys().into_iter().filter(|(_, pttl)| *pttl == -1).collect();
        assert!(endless.is_empty(), "keys without an end: {endless:?}");
        thread::sleep(Duration::from_millis(100));
    }
    // On a busy machine it takes longer.
    crew.wait_for_grants(0..plan.resources);
    let reports = crew.end();
    load::keep(NAME, &reports, None);
    let summary = check(&plan, &reports).unwrap_or_else(|violations| {
        let first: Vec<_> = violations.iter().take(20).map(String::as_str).collect();
        panic!("{} violations, the first:\n{}", violations.len(), first.join("\n"))
    });
    // On a busy machine the roll is called, and the note of that ends with the last ticket. Nothing has a later end.
    until("only the fence is left", || server.keys().iter().all(|(key, _)| key == "leasehold:fence"));
    println!("{summary}\n\ntest result: ok. 1 passed; 0 failed");
}

/// What was seen, in words; or every violation.
fn check(plan: &Plan, reports: &[Report]) -> Result<String, Vec<String>> {
    let mut violations = Vec::new();
    let mut modes: BTreeMap<String, usize> = BTreeMap::new();
    let all = || reports.iter().flat_map(|report| &report.held);
    for resource in 0..plan.resources {
        let name = load::name(resource);
        if !all().any(|held| held.resource.as_bytes() == name.as_bytes()) {
            violations.push(format!("nobody ever got resource {resource}"));
        }
    }
    for lease in all() {
        *modes.entry(lease.mode.to_string()).or_default() += 1;
    }
    violations.extend(history::conflicts(all()).into_iter().map(|conflict| conflict.what));
    violations.extend(history::fences(all()));
    let accepted = linearizable::judge(all()).unwrap_or_else(|refused| {
        violations.push(refused);
        0
    });
    for late in reports.iter().flat_map(Report::told_late) {
        violations.push(format!("told too late: {late:?}"));
    }
    let permits = |count| Mode::permits(count, PERMITS).unwrap();
    let wanted = [Mode::Exclusive, Mode::Shared, permits(1), permits(3)];
    for mode in wanted.iter().filter(|mode| !modes.contains_key(&mode.to_string())) {
        violations.push(format!("nobody ever got {mode}"));
    }
    let re_entries = all().filter(|held| held.reentered).count();
    if re_entries == 0 {
        violations.push("nobody ever re-entered".to_owned());
    }
    if !violations.is_empty() {
        return Err(violations);
    }
    let sum = |count: fn(&Report) -> u64| reports.iter().map(count).sum::<u64>();
    let (refused, cancelled) = (sum(|report| report.refused), sum(|report| report.cancelled));
    let lost = reports.iter().flat_map(Report::lost).count();
    Ok(format!(
        "granted {modes:?}, of these {re_entries} re-entries and {lost} lost; refused {refused}, cancelled {cancelled}; \
         errors {:?}; no conflict, fences in order, losses told in time, no key left over; \
         {accepted} histories accepted by an external checker",
        reports.iter().map(|report| &report.errors).filter(|errors| !errors.is_empty()).collect::<Vec<_>>()
    ))
}
