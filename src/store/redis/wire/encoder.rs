//! The encoding of each verb as a call of its script: keys and arguments in the order of the script's header.

use std::{sync::Arc, time::Duration};

use redis::Script;

use crate::{
    core::{Fence, Mode, ResourceName},
    store::{
        Acquisition, Hold, QueueTicket, Recovered, TOLD_AT_MOST, ToHolders,
        redis::{
            net::{notices, options::Layout},
            wire::{
                keys, plain,
                record::{self, MetadataCache, millis, positive_millis},
                script_call::ScriptCall,
                scripts,
            },
        },
    },
};

/// The counter of fences.
enum Counter {
    /// One counter for all resources, whose key begins like this.
    Server(String),
    /// One counter for each slot.
    Slot,
}

/// The value in place of a retention time for a counter that has no end.
const FOR_EVER: u64 = 0;

/// The encoder of calls.
pub(crate) struct Encoder {
    layout: Layout,
    prefix: String,
    /// The beginning of the key of the fence counter; on a cluster each slot has one.
    fence: Counter,
    fence_retention: u64,
}

impl Encoder {
    pub(crate) fn new(layout: Layout, prefix: String, fence_retention: Duration) -> Self {
        let fence = Counter::Server(keys::fence(&prefix, None));
        Self { layout, fence, prefix, fence_retention: millis(fence_retention) }
    }

    /// Returns the same encoder for a cluster. All keys of a call are in one slot there, so all its resources must be too.
    pub(crate) fn on_slots(self) -> Self {
        Self { fence: Counter::Slot, ..self }
    }

    /// Returns the slot of a resource, on a cluster.
    pub(crate) fn slot(&self, resource: &ResourceName) -> Option<u16> {
        match self.fence {
            Counter::Server(_) => None,
            Counter::Slot => Some(slot(self.layout, &self.prefix, resource)),
        }
    }

