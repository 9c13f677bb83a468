//! The encoding of each verb as a call of its script: keys and arguments in the order of the script's header.

use std::{iter, num::NonZeroU32, sync::Arc, time::Duration};

use parking_lot::Mutex;
use redis::{Cmd, Pipeline, Script};

use crate::{
    core::{Fence, Mode, ResourceName, Token},
    store::{
        Acquisition, Hold, REGISTER_KEPT_FOR, Recovered, RegisterWrite, Renewal, TOLD_AT_MOST, ToHolders,
        redis::{
            net::{call::Call, notices, options::Layout},
            wire::{
                keys,
                record::{self, Encoded, differs_in_token, millis, positive_millis},
                scripts,
            },
        },
    },
};

/// The value in place of a retention time for a counter that has no end.
const FOR_EVER: u64 = 0;

/// The interval in which reads write the end of a register anew.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) struct Encoder {
    pub(crate) layout: Layout,
    pub(crate) prefix: String,
    /// The beginning of the key of the fence counter; `None` on a cluster, where each slot has one.
    fence: Option<String>,
    fence_retention: u64,
    /// The last acquisition, of which most have all in common but resource and token.
    last: Mutex<Option<Arc<Encoded>>>,
}

impl Encoder {
    /// Creates an encoder for one server, or for a cluster. All keys of a call are in one slot there, so all its resources
    /// must be too.
    pub(crate) fn new(layout: Layout, prefix: String, fence_retention: Duration, cluster: bool) -> Self {
        let fence = (!cluster).then(|| keys::fence(&prefix, None));
        Self { layout, fence, prefix, fence_retention: millis(fence_retention), last: Mutex::default() }
    }

    /// Returns the slot of a resource, on a cluster.
    pub(crate) fn slot(&self, resource: &ResourceName) -> Option<u16> {
        self.fence.is_none().then(|| keys::slot(self.layout, &self.prefix, resource))
    }

    /// Encodes acquisitions. With a `first`, the first has at least this fence, in the full layout. Then the counter has no
    /// end: the clocks of a quorum's nodes may be further apart than a retention time, and it is only one key a server.
    pub(crate) fn acquire(&self, asked: &[&Arc<Acquisition>], first: Option<Fence>) -> Call {
        let script = self.either(&scripts::ACQUIRE, &scripts::PLAIN_ACQUIRE);
        let call = self.acquiring(script, asked.iter().map(|asked| &***asked));
        self.granted_from(call, first)
    }

    /// Encodes thin acquisitions, on one server: see `thin.rs`. The server's time is about `time`, in µs. Also returns the beginning
    /// of the first value, which no other call writes.
    pub(crate) fn acquire_thin(&self, asked: &[Arc<Acquisition>], time: u64) -> (Pipeline, Vec<u8>) {
        const TICKETS: &str = ":p";
        let key = |asked: &Arc<Acquisition>| keys::of_resource(&self.prefix, &asked.hold.resource, TICKETS);
        let (keys, fences) = (asked.iter().map(key).collect::<Vec<_>>(), keys::counter(&self.prefix));
        let main = |at: usize| keys[at].strip_suffix(TICKETS.as_bytes()).unwrap_or_default();
        let began = record::time_of_grant(time);
        let value = |asked: &Acquisition, record: &[u8]| {
            [&asked.hold.token.digits()[..], &began[..], record].concat()
        };
        let mut commands = Pipeline::with_capacity(asked.len() + 3);
        command(&mut commands, "INCRBY", 64).arg(&fences).arg(asked.len());
        for (at, asked) in asked.iter().enumerate() {
            let Encoded { opens, record, .. } = &*self.encoded(asked);
            let set = command(&mut commands, "SET", 96 + keys[at].len() + record.len());
            set.arg(main(at)).arg(value(asked, record.as_bytes())).arg("NX").arg("PX").arg(*opens);
        }
        command(&mut commands, "EXISTS", 64 * asked.len()).arg(&keys);
        command(&mut commands, "MGET", 64 + keys[0].len()).arg(fences).arg(main(0));
        (commands, value(&asked[0], b""))
    }

    pub(crate) fn acquire_all(&self, asked: &[Arc<Acquisition>]) -> Call {
        self.granted(self.acquiring(&scripts::ACQUIRE_ALL, asked.iter().map(|asked| &**asked)))
    }

