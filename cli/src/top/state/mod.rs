//! The state of the view. Pure: reports and actions in, a [`Screen`] and effects out. It is told the time, and every part of
//! it has a bound.

mod act;
mod plan;
mod resource;
mod revoking;
mod screen;
mod table;
mod trend;

use std::{collections::BTreeMap, time::Duration};

use leasehold::ResourceName;
use leasehold_console::view::ResourceView;

pub(crate) use self::{
    act::Effect,
    plan::told_each,
    resource::Found,
    revoking::Draft,
    screen::{Detail, Head, Overlay, Row, Screen, Walked},
    trend::Ages,
};
use self::{resource::Resource, revoking::Revoking, table::Table, trend::Trend};
use super::{
    keys::Focus,
    seen::{Missing, Report, Walk},
};

/// A line about what happened last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) is_bad: bool,
    at: Duration,
}

/// What the store told in place of its last answer to each question.
#[derive(Debug, Default)]
struct Trouble {
    looks: Option<String>,
    walk: Option<String>,
    names: Option<String>,
    /// Of one resource alone.
    record: Option<String>,
}

/// Everything that the view knows.
#[derive(Debug)]
pub(crate) struct State {
    place: String,
    every: Duration,
    now: Duration,
    resources: BTreeMap<ResourceName, Resource>,
    table: Table,
    trend: Trend,
    near_misses: u64,
    ran_out: u64,
    revoking: Revoking,
    focus: Focus,
    /// The resource that is open, and the first line of it on the screen.
    open: Option<(ResourceName, usize)>,
    /// What the walks over the keys have found, and when.
    names: Option<(Duration, Walked)>,
    contended: Option<(Duration, Walked)>,
    /// True if this kind of store cannot tell the work of its server.
    has_no_server_load: bool,
    told: Option<Told>,
    trouble: Trouble,
    /// The moment of the last sample.
    sampled: Option<Duration>,
    /// True if somebody was asked whether to quit while a revoke runs.
    asked_to_quit: bool,
}

impl State {
    /// Creates the state of a view of the locks at this place, which is sampled so often.
    pub(crate) fn new(place: String, every: Duration) -> Self {
        Self {
            place,
            every,
            now: Duration::ZERO,
            resources: BTreeMap::new(),
            table: Table::new(),
            trend: Trend::default(),
            near_misses: 0,
            ran_out: 0,
            revoking: Revoking::default(),
            focus: Focus::Table,
            open: None,
            names: None,
            contended: None,
            has_no_server_load: false,
            told: None,
            trouble: Trouble::default(),
            sampled: None,
            asked_to_quit: false,
        }
    }

    /// Takes a report that came at this moment, counted from the start of the view.
    pub(crate) fn take(&mut self, report: Report, now: Duration) {
        self.now = now;
        match report {
            Report::Contended(Ok(walk)) => {
                self.trouble.walk = None;
                self.contended = Some((now, Walked::of(&walk)));
                // A look follows, after which the table is arranged.
                self.mark(walk, |resource, found| resource.contended = found);
            }
            Report::Names(Ok(walk)) => {
                self.trouble.names = None;
                self.names = Some((now, Walked::of(&walk)));
                self.mark(walk, |resource, found| resource.listed = found);
                self.arrange();
            }
            Report::Looks(looks, missing) => self.look(looks, missing),
            Report::Server(Ok(Some(work))) => self.trend.worked(work, now),
            Report::Server(Ok(None)) => self.has_no_server_load = true,
            Report::Contended(Err(error)) => self.trouble.walk = Some(error),
            Report::Names(Err(error)) => self.trouble.names = Some(error),
            // The figures of the server stay as they were; whatever it is, the next look meets it too.
            Report::Server(Err(_)) => {}
            Report::Revoked(resource, outcome) => {
                self.revoking.end(&resource);
                let is_bad = outcome.is_err();
                let text = outcome.unwrap_or_else(|error| error);
                self.tell(format!("revoke of {resource}: {text}"), is_bad);
            }
        }
    }

    /// Returns the resources that the next sample asks about.
    pub(crate) fn plan(&self) -> Vec<ResourceName> {
        let open = self.open.iter().map(|(resource, _)| resource.clone());
        let (rows, _) = self.table.window();
        let opened = self.open.as_ref().map(|(resource, _)| resource);
        let rows = rows.iter().filter(|row| Some(*row) != opened).cloned();
        plan::plan(&self.resources, &open.chain(rows).collect::<Vec<_>>())
    }

    /// Returns the resource that is open, about which more is asked than about others.
    pub(crate) fn opened(&self) -> Option<&ResourceName> {
        self.open.as_ref().map(|(resource, _)| resource)
    }

    pub(crate) const fn focus(&self) -> Focus {
        self.focus
    }

    /// Sets the number of rows that the screen has room for.
    pub(crate) fn resize(&mut self, rows: usize) {
        self.table.resize(rows);
    }

    fn mark(&mut self, walk: Walk, mark: impl Fn(&mut Resource, bool)) {
        // What an incomplete walk has not found may be there. If it is but a name, it is forgotten all the same, or the names of
        // a store that has very many would gather.
        for resource in self.resources.values_mut().filter(|known| walk.complete || known.look.is_none()) {
            mark(resource, false);
        }
        for name in walk.names {
            mark(self.resources.entry(name).or_insert_with_key(Resource::new), true);
        }
    }

    fn look(&mut self, looks: Vec<(ResourceName, ResourceView)>, missing: Option<Missing>) {
        let mut grants = 0;
        self.trend.measure(looks.iter().map(|(_, view)| view), self.now);
        for (name, view) in looks {
            let resource = self.resources.entry(name).or_insert_with_key(Resource::new);
            let new = resource.take(view, self.now);
            grants += new.grants;
            self.near_misses += new.near_misses;
            self.ran_out += new.ran_out;
        }
        self.trend.granted(grants, self.now);
        (self.trouble.looks, self.trouble.record) = match missing {
            Some(Missing::Answer(why)) => (Some(why), None),
            Some(Missing::Record(why)) => (None, Some(why)),
            None => (None, None),
        };
        if self.trouble.looks.is_none() {
            self.sampled = Some(self.now);
        }
        self.arrange();
    }

    /// Removes resources that are not worth a row any more, and arranges the others. One that is open stays.
    fn arrange(&mut self) {
        let (now, open) = (self.now, self.open.as_ref().map(|(resource, _)| resource));
        self.resources.retain(|name, resource| Some(name) == open || !resource.is_over(now));
        self.table.arrange(&self.resources);
    }

    fn tell(&mut self, text: String, is_bad: bool) {
        self.told = Some(Told { text, is_bad, at: self.now });
    }
}
