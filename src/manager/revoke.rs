//! Revocation: holders are asked to finish, and lose what they hold when the grace is over.

use std::{collections::BTreeSet, rc::Rc, sync::Arc, time::Duration};

use actix::ResponseFuture;
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep, timeout},
};

use crate::{
    core::{Doubling, LossReason, RecordKey, Token, one_line},
    lease::Release,
    manager::{Calls, Happening, Happenings, InFlight, LockManager, Seats, dispatch::ask::ask_each},
    request::{Revoke, RevokeError, Revoked, ValidRevoke},
    store::{Hold, HolderNotice, HoldersNotified, Notification, Released, StoreError, ToHolders},
};

/// The first pause after which holders are looked for and told again: one of them may have missed the notice.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The longest pause between two looks, which cost nobody but the revoker.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The part of the grace that is the longest pause between two notices. Each goes to every manager.
const PART_OF_GRACE: u32 = 8;

/// The longest time that the answer to a revocation without grace waits until the waiters of this manager were seen to.
const HANDLED_WITHIN: Duration = Duration::from_secs(1);

/// One revocation, on its way. It survives the manager's panics.
struct Revocation {
    id: Token,
    asked: ValidRevoke,
    calls: Calls,
    happenings: Happenings,
    seats: Seats,
    closing: watch::Receiver<bool>,
    /// Keeps a shutdown waiting until what is being taken is taken.
    _in_flight: InFlight,
    _running: Rc<()>,
}

impl LockManager {
    pub(super) fn revoke(&mut self, revoke: Revoke) -> ResponseFuture<Result<Revoked, RevokeError>> {
        let running = Rc::strong_count(&self.single_calls.revocations) - 1;
        let asked = match revoke.check(&self.policy.settings.limits) {
            Ok(_) if self.shutdown.has_begun() => Err(RevokeError::ShuttingDown),
            Ok(_) if running >= self.policy.settings.limits.max_pending => Err(RevokeError::Busy { running }),
            checked => checked.map_err(RevokeError::Invalid),
        };
        let revocation = asked.map(|asked| Revocation {
            id: self.random.token(),
            asked,
            calls: self.calls.clone(),
            happenings: self.turn.happenings.clone(),
            seats: self.single_calls.questions.clone(),
            closing: self.shutdown.begun.subscribe(),
            _in_flight: self.shutdown.in_flight(),
            _running: Rc::clone(&self.single_calls.revocations),
        });
        Box::pin(async move {
            let revocation = revocation?;
            if revocation.asked.grace.is_zero() { revocation.force().await } else { revocation.run().await }
        })
    }

    /// Handles a notice to holders, of which any may be of this manager. It may come more than once.
    pub(crate) fn notice(&mut self, holders: &[Token], notice: &HolderNotice) {
        let named = || holders.iter().filter_map(|token| self.records.named(*token));
        match notice {
            HolderNotice::RevokeRequested { revocation, reason, grace } => {
                for lease in named().filter_map(|record| self.records.lease(record)) {
                    lease.revoke_requested(*revocation, reason, *grace);
                }
            }
            HolderNotice::Taken => {
                holders.iter().for_each(|token| self.adoptions.end(*token));
                named().for_each(|record| self.taken(record));
                let holders: BTreeSet<Token> = holders.iter().copied().collect();
                self.sets.values_mut().for_each(|set| set.note_taken(|token| holders.contains(token)));
            }
        }
    }

    /// Handles that a hold of this record is over. The answer to the acquisition may still be on its way.
    fn taken(&self, record: RecordKey) {
        if let Some(lease) = self.records.lease(record) {
            lease.lose(LossReason::Forced);
            // Also if it was over before: a panic may have come in between.
            return self.turn.happenings.push(Happening::Lost(record));
        }
        self.records.with(record, |it| it.waiter().map(|waiter| waiter.taken = true));
    }
}

impl Revocation {
    /// Takes it from all at once, by one command.
    async fn force(self) -> Result<Revoked, RevokeError> {
        let ValidRevoke { resource, reason, .. } = self.asked;
        let taken = self.calls.ask("force_release", |store| store.force_release(&resource));
        let taken = self.seats.seated(taken).await?;
        tracing::info!(%resource, taken, %reason, "taken by force");
        let (handled, done) = oneshot::channel();
        self.happenings.push(Happening::Opened(resource, handled));
        drop(self.happenings);
        // A manager that panicked over it, or that has stopped, handles it no more. What was taken is taken all the same.
        let _ = timeout(HANDLED_WITHIN, done).await;
        Ok(Revoked { taken: usize::try_from(taken).unwrap_or(usize::MAX), ..Revoked::default() })
    }

