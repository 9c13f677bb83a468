//! Faults of what lies between here and the server, and of servers that are not at hand.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use leasehold_doctor::Severity;

use crate::deployments::doctor::{
    GOOD, examine, nothing, only,
    relay::{self, Way},
};
use leasehold_testing::{servers::RedisServer, waiting::PATIENCE};

async fn relayed(way: Way, settings: &str) -> (String, leasehold_doctor::Diagnosis) {
    let server = RedisServer::with_args(&GOOD);
    let address = relay::start(&server, way).await;
    let diagnosis = examine(&format!("redis://{address}"), settings).await;
    (address, diagnosis)
}

#[tokio::test]
async fn a_server_that_is_far_away() {
    let (address, diagnosis) =
        relayed(Way::Late(Duration::from_millis(900)), "store.response_timeout = \"3s\"").await;
    let finding = only(&diagnosis, Severity::Warning, "round-trip", Some(&address));
    assert!(finding.advice.contains("store.response_timeout"), "{finding}");
}

#[tokio::test]
async fn a_server_that_says_why_it_closes_connections() {
    for (words, check) in
        [("-DENIED protected mode\r\n", "refused"), ("-ERR max number of clients reached\r\n", "unreachable")]
    {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // Who has gone already hears nothing.
                let _ = stream.unwrap().write_all(words.as_bytes());
            }
        });
        // The words are read for a tenth of a second.
        let (began, said) = (Instant::now(), &words[1..words.len() - 2]);
        let diagnosis = loop {
            let diagnosis = examine(&format!("redis://{address}"), "").await;
            if diagnosis.to_string().contains(said) || began.elapsed() > PATIENCE {
                break diagnosis;
            }
        };
        let finding = only(&diagnosis, Severity::Critical, check, Some(&address));
        assert!(words.contains(finding.found.rsplit(": ").next().unwrap()), "{finding}");
        assert!(!finding.advice.contains("user"), "{finding}");
    }
}

#[tokio::test]
async fn a_server_that_is_too_old() {
    let (address, diagnosis) = relayed(Way::Changed("redis_version:", "redis_version:5.0."), "").await;
    let finding = only(&diagnosis, Severity::Critical, "version", Some(&address));
    assert!(finding.found.contains("older than 6.2"), "{finding}");
}

#[tokio::test]
async fn a_version_that_is_no_number_is_not_an_old_one() {
    let (_, diagnosis) = relayed(Way::Changed("redis_version:", "redis_version:v"), "").await;
    nothing(&diagnosis);
}

/// Containers are reached at the addresses that they announce, and some services say that they are no cluster, and are one.
#[tokio::test]
async fn a_node_that_announces_another_port_and_calls_itself_standalone() {
    let server = RedisServer::with_args(&[&GOOD[..], &["--cluster-enabled", "yes"]].concat());
    let way = Way::Changed("redis_mode:cluster", "redis_mode:standalone\r\n");
    let address = relay::start(&server, way).await;
    let port = address.rsplit(':').next().unwrap();
    server.command(&["CONFIG", "SET", "cluster-announce-port", port]);
    server.command(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let is_ready = || {
        let info = redis::from_redis_value::<String>(server.command(&["CLUSTER", "INFO"])).unwrap();
        info.contains("cluster_state:ok")
    };
    for _ in 0..500 {
        if is_ready() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let diagnosis = examine(&format!("redis+cluster://{address}"), "").await;
    only(&diagnosis, Severity::Warning, "no-replica", Some(&address));
    assert_eq!(diagnosis.servers, [address]);
}

#[tokio::test]
async fn announcements_that_do_not_get_through() {
    let (address, diagnosis) =
        relayed(Way::Swallowed("$7\r\nmessage"), "store.response_timeout = \"3s\"").await;
    only(&diagnosis, Severity::Warning, "hand-overs", Some(&address));
}
