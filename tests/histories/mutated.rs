//! Histories of a real server with one thing changed, in memory and in their written form: each is refused.

use leasehold_sim::linearizable::{histories, is_that_of_a_lock, judge, search};
use leasehold_testing::{
    history::{Held, conflicting, lines::Transcript},
    servers::RedisServer,
};
use serde_json::{Value, json};
use support::patient;

use super::callers::{Callers, Kind};

/// The history of callers of two managers that take turns.
pub(super) async fn transcript(kind: Kind) -> Transcript {
    let server = RedisServer::start();
    let manager = || super::topologies::manager(patient::open(&server.url()));
    let resource = "r".to_owned();
    let managers = [manager(), manager()];
    Callers { managers: &managers, resource, kind, turns: 4 }.history(async {}).await
}

/// Changes two leases, of which the second was granted after the first.
type Mutation = fn(&mut Held, &mut Held);

/// Ways in which two leases that conflict, one after the other, cannot have been.
const MUTATIONS: [(&str, Mutation); 5] = [
    ("both have one fence", |first, second| second.fence = first.fence),
    ("the fence goes back", |first, second| (first.fence, second.fence) = (second.fence, first.fence)),
    ("the second is granted while the first holds", |first, second| {
        second.asked = second.asked.min(first.granted);
        second.granted = first.granted;
    }),
    ("the first holds while the second is granted", |first, second| {
        (first.stopped, first.valid_until) = (second.ended(), second.ended());
    }),
    ("the second is asked for and over before the first", |first, second| {
        let before = first.asked.min(second.asked);
        (second.asked, second.granted) = (before, before);
        (second.stopped, second.valid_until) = (first.asked, first.asked);
    }),
];

/// The largest distance of two leases that are changed.
const APART: usize = 3;

fn conflict(first: &Held, second: &Held) -> bool {
    let is_own = first.owner.is_some() && first.owner == second.owner;
    !is_own && conflicting(second.mode, std::iter::once((first, first.mode))).next().is_some()
}

#[actix::test]
async fn a_history_with_one_thing_changed_is_refused() {
    for kind in [Kind::Exclusive, Kind::ReadWrite, Kind::Permits, Kind::ReEntrant] {
        let transcript = transcript(kind).await;
        let history = histories(transcript.leases.iter().map(|(_, held)| held)).swap_remove(0);
        assert!(is_that_of_a_lock(&history), "{kind:?}: {history:#?}");
        let pairs = (0..10).flat_map(|first| (1..=APART).map(move |by| (first, first + by)));
        let pairs: Vec<_> =
            pairs.filter(|(first, second)| conflict(history[*first], history[*second])).collect();
        println!("{kind:?}: {} pairs", pairs.len());
        assert!(pairs.iter().any(|(first, second)| second - first > 1), "{kind:?}: {history:#?}");
        for (what, change) in MUTATIONS {
            for &(place, other) in &pairs {
                let (mut first, mut second) = (history[place].clone(), history[other].clone());
                change(&mut first, &mut second);
                let mut changed = history.clone();
                (changed[place], changed[other]) = (&first, &second);
                let (is_accepted, steps) = search(&changed);
                // Without a step, the order of its calls and answers made no sense.
                assert!(!is_accepted && steps > 0, "{kind:?}, {what} at {place} and {other}: {changed:#?}");
            }
        }
    }
}

/// The lines of a lease by their events.
fn line<'a>(lines: &'a mut [Value], id: &Value, event: &str) -> &'a mut Value {
    let found = lines.iter_mut().find(|line| line["id"] == *id && line["event"] == event);
    found.expect("a line of this event")
}

/// Changes the lines of two leases, of which the first is followed by the second.
type Rewriting = fn(&mut Vec<Value>, &Value, &Value);

/// Changes of lines after which no lock could have answered like that.
const REWRITINGS: [(&str, Rewriting); 5] = [
    ("the second's fence is that of the first", |lines, first, second| {
        let fence = line(lines, first, "granted")["fence"].clone();
        line(lines, second, "granted")["fence"] = fence;
    }),
    ("the second has a smaller fence than the first", |lines, first, second| {
        let fence = line(lines, first, "granted")["fence"].as_u64().unwrap() - 1;
        line(lines, second, "granted")["fence"] = json!(fence);
    }),
    ("the first ends after the second was granted", |lines, first, second| {
        let at = line(lines, second, "granted")["at"].as_u64().unwrap() + 1;
        line(lines, first, "end")["at"] = json!(at);
        line(lines, first, "ended")["at"] = json!(at);
    }),
    ("the end of the first is missing", |lines, first, _| {
        lines.retain(|line| {
            line["id"] != *first || !["end", "ended"].contains(&line["event"].as_str().unwrap())
        });
    }),
    ("the second is asked for, granted and over before the first", |lines, first, second| {
        let asked = line(lines, first, "acquire")["at"].as_u64().unwrap();
        let before = [("acquire", 4), ("granted", 3), ("end", 2), ("ended", 1)];
        before.iter().for_each(|(event, by)| line(lines, second, event)["at"] = json!(asked - by));
    }),
];

#[actix::test]
async fn a_written_history_with_one_thing_changed_is_refused() {
    let transcript = transcript(Kind::Exclusive).await;
    let text = transcript.to_lines();
    assert_eq!(Transcript::read(&text).unwrap().to_lines(), text, "it is the same when it is written again");
    let whole: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut in_turn: Vec<_> = whole.iter().filter(|line| line["event"] == "granted").collect();
    in_turn.sort_by_key(|line| line["fence"].as_u64());
    let mut refused = 0;
    for (what, rewrite) in REWRITINGS {
        for pair in in_turn.windows(2).take(10) {
            let mut lines = whole.clone();
            rewrite(&mut lines, &pair[0]["id"], &pair[1]["id"]);
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let read = Transcript::read(&text).unwrap();
            assert!(judge(read.leases.iter().map(|(_, held)| held)).is_err(), "{what}: {pair:?}\n{text}");
            refused += 1;
        }
    }
    assert_eq!(refused, 50);
}
