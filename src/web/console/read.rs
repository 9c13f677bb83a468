//! The answers to what the pages and the API ask: from the manager, the observer and the store.

use std::{collections::BTreeSet, time::SystemTime};

use futures_util::future::{join_all, try_join_all};
use serde::Deserialize;

use super::{
    failure::Failure,
    model::{
        ElectionView, HolderView, ManagersView, OwnLeaseView, Page, ResourceView, Row, RunView, ScheduleView,
        SettingsView, TuningView, WaiterView, millis, shown,
    },
    observe::{Elections, Processes, Timeline, TunerSaid},
    shared::{Shared, ask},
};
use crate::{
    core::{InvalidValue, ResourceName},
    request::{Inspect, Leases, List, SetTuning, Stats},
    schedule::{Control, Outcome, Run, Status},
    store::{HolderState, Inspection, StoreError},
};

/// The largest number of resources of one page, and of elections and schedules.
const MOST: usize = 200;
/// The number of resources of one page if nothing is said.
const A_PAGE: usize = 50;
/// The largest number of holders and of waiters of one resource.
const PARTIES: usize = 100;

/// The query of a list of resources. Names are written as the console shows them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Filter {
    pub(crate) prefix: String,
    pub(crate) after: String,
    /// True for all resources that are not free, and not only those that somebody waits for.
    pub(crate) all: bool,
    pub(crate) limit: Option<usize>,
}

/// The query about one name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    pub(crate) name: String,
}

/// The query about several names: those that are known, and one more.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Also {
    pub(crate) name: String,
}

/// Returns the name that somebody has typed: as the console shows it, else as it is.
pub(crate) fn named(text: &str) -> Result<ResourceName, InvalidValue> {
    ResourceName::decode(text).or_else(|_| ResourceName::new(text))
}

async fn inspect(shared: &Shared, name: &ResourceName) -> Result<Inspection, Failure> {
    let question = Inspect::new(name.as_bytes()).limit(PARTIES);
    ask(&shared.locks, question).await?.map_err(|error| Failure::of(&error))
}

/// Returns a page of resources, each as it is at this moment.
pub(crate) async fn page(shared: &Shared, filter: &Filter) -> Result<Page, Failure> {
    let limit = filter.limit.unwrap_or(A_PAGE);
    if !(1..=MOST).contains(&limit) {
        return Err(InvalidValue::new("limit", limit, format!("1 to {MOST}")).into());
    }
    let bytes = |text: &str| match text {
        "" => Ok(Vec::new()),
        text => named(text).map(|name| name.as_bytes().to_vec()),
    };
    let list = List::new(bytes(&filter.prefix)?).after(bytes(&filter.after)?).limit(limit);
    let list = if filter.all { list } else { list.waited_for() };
    let listing = ask(&shared.locks, list).await?.map_err(|error| Failure::of(&error))?;
    let row = async |name: &ResourceName| Ok::<_, Failure>(Row::of(name, &inspect(shared, name).await?));
    let resources = try_join_all(listing.resources.iter().map(row)).await?;
    let last = listing.resources.last().filter(|_| !listing.complete);
    let next = last.map(ResourceName::encoded);
    Ok(Page { resources, next, walked: listing.walked, console: shared.watch() })
}

/// Returns one resource.
pub(crate) async fn resource(shared: &Shared, name: &str) -> Result<ResourceView, Failure> {
    let name = named(name)?;
    let timeline = ask(&shared.observer, Timeline(name.clone())).await?;
    let Inspection { holders, total, waiting, waiters } = inspect(shared, &name).await?;
    Ok(ResourceView {
        name: name.encoded(),
        total,
        waiting,
        holders: holders.iter().map(HolderView::of).collect(),
        waiters: WaiterView::all(&waiters),
        timeline,
        changes: shared.changes.of(&name),
    })
}

