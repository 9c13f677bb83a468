//! A random sequence of verbs, on so few resources, owners and tokens that they meet.

use std::collections::BTreeMap;
use std::{
    fmt::{self, Debug},
    sync::Arc,
    time::Duration,
};

use leasehold::{
    Mode, Owner, ResourceName, Token,
    store::{Acquisition, Hold, Inbox, QueueTicket, Renewal},
};
use proptest::{collection::vec, option, prelude::*};

pub(crate) const RESOURCES: usize = 2;
/// The inboxes that somebody listens to; there is one more.
pub(crate) const INBOXES: usize = 2;
const ASKED: usize = 8;
const OPS: usize = 40;
const BATCH: usize = 5;

/// Acquisitions that may be asked for, and what is done with them.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) asked: Vec<Acquisition>,
    pub(crate) ops: Vec<Op>,
}

/// What is done to both stores.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// The first number is the place in `Case::asked`.
    Acquire(usize, Duration),
    /// The same, without a place in the queue.
    Try(usize, Duration),
    /// The last number is new metadata.
    Renew(usize, Duration, Option<u8>),
    Release(usize, Duration),
    IsHeld(usize),
    Inspect(usize, usize),
    List(usize),
    ForceRelease(usize),
    /// The number of permits of a resource; zero for none.
    SetCapacity(usize, u32),
    /// To all holders of a resource: nothing, that it is wanted back, or that it is taken.
    Notify(usize, usize),
    /// The same to those of all tokens that hold it.
    NotifyAmong(usize, usize),
    /// From the first number to the first that may take over from it: see `Case::heir`.
    Pass(usize, usize, Duration, bool),
    AcquireEach(Vec<Request>),
    AcquireAll(Vec<Request>),
    RenewEach(Vec<(usize, Duration, Option<u8>)>),
    ReleaseEach(Vec<(usize, Duration)>),
    Elapse(Duration),
}

/// One acquisition of several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    asked: usize,
    ttl: Duration,
    /// Without a place in the queue.
    is_try: bool,
}

impl Case {
    pub(crate) fn acquisition(&self, asked: usize, ttl: Duration) -> Acquisition {
        Acquisition { ttl, ..self.asked[asked].clone() }
    }

    pub(crate) fn requested(&self, request: &Request) -> Acquisition {
        let asked = self.acquisition(request.asked, request.ttl);
        Acquisition { ticket: asked.ticket.filter(|_| !request.is_try), ..asked }
    }

    /// The first from this place on that asks exclusively for the same resource as the other.
    pub(crate) fn heir(&self, from: usize, at: usize, ttl: Duration) -> Option<Acquisition> {
        let may = |asked: &usize| {
            let [from, to] = [&self.asked[from], &self.asked[*asked]];
            to.mode == Mode::Exclusive
                && to.hold.resource == from.hold.resource
                && to.hold.token != from.hold.token
        };
        (at..ASKED).chain(0..at).find(may).map(|asked| self.acquisition(asked, ttl))
    }

    pub(crate) fn renewals(&self, asked: &[(usize, Duration, Option<u8>)]) -> Vec<Renewal<'_>> {
        let metadata =
            |number: u8| Arc::new(BTreeMap::from([("step %d 1 x".to_owned(), number.to_string())]));
        let renewal = |&(asked, ttl, told): &(usize, _, Option<_>)| Renewal {
            metadata: told.map(metadata),
            ..Renewal::new(&self.asked[asked].hold, ttl)
        };
        asked.iter().map(renewal).collect()
    }

    pub(crate) fn holds(&self, asked: &[(usize, Duration)]) -> Vec<(&Hold, Duration)> {
        asked.iter().map(|&(asked, time)| (&self.asked[asked].hold, time)).collect()
    }
}

impl Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, asked) in self.asked.iter().enumerate() {
            let Acquisition { hold, mode, reentrant, lock_delay, ticket, .. } = asked;
            let Hold { resource, owner, .. } = hold;
            writeln!(
                f,
                "{number}: {mode} of {resource} by {owner:?}, {reentrant}, {lock_delay:?}, {ticket:?}"
            )?;
        }
        self.ops.iter().try_for_each(|op| writeln!(f, "{op:?}"))
    }
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let asked = vec(asked(), ASKED).prop_map(|mut asked| {
        for (token, asked) in (1..).zip(&mut asked) {
            // Eight digits are shown of a token; let them differ.
            asked.hold.token = Token::from_bits(token << 100 | token);
        }
        asked
    });
    (asked, vec(op(), 1..=OPS)).prop_map(|(asked, ops)| Case { asked, ops })
}

