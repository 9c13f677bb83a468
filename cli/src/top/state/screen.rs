//! The view model: everything that a screen shows, in values that only have to be written down.

use std::time::Duration;

use leasehold::ResourceName;
use leasehold_console::{
    observe::{Look, Stay},
    view::ModeView,
};

use super::{
    Ages, Draft, State, Told, Trouble,
    resource::{Found, Resource},
};
use crate::top::{
    keys::{Focus, Order},
    seen::Walk,
};

/// What is on the screen.
pub(crate) struct Screen<'a> {
    pub(crate) head: Head<'a>,
    pub(crate) ages: Vec<Ages>,
    pub(crate) now: Duration,
    /// The rows of the table that it has room for.
    pub(crate) rows: Vec<Row<'a>>,
    /// The number of the first of these rows, counted from 0, and of all rows.
    pub(crate) first: usize,
    pub(crate) of: usize,
    pub(crate) order: Order,
    pub(crate) filter: &'a str,
    pub(crate) detail: Option<Detail<'a>>,
    pub(crate) overlay: Overlay<'a>,
    pub(crate) told: Option<&'a Told>,
    /// The revokes that run, each with the time that is left.
    pub(crate) revoking: Vec<(&'a ResourceName, Duration)>,
    pub(crate) trouble: Option<&'a str>,
}

/// What lies over the table, or below it.
pub(crate) enum Overlay<'a> {
    Nothing,
    Filter,
    Help,
    Grace(&'a Draft),
    Confirm(&'a Draft),
    Quit,
}

/// The figures of the whole store.
pub(crate) struct Head<'a> {
    pub(crate) place: &'a str,
    pub(crate) every: Duration,
    /// The time since the view began.
    pub(crate) up: Duration,
    /// The time since the last sample that went through.
    pub(crate) sampled: Option<Duration>,
    pub(crate) names: Option<(Duration, Walked)>,
    pub(crate) contended: Option<(Duration, Walked)>,
    /// The waiters of all contended resources that were looked at, and the number of those that were not yet.
    pub(crate) waiting: u64,
    pub(crate) not_looked: usize,
    pub(crate) late: usize,
    pub(crate) near_misses: u64,
    pub(crate) ran_out: u64,
    pub(crate) grants_a_second: Option<f64>,
    /// The share of one core that the server needs.
    pub(crate) server: Option<f64>,
    pub(crate) has_no_server_load: bool,
}

/// What a walk over the keys has found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walked {
    pub(crate) found: usize,
    pub(crate) complete: bool,
    pub(crate) keys: u64,
}

impl Walked {
    pub(super) const fn of(walk: &Walk) -> Self {
        Self { found: walk.names.len(), complete: walk.complete, keys: walk.walked }
    }
}

/// One row of the table. `None` is what is not known.
pub(crate) struct Row<'a> {
    pub(crate) name: &'a ResourceName,
    pub(crate) is_selected: bool,
    pub(crate) waiting: Option<u64>,
    pub(crate) oldest: Option<Duration>,
    pub(crate) held: Option<Duration>,
    pub(crate) left: Option<Duration>,
    pub(crate) is_late: bool,
    pub(crate) grants_a_second: Option<f64>,
    pub(crate) mode: Option<ModeView>,
    pub(crate) fence: Option<u64>,
    pub(crate) who: String,
    /// The time since it was looked at.
    pub(crate) ago: Option<Duration>,
}

/// One resource in full.
pub(crate) struct Detail<'a> {
    pub(crate) name: &'a ResourceName,
    /// The last look, with the time since it; `None` before the first.
    pub(crate) look: Option<(Duration, &'a Look)>,
    /// The holders that looks have shown, the latest first.
    pub(crate) holds: Vec<&'a Stay>,
    /// One cell for each second up to now.
    pub(crate) timeline: Vec<Option<Found>>,
    /// The first line that is shown.
    pub(crate) scroll: usize,
}

