//! The stream of events: how things are, each change, and a sign of life.

use leasehold::Acquire;
use serde_json::Value;

use super::site::Site;
use support::virtual_time::in_virtual_time;

/// The data of an event.
fn data(event: &str) -> Value {
    assert!(event.contains("event: change\n") && event.ends_with("\n\n"), "{event:?}");
    let line = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    serde_json::from_str(line).unwrap()
}

#[test]
fn a_change_is_an_event_and_silence_has_a_beat() {
    in_virtual_time(|| async {
        let site = Site::new();
        let lease = site.hold(Acquire::new("orders/1")).await;
        site.look().await;
        let (mut events, mut beats) = (Vec::new(), 0);
        site.follow(async |text| {
            if text == ":\n\n" {
                beats += 1;
                // Nothing has changed for a while. Now it does.
                if beats == 1 {
                    site.wait_for("orders/1").await;
                }
                return beats < 2;
            }
            events.push(data(&text));
            true
        })
        .await;
        assert_eq!((events.len(), &events[0]["waiting"], &events[1]["waiting"]), (2, &0.into(), &1.into()));
        assert!(events[1]["revision"].as_u64() > events[0]["revision"].as_u64());
        drop(lease);
    });
}

#[test]
fn a_stream_ends_so_that_the_session_is_looked_at_anew() {
    in_virtual_time(|| async {
        let site = Site::new();
        site.look().await;
        // The body of the answer is whole.
        let answer = site.get("events").await;
        assert!(answer.text.starts_with("retry: 3000\nevent: change\n"), "{}", answer.text);
        assert!((15..=21).contains(&answer.text.matches(":\n\n").count()), "{}", answer.text);
    });
}
