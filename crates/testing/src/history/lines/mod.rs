//! The written form of a history, which a checker of any kind can read: JSON, one line for each call and one for each answer.
//!
//! Each line has `at`, `process`, `id`, `resource` and `event`. `at` is a moment in nanoseconds, by a clock that all processes of
//! the history share: the machine's monotonic clock (`CLOCK_BOOTTIME` on Linux), or that of the test, where time is moved by hand.
//! `process` is the process that called. Its calls may overlap. `id` is a number of the lease or of the refused request, and all lines
//! about it have the same one.
//!
//! | `event` | Is | Has besides |
//! |---|---|---|
//! | `acquire` | a call | `mode` (`"exclusive"`, `"shared"` or `{"permits":{"count":1,"of":3}}`), `owner` or null, `ttl` in ns |
//! | `granted` | its answer: held from here on | `fence` or null, `reentered` (true for one more hold of the owner) |
//! | `late` | its answer: granted, but over when the answer came, so nobody ever relied on it | as `granted` |
//! | `refused` | its answer: not held | nothing |
//! | `end` | a call: from here on the lease may be over | nothing |
//! | `ended` | its answer: the holder has stopped | `why`: `"released"`, `"over"` (its validity ended, and no loss was told), or `"lost"` with a `reason` |
//! | `complete` | no call: the history has every request to its resources, and nothing but these keeps one closed (see below) | nothing |
//! | `may_forget` | no call: the store may forget leases from `at` until `until`, as an asynchronous replica does | `until` |
//!
//! A lease is held from `granted` until `end`: a renewal needs no line, for it only puts the end off. A request without an answer
//! may have had its effect or not. A lease without an `end` has no `ended` and is held until the last line; one that is `late` has
//! neither. Lines are in the order of their moments, with calls first. A line has all fields of its event, and no others.
//!
//! A history that is `complete` has the reason of each `refused` in it, for a store refuses nothing that is free. Between the call and the
//! answer something else was in the way: a lease that conflicts, from its `acquire` on and until the store cannot have it any more; or
//! another request, also one that waits, for it may be the first in a queue; or one without an answer, which the store may have
//! granted. Other histories do not have all requests, or have holds that end with a cooldown, so their refusals cannot be judged.
//!
//! After `ended` the store may still have the lease: a release is on its way, or a TTL runs. That matters only to the same owner, who
//! may re-enter it. So a checker that judges re-entries lets a hold be re-entered until two TTLs after its `ended`.

mod call;
mod kept;
mod line;
mod request;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt};

use leasehold::{Fence, env::Moment};

use self::{
    call::{Call, Whole},
    line::{About, Event, Line, Why, asked, moment, nanos},
};
pub use self::{kept::is_wanted, request::Request};
use super::Held;

/// A history in its written form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    /// The leases, each with the number of the process that had it.
    pub leases: Vec<(u64, Held)>,
    /// The requests that were refused, each with the number of its process.
    pub refused: Vec<(u64, Request)>,
    /// The requests without an answer, or with one of which nobody knows what the store did, each with the number of its process.
    pub unanswered: Vec<(u64, Request)>,
    /// True if this is every request to its resources, and nothing else keeps one closed.
    pub complete: bool,
    /// The time in which the store may forget leases, if there was one.
    pub may_forget: Option<(Moment, Moment)>,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Its number, from 1.
    pub line: usize,
    /// The reason.
    pub what: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Unreadable {}

impl Transcript {
    /// Writes leases of one process, or of several, each with the number of its own.
    pub fn of<'a>(leases: impl IntoIterator<Item = (u64, &'a Held)>) -> Self {
        let leases = leases.into_iter().map(|(process, held)| (process, held.clone()));
        Self { leases: leases.collect(), ..Self::default() }
    }

    /// Returns the leases that must have been those of a lock: all but those around the time in which the store may forget.
    pub fn that_must_hold(&self) -> impl Iterator<Item = &Held> {
        let is_around = |held: &Held| {
            self.may_forget.is_some_and(|(from, until)| held.ended() > from && held.asked < until)
        };
        self.leases.iter().map(|(_, held)| held).filter(move |held| !is_around(held))
    }

    /// Returns its lines.
    pub fn to_lines(&self) -> String {
        let mut lines = Vec::new();
        if let Some((at, until)) = self.may_forget {
            let nothing = About { process: 0, id: 0, resource: String::new() };
            lines.push(nothing.line(at, Event::MayForget { until: nanos(until) }));
        }
        if self.complete {
            let nothing = About { process: 0, id: 0, resource: String::new() };
            lines.push(nothing.line(moment(0), Event::Complete));
        }
        for (id, (process, held)) in self.leases.iter().enumerate() {
            let about = About { process: *process, id, resource: held.resource.encoded() };
            lines.extend(lines_of_lease(&about, held));
        }
        let refused = self.refused.iter().map(|request| (request, true));
        let requests = refused.chain(self.unanswered.iter().map(|request| (request, false)));
        for (id, ((process, request), is_refused)) in (self.leases.len()..).zip(requests) {
            let about = About { process: *process, id, resource: request.resource.encoded() };
            let asked = asked(request.mode, request.owner.as_ref(), request.ttl);
            lines.push(about.line(request.asked, asked));
            lines.extend(is_refused.then(|| about.line(request.answered, Event::Refused)));
        }
        lines.sort_by_key(Line::place);
        let text = |line| serde_json::to_string(&line).expect("a line of plain values") + "\n";
        lines.into_iter().map(text).collect()
    }

    /// Reads lines, in any order.
    ///
    /// # Errors
    ///
    /// The first line that is none, or that does not fit to the others of its number.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let (mut read, mut calls, mut last) = (Self::default(), BTreeMap::new(), 0);
        for (number, text) in (1..).zip(text.lines()) {
            let unreadable = |what: String| Unreadable { line: number, what };
            let line = Line::read(text).map_err(unreadable)?;
            last = last.max(line.at);
            if let Event::MayForget { until } = line.event {
                read.may_forget = Some((moment(line.at), moment(until)));
                continue;
            }
            if let Event::Complete = line.event {
                read.complete = true;
                continue;
            }
            let call: &mut Call = calls.entry(line.about.id).or_default();
            call.line.get_or_insert(number);
            if !call.takes(line) {
                return Err(unreadable("the number of another call, or told twice".to_owned()));
            }
        }
        for call in calls.into_values() {
            let (process, number) = (call.about.process, call.line.unwrap_or_default());
            match call.whole(last).map_err(|what| Unreadable { line: number, what })? {
                Whole::Lease(held) => read.leases.push((process, held)),
                Whole::Refused(request) => read.refused.push((process, request)),
                Whole::Unanswered(request) => read.unanswered.push((process, request)),
            }
        }
        Ok(read)
    }
}

fn lines_of_lease(about: &About, held: &Held) -> Vec<Line> {
    let asked = about.line(held.asked, asked(held.mode, held.owner.as_ref(), held.ttl));
    let (fence, reentered) = (held.fence.map(Fence::get), held.reentered);
    if held.ended() <= held.granted {
        return vec![asked, about.line(held.granted, Event::Late { fence, reentered })];
    }
    let why = match held.lost {
        Some(_) => Why::Lost,
        None if held.stopped > held.valid_until => Why::Over,
        None => Why::Released,
    };
    let reason = held.lost.map(|lost| lost.as_str().to_owned());
    let granted = about.line(held.granted, Event::Granted { fence, reentered });
    let ended = about.line(held.stopped, Event::Ended { why, reason });
    vec![asked, granted, about.line(held.ended(), Event::End), ended]
}