    fn acquiring<'a>(
        &self,
        script: &'static Script,
        asked: impl ExactSizeIterator<Item = &'a Acquisition> + Clone,
    ) -> Call {
        let mut call = self.call(script, asked.clone().map(|asked| &asked.hold.resource), true);
        let mut before = None;
        for asked in asked {
            self.acquisition(&mut call, asked, before);
            before = Some(asked);
        }
        call
    }

    /// Returns the main key of a resource.
    pub(crate) fn main(&self, resource: &ResourceName) -> Vec<u8> {
        match self.layout {
            Layout::Full => keys::of_resource(&self.prefix, resource, ""),
            Layout::Plain => keys::plain(&self.prefix, resource),
        }
    }

    /// Encodes renewals. If the keys are `watched`, they are read at the end.
    pub(crate) fn renew(&self, renewals: &[&Renewal<'_>], watched: bool) -> Call {
        let script = self.either(&scripts::RENEW, &scripts::PLAIN_RENEW);
        let mut call = self.call(script, renewals.iter().map(|it| &it.hold.resource), false);
        for Renewal { hold, ttl, fence, metadata } in renewals {
            call.token(hold.token, if self.is_plain() { "" } else { "-" }).arg(positive_millis(*ttl));
            match fence {
                _ if self.is_plain() => continue,
                Some(fence) => call.arg(fence.get()),
                None => call.parts([]),
            };
            call.arg(metadata.as_deref().map(record::json).unwrap_or_default());
        }
        if watched { call.with(1) } else { call }
    }

    pub(crate) fn release(&self, releases: &[&(&Hold, Duration)]) -> Call {
        let script = self.either(&scripts::RELEASE, &scripts::PLAIN_RELEASE);
        let mut call = self.call(script, releases.iter().map(|(hold, _)| &hold.resource), true);
        for (hold, cooldown) in releases {
            if self.is_plain() {
                call.token(hold.token, "");
            } else {
                let behind = if cooldown.is_zero() { "-" } else { "~" };
                call.token(hold.token, behind).owner(hold.owner.as_ref());
            }
            call.arg(millis(*cooldown));
        }
        self.granted(call)
    }

    pub(crate) fn raise(&self, raises: &[&(&Hold, Fence)]) -> Call {
        let mut call = self.call(&scripts::RAISE, raises.iter().map(|(hold, _)| &hold.resource), true);
        for (hold, fence) in raises {
            call.token(hold.token, "").arg(fence.get());
        }
        call.with(FOR_EVER)
    }

    /// Encodes the question for a report, in the full layout and on one server.
    pub(crate) fn report(&self) -> Call {
        self.call(&scripts::REPORT, [], true)
    }

    /// Encodes a lesson, in the full layout and on one server.
    pub(crate) fn teach(&self, lesson: &Recovered) -> Call {
        let Recovered { incarnation, durable, fence } = lesson;
        let mut call = self.call(&scripts::TEACH, [], true);
        call.arg(fence.get()).arg(incarnation).arg(u8::from(*durable));
        call
    }

    pub(crate) fn give_way(&self, asked: &Acquisition) -> Call {
        self.acquiring(&scripts::GIVE_WAY, iter::once(asked)).with(FOR_EVER)
    }

    /// Encodes a hand-off, with a `first` as that of acquisitions.
    pub(crate) fn hand_off(
        &self,
        from: &Hold,
        to: &Acquisition,
        overtake: bool,
        first: Option<Fence>,
    ) -> Call {
        let mut call = self.acquiring(&scripts::HAND_OFF, iter::once(to));
        call.token(from.token, "").owner(from.owner.as_ref()).arg(u8::from(overtake));
        self.granted_from(call, first)
    }

    pub(crate) fn is_held(&self, hold: &Hold) -> Call {
        let script = self.either(&scripts::IS_HELD, &scripts::PLAIN_IS_HELD);
        let mut call = self.call(script, [&hold.resource], true);
        call.token(hold.token, "");
        call
    }

    pub(crate) fn inspect(&self, resource: &ResourceName, limit: usize) -> Call {
        let script = self.either(&scripts::INSPECT, &scripts::PLAIN_INSPECT);
        self.call(script, [resource], true).with(limit.min(TOLD_AT_MOST))
    }

    pub(crate) fn force_release(&self, resource: &ResourceName) -> Call {
        let script = self.either(&scripts::FORCE_RELEASE, &scripts::PLAIN_FORCE_RELEASE);
        let mut call = self.call(script, [resource], true);
        if !self.is_plain() {
            call.arg(keys::channel_of_all(&self.prefix));
        }
        // A second try could take the resource from somebody who got it after the first.
        call.once = true;
        self.granted(call)
    }

    /// Encodes a number of permits that is set, in the full layout.
    pub(crate) fn set_capacity(&self, resource: &ResourceName, permits: Option<NonZeroU32>) -> Call {
        let permits = permits.map_or_else(String::new, |permits| permits.to_string());
        self.call(&scripts::CAPACITY, [resource], true).with(permits)
    }

    /// Encodes a notice to holders, in the full layout.
    pub(crate) fn notify_holders(&self, to: &ToHolders) -> Call {
        let (word, behind) = to.notice.as_ref().map(notices::written).unwrap_or_default();
        let mut call = self.call(&scripts::NOTIFY_HOLDERS, [&to.resource], true);
        call.arg(keys::channel_of_all(&self.prefix)).arg(word).arg(behind);
        for token in to.among.iter().flatten() {
            call.token(*token, "");
        }
        call
    }

    /// Encodes the question for a register: one key, the same in every layout, which follows its slot when that moves.
    pub(crate) fn register(&self, name: &ResourceName, write: Option<&RegisterWrite>) -> Call {
        let slot = self.slot(name).map(|_| keys::slot(Layout::Full, &self.prefix, name));
        let mut call = Call::of_script(&scripts::REGISTER, slot, 1);
        call.arg(keys::of_resource(&self.prefix, name, ":r")).echo();
        call.arg(millis(REGISTER_KEPT_FOR + DAY));
        match write {
            None => call.arg(""),
            Some(write) => {
                let expected = write.expected.map_or_else(String::new, Token::to_hex);
                call.token(write.revision, "").arg(expected);
                // Not by `millis`, which is for times that are short of the time since 1970.
                let not_before = u64::try_from(write.not_before.as_millis()).unwrap_or(u64::MAX);
                call.arg(not_before).arg(&*write.value)
            }
        };
        call
    }

    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.layout, Layout::Plain)
    }

    fn either(&self, full: &'static Script, plain: &'static Script) -> &'static Script {
        if self.is_plain() { plain } else { full }
    }

    fn granted_from(&self, call: Call, first: Option<Fence>) -> Call {
        match first {
            Some(first) => call.with(first.get()).with(FOR_EVER),
            None => self.granted(call),
        }
    }

    fn granted(&self, call: Call) -> Call {
        if self.is_plain() { call } else { call.with(self.fence_retention) }
    }

    /// Begins a call with the keys of its resources. A call that needs all of their keys on one server (`whole`) ends
    /// its keys with that of the fence counter, which says so. In the plain layout a resource is a single key.
    fn call<'a>(
        &self,
        script: &'static Script,
        resources: impl IntoIterator<Item = &'a ResourceName, IntoIter: ExactSizeIterator>,
        whole: bool,
    ) -> Call {
        let whole = whole && !self.is_plain();
        let mut resources = resources.into_iter().peekable();
        let slot = resources.peek().and_then(|resource| self.slot(resource));
        let mut call = Call::of_script(script, slot, resources.len() + usize::from(whole));
        for resource in resources {
            match self.layout {
                Layout::Full => call.parts([self.prefix.as_bytes(), b":{", &resource.encoded_bytes(), b"}"]),
                Layout::Plain => call.arg(keys::plain(&self.prefix, resource)),
            };
        }
        if whole {
            match &self.fence {
                Some(fence) => call.arg(fence),
                None => call.arg(keys::fence(&self.prefix, slot)),
            };
        }
        call.echo();
        call
    }

    /// Adds the arguments of one acquisition: four, in the plain layout two. What it has in common with the one `before` is
    /// not said again.
    fn acquisition(&self, call: &mut Call, asked: &Acquisition, before: Option<&Acquisition>) {
        let &Acquisition { ref hold, mode, ttl, lock_delay, .. } = asked;
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
            call.parts([]).parts([]).parts([]);
            return;
        }
        let Encoded { opens, record, terms, .. } = &*self.encoded(asked);
        call.arg(*opens).arg(record).arg(terms);
    }

    fn encoded(&self, asked: &Acquisition) -> Arc<Encoded> {
        let mut last = self.last.lock();
        match &*last {
            Some(last) if differs_in_token(&last.of, asked) => Arc::clone(last),
            _ => Arc::clone(last.insert(Arc::new(Encoded::new(asked, &self.prefix)))),
        }
    }
}

