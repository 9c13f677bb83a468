//! The answers to what the pages and the API ask: from the manager, the observer and the store.

use std::collections::BTreeSet;

use futures_util::{StreamExt, TryStreamExt, stream};
use leasehold::{
    Inspect, InspectError, InvalidValue, Leases, List, Listing, ResourceName, SetTuning, Stats, StoreError,
    partitions::Survey, schedule::Control, text::one_line,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    failure::Failure,
    model::{
        ElectionView, FleetView, ManagersView, OwnLeaseView, Page, PartitionsView, ResourceAnswer, Row,
        ScheduleView, SchedulesView, SettingsView, SharesView, TuningView, UnknownView,
    },
    observer::{Elections, Processes, Timeline, TunerSaid, is_of_one},
    shared::{Shared, ask},
    view::ResourceView,
};

/// The largest number of resources of one page, and of elections and schedules.
const MOST: usize = 200;
/// The largest number of names among which fleets are looked for: as many as the library gives.
const NAMES: usize = 10_000;
/// The number of resources of one page if nothing is said.
const A_PAGE: usize = 50;
/// The number of questions of one page that are under way at once.
const AT_ONCE: usize = 16;
/// The largest number of holders and of waiters of one resource.
const PARTIES: usize = 100;

/// The query of a list of resources. Names are written as the console shows them.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// The beginning of the names.
    pub(crate) prefix: String,
    /// The name behind which the page begins: `next` of the page before.
    pub(crate) after: String,
    /// True for all resources that are not free, and not only those that somebody waits for.
    pub(crate) all: bool,
    /// The largest number of resources.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<usize>,
}

/// The query about one name.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Named {
    /// The name, as the console shows it.
    pub(crate) name: String,
}

/// The query about several names: those that are known, and one more.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Also {
    /// One more, which need not be known.
    pub(crate) name: String,
}

/// Returns the name that somebody has typed: as the console shows it, else as it is.
pub(crate) fn named(text: &str) -> Result<ResourceName, InvalidValue> {
    ResourceName::decode(text).or_else(|_| ResourceName::new(text))
}

async fn inspect(shared: &Shared, name: &ResourceName) -> Result<ResourceView, Failure> {
    inspect_one_of(shared, name).await?.map_err(|error| Failure::of(&error))
}

/// Inspects one of many resources. The inner error says something of this one alone, and must not hide the others.
async fn inspect_one_of(
    shared: &Shared,
    name: &ResourceName,
) -> Result<Result<ResourceView, InspectError>, Failure> {
    let question = Inspect::new(name.as_bytes()).limit(PARTIES);
    match ask(&shared.locks, question).await? {
        Err(error) if !is_of_one(&error) => Err(Failure::of(&error)),
        Err(error) => Ok(Err(error)),
        Ok(found) => Ok(Ok(ResourceView::of(name, &found))),
    }
}

/// Forgets the number of waiters if the store keeps no queues: it shows that only by what is held.
fn with_known_queue(shared: &Shared, view: ResourceView) -> ResourceView {
    if shared.watch().without_queues { ResourceView { waiting: None, ..view } } else { view }
}

/// Returns a page of resources, by a walk that ended at most a second ago.
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
    let console = shared.watch();
    let question = format!("{:?}", (&filter.prefix, &filter.after, filter.all, limit));
    let page = shared.pages.answer(question, console.revision, walk(shared, list)).await?;
    Ok(Page { console, ..page })
}

async fn walk(shared: &Shared, list: List) -> Result<Page, Failure> {
    let listing = ask(&shared.locks, list).await?.map_err(|error| Failure::of(&error))?;
    let Listing { resources: names, complete, cut_short, walked, .. } = listing;
    // A page behind one that was cut short would miss the names that the walk has not come to.
    let next = names.last().filter(|_| !complete && !cut_short).map(ResourceName::encoded);
    let row = async |name| {
        Ok::<_, Failure>(match inspect_one_of(shared, &name).await? {
            Ok(view) => view.into(),
            Err(error) => Row::unknown(&name, &error),
        })
    };
    let resources = stream::iter(names.into_iter().map(row)).buffered(AT_ONCE).try_collect().await?;
    Ok(Page { resources, next, complete, cut_short, walked, console: shared.watch() })
}

/// Returns one resource.
pub(crate) async fn resource(shared: &Shared, name: &str) -> Result<ResourceAnswer, Failure> {
    let name = named(name)?;
    // First: the observer takes an interest in what there is an answer about.
    let view = with_known_queue(shared, inspect(shared, &name).await?);
    let timeline = ask(&shared.observer, Timeline(name.clone())).await?;
    Ok(ResourceAnswer { view, timeline, changes: shared.changes.of(&name) })
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
    let view = async |name: ResourceName| {
        Ok::<_, Failure>(match inspect_one_of(shared, &name).await? {
            Ok(view) => with_known_queue(shared, view).into(),
            Err(error) => ElectionView::unknown(&name, &error),
        })
    };
    let question = format!("{names:?}");
    let views = stream::iter(names.into_iter().take(MOST).map(view)).buffered(AT_ONCE).try_collect();
    shared.election_views.answer(question, shared.watch().revision, views).await
}