    async fn run(mut self) -> Result<Revoked, RevokeError> {
        let over = Instant::now() + self.asked.grace;
        let request = self.request(self.asked.grace);
        let HoldersNotified { holders, complete } = self.tell(None, Some(request)).await?;
        let told = holders.len();
        let ValidRevoke { resource, reason, grace } = &self.asked;
        tracing::info!(%resource, told, ?grace, %reason, "told holders that the resource is wanted back");
        let left = self.wait(holders, over).await?;
        let (taken, unconfirmed) = self.take(left).await;
        let (finished, more) = (told - taken - unconfirmed, !complete);
        tracing::info!(resource = %self.asked.resource, finished, taken, unconfirmed, more, "revoked");
        Ok(Revoked { finished, taken, unconfirmed, more })
    }

    /// Waits until all have finished or the grace is over, and returns those that may still hold.
    async fn wait(&mut self, mut left: Vec<Token>, over: Instant) -> Result<Vec<Token>, RevokeError> {
        let mut looks = Doubling::new(FIRST_PAUSE, LONGEST_PAUSE);
        let longest = (self.asked.grace / PART_OF_GRACE).max(LONGEST_PAUSE);
        let mut notices = Doubling::new(FIRST_PAUSE, longest);
        let mut notice_at = Instant::now() + notices.next();
        while !left.is_empty() {
            let pause = looks.next().min(over - Instant::now());
            tokio::select! {
                biased;
                _ = self.closing.wait_for(|closing| *closing) => return Err(RevokeError::ShuttingDown),
                () = sleep(pause) => {}
            }
            let now = Instant::now();
            let grace = over - now;
            if grace.is_zero() {
                break;
            }
            let notice = (now >= notice_at).then(|| self.request(grace));
            let notified = notice.is_some();
            // A failure is in the log of outages. They are looked for again, and notified if they were to be.
            if let Ok(told) = self.tell(Some(&left), notice).await {
                left = holding(left, told);
                if notified {
                    notice_at = now + notices.next();
                }
            }
        }
        Ok(left)
    }

    /// Takes what these still hold. They are told first, so that they mostly know before anybody else has it. Returns how many
    /// it was taken from, and of how many that is not certain.
    async fn take(&self, left: Vec<Token>) -> (usize, usize) {
        let (mut taken, mut unconfirmed) = (0, 0);
        if left.is_empty() {
            return (taken, unconfirmed);
        }
        let (left, is_known) = match self.tell(Some(&left), Some(HolderNotice::Taken)).await {
            Ok(told) => (holding(left, told), true),
            Err(_) => {
                // Of those of this manager it is certain all the same: they are released now.
                self.tell_here(left.clone(), HolderNotice::Taken);
                (left, false)
            }
        };
        let resource = &self.asked.resource;
        let hold = |token: &Token| Hold { resource: resource.clone(), token: *token, owner: None };
        let holds: Vec<Hold> = left.iter().map(hold).collect();
        let releases: Vec<_> = holds.iter().map(|hold| (hold, Duration::ZERO)).collect();
        let Calls { store, outage, .. } = &self.calls;
        let answers = ask_each("revoke", releases.len(), || store.release_each(&releases));
        let answers = self.seats.seated(answers).await;
        for (hold, answer) in holds.iter().zip(answers) {
            match outage.seen("revoke", answer) {
                // Told that it is over, it may have released it just before.
                Ok(Released::NotHeld { .. }) if !is_known => unconfirmed += 1,
                Ok(_) => taken += 1,
                Err(error) => {
                    tracing::warn!(%resource, error = one_line(&error), "could not take it by force; trying again");
                    let again = Release::new(resource.as_bytes(), hold.token);
                    self.happenings.push(Happening::Release(again));
                    unconfirmed += 1;
                }
            }
        }
        (taken, unconfirmed)
    }

    fn request(&self, grace: Duration) -> HolderNotice {
        HolderNotice::RevokeRequested { revocation: self.id, reason: Arc::clone(&self.asked.reason), grace }
    }

    /// Returns who holds: of all, or of these. Notifies them, if there is a notice. Those of this manager are told in any case.
    async fn tell(
        &self,
        among: Option<&[Token]>,
        notice: Option<HolderNotice>,
    ) -> Result<HoldersNotified, StoreError> {
        let resource = self.asked.resource.clone();
        let to = ToHolders { resource, among: among.map(<[Token]>::to_vec), notice };
        let told = self.seats.seated(self.calls.ask("revoke", |store| store.notify_holders(&to))).await?;
        if let Some(notice) = to.notice {
            self.tell_here(told.holders.clone(), notice);
        }
        Ok(told)
    }

    fn tell_here(&self, holders: Vec<Token>, notice: HolderNotice) {
        self.happenings.push(Happening::Notified(Notification::ToHolders(holders, notice), 0));
    }
}

/// Returns those of these that hold.
fn holding(mut holders: Vec<Token>, told: HoldersNotified) -> Vec<Token> {
    let told: BTreeSet<Token> = told.holders.into_iter().collect();
    holders.retain(|token| told.contains(token));
    holders
}