/// Adds a command with room for about so many bytes of arguments: to grow bit by bit takes longer than all else.
fn command<'a>(commands: &'a mut Pipeline, name: &str, bytes: usize) -> &'a mut Pipeline {
    let mut command = Cmd::with_capacity(6, name.len() + bytes);
    command.arg(name);
    commands.add_command(command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::types::exclusive;

    #[test]
    fn what_an_acquisition_has_in_common_with_the_one_before_is_not_sent_again() {
        let (here, there) = (Arc::default(), Arc::default());
        let asked = [(1, 1, &here), (2, 1, &here), (3, 2, &here), (4, 2, &there), (5, 2, &there)];
        let asked = asked.map(|(number, ttl, metadata)| {
            let (ttl, metadata) = (Duration::from_secs(ttl), Arc::clone(metadata));
            Arc::new(Acquisition { ttl, metadata, ..exclusive(&format!("r{number}"), number) })
        });
        let call = Encoder::new(Layout::Full, "p".to_owned(), Duration::from_secs(1), false);
        let call = call.acquire(&asked.each_ref(), None);
        let terms: Vec<_> = call.args().skip(10).collect();
        let ttls: Vec<_> = terms.chunks(4).map(|one| one.get(1).map_or("", |ttl| ttl)).collect();
        assert_eq!(ttls, ["1000", "", "2000", "2000", "", ""], "{terms:?}");
        for one in terms.chunks(4).take(5) {
            assert_eq!(one[1].is_empty(), one[2].is_empty() && one[3].is_empty(), "{one:?}");
        }
    }
}