impl State {
    /// Returns the screen as it is to be at this moment. `cells` is the length of a timeline.
    pub(crate) fn screen(&self, now: Duration, cells: usize) -> Screen<'_> {
        let (rows, first) = self.table.window();
        let row = |name| self.resources.get_key_value(name).map(|(name, known)| self.row(name, known, now));
        Screen {
            head: self.head(now),
            ages: self.trend.ages().iter().copied().collect(),
            now,
            rows: rows.iter().filter_map(row).collect(),
            first,
            of: self.table.len(),
            order: self.table.order,
            filter: &self.table.filter,
            detail: self.open.as_ref().and_then(|(name, scroll)| self.detail(name, *scroll, now, cells)),
            overlay: self.overlay(),
            told: self.told.as_ref().filter(|told| told.at + TOLD_FOR > now),
            revoking: self.revoking.running(now).collect(),
            trouble: self.trouble(),
        }
    }

    fn head(&self, now: Duration) -> Head<'_> {
        let contended = || self.resources.values().filter(|resource| resource.contended);
        let since = |(at, walked): (Duration, Walked)| (now.saturating_sub(at), walked);
        Head {
            place: &self.place,
            every: self.every,
            up: now,
            sampled: self.sampled.map(|at| now.saturating_sub(at)),
            names: self.names.map(since),
            contended: self.contended.map(since),
            waiting: contended().filter_map(Resource::waiting).sum(),
            not_looked: contended().filter(|resource| resource.waiting().is_none()).count(),
            late: self.resources.values().map(|resource| resource.late()).sum(),
            near_misses: self.near_misses,
            ran_out: self.ran_out,
            grants_a_second: self.trend.grants_a_second(now),
            server: self.trend.server(),
            has_no_server_load: self.has_no_server_load,
        }
    }

    fn row<'a>(&self, name: &'a ResourceName, resource: &'a Resource, now: Duration) -> Row<'a> {
        let holders = resource.holders();
        let first = holders.first();
        let others = resource.look.as_ref().map_or(0, |look| look.seen.total.saturating_sub(1));
        let who = first.map(|holder| match (holder.is_holding(), others) {
            (false, _) => format!("(closed) {}", holder.who.in_short()),
            (true, 0) => holder.who.in_short(),
            (true, others) => format!("+{others} {}", holder.who.in_short()),
        });
        Row {
            name,
            is_selected: self.table.selected() == Some(name),
            waiting: resource.waiting(),
            oldest: resource.oldest(),
            held: first.and_then(|holder| holder.age),
            left: resource.left(),
            is_late: resource.late() > 0,
            grants_a_second: resource.grants_a_second(now),
            mode: first.map(|holder| holder.who.mode),
            fence: holders.iter().filter_map(|holder| holder.fence).max(),
            who: who
                .unwrap_or_else(|| if resource.look.is_some() { "(free)".to_owned() } else { String::new() }),
            ago: resource.looked().map(|at| now.saturating_sub(at)),
        }
    }

    fn detail<'a>(
        &'a self,
        name: &'a ResourceName,
        scroll: usize,
        now: Duration,
        cells: usize,
    ) -> Option<Detail<'a>> {
        const CELL: Duration = Duration::from_secs(1);
        let resource = self.resources.get(name)?;
        Some(Detail {
            name,
            look: resource.look.as_ref().map(|look| (now.saturating_sub(look.told()), look)),
            holds: resource.history.holds().rev().collect(),
            timeline: resource.timeline(now, CELL.max(self.every), cells),
            scroll,
        })
    }

    fn trouble(&self) -> Option<&str> {
        let Trouble { looks, walk, names, record } = &self.trouble;
        [looks, walk, names, record].into_iter().find_map(Option::as_deref)
    }

    fn overlay(&self) -> Overlay<'_> {
        match (self.focus, &self.revoking.draft) {
            (Focus::Help, _) => Overlay::Help,
            (Focus::Filter, _) => Overlay::Filter,
            (Focus::Grace, Some(draft)) => Overlay::Grace(draft),
            (Focus::Question, Some(draft)) => Overlay::Confirm(draft),
            (Focus::Question, None) => Overlay::Quit,
            (Focus::Table | Focus::Open | Focus::Grace, _) => Overlay::Nothing,
        }
    }
}

/// The time for which a line about what happened stays.
const TOLD_FOR: Duration = Duration::from_secs(30);
