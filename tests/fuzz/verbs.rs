//! The verbs of a Redis store, each with arguments that an input chooses among few.

use std::{collections::BTreeMap, num::NonZeroU32, slice, sync::Arc, time::Duration};

use leasehold::{
    Fence, Mode, Owner, RedisStore, ResourceName, StoreError, Token,
    rules::Recovered,
    store::{
        Acquired, AcquiredAll, Acquisition, Grant, Hold, HolderNotice, Inbox, Names, QueueTicket, QuorumNode,
        RegisterWrite, Released, Renewal, Renewed, Store, ToHolders, Walk,
    },
};

use crate::input::Input;

/// No hold ends by itself while an input runs.
pub(crate) const TTL: Duration = Duration::from_secs(3_600);

/// A spectator of what the store says.
pub(crate) trait Watch {
    /// This was granted.
    fn granted(&mut self, asked: &Acquisition, grant: Grant);
    /// These holds of the resource may be over, or all of them.
    fn given_up(&mut self, resource: &ResourceName, token: Option<Token>);
    /// These were to be granted together, and are not.
    fn not_all_granted(&mut self, asked: &[Arc<Acquisition>]);
    /// An answer was read to its end by this function of `src/store/redis/wire/decode.rs`, except where a verb is made of others.
    fn read(&mut self, _decoder: &'static str) {}
    /// A verb failed.
    fn failed(&mut self, error: &StoreError);
}

/// The resources and acquisitions of a run.
pub(crate) struct Cast {
    /// The resources, of which the first is chosen most.
    resources: Vec<ResourceName>,
    /// The acquisitions, one for each token: nobody asks for two things with one token.
    asked: Vec<Acquisition>,
}

impl Cast {
    /// Chooses what each of a few tokens asks for.
    pub(crate) fn new(input: &Input<'_>, resources: &[&str]) -> Self {
        let name = |name: &&str| ResourceName::new(name).expect("a short name");
        let resources: Vec<_> = resources.iter().map(name).collect();
        let tokens = [7, 8, 9].map(|number| Token::from_bits(number << 100 | number));
        let asked = tokens.map(|token| Self::of_token(input, &resources[0], token)).into();
        Self { resources, asked }
    }

    /// Returns an inbox.
    pub(crate) fn inbox(&self) -> Inbox {
        Inbox(self.asked[0].hold.token)
    }

    fn of_token(input: &Input<'_>, resource: &ResourceName, token: Token) -> Acquisition {
        let permits = |count, of| Mode::permits(count, of).unwrap_or(Mode::Shared);
        let mode = match input.below(6) {
            3 => Mode::Shared,
            4 => permits(1, 3),
            5 => permits(2, 2),
            _ => Mode::Exclusive,
        };
        let owner = match input.below(4) {
            2 => Owner::new("a").ok(),
            3 => Owner::new("b {%}").ok(),
            _ => None,
        };
        let ticket = QueueTicket {
            inbox: Inbox(token),
            ttl: TTL,
            grant_window: Duration::from_secs(60),
            max_waiters: input.one_of(&[10, 1, 0]),
            place: input.one_of(&[None, Some(0), Some(u64::MAX)]),
        };
        Acquisition {
            hold: Hold { resource: resource.clone(), token, owner },
            mode,
            reentrant: input.once_in(2),
            ttl: TTL,
            lock_delay: Duration::from_secs(input.one_of(&[0, 0, 5])),
            metadata: Arc::new(BTreeMap::from([("purpose".to_owned(), "fuzz".to_owned())])),
            ticket: input.once_in(2).then_some(ticket),
        }
    }

    fn asked(&self, input: &Input<'_>) -> Acquisition {
        let mut asked = self.asked[input.below(self.asked.len())].clone();
        if input.once_in(4) {
            asked.hold.resource = self.resources[input.below(self.resources.len())].clone();
        }
        asked
    }

    fn hold(&self, input: &Input<'_>) -> Hold {
        self.asked(input).hold
    }

    /// Returns all tokens.
    pub(crate) fn tokens(&self) -> Vec<Token> {
        self.asked.iter().map(|asked| asked.hold.token).collect()
    }