    pub(crate) const fn layout(&self) -> Layout {
        self.layout
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn acquire(&self, asked: &[Arc<Acquisition>]) -> ScriptCall {
        self.acquiring(self.either(&scripts::ACQUIRE, &scripts::PLAIN_ACQUIRE), asked, None)
    }

    /// Encodes acquisitions of which the first has at least this fence, in the full layout. The counter has no end: the
    /// clocks of a quorum's nodes may be further apart than a retention time, and it is only one key a server.
    pub(crate) fn acquire_from(&self, asked: &[Arc<Acquisition>], first: Fence) -> ScriptCall {
        self.acquiring(&scripts::ACQUIRE, asked, Some(first))
    }

    pub(crate) fn acquire_all(&self, asked: &[Arc<Acquisition>]) -> ScriptCall {
        self.acquiring(&scripts::ACQUIRE_ALL, asked, None)
    }

    fn acquiring(
        &self,
        script: &'static Script,
        asked: &[Arc<Acquisition>],
        first: Option<Fence>,
    ) -> ScriptCall {
        let mut call = self.granting(script, asked.iter().map(|asked| &asked.hold.resource));
        let mut metadata = MetadataCache::default();
        let mut before = None;
        for asked in asked {
            self.acquisition(&mut call, asked, before, &mut metadata);
            before = Some(&**asked);
        }
        match first {
            Some(first) => {
                call.arg(first.get()).arg(FOR_EVER);
                call
            }
            None => self.granted(call),
        }
    }

    pub(crate) fn renew(&self, renewals: &[(&Hold, Duration)]) -> ScriptCall {
        let script = self.either(&scripts::RENEW, &scripts::PLAIN_RENEW);
        let mut call = self.call(script, renewals.iter().map(|(hold, _)| &hold.resource), false);
        for (hold, ttl) in renewals {
            call.token(hold.token, if self.is_plain() { "" } else { "-" }).arg(positive_millis(*ttl));
        }
        call
    }

    pub(crate) fn release(&self, releases: &[(&Hold, Duration)]) -> ScriptCall {
        let script = self.either(&scripts::RELEASE, &scripts::PLAIN_RELEASE);
        let mut call = self.granting(script, releases.iter().map(|(hold, _)| &hold.resource));
        for (hold, cooldown) in releases {
            if self.is_plain() {
                call.token(hold.token, "").arg(millis(*cooldown));
                continue;
            }
            let behind = if cooldown.is_zero() { "-" } else { "~" };
            call.token(hold.token, behind).owner(hold.owner.as_ref()).arg(millis(*cooldown));
        }
        self.granted(call)
    }

    pub(crate) fn raise(&self, raises: &[(&Hold, Fence)]) -> ScriptCall {
        let mut call = self.granting(&scripts::RAISE, raises.iter().map(|(hold, _)| &hold.resource));
        for (hold, fence) in raises {
            call.token(hold.token, "").arg(fence.get());
        }
        call.arg(FOR_EVER);
        call
    }

    /// Encodes the question for a report, in the full layout and on one server.
    pub(crate) fn report(&self) -> ScriptCall {
        self.call(&scripts::REPORT, [], true)
    }

    /// Encodes a lesson, in the full layout and on one server.
    pub(crate) fn teach(&self, lesson: &Recovered) -> ScriptCall {
        let Recovered { incarnation, durable, fence } = lesson;
        let mut call = self.call(&scripts::TEACH, [], true);
        call.arg(fence.get()).arg(incarnation).arg(u8::from(*durable));
        call
    }

    pub(crate) fn give_way(&self, asked: &Acquisition) -> ScriptCall {
        let mut call = self.granting(&scripts::GIVE_WAY, [&asked.hold.resource]);
        self.acquisition(&mut call, asked, None, &mut MetadataCache::default());
        call.arg(FOR_EVER);
        call
    }

    pub(crate) fn hand_off(&self, from: &Hold, to: &Acquisition, overtake: bool) -> ScriptCall {
        let mut call = self.granting(&scripts::HAND_OFF, [&from.resource]);
        self.acquisition(&mut call, to, None, &mut MetadataCache::default());
        call.token(from.token, "").owner(from.owner.as_ref()).arg(u8::from(overtake));
        self.granted(call)
    }

    pub(crate) fn is_held(&self, hold: &Hold) -> ScriptCall {
        let script = self.either(&scripts::IS_HELD, &scripts::PLAIN_IS_HELD);
        let mut call = self.call(script, [&hold.resource], true);
        call.token(hold.token, "");
        call
    }

    pub(crate) fn inspect(&self, resource: &ResourceName, limit: usize) -> ScriptCall {
        let script = self.either(&scripts::INSPECT, &scripts::PLAIN_INSPECT);
        let mut call = self.call(script, [resource], true);
        call.arg(limit.min(TOLD_AT_MOST));
        call
    }

    pub(crate) fn force_release(&self, resource: &ResourceName) -> ScriptCall {
        let script = self.either(&scripts::FORCE_RELEASE, &scripts::PLAIN_FORCE_RELEASE);
        let mut call = self.granting(script, [resource]);
        if !self.is_plain() {
            call.arg(keys::channel_of_all(&self.prefix));
        }
        self.granted(call)
    }

    /// Encodes a notice to holders, in the full layout.
    pub(crate) fn notify_holders(&self, to: &ToHolders) -> ScriptCall {
        let (word, behind) = to.notice.as_ref().map(notices::written).unwrap_or_default();
        let mut call = self.call(&scripts::NOTIFY_HOLDERS, [&to.resource], true);
        call.arg(keys::channel_of_all(&self.prefix)).arg(word).arg(behind);
        for token in to.among.iter().flatten() {
            call.token(*token, "");
        }
        call
    }

    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.layout, Layout::Plain)
    }

    /// Returns the script of the layout.
    fn either(&self, full: &'static Script, plain: &'static Script) -> &'static Script {
        if self.is_plain() { plain } else { full }
    }

    /// Begins a call that may grant. It ends with [`granted`](Self::granted).
    fn granting<'a>(&self, script: &'static Script, resources: impl Resources<'a>) -> ScriptCall {
        self.call(script, resources, true)
    }

    fn granted(&self, mut call: ScriptCall) -> ScriptCall {
        if !self.is_plain() {
            call.arg(self.fence_retention);
        }
        call
    }

    /// Begins a call with the keys of its resources. A call that needs all of their keys on one server (`whole`) ends
    /// its keys with that of the fence counter, which says so. In the plain layout a resource is a single key.
    fn call<'a>(&self, script: &'static Script, resources: impl Resources<'a>, whole: bool) -> ScriptCall {
        let whole = whole && !self.is_plain();
        let mut resources = resources.into_iter().peekable();
        let slot = resources.peek().and_then(|resource| self.slot(resource));
        let mut call = ScriptCall::new(script, slot, resources.len() + usize::from(whole));
        for resource in resources {
            match self.layout {
                Layout::Full => call.text(keys::main(&self.prefix, resource)),
                Layout::Plain => call.arg(plain::key(&self.prefix, resource)),
            };
        }
        if whole {
            match &self.fence {
                Counter::Server(fence) => call.arg(fence),
                Counter::Slot => call.arg(keys::fence(&self.prefix, slot)),
            };
        }
        call.echo();
        call
    }

    /// Adds the arguments of one acquisition: four, in the plain layout two. What it has in common with the one `before` is
    /// not said again.
    fn acquisition<'a>(
        &self,
        call: &mut ScriptCall,
        asked: &'a Acquisition,
        before: Option<&Acquisition>,
        metadata: &mut MetadataCache<'a>,
    ) {
        let &Acquisition { ref hold, mode, reentrant, ttl, lock_delay, ref ticket, .. } = asked;
        if self.is_plain() {
            call.token(hold.token, "").arg(positive_millis(ttl));
            return;
        }
        let mark = match (mode, lock_delay.is_zero()) {
            (Mode::Exclusive, true) => "-",
            (Mode::Exclusive, false) => "+",
            _ => "",
        };
        call.token(hold.token, mark);
        if before.is_some_and(|before| differs_in_token(before, asked)) {
            call.arg("").arg("").arg("");
            return;
        }
        call.arg(positive_millis(ttl) + millis(lock_delay));
        call.text(format_args!("{}{}", record::terms(asked), metadata.text_of(&asked.metadata)));
        let reentrant = u8::from(reentrant);
        let Some(QueueTicket { inbox, ttl, grant_window, max_waiters, place }) = ticket else {
            call.arg(reentrant);
            return;
        };
        let (window, ticket_ttl) = (positive_millis(*grant_window), positive_millis(*ttl));
        let channel = keys::channel(&self.prefix, inbox);
        let terms = format_args!("{reentrant} {channel} {window} {ticket_ttl} {max_waiters}");
        match place {
            None => call.text(terms),
            Some(place) => call.text(format_args!("{terms} {place}")),
        };
    }
}

