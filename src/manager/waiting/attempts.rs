//! The attempts of waiters: sent to the store, taken back, and answered.

use std::sync::Arc;

use crate::{
    core::{Answer, Event, Front, Mode, Moment, RecordKey},
    listeners::{About, LockEvent},
    manager::{Attempt, LockManager, Record},
    request::AcquireError,
    store::{self, Acquired, Certainty, Holder, HolderState, Metadata, StoreError},
};

/// The reason of a request whose attempt was taken back.
pub(crate) const NEVER_SENT: &str =
    "nothing was sent within the wait: too many calls before it have no answer yet";

impl LockManager {
    /// Sends an attempt of a waiter that decided to ask.
    pub(super) fn attempt(&mut self, record: RecordKey, is_urgent: bool, now: Moment) {
        if let Some(attempt) = self.new_attempt(record, now) {
            let number = self.sources.send(|dispatch| dispatch.attempt(attempt, is_urgent));
            self.records.with(record, |it| it.waiter().map(|waiter| waiter.attempt = Some(number)));
        }
    }

    /// Creates an attempt. Validity counts from `sent`: before anything is queued or sent.
    pub(crate) fn new_attempt(&self, record: RecordKey, sent: Moment) -> Option<Attempt> {
        let acquisition = |it: &mut Record| Some(Arc::clone(&it.waiter()?.request.terms.acquisition));
        let acquisition = self.records.with(record, acquisition)??;
        self.calls.listeners.tell(About::default(), LockEvent::Attempted);
        Some(Attempt { record, acquisition, sent, overtook: false })
    }

    /// Sends the attempt of a waiter before others, if it has not been sent.
    pub(super) fn hurry(&self, record: RecordKey) {
        self.records.with(record, |it| {
            if let Some(waiter) = it.waiter()
                && let Some(number) = waiter.attempt
            {
                let hurried = self.sources.send(|dispatch| dispatch.attempts.hurry(number));
                waiter.attempt = hurried.or(waiter.attempt);
            }
        });
    }

    /// Takes back the attempt of a waiter that has left, if it has not been sent.
    pub(super) fn withdraw(&mut self, record: RecordKey, now: Moment) {
        let attempt = self.records.with(record, |it| it.waiter()?.attempt).flatten();
        if attempt.is_some_and(|attempt| self.sources.withdraw(attempt)) {
            // It counts if no other attempt has an answer.
            self.records.with(record, |it| it.waiter().map(|waiter| waiter.unsent = true));
            self.feed(record, Event::Unsent, now);
        }
    }

    /// Handles the answer to an attempt. If its record is gone, it was decided about before the manager panicked.
    pub(crate) fn attempted(&mut self, attempt: &Attempt, outcome: Result<Acquired, StoreError>) {
        let (record, now, mut sent) = (attempt.record, self.clock.now(), attempt.sent);
        let is_taken = |it: &mut Record| it.waiter().is_some_and(|waiter| waiter.taken);
        let answer = match outcome {
            // A grant may be what was taken, and a later one may still be taken: whoever takes a hold repeats its release until
            // that is certain.
            Ok(Acquired::Granted(_)) if self.records.with(record, is_taken) == Some(true) => {
                let unknown = StoreError::reply_lost("acquire: taken away before the answer was here");
                self.fails(record, AcquireError::Store(unknown));
                Answer::Failed { unknown: true, transient: false }
            }
            Ok(Acquired::Granted(grant)) => {
                if planted!("validity counted from the reply to an acquisition") {
                    sent = now;
                }
                let durability = self.calls.store.durability();
                let receives = |it: &mut Record| {
                    let waiter = it.waiter()?;
                    waiter.grant = Some((grant, durability));
                    Some(!waiter.reply.is_closed())
                };
                let caller_gone = self.records.with(record, receives).flatten() != Some(true);
                Answer::Granted { overtook: attempt.overtook, caller_gone }
            }
            Ok(Acquired::Refused(refusal)) => self.refused(record, refusal, None),
            Ok(Acquired::Queued { refusal, ahead }) => self.refused(record, refusal, Some(ahead)),
            Ok(Acquired::Full { waiters }) => Answer::QueueFull { waiters },
            Err(error) => {
                let (unknown, transient) = (error.certainty() == Certainty::Unknown, error.is_transient());
                if transient {
                    self.note_answer(record, Err(error));
                } else {
                    self.fails(record, AcquireError::Store(error));
                }
                Answer::Failed { unknown, transient }
            }
        };
        self.on_at(record, Event::Answered { sent, answer }, now);
    }

    fn refused(&self, record: RecordKey, refusal: store::Refusal, ahead: Option<u64>) -> Answer {
        let (remaining, by) = (refusal.remaining, front(&refusal.by));
        self.note_answer(record, Ok(refusal));
        Answer::Refused { remaining, ahead, by }
    }

    fn note_answer(&self, record: RecordKey, answer: Result<store::Refusal, StoreError>) {
        let newly_behind = self.records.with(record, |it| {
            let waiter = it.waiter()?;
            let span = &mut waiter.request.span;
            let behind = answer.as_ref().ok().filter(|refusal| span.waits_behind(&refusal.by.metadata));
            let behind = behind.map(|refusal| refusal.by.metadata.clone());
            waiter.answer = Some(answer);
            behind
        });
        if let Some(holder) = newly_behind.flatten() {
            self.link_followers(record, &holder);
        }
    }

    /// Links the spans of waiters that came before their leader had its first answer.
    fn link_followers(&self, leader: RecordKey, holder: &Metadata) {
        for member in self.engine.members(leader) {
            self.records.with(member, |it| {
                let span = it.waiter().map(|waiter| &mut waiter.request.span);
                span.filter(|span| !span.is_linked()).map(|span| span.waits_behind(holder))
            });
        }
    }
}

/// Returns what the holder tells about the time until others are served.
pub(crate) fn front(holder: &Holder) -> Front {
    match holder.mode {
        Mode::Shared => Front::Readers,
        Mode::Exclusive if holder.state == HolderState::Holding => Front::Other(holder.token),
        Mode::Exclusive | Mode::Permits { .. } => Front::Somebody,
    }
}
