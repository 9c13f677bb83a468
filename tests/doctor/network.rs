//! Faults of what lies between here and the server, and of servers that are not at hand.

use std::time::Duration;

use leasehold::doctor::Severity;

use crate::{
    GOOD, examine, only,
    relay::{self, Way},
    support::redis_server::RedisServer,
};

async fn relayed(way: Way, settings: &str) -> (String, leasehold::doctor::Diagnosis) {
    let server = RedisServer::with_args(&GOOD);
    let address = relay::start(&server, way).await;
    let diagnosis = examine(&format!("redis://{address}"), settings).await;
    (address, diagnosis)
}

#[tokio::test]
async fn a_server_that_is_far_away() {
    let (address, diagnosis) =
        relayed(Way::Late(Duration::from_millis(300)), "store.response_timeout = \"1s\"").await;
    let finding = only(&diagnosis, Severity::Warning, "round-trip", Some(&address));
    assert!(finding.advice.contains("store.response_timeout"), "{finding}");
}

#[tokio::test]
async fn a_server_that_is_too_old() {
    let (address, diagnosis) = relayed(Way::Changed("redis_version:", "redis_version:5.0."), "").await;
    let finding = only(&diagnosis, Severity::Critical, "version", Some(&address));
    assert!(finding.found.contains("older than 6.2"), "{finding}");
}

#[tokio::test]
async fn announcements_that_do_not_get_through() {
    let (address, diagnosis) =
        relayed(Way::Swallowed("$7\r\nmessage"), "store.response_timeout = \"1s\"").await;
    only(&diagnosis, Severity::Warning, "hand-overs", Some(&address));
}
