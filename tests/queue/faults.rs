//! What a fault costs those who wait: 200 callers of five processes, and one fault at a time.
//!
//! The caller whose turn is the n-th after the fault gets it within n turns, one TTL, and what timers are late. A turn is three times
//! what the half of them took: on a busy machine all are slower.

use std::{thread, time::Duration};

use crate::queue::{
    fleet::Fleet,
    talk::{Do, Setup, Turn, micros},
};
use leasehold_testing::servers::RedisServer;

/// The process that holds the resource while the others come to wait.
const HOLDER: usize = 0;
const WAITING: [usize; 5] = [1, 2, 3, 4, 5];
const CALLERS: usize = 40;
const TTL: Duration = Duration::from_secs(3);
const GRANT_WINDOW: Duration = Duration::from_millis(500);
/// How long the server is gone; longer than several attempts.
const DOWN: Duration = Duration::from_secs(1);

/// Everybody waits in the store's queue, or most wait behind another one of their process.
const LIMITS: [u32; 2] = [0, 16];

fn setup(server: &RedisServer, local_handover_limit: u32) -> Setup {
    Setup {
        url: server.url(),
        ttl: TTL,
        // A process that died costs the grant window of one caller, or of several until their places are gone: all
        // together less than one TTL.
        ticket_ttl: Duration::from_secs(2),
        grant_window: GRANT_WINDOW,
        longest_pause: Duration::from_secs(1),
        local_handover_limit,
    }
}

/// A holder, and 200 callers that wait.
fn crowd(setup: &Setup) -> Fleet {
    let mut fleet = Fleet::start(setup, 1 + WAITING.len());
    fleet.hold(HOLDER);
    for process in WAITING.repeat(2) {
        fleet.ask(process, CALLERS / 2);
    }
    fleet
}

/// What strikes, and what may be seen of it.
struct Fault {
    at: u64,
    /// What the hand-over from one to the next takes at most afterwards, where processors are free.
    turn: Duration,
    /// Whether the server forgot who had held before.
    forgets: bool,
}

/// What the hand-over from one to the next takes at most, on a machine that does other things as well.
const TURN: Duration = Duration::from_millis(10);

/// The pause of a scheduled attempt, about. As long as most hand-overs take far less, they were notified, and a slow turn is that of
/// a busy machine.
const SCHEDULED: Duration = Duration::from_millis(500);

/// A scheduled attempt comes up to a quarter of a grant window after the moment for which it waits, by chance, and seconds later
/// on a machine that does other things as well.
const LATE: Duration = Duration::from_millis(GRANT_WINDOW.as_millis() as u64 / 4 + 3_000);

impl Fault {
    fn now() -> Self {
        Self { at: micros(), turn: TURN, forgets: false }
    }
}

/// All callers of these processes are served in time, one at a time, in order of their fences, and nothing is left.
fn everybody_is_served(mut fleet: Fleet, server: &RedisServer, alive: &[usize], fault: &Fault) {
    fleet.until_all_are_answered(alive);
    for process in alive {
        assert_eq!(fleet.of(*process).refused, [], "process {process}");
    }
    let mut turns: Vec<&Turn> = fleet.turns().map(|(_, turn)| turn).collect();
    turns.sort_by_key(|turn| turn.granted);
    one_at_a_time(&turns, fault);
    let after = turns.iter().filter(|turn| turn.granted > fault.at);
    let after: Vec<_> = after.map(|turn| Duration::from_micros(turn.granted - fault.at)).collect();
    let turn = fault.turn.max(3 * usual_turn(&after));
    let mut delay = Duration::ZERO;
    for (waited, number) in after.iter().zip(1..) {
        let late = waited.saturating_sub(turn * number);
        assert!(late <= TTL + LATE, "the {number}th after the fault had to wait for {waited:?}");
        delay = delay.max(late);
    }
    println!(
        "{} after the fault: the last {:?} after it, nobody more than {delay:?} late",
        after.len(),
        after.last()
    );
    fleet.end(alive, server);
}

/// Returns what a half of the hand-overs took at most, which is the pace of this machine at this time.
fn usual_turn(waited: &[Duration]) -> Duration {
    let mut turns: Vec<_> = waited.windows(2).map(|two| two[1] - two[0]).collect();
    turns.sort_unstable();
    let usual = turns.get(turns.len() / 2).copied().unwrap_or_default();
    assert!(usual < SCHEDULED / 4, "most hand-overs waited for scheduled attempts: {usual:?}");
    usual
}

fn one_at_a_time(turns: &[&Turn], fault: &Fault) {
    for pair in turns.windows(2) {
        let (one, next) = (pair[0], pair[1]);
        let forgotten = fault.forgets && one.granted < fault.at && next.granted >= fault.at;
        assert!(one.ended <= next.granted || forgotten, "valid at once: {pair:?}");
        assert!(one.fence < next.fence, "fences out of order: {pair:?}");
    }
}

#[test]
fn a_holder_that_is_killed_costs_its_ttl() {
    for limit in LIMITS {
        let server = RedisServer::start();
        let mut fleet = crowd(&setup(&server, limit));
        let fault = Fault::now();
        fleet.kill(HOLDER);
        everybody_is_served(fleet, &server, &WAITING, &fault);
    }
}

#[test]
fn a_process_at_the_head_that_is_killed_costs_less_than_a_ttl() {
    let (head, others) = WAITING.split_first().unwrap();
    for limit in LIMITS {
        let server = RedisServer::start();
        let mut fleet = crowd(&setup(&server, limit));
        let fault = Fault::now();
        fleet.kill(*head);
        fleet.tell(HOLDER, Do::LetGo);
        everybody_is_served(fleet, &server, others, &fault);
    }
}

/// Strikes while one hands over to the next.
fn everybody_survives(strike: impl Fn(&mut RedisServer) -> Fault) {
    for limit in LIMITS {
        let mut server = RedisServer::start();
        let mut fleet = crowd(&setup(&server, limit));
        fleet.tell(HOLDER, Do::LetGo);
        fleet.until_served(CALLERS);
        let fault = strike(&mut server);
        everybody_is_served(fleet, &server, &WAITING, &fault);
    }
}

#[test]
fn inboxes_whose_connections_are_killed_cost_less_than_a_ttl() {
    everybody_survives(|server| {
        let fault = Fault::now();
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        fault
    });
}

#[test]
fn a_flushed_script_cache_costs_less_than_a_ttl() {
    everybody_survives(|server| {
        let fault = Fault::now();
        server.command(&["SCRIPT", "FLUSH"]);
        fault
    });
}

#[test]
fn a_server_that_comes_back_empty_costs_less_than_a_ttl() {
    everybody_survives(|server| {
        server.kill();
        thread::sleep(DOWN);
        let fault = Fault { forgets: true, ..Fault::now() };
        server.restart();
        fault
    });
}

#[test]
fn who_may_not_use_channels_any_more_is_served_by_scheduled_attempts() {
    let longest_pause = Duration::from_millis(50);
    for limit in LIMITS {
        let server = RedisServer::start();
        server.command(&["ACL", "SETUSER", "caller", "on", ">s3cret", "~*", "+@all", "allchannels"]);
        let url = server.url_for("caller", "s3cret");
        let mut fleet = crowd(&Setup { url, longest_pause, ..setup(&server, limit) });
        fleet.tell(HOLDER, Do::LetGo);
        fleet.until_served(CALLERS);
        let fault = Fault { turn: longest_pause, ..Fault::now() };
        server.command(&["ACL", "SETUSER", "caller", "resetchannels"]);
        everybody_is_served(fleet, &server, &WAITING, &fault);
    }
}
