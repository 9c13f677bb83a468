//! Callers of several managers that take one resource in turns, and what they write down.

use std::{cell::RefCell, future::Future, time::Duration};

use actix::Addr;
use futures_util::future::join_all;
use leasehold::{Acquire, AcquireError, Lease, LockManager, Mode, Owner, ReadLock, ResourceName};
use leasehold_testing::history::{
    Held, History,
    lines::{Request, Transcript},
};
use tokio::time::sleep;

/// Longer than a busy machine keeps a process waiting.
const TTL: Duration = Duration::from_secs(20);
const CALLERS: usize = 6;

/// The way in which the callers of one history ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Exclusive,
    ReadWrite,
    Permits,
    /// Each caller is an owner, and takes the resource once more while it has it.
    ReEntrant,
}

impl Kind {
    fn mode(self, number: usize) -> Mode {
        match self {
            Self::Exclusive | Self::ReEntrant => Mode::Exclusive,
            Self::ReadWrite => [Mode::Exclusive, Mode::Shared, Mode::Shared][number % 3],
            Self::Permits => Mode::permits([1, 2][number % 2], 3).unwrap(),
        }
    }
}

/// Callers of several managers, each of which takes a resource a few times.
pub(crate) struct Callers<'a> {
    pub(crate) managers: &'a [Addr<LockManager>],
    pub(crate) resource: String,
    pub(crate) kind: Kind,
    /// The number of times that each takes it.
    pub(crate) turns: usize,
}

impl Callers<'_> {
    /// Has them take the resource while something else happens, and returns what they wrote down.
    pub(crate) async fn history(&self, beside: impl Future<Output = ()>) -> Transcript {
        let books: Vec<_> = self.managers.iter().map(|_| Book::default()).collect();
        let callers = join_all((0..CALLERS).map(|number| self.caller(number, &books)));
        tokio::join!(callers, beside);
        // Nobody else asks for the resource, and nothing but a hold closes it.
        let mut transcript = Transcript { complete: true, ..Transcript::default() };
        for (number, book) in (0..).zip(books) {
            transcript.leases.extend(book.history.take().into_iter().map(|held| (number, held)));
            transcript.refused.extend(book.refused.into_inner().into_iter().map(|request| (number, request)));
            let unanswered = book.unanswered.into_inner();
            transcript.unanswered.extend(unanswered.into_iter().map(|request| (number, request)));
        }
        transcript
    }

    async fn caller(&self, number: usize, books: &[Book]) {
        let manager = number % self.managers.len();
        let (locks, book) = (&self.managers[manager], &books[manager]);
        for turn in 0..self.turns {
            // One in six only tries, and so many as there is nobody in its way.
            let wait = if number == 0 { Duration::ZERO } else { TTL };
            let Some((lease, held)) = self.acquired(locks, book, number, turn, wait).await else {
                sleep(Duration::from_millis(1)).await;
                continue;
            };
            let work = async {
                sleep(Duration::from_millis(1 + turn as u64 % 3)).await;
                if self.kind == Kind::ReEntrant
                    && let Some((inner, held)) = self.acquired(locks, book, number, turn, wait).await
                {
                    book.history.watch(&inner, held, sleep(Duration::from_millis(1))).await;
                    drop(inner.release().await);
                }
            };
            book.history.watch(&lease, held, work).await;
            // A fault may have lost the answer.
            drop(lease.release().await);
        }
    }

    async fn acquired(
        &self,
        locks: &Addr<LockManager>,
        book: &Book,
        number: usize,
        turn: usize,
        wait: Duration,
    ) -> Option<(Lease, Held)> {
        let mode = self.kind.mode(number + turn);
        let owner = (self.kind == Kind::ReEntrant).then(|| format!("caller {number}"));
        let asked = book.history.now();
        let whole = || Acquire::new(&self.resource).ttl(TTL).wait(wait);
        let answer = match (mode, &owner) {
            (Mode::Shared, _) => locks.send(ReadLock::new(&self.resource).ttl(TTL).wait(wait)).await,
            (Mode::Permits { count, of }, _) => locks.send(whole().permits(count.get(), of.get())).await,
            (_, Some(owner)) => locks.send(whole().owner(owner.clone())).await,
            _ => locks.send(whole()).await,
        };
        let owner = owner.map(|owner| Owner::new(owner).unwrap());
        let answer = answer.unwrap();
        if let Ok(lease) = answer {
            let held = Held { owner, ..book.history.granted(&lease, asked, TTL) };
            return Some((lease, held));
        }
        let (resource, answered) = (ResourceName::new(&self.resource).unwrap(), book.history.now());
        let requests = match answer {
            Err(AcquireError::Held { .. }) => &book.refused,
            // Nobody knows; a fault.
            _ => &book.unanswered,
        };
        requests.borrow_mut().push(Request { resource, mode, owner, ttl: TTL, asked, answered });
        None
    }
}

/// The notes of the callers of one manager.
#[derive(Default)]
struct Book {
    history: History,
    refused: RefCell<Vec<Request>>,
    unanswered: RefCell<Vec<Request>>,
}