/// Returns the manager of this process, and what is known of others.
pub(crate) async fn managers(shared: &Shared) -> Result<ManagersView, Failure> {
    let leases = ask(&shared.locks, Leases::new()).await?.map_err(|error| Failure::of(&error))?;
    Ok(ManagersView {
        statistics: ask(&shared.locks, Stats).await?,
        held: OwnLeaseView::all(&leases),
        held_in_all: leases.held_in_all,
        waiting_in_all: leases.waiting_in_all,
        processes: ask(&shared.observer, Processes).await?,
    })
}

/// Returns the elections that are known: by the application, by what holders tell, and this one.
pub(crate) async fn elections(shared: &Shared, also: &Also) -> Result<Vec<ElectionView>, Failure> {
    let met = ask(&shared.observer, Elections).await?;
    let mut names: BTreeSet<ResourceName> = shared.elections.iter().cloned().chain(met).collect();
    if !also.name.is_empty() {
        names.insert(named(&also.name)?);
    }
    let view = async |name: &ResourceName| {
        let seen = inspect(shared, name).await?;
        let leads = |holder: &&crate::store::Holder| holder.state == HolderState::Holding;
        Ok::<_, Failure>(ElectionView {
            name: name.encoded(),
            leader: seen.holders.iter().find(leads).map(HolderView::of),
            waiting: seen.waiting,
            candidates: WaiterView::all(&seen.waiters),
        })
    };
    try_join_all(names.iter().take(MOST).map(view)).await
}

/// Returns the schedules of the store, and this one.
pub(crate) async fn schedules(shared: &Shared, also: &Also) -> Result<Vec<ScheduleView>, Failure> {
    let listing = ask(&shared.locks, List::new("").schedules().limit(MOST)).await?;
    let mut names: BTreeSet<ResourceName> = match listing {
        Ok(listing) => listing.resources.into_iter().collect(),
        // A quorum has no registers, and so no schedules.
        Err(crate::request::InspectError::Store(StoreError::Unsupported { .. })) => return Ok(Vec::new()),
        Err(error) => return Err(Failure::of(&error)),
    };
    names.extend(shared.schedules.iter().cloned());
    if !also.name.is_empty() {
        names.insert(named(&also.name)?);
    }
    let view = async |name: &ResourceName| {
        let of_store = |error: StoreError| Failure::of(&error);
        let Some(found) = Control::find(&shared.locks, name).await.map_err(of_store)? else {
            return Ok(None);
        };
        let status = found.status().await.map_err(of_store)?;
        Ok::<_, Failure>(status.map(|status| schedule(name, &status)))
    };
    let views = join_all(names.iter().map(view)).await;
    views.into_iter().filter_map(Result::transpose).collect()
}

fn schedule(name: &ResourceName, status: &Status) -> ScheduleView {
    let ago = |time: SystemTime| status.now.duration_since(time).ok().map(millis);
    let run = |run: &Run| RunView {
        number: run.tick.number,
        asked: run.tick.asked,
        started_ms_ago: ago(run.started_at),
        took_ms: run.ended.as_ref().map(|(took, _)| millis(*took)),
        outcome: run.ended.as_ref().map(|(_, outcome)| match outcome {
            Outcome::Done => "done".to_owned(),
            Outcome::Failed(error) => format!("failed: {}", shown(error, 200)),
            Outcome::Panicked(message) => format!("panicked: {}", shown(message, 200)),
            Outcome::TimedOut => "timed out".to_owned(),
            Outcome::Stopped => "stopped".to_owned(),
            Outcome::Unknown => "unknown to this version".to_owned(),
        }),
    };
    ScheduleView {
        name: name.encoded(),
        paused: status.paused,
        asked: status.asked.is_some(),
        runs: status.runs,
        last_tick_ms_ago: ago(status.last),
        history: status.history.iter().map(run).collect(),
    }
}

/// Returns the settings of this manager that may change, and what a tuner said.
pub(crate) async fn tuning(shared: &Shared) -> Result<TuningView, Failure> {
    let statistics = ask(&shared.locks, Stats).await?;
    Ok(TuningView {
        settings: SettingsView::of(&ask(&shared.locks, SetTuning::default()).await??),
        last_minute: statistics.last_minute,
        last_hour: statistics.last_hour,
        tuner: ask(&shared.observer, TunerSaid).await?,
    })
}