/// Returns the schedules of the store, and this one.
pub(crate) async fn schedules(shared: &Shared, also: &Also) -> Result<SchedulesView, Failure> {
    let also = match also.name.as_str() {
        "" => None,
        name => Some(named(name)?),
    };
    let question = format!("{also:?}");
    let views = all_schedules(shared, also);
    shared.schedule_views.answer(question, shared.watch().revision, views).await
}

async fn all_schedules(shared: &Shared, also: Option<ResourceName>) -> Result<SchedulesView, Failure> {
    let listing = ask(&shared.locks, List::new("").schedules().limit(MOST)).await?;
    let (listed, unlisted) = match listing {
        Ok(listing) if listing.complete => (listing.resources, None),
        Ok(listing) => (listing.resources, Some("the walk did not come to all names".to_owned())),
        Err(InspectError::Store(error @ StoreError::Unsupported { .. })) => {
            (Vec::new(), Some(one_line(&error)))
        }
        Err(error) => return Err(Failure::of(&error)),
    };
    let mut names: BTreeSet<ResourceName> = listed.into_iter().collect();
    names.extend(shared.schedules.iter().cloned().chain(also));
    let view = async |name: ResourceName| {
        let trouble = |error: &StoreError| UnknownView { schedule: name.encoded(), trouble: one_line(error) };
        match one_schedule(shared, &name).await {
            Err(error @ (StoreError::Denied { .. } | StoreError::Corrupt { .. })) => Ok(Err(trouble(&error))),
            told => told.map(Ok).map_err(|error| Failure::of(&error)),
        }
    };
    let views: Vec<_> = stream::iter(names.into_iter().map(view)).buffered(AT_ONCE).try_collect().await?;
    let (mut schedules, mut unknown) = (Vec::new(), Vec::new());
    for view in views {
        match view {
            Ok(known) => schedules.extend(known),
            Err(trouble) => unknown.push(trouble),
        }
    }
    Ok(SchedulesView { schedules, unlisted, unknown })
}

async fn one_schedule(shared: &Shared, name: &ResourceName) -> Result<Option<ScheduleView>, StoreError> {
    let found = match Control::find(&shared.locks, name).await {
        // The page says so once, and not for each name.
        Err(StoreError::Unsupported { .. }) => return Ok(None),
        found => found?,
    };
    let Some(found) = found else { return Ok(None) };
    Ok(found.status().await?.map(|status| ScheduleView::of(name, &status)))
}

/// Returns the fleets of the store, and the partitions of this one.
pub(crate) async fn partitions(shared: &Shared, also: &Also) -> Result<PartitionsView, Failure> {
    let one = match also.name.as_str() {
        "" => None,
        name => Some(named(name)?),
    };
    let question = format!("{one:?}");
    let view = async {
        let (fleets, unlisted) = fleets(shared).await?;
        let shown = match one {
            None => None,
            Some(name) => {
                let survey = match Survey::of(&shared.locks, &name).await {
                    // The list tells the trouble.
                    Err(error) if is_of_one(&error) => None,
                    survey => survey.map_err(|error| Failure::of(&error))?,
                };
                survey.map(|survey| SharesView::of(&name, &survey))
            }
        };
        Ok(PartitionsView { fleets, unlisted, shown })
    };
    shared.partition_views.answer(question, shared.watch().revision, view).await
}

/// Returns the fleets whose members were found, and the reason why there may be others.
async fn fleets(shared: &Shared) -> Result<(Vec<FleetView>, Option<String>), Failure> {
    let listing =
        ask(&shared.locks, List::new("").limit(NAMES)).await?.map_err(|error| Failure::of(&error))?;
    let mut names = listing
        .resources
        .iter()
        .filter(|name| name.as_bytes().strip_suffix(b"/members").is_some_and(|fleet| !fleet.is_empty()));
    let fleet = async |members: &ResourceName| {
        let fleet = ResourceName::new(members.as_bytes().strip_suffix(b"/members").unwrap_or_default())?;
        Ok::<_, Failure>(match inspect_one_of(shared, members).await? {
            Ok(view) => FleetView::of(&fleet, &view),
            Err(error) => {
                let (fleet, trouble) = (fleet.encoded(), Some(one_line(&error)));
                Some(FleetView { fleet, partitions: None, members: 0, trouble })
            }
        })
    };
    let views: Vec<_> =
        stream::iter(names.by_ref().take(MOST).map(fleet)).buffered(AT_ONCE).try_collect().await?;
    let unlisted = match listing.complete {
        false => Some("the walk did not come to all names".to_owned()),
        true => names.next().map(|_| format!("only {MOST} names that end in /members were looked at")),
    };
    Ok((views.into_iter().flatten().collect(), unlisted))
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