    /// Returns a hold and the acquisition that it is handed off to, if there is one.
    fn heir(&self, input: &Input<'_>) -> Option<(Hold, Acquisition)> {
        let (from, mut to) = (self.hold(input), self.asked(input));
        to.hold.resource = from.resource.clone();
        (to.mode == Mode::Exclusive && to.hold.token != from.token).then_some((from, to))
    }

    fn several<T>(input: &Input<'_>, one: impl Fn() -> T) -> Vec<T> {
        (0..=input.below(3)).map(|_| one()).collect()
    }
}

/// Plays one verb.
pub(crate) async fn play(store: &RedisStore, input: &Input<'_>, cast: &Cast, watch: &mut impl Watch) {
    match input.below(6) {
        0 | 1 => acquire(store, input, cast, watch).await,
        2 => renew(store, input, cast, watch).await,
        3 => release(store, input, cast, watch).await,
        4 => look(store, input, cast, watch).await,
        _ => as_node(store, input, cast, watch).await,
    }
}

/// Returns what this function decoded, or tells the error.
fn ok<T>(decoder: &'static str, answer: Result<T, StoreError>, watch: &mut impl Watch) -> Option<T> {
    match &answer {
        Ok(_) => watch.read(decoder),
        Err(error) => watch.failed(error),
    }
    answer.ok()
}

/// Tells what this function decoded, or the error.
fn note<T>(decoder: &'static str, answer: Result<T, StoreError>, watch: &mut impl Watch) {
    let _ = ok(decoder, answer, watch);
}

fn tell(asked: &Acquisition, answer: Result<Acquired, StoreError>, watch: &mut impl Watch) {
    if let Some(Acquired::Granted(grant)) = ok("acquired", answer, watch) {
        watch.granted(asked, grant);
    }
}

fn tell_each(asked: &[Arc<Acquisition>], answers: Vec<Result<Acquired, StoreError>>, watch: &mut impl Watch) {
    assert_eq!(asked.len(), answers.len(), "not one answer for each question");
    asked.iter().zip(answers).for_each(|(asked, answer)| tell(asked, answer, watch));
}

async fn acquire(store: &RedisStore, input: &Input<'_>, cast: &Cast, watch: &mut impl Watch) {
    let asked = Cast::several(input, || Arc::new(cast.asked(input)));
    if !input.once_in(4) {
        return tell_each(&asked, store.acquire_each(&asked).await, watch);
    }
    match ok("acquired_all", store.acquire_all(&asked).await, watch) {
        Some(AcquiredAll::Granted(grants)) => {
            assert_eq!(asked.len(), grants.len());
            asked.iter().zip(grants).for_each(|(asked, grant)| watch.granted(asked, grant));
        }
        Some(AcquiredAll::Refused { which, .. } | AcquiredAll::Failed { which, .. }) => {
            assert!(which < asked.len(), "nobody has this number");
            watch.not_all_granted(&asked);
        }
        None => watch.not_all_granted(&asked),
    }
}

async fn renew(store: &RedisStore, input: &Input<'_>, cast: &Cast, watch: &mut impl Watch) {
    let holds = Cast::several(input, || cast.hold(input));
    let fence = input.once_in(2).then(|| Fence::new(7));
    let metadata = input.once_in(2).then(Arc::default);
    let renewal = |hold| Renewal { fence, metadata: metadata.clone(), ..Renewal::new(hold, TTL) };
    let renewals: Vec<_> = holds.iter().map(renewal).collect();
    let answers = store.renew_each(&renewals).await;
    assert_eq!(holds.len(), answers.len(), "not one answer for each question");
    for (hold, answer) in holds.iter().zip(answers) {
        if ok("renewed", answer, watch) == Some(Renewed::NotHeld) {
            watch.given_up(&hold.resource, Some(hold.token));
        }
    }
}

async fn release(store: &RedisStore, input: &Input<'_>, cast: &Cast, watch: &mut impl Watch) {
    match input.below(4) {
        0 | 1 => {
            let holds = Cast::several(input, || cast.hold(input));
            let cooldown = Duration::from_secs(input.one_of(&[0, 0, 5]));
            let releases: Vec<_> = holds.iter().map(|hold| (hold, cooldown)).collect();
            let answers: Vec<Result<Released, _>> = store.release_each(&releases).await;
            assert_eq!(holds.len(), answers.len(), "not one answer for each question");
            holds.iter().for_each(|hold| watch.given_up(&hold.resource, Some(hold.token)));
            answers.into_iter().for_each(|answer| note("released", answer, watch));
        }
        2 => {
            let Some((from, to)) = cast.heir(input) else { return };
            watch.given_up(&from.resource, Some(from.token));
            if let Some(done) = ok("handed_off", store.hand_off(&from, &to, input.once_in(2)).await, watch) {
                tell(&to, done.acquired, watch);
            }
        }
        _ => {
            let resource = cast.hold(input).resource;
            watch.given_up(&resource, None);
            ok("opened", store.force_release(&resource).await, watch);
        }
    }
}

async fn look(store: &RedisStore, input: &Input<'_>, cast: &Cast, watch: &mut impl Watch) {
    let hold = cast.hold(input);
    match input.below(7) {
        0 => note("is_held", store.is_held(&hold).await, watch),
        1 => note("inspected", store.inspect(&hold.resource, input.one_of(&[3, 0, 400])).await, watch),
        2 => {
            let mut walk = Walk::new(b"", 10);
            walk.names = input.one_of(&[Names::Held, Names::WaitedFor, Names::Registers]);
            note("scanned", store.list(&walk).await, watch);
        }
        3 => {
            let among = input.once_in(2).then(|| cast.tokens());
            let notice = input.once_in(2).then_some(HolderNotice::Taken);
            let to = ToHolders { resource: hold.resource, among, notice };
            note("notified", store.notify_holders(&to).await, watch);
        }
        4 => {
            let write = RegisterWrite {
                expected: input.once_in(2).then_some(cast.tokens()[0]),
                revision: hold.token,
                value: "a value".to_owned(),
                not_before: Duration::ZERO,
            };
            let write = input.once_in(2).then_some(&write);
            note("registered", store.register(&hold.resource, write).await, watch);
        }
        5 => note("load", store.server_load().await, watch),
        _ => {
            let permits =
                input.one_of(&[None, NonZeroU32::new(1), NonZeroU32::new(3), Some(NonZeroU32::MAX)]);
            note("capacity_set", store.set_capacity(&hold.resource, permits).await, watch);
        }
    }
}

/// Tells that a clock was decoded, if it was.
fn clock(told: Option<Fence>, watch: &mut impl Watch) {
    if told.is_some() {
        watch.read("with_clock");
    }
}

async fn as_node(store: &RedisStore, input: &Input<'_>, cast: &Cast, watch: &mut impl Watch) {
    let first = Fence::new(input.number().unsigned_abs());
    match input.below(7) {
        0 => {
            let asked = Cast::several(input, || Arc::new(cast.asked(input)));
            let told = store.acquire_each_from(&asked, first).await;
            clock(told.clock, watch);
            tell_each(&asked, told.answers, watch);
        }
        1 => {
            let Some((from, to)) = cast.heir(input) else { return };
            watch.given_up(&from.resource, Some(from.token));
            let to = Arc::new(to);
            let (released, acquired) = store.hand_off_from(&from, &to, first).await;
            ok("handed_off", released, watch);
            clock(acquired.clock, watch);
            tell_each(slice::from_ref(&to), acquired.answers, watch);
        }
        2 => {
            let asked = cast.asked(input);
            watch.given_up(&asked.hold.resource, Some(asked.hold.token));
            if ok("gave_way", store.give_way(&asked).await, watch) == Some(true) {
                panic!("a Redis store does not say at once that a waiter holds again");
            }
        }
        3 => {
            let hold = cast.hold(input);
            let answers = store.raise_fences(&[(&hold, first)]).await;
            assert_eq!(answers.len(), 1);
            answers.into_iter().for_each(|answer| note("renewed", answer, watch));
        }
        4 => note("incarnation", store.incarnation().await, watch),
        5 => note("reported", store.report().await, watch),
        _ => {
            let lesson = Recovered { incarnation: "another".to_owned(), durable: false, fence: first };
            note("taught", store.teach(&lesson).await, watch);
        }
    }
}
