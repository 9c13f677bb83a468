//! Several resources, taken one after the other in the order of their names.

use std::{convert::Infallible, time::Duration};

use actix::Addr;
use tokio::time::sleep;

use crate::{
    core::{InvalidValue, Moment, ResourceName},
    lease::{Lease, LeaseSet, set::first_lost},
    manager::LockManager,
    request::{Acquire, AcquireError, Options, ValidRequest, Wait},
    runtime::env::Clock,
    store::ALL_AT_MOST,
};

/// The interval between reports when the request requires no heartbeat.
const NO_HEARTBEAT: Duration = Duration::from_secs(3600);

/// Takes the resources of these requests, which are in order, each within what is left of the wait. If one is not granted,
/// those taken before are released. If one is lost meanwhile, all are taken again from the beginning.
pub(crate) async fn one_by_one(
    manager: &Addr<LockManager>,
    clock: &dyn Clock,
    requests: &[ValidRequest],
    options: &Options,
    deadline: Moment,
) -> Result<LeaseSet, AcquireError> {
    let report_every = options.heartbeat.map_or(NO_HEARTBEAT, |every| every / 2);
    'again: loop {
        let mut leases = Vec::with_capacity(requests.len());
        for request in requests {
            let name = &request.terms.acquisition.hold.resource;
            let wait = match options.wait {
                Some(Wait::Forever) => Wait::Forever,
                _ => Wait::AtMost(deadline.remaining(clock.now())),
            };
            let options = Options { wait: Some(wait), for_a_set: true, ..options.clone() };
            let asking = manager.send(Acquire::with(name.as_bytes(), options));
            let answer = tokio::select! {
                biased;
                answer = asking => answer.unwrap_or(Err(AcquireError::Restarted)),
                // Lazily: there must be a lease when it is called.
                _ = async { first_lost(&leases).await }, if !leases.is_empty() => continue 'again,
                never = report(&leases, report_every) => match never {},
            };
            leases.push(answer.map_err(|error| error.of(name))?);
        }
        return Ok(LeaseSet::of(leases));
    }
}

/// Reports progress for the worker, which does not hold yet what it waits for.
async fn report(leases: &[Lease], every: Duration) -> Infallible {
    loop {
        leases.iter().for_each(Lease::heartbeat);
        sleep(every).await;
    }
}

/// Returns the names in their order, each once.
pub(super) fn names(given: &[Vec<u8>]) -> Result<Vec<ResourceName>, InvalidValue> {
    let mut names = given.iter().map(ResourceName::new).collect::<Result<Vec<_>, _>>()?;
    names.sort_unstable();
    names.dedup();
    if !(1..=ALL_AT_MOST).contains(&names.len()) {
        let allowed = format!("1 to {ALL_AT_MOST} different ones");
        return Err(InvalidValue::new("resources", format_args!("{} of them", names.len()), allowed));
    }
    Ok(names)
}
