//! The queues of the nodes: who waits is woken by a majority, keeps its place, and leaves nothing behind.

use std::time::Duration;

use futures_util::{StreamExt, future::join_all};
use leasehold::{
    Fence, Inspection, MemoryStore, QuorumStore, ResourceName,
    env::{Random, SystemRandom},
    store::{
        Acquired, Acquisition, Inbox, Notification, Notifications, QueueTicket, QuorumNode, Released, Store,
        Walk,
    },
};
use redis::Value;
use tokio::time::{Instant, timeout};

use crate::quorum::{
    nodes::{Quorum, exclusive, granted},
    restarts::{PATIENT, on, patiently},
};
use leasehold_testing::servers::RedisServer;
use support::patient;

pub(crate) const WINDOW: Duration = Duration::from_millis(400);
const TICKET_TTL: Duration = Duration::from_secs(5);

/// A client with an inbox.
pub(crate) struct Client {
    pub(crate) store: QuorumStore,
    inbox: Inbox,
    notifications: Notifications,
}

impl Client {
    pub(crate) async fn of(quorum: &Quorum) -> Self {
        Self::with(quorum.another(), 3).await
    }

    /// A client that is told so many times that it is subscribed: by a majority, and by each further node.
    async fn with(store: QuorumStore, times: usize) -> Self {
        let inbox = Inbox(SystemRandom.token());
        let mut notifications = store.listen(&inbox);
        // Its nodes have answered once, so that none is waited for until it is connected.
        assert!(store.list(&Walk::new(b"", 1)).await.unwrap().complete);
        for _ in 0..times {
            assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
        }
        Self { store, inbox, notifications }
    }

    pub(crate) fn asks(&self) -> Acquisition {
        let ticket = QueueTicket {
            inbox: self.inbox,
            ttl: TICKET_TTL,
            grant_window: WINDOW,
            max_waiters: 100,
            place: None,
        };
        Acquisition { ticket: Some(ticket), ..exclusive() }
    }

    /// Returns its store, which is notified from now on.
    pub(crate) fn notified(self) -> QuorumStore {
        tokio::spawn(self.notifications.for_each(async |_| {}));
        self.store
    }