fn asked() -> impl Strategy<Value = Acquisition> {
    let mode = prop_oneof![
        6 => Just(Mode::Exclusive),
        3 => Just(Mode::Shared),
        3 => (1..=3_u32).prop_map(|count| Mode::permits(count, 3).unwrap()),
        2 => (1..=2_u32, 2..=5_u32).prop_map(|(count, of)| Mode::permits(count, of).unwrap()),
    ];
    let owner = prop_oneof![2 => Just(None), 3 => Just(Some("a")), 1 => Just(Some("b {%}"))];
    let lock_delay = prop_oneof![3 => Just(0), 1 => 1..6_u64].prop_map(Duration::from_secs);
    // Most of them meet on one resource, so that more than one waits.
    let resource = prop_oneof![3 => Just(0), 1 => 0..RESOURCES];
    (resource, mode, owner, prop::bool::weighted(0.8), lock_delay, option::weighted(0.8, ticket())).prop_map(
        |(resource, mode, owner, reentrant, lock_delay, ticket)| Acquisition {
            hold: Hold {
                resource: name(resource),
                token: Token::from_bits(0),
                owner: owner.map(|owner| Owner::new(owner).unwrap()),
            },
            mode,
            reentrant,
            ttl: Duration::ZERO,
            lock_delay,
            metadata: BTreeMap::from([("purpose".to_owned(), format!("{mode}"))]).into(),
            ticket,
        },
    )
}

fn ticket() -> impl Strategy<Value = QueueTicket> {
    let max_waiters = prop_oneof![1 => 0..3_u32, 2 => Just(10)];
    (0..=INBOXES, lasting(8), lasting(4), max_waiters).prop_map(|(number, ttl, grant_window, max_waiters)| {
        QueueTicket { inbox: inbox(number), ttl, grant_window, max_waiters, place: None }
    })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        18 => (0..ASKED, lasting(8)).prop_map(|(asked, ttl)| Op::Acquire(asked, ttl)),
        4 => (0..ASKED, lasting(8)).prop_map(|(asked, ttl)| Op::Try(asked, ttl)),
        4 => renewal().prop_map(|(asked, ttl, told)| Op::Renew(asked, ttl, told)),
        12 => (0..ASKED, cooldown()).prop_map(|(asked, cooldown)| Op::Release(asked, cooldown)),
        3 => (0..ASKED).prop_map(Op::IsHeld),
        4 => (0..RESOURCES, 0..5_usize).prop_map(|(resource, limit)| Op::Inspect(resource, limit)),
        1 => (0..RESOURCES + 1).prop_map(Op::List),
        1 => (0..RESOURCES).prop_map(Op::ForceRelease),
        3 => (0..RESOURCES, 0..6_u32).prop_map(|(resource, permits)| Op::SetCapacity(resource, permits)),
        1 => (0..RESOURCES, 0..3_usize).prop_map(|(resource, notice)| Op::Notify(resource, notice)),
        1 => (0..RESOURCES, 0..3_usize).prop_map(|(resource, notice)| Op::NotifyAmong(resource, notice)),
        6 => (1..5_u64).prop_map(|seconds| Op::Elapse(Duration::from_secs(seconds))),
        6 => (0..ASKED, 0..ASKED, lasting(8), any::<bool>())
            .prop_map(|(from, to, ttl, overtake)| Op::Pass(from, to, ttl, overtake)),
        6 => batch(request()).prop_map(Op::AcquireEach),
        6 => batch(request()).prop_map(Op::AcquireAll),
        2 => batch(renewal()).prop_map(Op::RenewEach),
        4 => batch((0..ASKED, cooldown())).prop_map(Op::ReleaseEach),
    ]
}

fn renewal() -> impl Strategy<Value = (usize, Duration, Option<u8>)> {
    (0..ASKED, lasting(8), option::of(any::<u8>()))
}

fn request() -> impl Strategy<Value = Request> {
    let request = (0..ASKED, lasting(8), prop::bool::weighted(0.2));
    request.prop_map(|(asked, ttl, is_try)| Request { asked, ttl, is_try })
}

fn batch<T: Strategy>(of: T) -> impl Strategy<Value = Vec<T::Value>> {
    vec(of, 1..=BATCH)
}

fn cooldown() -> impl Strategy<Value = Duration> {
    prop_oneof![4 => Just(Duration::ZERO), 1 => lasting(8)]
}

/// Half a second beside the whole ones.
fn lasting(most_seconds: u64) -> impl Strategy<Value = Duration> {
    (1..=most_seconds).prop_map(|seconds| Duration::from_millis(seconds * 1_000 + 500))
}

pub(crate) fn inbox(number: usize) -> Inbox {
    Inbox(Token::from_bits(1_000 + number as u128))
}

pub(crate) fn name(resource: usize) -> ResourceName {
    ResourceName::new(format!("job {{{resource}}}")).unwrap()
}
