//! Thin acquisitions: free exclusive locks are taken by plain commands, which cost a server far less than a script does.
//!
//! ```text
//! INCRBY <fences> n · SET <main key> <value> NX PX <ttl>, for each · EXISTS <tickets of each> · MGET <fences> <first main key>
//! ```
//!
//! They go out together, without a transaction: to read `QUEUED` takes the client library as long as to read an answer. So others may
//! be served between them, and the answers tell whether that did harm:
//!
//! * MGET gives what INCRBY gave: nobody else was given a fence meanwhile. So these fences are larger than those of all grants
//!   before the SET, and smaller than those of all later grants.
//! * EXISTS finds no tickets: whoever waits came after the SET. So nobody was overtaken.
//! * MGET gives the value of the first SET, which no other call writes: the answers are those to these commands. So a batch whose
//!   first lock is held goes by script as a whole.
//!
//! Whatever else there is goes on by script: a lock that is held, waiters that its holder left behind, a server that lacks a command.
//! A resource that was in use lately is asked for by script at once: that tells who holds it, and gives a place in the queue.
//!
//! The value is written before its fence is known. In the place of the fence it has a 0, and about the time of the grant. The
//! scripts know by that 0 that nobody may have been told: a repeat by the same token gets a new fence, and gives back what was
//! taken beside a queue. So the script may always be the next step. For others it is a hold like any other.
//!
//! # Fences
//! A script gives out the time of the server, or one more than the number before. INCRBY adds to that number alone, which is
//! enough for as long as nothing is lost. So the first acquisition on each connection is by script, and one in each
//! minute: a failover, a restart or a replica that lags ends all connections. A counter that is smaller than this client
//! knows was lost.

use std::sync::Arc;

use crate::{
    core::Fence,
    store::{
        Acquired, Acquisition, Answers, Certainty, Grant, StoreError,
        redis::{
            RedisStore,
            calls::{Batched, together},
            net::{call::TryFailure, topology::Topology},
            vouched::Raised,
            wire::thin_answer::{ThinAnswer, acquired_thin},
        },
    },
};

/// The number from which on a counter is not added to: see `fence.lua`.
const TOO_LARGE: u64 = 9_000_000_000_000_000;

/// The bytes that a server reads from a connection before it serves others (`PROTO_IOBUF_LEN` of Redis). Of commands that take
/// more, some would often find that others were served between them.
const READ_AT_ONCE: usize = 16 * 1_024;

impl RedisStore {
    /// Acquires each by plain commands, and by script what these do not grant.
    pub(super) async fn acquire_thin(&self, asked: &[Arc<Acquisition>], raised: Raised) -> Answers<Acquired> {
        let heaviest = asked.iter().map(Batched::weight).max().unwrap_or(1);
        let calls = asked.chunks((READ_AT_ONCE / heaviest).max(1));
        together(calls.map(|call| self.acquire_undivided(call, raised))).await
    }

    async fn acquire_undivided(&self, asked: &[Arc<Acquisition>], raised: Raised) -> Answers<Acquired> {
        let Topology::One(connection) = &self.topology else {
            return self.acquire_in_calls(asked, None).await.answers;
        };
        let time = raised.fence.saturating_add(raised.at.elapsed().as_micros() as u64);
        let (commands, own) = self.encoder.acquire_thin(asked, time);
        let lost = match connection.send_together(&commands, raised.connection).await {
            Ok(Some(answers)) => match acquired_thin(answers, asked.len(), &own) {
                Ok(answer) => return self.judge(asked, raised, answer).await,
                Err(error) => return failed(asked, &error),
            },
            // Nothing was sent.
            Ok(None) => None,
            // The script is the second try, and finds what the first may have taken.
            Err(TryFailure::Gone(lost)) => Some(lost),
            Err(failure) => return failed(asked, &failure.into_error()),
        };
        self.thin.forget(raised);
        let none = asked.iter().map(|_| None).collect();
        Box::pin(self.by_script(asked, none, |_, error| lost.clone().unwrap_or(error))).await
    }

    /// Returns the answers that follow from what the commands did.
    async fn judge(&self, asked: &[Arc<Acquisition>], raised: Raised, said: ThinAnswer) -> Answers<Acquired> {
        let ThinAnswer { last, is_undisturbed, granted, error } = said;
        let before = last.map(|last| last.saturating_sub(asked.len() as u64));
        let least =
            if planted!("a counter of fences that was set back is added to") { 0 } else { raised.seen };
        let before = before.filter(|before| (least..TOO_LARGE).contains(before));
        match last.filter(|_| before.is_some()) {
            Some(last) => self.thin.saw(raised, last),
            None => self.thin.forget(raised),
        }
        if let Some(error) = error {
            self.thin.note_denial(&error);
        }
        let fence = before.filter(|_| is_undisturbed);
        let grant =
            |number| Acquired::Granted(Grant { fence: Some(Fence::new(number)), holds: 1, slot: None });
        let told = |(at, granted): (usize, &bool)| {
            fence.filter(|_| *granted).map(|before| Ok(grant(before + 1 + at as u64)))
        };
        let answers: Vec<_> = granted.iter().enumerate().map(told).collect();
        if answers.iter().all(Option::is_some) {
            return answers.into_iter().flatten().collect();
        }
        // What was taken, and has no fence or stands beside tickets, is the script's to judge.
        let taken = |at, error| if granted[at] { lost_after_a_grant(error) } else { error };
        Box::pin(self.by_script(asked, answers, taken)).await
    }

    /// Acquires by script each that has no answer yet. Its error becomes what `otherwise` says of the request at this place.
    async fn by_script(
        &self,
        asked: &[Arc<Acquisition>],
        answers: Vec<Option<Result<Acquired, StoreError>>>,
        otherwise: impl Fn(usize, StoreError) -> StoreError,
    ) -> Answers<Acquired> {
        let open = asked.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
        let open: Vec<_> = open.map(|(asked, _)| Arc::clone(asked)).collect();
        let mut told = self.acquire_in_calls(&open, None).await.answers.into_iter();
        let answer = |(at, answer): (usize, Option<_>)| {
            answer.or_else(|| Some(told.next()?.map_err(|error| otherwise(at, error))))
        };
        answers.into_iter().enumerate().filter_map(answer).collect()
    }
}

/// Returns this error for each.
fn failed(asked: &[Arc<Acquisition>], error: &StoreError) -> Answers<Acquired> {
    asked.iter().map(|_| Err(error.clone())).collect()
}

/// Returns the error of a script that was to judge what was taken: that was done, whatever the script did.
fn lost_after_a_grant(error: StoreError) -> StoreError {
    match error.perhaps_executed() {
        error if error.certainty() == Certainty::Unknown => error,
        error => StoreError::ReplyLost {
            doing: "what was taken has no fence yet".to_owned(),
            source: Some(Arc::new(error)),
        },
    }
}
