//! Histories of a real server, as they were and with one thing changed, before a checker of others.

use std::{sync::Arc, time::Duration};

use actix::Addr;
use futures_util::future::join_all;
use leasehold::{Acquire, Lease, LockManager, Mode, ReadLock};
use leasehold_sim::linearizable::{histories, is_that_of_a_lock};
use leasehold_testing::{
    history::{Held, History},
    servers::RedisServer,
};
use support::patient;
use tokio::time::sleep;

const TTL: Duration = Duration::from_secs(20);
const CALLERS: usize = 6;
const TURNS: u64 = 10;

async fn acquired(locks: &Addr<LockManager>, mode: Mode) -> Lease {
    let whole = || Acquire::new("r").ttl(TTL).wait(TTL);
    let answer = match mode {
        Mode::Shared => locks.send(ReadLock::new("r").ttl(TTL).wait(TTL)).await,
        Mode::Permits { count, of } => locks.send(whole().permits(count.get(), of.get())).await,
        _ => locks.send(whole()).await,
    };
    answer.unwrap().unwrap()
}

/// The history of callers of two managers that take turns in these modes.
async fn history_in(modes: &[Mode]) -> Vec<Held> {
    let server = RedisServer::start();
    let manager = || LockManager::builder(Arc::new(patient::open(&server.url()))).start_here().unwrap();
    let (managers, history) = ([manager(), manager()], History::new());
    let caller = async |number: usize| {
        for turn in 0..TURNS {
            let mode = modes[(number + turn as usize) % modes.len()];
            let asked = history.now();
            let lease = acquired(&managers[number % 2], mode).await;
            let work = sleep(Duration::from_millis(1 + turn % 3));
            history.watch(&lease, history.granted(&lease, asked, TTL), work).await.unwrap();
            lease.release().await.unwrap();
        }
    };
    join_all((0..CALLERS).map(caller)).await;
    history.take()
}

#[actix::test]
async fn the_histories_of_a_real_server_are_those_of_a_lock_with_fences() {
    let permits = |count| Mode::permits(count, 3).unwrap();
    for modes in
        [&[Mode::Exclusive][..], &[Mode::Exclusive, Mode::Shared, Mode::Shared], &[permits(1), permits(2)]]
    {
        let held = history_in(modes).await;
        let histories = histories(&held);
        assert_eq!(histories.iter().map(Vec::len).sum::<usize>(), CALLERS * TURNS as usize);
        assert!(histories.iter().all(|history| is_that_of_a_lock(history)), "{modes:?}: {histories:#?}");
    }
}

/// Changes one lease, of which the first is followed by the second.
type Mutation = fn(&mut Held, &mut Held);

/// Ways in which two exclusive leases, one after the other, cannot have been.
const MUTATIONS: [(&str, Mutation); 5] = [
    ("both have one fence", |first, second| second.fence = first.fence),
    ("the fence goes back", |first, second| (first.fence, second.fence) = (second.fence, first.fence)),
    ("the second is granted while the first holds", |first, second| second.granted = first.granted),
    ("the first holds while the second is granted", |first, second| {
        (first.stopped, first.valid_until) = (second.ended(), second.ended());
    }),
    ("the second is asked for and over before the first", |first, second| {
        let before = first.asked.min(second.asked);
        (second.asked, second.granted) = (before, before);
        (second.stopped, second.valid_until) = (first.asked, first.asked);
    }),
];

#[actix::test]
async fn a_history_with_one_thing_changed_is_refused() {
    let held = history_in(&[Mode::Exclusive]).await;
    let histories = histories(&held);
    let mut refused = 0;
    for (what, change) in MUTATIONS {
        for place in 0..10 {
            let mut history: Vec<Held> = histories[0].iter().map(|&lease| lease.clone()).collect();
            let [first, second] = &mut history[place..place + 2] else { unreachable!("two of them") };
            change(first, second);
            assert!(
                !is_that_of_a_lock(&history.iter().collect::<Vec<_>>()),
                "{what} at {place}: {history:#?}"
            );
            refused += 1;
        }
    }
    assert_eq!(refused, 50);
}