/// Returns true if two acquisitions have all in common but resource and token.
fn differs_in_token(one: &Acquisition, other: &Acquisition) -> bool {
    one.mode == other.mode
        && one.reentrant == other.reentrant
        && one.ttl == other.ttl
        && one.lock_delay == other.lock_delay
        && one.ticket == other.ticket
        && one.hold.owner == other.hold.owner
        && Arc::ptr_eq(&one.metadata, &other.metadata)
}

/// Returns the slot of a cluster in which a resource is kept.
pub fn slot(layout: Layout, prefix: &str, resource: &ResourceName) -> u16 {
    match layout {
        Layout::Full => keys::slot(resource),
        Layout::Plain => plain::slot(prefix, resource),
    }
}

/// The resources of the requests in a call.
trait Resources<'a>: IntoIterator<Item = &'a ResourceName, IntoIter: ExactSizeIterator> {}

impl<'a, T: IntoIterator<Item = &'a ResourceName, IntoIter: ExactSizeIterator>> Resources<'a> for T {}

#[cfg(test)]
mod tests {
    use redis::Arg;

    use super::*;
    use crate::{core::Token, store::Metadata};

    fn acquisition(number: u128, ttl: u64, metadata: &Arc<Metadata>) -> Arc<Acquisition> {
        let resource = ResourceName::new(format!("r{number}")).unwrap();
        Arc::new(Acquisition {
            hold: Hold { resource, token: Token::from_bits(number), owner: None },
            mode: Mode::Exclusive,
            reentrant: false,
            ttl: Duration::from_secs(ttl),
            lock_delay: Duration::ZERO,
            metadata: Arc::clone(metadata),
            ticket: None,
        })
    }

    #[test]
    fn what_an_acquisition_has_in_common_with_the_one_before_is_not_sent_again() {
        let (here, there) = (Arc::default(), Arc::default());
        let asked = [(1, 1, &here), (2, 1, &here), (3, 2, &here), (4, 2, &there), (5, 2, &there)];
        let asked = asked.map(|(number, ttl, metadata)| acquisition(number, ttl, metadata));
        let call = Encoder::new(Layout::Full, "p".to_owned(), Duration::from_secs(1)).acquire(&asked);
        let terms = call.command().args_iter().skip(10).map(|arg| match arg {
            Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => panic!("a cursor"),
        });
        let terms: Vec<_> = terms.collect();
        let ttls: Vec<_> = terms.chunks(4).map(|one| one.get(1).map_or("", |ttl| ttl)).collect();
        assert_eq!(ttls, ["1000", "", "2000", "2000", "", ""], "{terms:?}");
        for one in terms.chunks(4).take(5) {
            assert_eq!(one[1].is_empty(), one[2].is_empty() && one[3].is_empty(), "{one:?}");
        }
    }
}
