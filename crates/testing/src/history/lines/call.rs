//! A lease, or a request without one, as its lines tell it.

use std::time::Duration;

use leasehold::{Fence, InvalidValue, Mode, Owner, ResourceName};

use super::{
    line::{About, Event, Line, Share, Why, moment},
    request::Request,
};
use crate::history::{Held, held};

/// All lines of one number.
#[derive(Default)]
pub(super) struct Call {
    /// The first of them.
    pub(super) line: Option<usize>,
    pub(super) about: About,
    acquire: Option<(u64, Event)>,
    answer: Option<(u64, Event)>,
    end: Option<u64>,
    ended: Option<(u64, Why, Option<String>)>,
}

pub(super) enum Whole {
    Lease(Held),
    Refused(Request),
    Unanswered(Request),
}

impl Call {
    /// Takes one more line. Returns false if it has one like it, or this is of another resource or process.
    pub(super) fn takes(&mut self, line: Line) -> bool {
        let is_first = self.acquire.is_none() && self.answer.is_none() && self.end.is_none();
        if is_first && self.ended.is_none() {
            self.about = line.about;
        } else if self.about != line.about {
            return false;
        }
        let at = line.at;
        match line.event {
            event @ Event::Acquire { .. } => self.acquire.replace((at, event)).is_none(),
            Event::End => self.end.replace(at).is_none(),
            Event::Ended { why, reason } => self.ended.replace((at, why, reason)).is_none(),
            answer => self.answer.replace((at, answer)).is_none(),
        }
    }

    /// Returns what became of it, in a history that ends at a moment.
    pub(super) fn whole(self, last: u64) -> Result<Whole, String> {
        let wrong = |error: InvalidValue| error.to_string();
        let Some((asked, Event::Acquire { mode, owner, ttl })) = self.acquire else {
            return Err("without an `acquire`".to_owned());
        };
        let mode = match mode {
            Share::Exclusive => Mode::Exclusive,
            Share::Shared => Mode::Shared,
            Share::Permits { count, of } => Mode::permits(count, of).map_err(wrong)?,
        };
        let owner = owner.map(|owner| Owner::decode(&owner)).transpose().map_err(wrong)?;
        let (resource, ttl) =
            (ResourceName::decode(&self.about.resource).map_err(wrong)?, Duration::from_nanos(ttl));
        let Some((answered, answer)) = self.answer else {
            let is_over = self.end.is_some() || self.ended.is_some();
            if is_over {
                return Err("an end of what was not granted".to_owned());
            }
            let (asked, answered) = (moment(asked), moment(last));
            return Ok(Whole::Unanswered(Request { resource, mode, owner, ttl, asked, answered }));
        };
        if self.ended.is_some() && self.end.is_none() {
            return Err("an `ended` without an `end`".to_owned());
        }
        if self.end.is_some() && !matches!(answer, Event::Granted { .. }) {
            return Err("an end of what was not held".to_owned());
        }
        let (asked, granted) = (moment(asked), moment(answered));
        let (fence, reentered, end) = match answer {
            Event::Granted { fence, reentered } => {
                (fence, reentered, self.end.unwrap_or(last.saturating_add(1)))
            }
            Event::Late { fence, reentered } => (fence, reentered, answered),
            _ => {
                let answered = granted;
                return Ok(Whole::Refused(Request { resource, mode, owner, ttl, asked, answered }));
            }
        };
        let (stopped, why, reason) = self.ended.unwrap_or((end, Why::Over, None));
        let lost = match reason {
            Some(reason) if why == Why::Lost => Some(held::reason(&reason).map_err(wrong)?),
            None if why != Why::Lost => None,
            _ => return Err("a loss has a reason, and nothing else has one".to_owned()),
        };
        let fence = fence.map(Fence::new);
        let (valid_until, stopped) = (moment(end), moment(stopped));
        let held =
            Held { resource, mode, owner, reentered, fence, ttl, asked, granted, valid_until, stopped, lost };
        let in_order = asked <= granted && granted <= valid_until && valid_until <= stopped;
        in_order.then_some(Whole::Lease(held)).ok_or_else(|| "an answer before its call".to_owned())
    }
}
