//! Leases that go from process to process by tickets, on servers of every kind. With real time.

mod process;
mod stores;

use leasehold_testing::servers::RedisServer;

use self::process::{Part, Role, another_waits};

#[actix::test]
async fn a_lease_that_a_process_hands_over_outlives_it_until_the_adopter_releases_it() {
    let server = RedisServer::start();
    let (mut giver, mut adopter) = (Part::start(&server, Role::Gives), Part::start(&server, Role::Adopts));
    giver.hears("holds");
    adopter.hears("ready");
    let (others, waiting) = another_waits(&server).await;
    giver.tell("hand over");
    let ticket = giver.hears("ticket ");
    giver.kill();
    adopter.tell(&ticket);
    let fence: u64 = adopter.hears("adopted, fence ").parse().unwrap();
    let made: serde_json::Value = serde_json::from_str(&ticket).unwrap();
    assert_eq!(made["fence"], fence, "of the lease that was handed over");
    // That takes longer than the TTL.
    adopter.hears("renewed it for longer than its TTL");
    assert!(!waiting.is_finished(), "it is held");
    adopter.tell("release");
    adopter.hears("released");
    let next = waiting.await.unwrap();
    assert!(next.fence().unwrap().get() > fence);
    drop(others);
}

#[actix::test]
async fn a_lease_whose_adopter_is_killed_ends_with_its_ttl() {
    let server = RedisServer::start();
    let [mut giver, mut adopter, mut again] =
        [Role::Gives, Role::Adopts, Role::Adopts].map(|role| Part::start(&server, role));
    giver.hears("holds");
    adopter.hears("ready");
    again.hears("ready");
    let (others, waiting) = another_waits(&server).await;
    giver.tell("hand over");
    let ticket = giver.hears("ticket ");
    giver.kill();
    adopter.tell(&ticket);
    adopter.hears("adopted, fence ");
    adopter.kill();
    // A process that adopts it again within the TTL goes on with it: a restart after a crash.
    again.tell(&ticket);
    again.hears("renewed it for longer than its TTL");
    assert!(!waiting.is_finished(), "it is held");
    again.kill();
    waiting.await.unwrap().release().await.unwrap();
    drop(others);
}
