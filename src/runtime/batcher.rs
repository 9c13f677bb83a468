//! The batcher of operations for the store: operations of one turn travel together, several batches at a time.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::{
    sync::{
        Semaphore,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    },
    time::timeout,
};

/// The maximum size of a batch. A larger one would hold up the batches behind it for longer than it gains.
const AT_ONCE: usize = 256;

/// The maximum number of batches of one batcher in flight. With more of them batches get smaller; with fewer the
/// store has nothing to do while an answer travels.
const IN_FLIGHT: usize = 4;

/// The time after which a batch does not hold up those behind it any more.
const STALLED: Duration = Duration::from_millis(50);

/// A batcher for operations of one kind. An operation travels with all that are pushed until the task of the batcher
/// has its turn. A single operation does not wait for others.
///
/// The task is not part of the actor that pushes, and survives the death of that actor. It ends with its batcher.
pub(crate) struct Batcher<Verb>(UnboundedSender<Verb>);

impl<Verb: 'static> Batcher<Verb> {
    /// Opens a batcher whose batches are sent by `carry`. Must be called in an arbiter.
    pub(crate) fn open<Carried>(carry: impl Fn(Vec<Verb>) -> Carried + 'static) -> Self
    where
        Carried: Future<Output = ()> + 'static,
    {
        let (verbs, gathered) = unbounded_channel();
        actix_rt::spawn(drive(gathered, carry));
        Self(verbs)
    }

    pub(crate) fn push(&self, verb: Verb) {
        // The task ends only when its arbiter does. Nobody waits for an answer any more then.
        drop(self.0.send(verb));
    }
}

async fn drive<Verb, Carried>(mut gathered: UnboundedReceiver<Verb>, carry: impl Fn(Vec<Verb>) -> Carried)
where
    Carried: Future<Output = ()> + 'static,
{
    let slots = Arc::new(Semaphore::new(IN_FLIGHT));
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        let mut batch = Vec::new();
        if gathered.recv_many(&mut batch, AT_ONCE).await == 0 {
            return;
        }
        let carried = carry(batch);
        actix_rt::spawn(async move {
            let mut carried = pin!(carried);
            if timeout(STALLED, &mut carried).await.is_err() {
                drop(slot);
                carried.await;
            }
        });
    }
}

impl<Verb> Clone for Batcher<Verb> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use super::*;

    /// Runs a test in virtual time, with a batcher whose batches take as many ms as their first operation says.
    /// Returns the batches in which the operations travelled.
    fn batches_of<F: Future<Output = ()>>(test: impl FnOnce(Batcher<u64>) -> F) -> Vec<Vec<u64>> {
        let runtime =
            || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        actix::System::with_tokio_rt(runtime).block_on(async {
            let batches = Rc::new(RefCell::new(Vec::new()));
            let seen = Rc::clone(&batches);
            let batcher = Batcher::open(move |batch: Vec<u64>| {
                let takes = Duration::from_millis(batch[0]);
                seen.borrow_mut().push(batch);
                tokio::time::sleep(takes)
            });
            test(batcher).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            batches.take()
        })
    }

    #[test]
    fn what_gathers_in_one_turn_travels_together() {
        let batches = batches_of(async |batcher| {
            (1..=3).for_each(|verb| batcher.push(verb));
            tokio::task::yield_now().await;
            batcher.push(4);
        });
        assert_eq!(batches, [vec![1, 2, 3], vec![4]]);
    }

    #[test]
    fn a_batch_is_bounded() {
        let batches = batches_of(async |batcher| (0..600).for_each(|_| batcher.push(1)));
        assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [256, 256, 88]);
    }

    #[test]
    fn while_as_many_batches_as_may_be_are_in_flight_verbs_gather() {
        let batches = batches_of(async |batcher| {
            for _ in 0..10 {
                batcher.push(20);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        });
        assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1, 1, 6]);
    }

    #[test]
    fn batches_that_stall_do_not_hold_up_the_others() {
        let batches = batches_of(async |batcher| {
            for _ in 0..IN_FLIGHT {
                batcher.push(60_000);
                tokio::task::yield_now().await;
            }
            batcher.push(1);
            tokio::time::sleep(STALLED).await;
        });
        assert_eq!(batches.last(), Some(&vec![1]));
    }
}
