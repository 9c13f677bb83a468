//! One scenario: servers, load on them, and what happens to them in the middle of it.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::load::{Crew, Kind, Plan, Report, micros};

const PROCESSES: usize = 4;
/// The longest TTL of the callers.
pub(crate) const LONGEST_TTL: Duration = Duration::from_secs(3);
/// How long the callers work at least before and after the outage: whatever it left behind has ended by then.
const BEFORE: Duration = Duration::from_secs(3);
const AFTER: Duration = Duration::from_secs(8);

/// How long something is given at most beyond what it needs, on a machine that is busy with other things.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// The number of the first resource that is kept for long; those before it change hands all the time.
pub(crate) const FIRST_KEPT: usize = 8;
pub(crate) const RESOURCES: usize = 12;

/// How long the load of a scenario is.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    /// As the outage needs.
    Short,
    /// At least this, with the outage after a third of it.
    Of(Duration),
}

/// Which conflicts there may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflicts {
    Never,
    /// Where replication is asynchronous: those that begin during the outage, or before what it forgot has ended.
    AroundTheOutage,
}

#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) conflicts: Conflicts,
    pub(crate) rig: fn() -> Rig,
}

/// Servers that run, and what will happen to them.
pub(crate) struct Rig {
    /// The section `[store]` of the configuration.
    pub(crate) store: String,
    /// The kinds of locks that this store has.
    pub(crate) kinds: Vec<Kind>,
    /// Whether each call of the store is delivered twice, all the time.
    pub(crate) repeated: bool,
    pub(crate) outage: Outage,
}

/// Makes it happen, waits until it is over, and answers how to list the keys afterwards.
pub(crate) type Outage = Box<dyn FnOnce() -> Keys>;
/// The names of keys, with the milliseconds they have left (-1: no end).
pub(crate) type Keys = Box<dyn Fn() -> Vec<(String, i64)>>;

/// What there is on a server that has queues.
pub(crate) fn all_kinds() -> Vec<Kind> {
    vec![Kind::Exclusive, Kind::ReadWrite, Kind::Permits, Kind::ReEntrant]
}

/// What a scenario has brought.
pub(crate) struct Seen {
    pub(crate) is_quorum: bool,
    pub(crate) reports: Vec<Report>,
    /// From when to when it lasted, in microseconds since the host was started.
    pub(crate) outage: (u64, u64),
    /// When the load began and ended.
    pub(crate) load: (u64, u64),
    /// The keys that were left over, with the milliseconds they have left (-1: no end).
    pub(crate) left: Vec<(String, i64)>,
}

impl Scenario {
    pub(crate) fn run(&self, length: Length) -> Seen {
        let rig = (self.rig)();
        let plan = Plan { repeated: rig.repeated, ..plan(&rig.store, &rig.kinds) };
        let is_quorum = rig.store.contains("quorum://");
        let (whole, before) = match length {
            Length::Short => (Duration::ZERO, BEFORE),
            Length::Of(time) => (time, (time / 3).max(BEFORE)),
        };
        let (start, start_micros) = (Instant::now(), micros());
        let mut crew = Crew::start(PROCESSES, &plan);
        thread::sleep(before);
        crew.wait_for_grants(0..1);
        let began = micros();
        let keys = (rig.outage)();
        crew.forget_grants(0..FIRST_KEPT);
        let outage = (began, micros());
        thread::sleep(whole.saturating_sub(start.elapsed()).max(AFTER));
        crew.wait_for_grants(0..FIRST_KEPT);
        let load = (start_micros, micros());
        let reports = crew.end();
        Seen { is_quorum, reports, outage, load, left: left_over(&keys) }
    }
}

/// What callers do on a store, with leases that end soon.
pub(crate) fn plan(store: &str, kinds: &[Kind]) -> Plan {
    let config = format!(
        "[store]\n{store}\n[lease]\nttl = \"3s\"\nrenewal_interval = \"1s\"\n[wait]\nticket_ttl = \"3s\"\n\
         [limits]\nmax_ttl = \"3s\"\n"
    );
    Plan {
        config,
        repeated: false,
        managers: 2,
        callers: 16,
        keepers: 4,
        kinds: kinds.to_vec(),
        resources: RESOURCES,
        kept: RESOURCES - FIRST_KEPT,
        ttl: (Duration::from_secs(2), LONGEST_TTL),
        pause: Duration::from_millis(100),
        long: 0.0,
        not_renewed: 0.0,
    }
}

/// Waits until no key is left but those that stay, which must have an end, for as long as a lease can last; answers what is
/// left then.
fn left_over(keys: &Keys) -> Vec<(String, i64)> {
    let start = Instant::now();
    loop {
        let left: Vec<_> = keys().into_iter().filter(|(key, left)| !stays(key) || *left == -1).collect();
        if left.is_empty() || start.elapsed() > LONGEST_TTL + GRACE {
            return left;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns true for a counter of fences, and for a register about a node of a quorum.
fn stays(key: &str) -> bool {
    key.ends_with(":fence") || key.contains("{quorum/")
}
