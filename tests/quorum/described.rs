//! Descriptions of leases on a quorum: which nodes have them, and which one a repair grants again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use leasehold::store::{Acquisition, QuorumNode, Renewal, Renewed, Store};

use crate::quorum::nodes::{Quorum, TTL, exclusive, granted};
use support::odd_store::odd_store;

type Metadata = BTreeMap<String, String>;

fn step(number: usize) -> Metadata {
    BTreeMap::from([("step".to_owned(), number.to_string())])
}

/// Renews, and tells this step if there is one.
async fn renew(store: &impl Store, asked: &Acquisition, told: Option<usize>) -> Renewed {
    let metadata = told.map(|number| Arc::new(step(number)));
    let renewals = [Renewal { metadata, ..Renewal::new(&asked.hold, TTL) }];
    let renewed = store.renew_each(&renewals).await.remove(0).unwrap();
    // The last nodes answer, and are repaired.
    tokio::time::sleep(Duration::from_millis(100)).await;
    renewed
}

async fn on_each_node(quorum: &Quorum, asked: &Acquisition) -> Vec<Metadata> {
    let mut on_each = Vec::new();
    for node in &quorum.nodes {
        let holders = node.inspect(&asked.hold.resource, 1).await.unwrap().holders;
        on_each.push(holders.into_iter().next().map(|holder| holder.metadata).unwrap_or_default());
    }
    on_each
}

async fn held() -> (Quorum, Acquisition) {
    let (quorum, asked) = (Quorum::of_five_met().await, exclusive());
    granted(&quorum.store, &asked).await;
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    (quorum, asked)
}

#[tokio::test(start_paused = true)]
async fn each_node_is_told_once() {
    let (quorum, asked) = held().await;
    assert_eq!(renew(&quorum.store, &asked, Some(1)).await, Renewed::Extended);
    assert_eq!(on_each_node(&quorum, &asked).await, vec![step(1); 5]);
    // Somebody else has written something, which shows if it is written again.
    assert_eq!(renew(&quorum.nodes[4], &asked, Some(9)).await, Renewed::Extended);
    assert_eq!(renew(&quorum.store, &asked, None).await, Renewed::Extended);
    assert_eq!(on_each_node(&quorum, &asked).await[4], step(9));
    let seen = quorum.another().inspect(&asked.hold.resource, 1).await.unwrap().holders.remove(0);
    assert_eq!(seen.metadata, step(1), "the majority counts");
    assert_eq!(renew(&quorum.store, &asked, Some(2)).await, Renewed::Extended);
    assert_eq!(on_each_node(&quorum, &asked).await, vec![step(2); 5]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_missed_a_description_is_told_with_the_next_renewal() {
    let (quorum, asked) = held().await;
    renew(&quorum.store, &asked, Some(1)).await;
    quorum.nodes[0].fail_next(1);
    quorum.nodes[1].fail_next(1);
    assert_eq!(renew(&quorum.store, &asked, Some(2)).await, Renewed::Extended);
    assert_eq!(on_each_node(&quorum, &asked).await, [step(1), step(1), step(2), step(2), step(2)]);
    let seen = quorum.store.inspect(&asked.hold.resource, 1).await.unwrap().holders.remove(0);
    assert_eq!(seen.metadata, step(2));
    assert_eq!(renew(&quorum.store, &asked, None).await, Renewed::Extended, "which says nothing new");
    assert_eq!(on_each_node(&quorum, &asked).await, vec![step(2); 5]);
}

#[tokio::test(start_paused = true)]
async fn a_repaired_node_has_the_latest_description() {
    let (quorum, asked) = held().await;
    renew(&quorum.store, &asked, Some(1)).await;
    renew(&quorum.store, &asked, Some(2)).await;
    quorum.nodes[0].clear();
    quorum.nodes[1].clear();
    assert_eq!(renew(&quorum.store, &asked, None).await, Renewed::Extended);
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    assert_eq!(on_each_node(&quorum, &asked).await, vec![step(2); 5]);
    // And so has one that forgot when the next one came.
    quorum.nodes[2].clear();
    assert_eq!(renew(&quorum.store, &asked, Some(3)).await, Renewed::Extended);
    quorum.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    assert_eq!(on_each_node(&quorum, &asked).await, vec![step(3); 5]);
}

#[tokio::test(start_paused = true)]
async fn a_description_that_comes_during_a_repair_is_on_the_node_after_the_next_renewal() {
    let first = Quorum::of_five_met().await;
    let odd: Vec<_> = first.nodes.iter().map(|node| odd_store(node.clone())).collect();
    let store = first.client_of(odd.iter().map(|node| Arc::new(node.clone()) as Arc<dyn QuorumNode>));
    let asked = exclusive();
    granted(&store, &asked).await;
    first.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    renew(&store, &asked, Some(1)).await;
    // The repair is executed at once, and takes long to be answered; the description arrives before it.
    first.nodes[0].clear();
    first.nodes[0].stall_next(1, Duration::ZERO);
    odd[0].answer_acquisitions_after(Duration::from_millis(50));
    let renewed = tokio::join!(renew(&store, &asked, None), renew(&store, &asked, Some(2)));
    assert_eq!(renewed, (Renewed::Extended, Renewed::Extended));
    first.until_held_by(&asked.hold, &[0, 1, 2, 3, 4]).await;
    assert_eq!(renew(&store, &asked, None).await, Renewed::Extended);
    assert_eq!(on_each_node(&first, &asked).await, vec![step(2); 5]);
}

#[tokio::test(start_paused = true)]
async fn a_description_of_a_client_that_adopted_the_lease_reaches_the_nodes() {
    let (quorum, asked) = held().await;
    let adopter = quorum.another();
    assert_eq!(renew(&adopter, &asked, Some(1)).await, Renewed::Extended);
    assert_eq!(on_each_node(&quorum, &asked).await, vec![step(1); 5]);
}