    async fn waits(&self, asked: &Acquisition) -> u64 {
        match self.store.acquire(asked).await {
            Ok(Acquired::Queued { ahead, .. }) => ahead,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until it is notified that it is its turn.
    async fn is_woken(&mut self, asked: &Acquisition, within: Duration) {
        let woken = async {
            while let Some(notification) = self.notifications.next().await {
                match notification {
                    Notification::HandedOver(token) if token == asked.hold.token => return,
                    _ => {}
                }
            }
            panic!("the notifications ended");
        };
        timeout(within, woken).await.expect("nobody wakes it");
    }
}

async fn release(store: &QuorumStore, asked: &Acquisition) {
    assert_eq!(store.release(&asked.hold, Duration::ZERO).await.unwrap(), Released::Freed);
}

async fn waiting(quorum: &Quorum, asked: &Acquisition) -> Vec<u64> {
    let inspections = quorum.nodes.iter().map(|node| node.inspect(&asked.hold.resource, 1));
    join_all(inspections).await.into_iter().map(|inspection| inspection.unwrap().waiting).collect()
}

#[tokio::test(start_paused = true)]
async fn waiters_of_several_clients_are_woken_once_each_in_the_order_of_their_arrival() {
    let quorum = Quorum::of_five().await;
    let (holder, mut first, mut second) =
        (Client::of(&quorum).await, Client::of(&quorum).await, Client::of(&quorum).await);
    let (held, next, last) = (holder.asks(), first.asks(), second.asks());
    granted(&holder.store, &held).await;
    assert_eq!(first.waits(&next).await, 0);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(second.waits(&last).await, 1);
    for (from, before, to, after) in
        [(&holder.store, &held, &mut first, &next), (&quorum.another(), &next, &mut second, &last)]
    {
        let released = Instant::now();
        release(from, before).await;
        to.is_woken(after, Duration::from_millis(50)).await;
        granted(&to.store, after).await;
        assert_eq!(released.elapsed(), Duration::ZERO);
        quorum.until_held_by(&after.hold, &[0, 1, 2, 3, 4]).await;
        assert!(timeout(WINDOW / 2, to.is_woken(after, WINDOW)).await.is_err(), "it is told once");
    }
    release(&second.store, &last).await;
    assert_eq!(waiting(&quorum, &last).await, [0; 5]);
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_has_one_fence_on_all_nodes_though_nothing_is_written_back() {
    let quorum = Quorum::of_five().await;
    let (holder, mut waiter) = (Client::of(&quorum).await, Client::of(&quorum).await);
    let (held, next) = (holder.asks(), waiter.asks());
    let before = granted(&holder.store, &held).await;
    waiter.waits(&next).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    release(&holder.store, &held).await;
    waiter.is_woken(&next, WINDOW).await;
    let fence = granted(&waiter.store, &next).await;
    assert!(fence > before);
    for node in &quorum.nodes {
        let holders = node.inspect(&next.hold.resource, 1).await.unwrap().holders;
        assert_eq!(holders[0].fence, Some(fence));
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_of_an_earlier_attempt_leaves_the_ticket_of_a_later_one() {
    let quorum = Quorum::of_five().await;
    let (holder, mut waiter) = (Client::of(&quorum).await, Client::of(&quorum).await);
    let (held, next) = (holder.asks(), waiter.asks());
    granted(&holder.store, &held).await;
    // The first attempt fails, and its outcome is unknown on four nodes.
    quorum.nodes[1..].iter().for_each(|node| node.lose_next_replies(1));
    assert!(waiter.store.acquire(&next).await.is_err());
    waiter.waits(&next).await;
    tokio::time::sleep(TICKET_TTL / 2).await;
    waiter.waits(&next).await;
    tokio::time::sleep(TICKET_TTL / 2).await;
    assert_eq!(waiting(&quorum, &next).await, [1; 5]);
    release(&holder.store, &held).await;
    waiter.is_woken(&next, Duration::from_millis(50)).await;
    granted(&waiter.store, &next).await;
}

#[tokio::test(start_paused = true)]
async fn a_waiter_whose_answer_was_lost_on_a_minority_keeps_its_place_there() {
    let quorum = Quorum::of_five().await;
    let (holder, waiter) = (Client::of(&quorum).await, Client::of(&quorum).await);
    let (held, next) = (holder.asks(), waiter.asks());
    granted(&holder.store, &held).await;
    quorum.nodes[..2].iter().for_each(|node| node.lose_next_replies(1));
    waiter.waits(&next).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(waiting(&quorum, &next).await, [1; 5]);
    let _none = waiter.store.release(&next.hold, Duration::ZERO).await.unwrap();
    assert_eq!(waiting(&quorum, &next).await, [0; 5]);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_leaves_the_queues_of_all_nodes_also_of_those_that_answer_late() {
    let quorum = Quorum::of_five().await;
    let (holder, waiter) = (Client::of(&quorum).await, Client::of(&quorum).await);
    let (held, next) = (holder.asks(), waiter.asks());
    granted(&holder.store, &held).await;
    quorum.nodes[..2].iter().for_each(|node| node.stall_next(1, Duration::from_secs(1)));
    waiter.waits(&next).await;
    let _none = waiter.store.release(&next.hold, Duration::ZERO).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(waiting(&quorum, &next).await, [0; 5]);
}

/// Attempts as often as it is woken, and releases. Returns the time that took.
async fn has_a_turn(client: &mut Client, asked: &Acquisition) -> Duration {
    let started = Instant::now();
    while !matches!(client.store.acquire(asked).await, Ok(Acquired::Granted(_))) {
        client.is_woken(asked, PATIENT).await;
        assert!(started.elapsed() < 4 * PATIENT, "nobody gives way");
    }
    release(&client.store, asked).await;
    started.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_split_is_resolved_at_once() {
    let quorum = Quorum::of_five().await;
    let mut clients = [Client::of(&quorum).await, Client::of(&quorum).await, Client::of(&quorum).await];
    let asked = [clients[0].asks(), clients[1].asks(), clients[2].asks()];
    // Each of them came first on one or two nodes.
    for (node, first) in quorum.nodes.iter().zip([0, 1, 2, 0, 1]) {
        granted(node, &asked[first]).await;
    }
    let turns = clients.iter_mut().zip(&asked).map(|(client, asked)| has_a_turn(client, asked));
    for took in join_all(turns).await {
        assert!(took <= Duration::from_millis(50), "{took:?}");
    }
    assert_eq!(waiting(&quorum, &asked[0]).await, [0; 5]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_waiter_is_passed_over_after_its_grant_window() {
    let quorum = Quorum::of_five().await;
    let (holder, dead, mut waiter) =
        (Client::of(&quorum).await, Client::of(&quorum).await, Client::of(&quorum).await);
    let (held, its, next) = (holder.asks(), dead.asks(), waiter.asks());
    granted(&holder.store, &held).await;
    dead.waits(&its).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    waiter.waits(&next).await;
    release(&holder.store, &held).await;
    // It is told that it is the next, and attempts when the window is over.
    let told = timeout(Duration::from_millis(10), waiter.notifications.next()).await;
    assert!(matches!(told, Ok(Some(Notification::Next(token))) if token == next.hold.token), "{told:?}");
    waiter.waits(&next).await;
    tokio::time::sleep(WINDOW).await;
    granted(&waiter.store, &next).await;
}

#[tokio::test(start_paused = true)]
async fn a_minority_without_subscriptions_is_not_missed() {
    let quorum = Quorum::of_five().await;
    let (holder, mut waiter) = (Client::of(&quorum).await, Client::of(&quorum).await);
    let (held, next) = (holder.asks(), waiter.asks());
    granted(&holder.store, &held).await;
    waiter.waits(&next).await;
    quorum.nodes[..2].iter().for_each(|node| node.disconnect_subscribers(true));
    release(&holder.store, &held).await;
    waiter.is_woken(&next, Duration::from_millis(50)).await;
    granted(&waiter.store, &next).await;
    quorum.nodes[2].disconnect_subscribers(true);
    let told = timeout(WINDOW, waiter.notifications.next()).await;
    assert!(matches!(told, Ok(Some(Notification::Disconnected(_)))), "{told:?}");
    quorum.nodes[0].disconnect_subscribers(false);
    let told = timeout(WINDOW, waiter.notifications.next()).await;
    assert!(matches!(told, Ok(Some(Notification::Subscribed))), "{told:?}");
}

#[tokio::test]
async fn on_servers_a_split_is_resolved_and_the_counter_of_fences_has_no_end() {
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let client = async || Client::with(patiently(&servers, true), 2).await;
    let mut clients = [client().await, client().await, client().await];
    let asked = [clients[0].asks(), clients[1].asks(), clients[2].asks()];
    // All servers have to answer once.
    let first = on("first");
    granted(&clients[0].store, &first).await;
    release(&clients[0].store, &first).await;
    for (server, asked) in servers.iter().zip(&asked) {
        let node = patient::open(&server.url());
        let answers = node.acquire_each_from(&[asked.clone().into()], Fence::new(1)).await.answers;
        assert!(matches!(answers[..], [Ok(Acquired::Granted(_))]), "{answers:?}");
    }
    let turns = clients.iter_mut().zip(&asked).map(|(client, asked)| has_a_turn(client, asked));
    join_all(turns).await;
    for server in &servers {
        assert_eq!(server.command(&["PTTL", "leasehold:fence"]), Value::Int(-1));
    }
}

async fn queues_by_place(node: &impl QuorumNode) {
    let inbox = Inbox(SystemRandom.token());
    let mut notifications = node.listen(&inbox);
    assert!(matches!(notifications.next().await, Some(Notification::Subscribed)));
    let mut named = async |asked: &Acquisition| loop {
        match timeout(PATIENT, notifications.next()).await.unwrap() {
            Some(Notification::HandedOver(token)) => return assert_eq!(token, asked.hold.token),
            Some(_) => {}
            None => panic!("the notifications ended"),
        }
    };
    let at = |place| {
        let ticket = QueueTicket { inbox, ttl: TICKET_TTL, grant_window: 4 * WINDOW, max_waiters: 9, place };
        Acquisition { ticket: Some(ticket), ..exclusive() }
    };
    let queued = async |asked: &Acquisition| match node.acquire(asked).await {
        Ok(Acquired::Queued { ahead, .. }) => ahead,
        other => panic!("{other:?}"),
    };
    let (held, early, late) = (exclusive(), at(Some(1_000)), at(Some(2_000)));
    granted(node, &held).await;
    assert_eq!((queued(&late).await, queued(&early).await, queued(&at(None)).await), (0, 0, 2));
    assert_eq!(node.release(&held.hold, Duration::ZERO).await.unwrap(), Released::Freed);
    named(&early).await;
    assert!(!node.give_way(&early).await.unwrap());
    named(&early).await;
    let ticket = early.ticket.map(|ticket| QueueTicket { place: None, ..ticket });
    assert!(!node.give_way(&Acquisition { ticket, ..early.clone() }).await.unwrap());
    named(&late).await;
    // Nobody has been told the fence of a hand-over before it is taken up.
    let clock = node.acquire_each_from(&[exclusive().into()], Fence::new(0)).await.clock.unwrap();
    let proposed = Fence::new(clock.get() + 400_000);
    let answers = node.acquire_each_from(&[late.clone().into()], proposed).await.answers;
    let Ok(Acquired::Granted(grant)) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!(grant.fence, Some(proposed));
    let again = node.acquire_each_from(&[late.clone().into()], Fence::new(proposed.get() + 9)).await.answers;
    assert_eq!(again[0].as_ref().unwrap(), &Acquired::Granted(*grant), "from here on it stays");
    // The other two fill the queue. Who gives way has a place all the same.
    let ticket = late.ticket.map(|ticket| QueueTicket { max_waiters: 2, ..ticket });
    assert!(!node.give_way(&Acquisition { ticket, ..late }).await.unwrap());
    assert_eq!(node.inspect(&held.hold.resource, 1).await.unwrap().waiting, 2);
}

#[tokio::test]
async fn a_node_queues_by_place_and_gives_a_proposed_fence_to_whom_it_named() {
    queues_by_place(&MemoryStore::default()).await;
    let server = RedisServer::start();
    queues_by_place(&patient::open(&server.url())).await;
}

#[tokio::test(start_paused = true)]
async fn an_inspection_tells_who_waits_on_a_majority_in_the_order_of_the_queue() {
    let quorum = Quorum::of_five().await;
    let (holder, waiter) = (Client::of(&quorum).await, Client::of(&quorum).await);
    let held = holder.asks();
    granted(&holder.store, &held).await;
    let asked = [waiter.asks(), waiter.asks(), waiter.asks()];
    for (number, asked) in asked.iter().enumerate() {
        // On some nodes one of them is not in the queue.
        quorum.nodes[number].fail_next(1);
        waiter.waits(asked).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Who waits on one node alone waits for nothing.
    let _alone = quorum.nodes[4].acquire(&waiter.asks()).await.unwrap();
    let told = async |limit| holder.store.inspect(&held.hold.resource, limit).await.unwrap();
    let seen = told(10).await;
    let tokens =
        |asked: &[Acquisition]| -> Vec<_> { asked.iter().map(|it| it.hold.token.prefix()).collect() };
    let of = |seen: &Inspection| -> Vec<_> { seen.waiters.iter().map(|waiter| waiter.token).collect() };
    assert_eq!((of(&seen), seen.waiting), (tokens(&asked), 3));
    assert!(seen.waiters.iter().all(|waiter| waiter.waited.is_none()), "nodes have clocks of their own");
    assert_eq!(seen.holders[0].held_for, None);
    assert_eq!(of(&told(2).await), tokens(&asked[..2]));
}

#[tokio::test(start_paused = true)]
async fn pages_of_names_leave_none_out_though_nodes_have_others_beside_them() {
    let quorum = Quorum::of_five().await;
    let at = |name: &str| {
        let mut asked = exclusive();
        asked.hold.resource = ResourceName::new(name).unwrap();
        asked
    };
    let names = ["b1", "b2", "b3", "b4", "b5"];
    for name in names {
        granted(&quorum.store, &at(name)).await;
    }
    // Each of these is on one node alone, in front of and between the others.
    for (node, name) in quorum.nodes.iter().zip(["a1", "a2", "b11", "b31", "c"]) {
        granted(node, &at(name)).await;
    }
    let (mut walk, mut found) = (Walk::new("", 2), Vec::new());
    loop {
        let listing = quorum.store.list(&walk).await.unwrap();
        found.extend(listing.resources.iter().map(ToString::to_string));
        match listing.resources.last() {
            Some(last) if !listing.complete => walk.after = last.as_bytes().to_vec(),
            _ => break assert!(listing.complete),
        }
    }
    assert_eq!(found, names);
}
