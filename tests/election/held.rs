//! The terms of the processes of a fleet, as leases in a history.

use std::{collections::BTreeMap, time::Duration};

use leasehold::{Fence, ResourceName, env::Moment};
use leasehold_testing::history::{Held, lines::Transcript};

use crate::election::{
    gaps::Tick,
    process::{RESOURCE, TTL},
};

/// Returns the terms, each from its first tick to its last: in between it was certainly held. `ready` has the moments from which the
/// processes stood for the lead. Two processes with one fence have a term each.
pub(crate) fn transcript(ticks: &[Tick], ready: &BTreeMap<usize, u64>) -> Transcript {
    let resource = ResourceName::new(RESOURCE).unwrap();
    let mut terms: BTreeMap<(u64, usize), Vec<&Tick>> = BTreeMap::new();
    ticks.iter().for_each(|tick| terms.entry((tick.fence, tick.process)).or_default().push(tick));
    let lease = |((fence, process), ticks): ((u64, usize), Vec<&Tick>)| {
        let moments = ticks.iter().map(|tick| tick.at);
        let known = [Some(ready[&process]), moments.clone().min(), moments.max()];
        let known = known.map(|micros| Moment::since_origin(Duration::from_micros(micros.expect("a tick"))));
        (process as u64, Held::exclusive(resource.clone(), Fence::new(fence), TTL, known))
    };
    Transcript { leases: terms.into_iter().map(lease).collect(), ..Transcript::default() }
}
