//! Schedules whose writes, or the answers to them, are lost, in virtual time.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::{FutureExt, future::BoxFuture};
use leasehold::{
    Certainty, StoreError,
    schedule::{Scheduler, Tick},
};
use leasehold_testing::decorated::{Decorated, Hooks, Verb};
use tokio::time::sleep;

use crate::election::schedule_faults::{BEGIN, every, seen, world};
use support::virtual_time::{World, in_virtual_time, millis, secs};

/// A store whose first write to a register takes 1.5 s, and is lost.
#[derive(Debug, Default)]
struct FirstWriteIsLost(AtomicBool);

impl Hooks for FirstWriteIsLost {
    fn before<'a>(&'a self, verb: Verb<'a>) -> BoxFuture<'a, Result<(), StoreError>> {
        let is_first = matches!(verb, Verb::Register(_, Some(_))) && !self.0.swap(true, Ordering::Relaxed);
        async move {
            if is_first {
                sleep(millis(1_500)).await;
                return Err(StoreError::reply_lost("a fault"));
            }
            Ok(())
        }
        .boxed()
    }
}

/// Another process may have run them, and the store may have forgotten that.
#[test]
fn ticks_before_a_repeated_beginning_of_a_schedule_do_not_run() {
    in_virtual_time(|| async {
        let (world, ran) = (world(), Rc::new(RefCell::new(Vec::new())));
        let store = Decorated::new(world.store.clone(), FirstWriteIsLost::default());
        let manager = world.builder_on(Arc::new(store)).start_here().unwrap();
        let ticks = Rc::clone(&ran);
        let work = async move |tick: Tick| ticks.borrow_mut().push(tick.scheduled_for);
        let _scheduler = every(secs(1)).start(&manager, work).unwrap();
        sleep(millis(2_500)).await;
        assert_eq!(*ran.borrow(), [BEGIN + secs(1_000_002)]);
    });
}

/// Answers what a resume returns whose answer is lost, and what happens right after it was executed.
async fn resume_of_lost_answer<T>(
    world: &World,
    scheduler: &Scheduler,
    happens: impl AsyncFnOnce() -> T,
) -> (Certainty, T) {
    scheduler.pause().await.unwrap();
    let happening = async {
        sleep(millis(5)).await;
        world.store.lose_next_replies(1);
        sleep(millis(10)).await;
        assert!(seen(world).await.value.contains(r#""paused":false"#));
        happens().await
    };
    // The look of the resume takes so long that the answer which is lost is that of its write.
    world.store.stall_next(1, millis(10));
    let (resumed, happened) = tokio::join!(scheduler.resume(), happening);
    (resumed.unwrap_err().certainty(), happened)
}

#[test]
fn a_resume_whose_answer_is_lost_does_not_take_a_later_pause_back() {
    in_virtual_time(|| async {
        let world = world();
        let (first, second) = (world.manager(), world.manager());
        let scheduler = every(secs(3_600)).start(&first, async |_| ()).unwrap();
        let other = every(secs(3_600)).start(&second, async |_| ()).unwrap();
        sleep(millis(500)).await;
        let (certainty, paused) =
            resume_of_lost_answer(&world, &scheduler, async || other.pause().await).await;
        paused.unwrap();
        assert_eq!(certainty, Certainty::Unknown, "it was resumed before that, or not");
        assert!(other.is_paused().await.unwrap());
    });
}

#[test]
fn a_resume_whose_answer_is_lost_begins_nothing_where_the_store_has_forgotten_the_schedule() {
    in_virtual_time(|| async {
        let world = world();
        let scheduler = every(secs(3_600)).start(&world.manager(), async |_| ()).unwrap();
        sleep(millis(500)).await;
        let (certainty, ()) = resume_of_lost_answer(&world, &scheduler, async || {
            // As the pause of somebody, which was forgotten with everything else.
            world.store.clear();
        })
        .await;
        assert_eq!(certainty, Certainty::Unknown, "it was resumed before that");
    });
}
