//! Histories that are made up, written and read again.

use std::time::Duration;

use leasehold::{LossReason, Mode, Owner, ResourceName};

use super::*;

const TTL: Duration = Duration::from_secs(10);

fn at(secs: u64) -> Moment {
    Moment::since_origin(Duration::from_secs(secs))
}

/// A lease that was asked for a second before it was granted, and released.
fn held(granted: u64, stopped: u64) -> Held {
    Held {
        resource: ResourceName::new("a {b}\n").unwrap(),
        mode: Mode::Exclusive,
        owner: None,
        reentered: false,
        fence: Some(Fence::new(7)),
        ttl: TTL,
        asked: at(granted - 1),
        granted: at(granted),
        valid_until: at(stopped),
        stopped: at(stopped),
        lost: None,
    }
}

fn request() -> Request {
    let Held { resource, owner, ttl, .. } = held(1, 2);
    Request { resource, mode: Mode::Shared, owner, ttl, asked: at(3), answered: at(4) }
}

#[test]
fn a_history_is_the_same_when_it_is_read_again() {
    let owned = Held { owner: Some(Owner::new("me").unwrap()), reentered: true, ..held(2, 4) };
    let permits = Held { mode: Mode::permits(2, 3).unwrap(), fence: None, ..held(3, 4) };
    let lost = Held { lost: Some(LossReason::Released), ..held(3, 9) };
    let over = Held { stopped: at(9), ..held(5, 8) };
    let late = held(6, 6);
    let leases = [held(1, 5), owned, permits, lost, over, late].map(|held| (1, held)).to_vec();
    // The last line is at 9.
    let unanswered = Request { answered: at(9), ..request() };
    let written = Transcript {
        leases,
        refused: vec![(2, request())],
        unanswered: vec![(3, unanswered)],
        complete: true,
        may_forget: Some((at(1), at(2))),
    };
    assert_eq!(Transcript::read(&written.to_lines()), Ok(written));
}

#[test]
fn the_lines_of_a_lease_are_two_calls_and_their_answers() {
    let lines =
        Transcript::of([(3, &Held { resource: ResourceName::new("r").unwrap(), ..held(2, 5) })]).to_lines();
    let of = r#""process":3,"id":0,"resource":"r""#;
    let expected = [
        format!(
            r#"{{"at":1000000000,{of},"event":"acquire","mode":"exclusive","owner":null,"ttl":10000000000}}"#
        ),
        format!(r#"{{"at":2000000000,{of},"event":"granted","fence":7,"reentered":false}}"#),
        format!(r#"{{"at":5000000000,{of},"event":"end"}}"#),
        format!(r#"{{"at":5000000000,{of},"event":"ended","why":"released"}}"#),
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_validity_that_outlasts_the_work_is_not_written() {
    let released = Held { valid_until: at(9), ..held(1, 5) };
    let read = Transcript::read(&Transcript::of([(0, &released)]).to_lines()).unwrap();
    assert_eq!(read.leases, [(0, held(1, 5))]);
}

#[test]
fn without_an_end_a_lease_is_held_until_the_last_line_and_without_an_answer_nothing_is_known() {
    let text = Transcript { refused: vec![(0, request())], ..Transcript::of([(0, &held(1, 2))]) }.to_lines();
    let without = |events: &[&str]| {
        let is_one =
            |line: &&str| !events.iter().any(|event| line.contains(&format!(r#""event":"{event}""#)));
        Transcript::read(&text.lines().filter(is_one).map(|line| format!("{line}\n")).collect::<String>())
    };
    let ended = without(&["end", "ended"]).unwrap().leases[0].1.ended();
    assert!(ended > at(4) && ended < at(5), "{ended:?}");
    let unknown = without(&["granted", "end", "ended"]).unwrap();
    assert_eq!((unknown.leases.len(), unknown.refused.len(), unknown.unanswered.len()), (0, 1, 1));
    assert_eq!(without(&["end"]).unwrap_err().what, "an `ended` without an `end`");
    assert_eq!(without(&["acquire"]).unwrap_err().line, 1);
    assert_eq!(without(&["granted"]).unwrap_err().line, 1);
}

#[test]
fn a_line_that_cannot_be_read_is_told_with_its_number() {
    let text = Transcript::of([(0, &held(1, 2))]).to_lines();
    let broken = |number: usize, from: &str, to: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines[number - 1] = lines[number - 1].replace(from, to);
        Transcript::read(&lines.join("\n")).unwrap_err().to_string()
    };
    assert!(broken(2, "}", "").starts_with("line 2: EOF while parsing"));
    assert!(broken(2, "granted", "given").starts_with("line 2: unknown variant `given`"));
    assert_eq!(broken(1, r#""id":0"#, r#""id":1"#), "line 2: without an `acquire`");
    assert_eq!(
        broken(3, r#""process":0"#, r#""process":1"#),
        "line 3: the number of another call, or told twice"
    );
    assert_eq!(broken(1, r#""at":0"#, r#""at":1500000000"#), "line 1: an answer before its call");
    assert_eq!(broken(4, "released", "lost"), "line 1: a loss has a reason, and nothing else has one");
    for (number, name) in [(1, "owner"), (2, "fence"), (2, "process"), (2, "id"), (2, "resource")] {
        let told = broken(number, &format!("\"{name}\":"), &format!("\"{name}s\":"));
        assert!(told.starts_with(&format!("line {number}: missing field `{name}`")), "{told}");
    }
    assert_eq!(broken(3, "}", r#","fence":7}"#), "line 3: no field of this event: `fence`");
    assert_eq!(broken(4, "}", r#","by":"me"}"#), "line 4: no field of this event: `by`");
    let twice = text.clone() + &text;
    assert_eq!(Transcript::read(&twice).unwrap_err().line, 5);
}

#[test]
fn only_what_was_held_has_an_end() {
    let text = Transcript::of([(0, &held(1, 2))]).to_lines();
    for answer in [r#""late","fence":7,"reentered":false"#, r#""refused""#] {
        let text = text.replace(r#""granted","fence":7,"reentered":false"#, answer);
        assert_eq!(Transcript::read(&text).unwrap_err().what, "an end of what was not held");
    }
}

#[test]
fn the_last_moment_that_can_be_written_has_none_after_it() {
    let text = Transcript::of([(0, &held(1, 2))])
        .to_lines()
        .replace("\"at\":1000000000,", "\"at\":18446744073709551615,");
    let text: String = text.lines().take(2).map(|line| line.to_owned() + "\n").collect();
    assert!(Transcript::read(&text).is_ok());
}
