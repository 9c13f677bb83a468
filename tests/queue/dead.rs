//! What a fleet that was killed, or that is frozen, costs one who waits behind it.

use std::{thread, time::Duration};

use leasehold::{
    Mode, RedisOptions, RedisStore, ResourceName, Token,
    store::{Acquired, Acquisition, Hold, Store},
};

use crate::queue::{
    fleet::Fleet,
    talk::{Do, Setup, micros},
};
use leasehold_testing::servers::RedisServer;

const HOLDER: usize = 0;
const ALIVE: usize = 1;
/// How many wait, in how many processes.
const FLEETS: [(usize, usize); 4] = [(1, 1), (8, 2), (30, 3), (300, 5)];
const WINDOW: Duration = Duration::from_millis(500);
/// What a busy machine is late. The larger fleets would be served much later if each of them cost a window.
const LATE: Duration = Duration::from_secs(5);

/// What becomes of the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Killed,
    /// Its connections stay open, and nobody answers.
    Frozen,
}

fn setup(server: &RedisServer, ttl: Duration) -> Setup {
    Setup {
        url: server.url(),
        ttl,
        ticket_ttl: Duration::from_secs(20),
        grant_window: WINDOW,
        longest_pause: Duration::from_secs(1),
        local_handover_limit: 0,
    }
}

/// A holder, a fleet that waits, and one behind it that lives, unless nobody is to live.
fn fleet(setup: &Setup, (callers, processes): (usize, usize), fate: Fate, alive: bool) -> Fleet {
    let mut fleet = Fleet::start(setup, 2 + processes);
    fleet.hold(HOLDER);
    for process in 2..2 + processes {
        fleet.ask(process, callers.div_ceil(processes));
    }
    if alive {
        fleet.ask(ALIVE, 1);
    }
    for process in 2..2 + processes {
        match fate {
            Fate::Killed => fleet.kill(process),
            Fate::Frozen => fleet.freeze(process),
        }
    }
    fleet
}

/// The one who lives is served in time after the holder let go, or was killed.
fn is_served(which: (usize, usize), fate: Fate, ttl: Duration, released: bool) {
    let server = RedisServer::start();
    let mut fleet = fleet(&setup(&server, ttl), which, fate, true);
    let from = micros();
    if released {
        fleet.tell(HOLDER, Do::LetGo);
    } else {
        fleet.kill(HOLDER);
    }
    fleet.until_all_are_answered(&[ALIVE]);
    let turn = fleet.of(ALIVE).turns.first().expect("it is served");
    assert!(turn.granted >= from, "beside the holder: {turn:?}");
    let waited = Duration::from_micros(turn.granted - from);
    let ends = if released { Duration::ZERO } else { ttl };
    println!("{which:?} {fate:?}, {ttl:?}, released {released}: served after {waited:?}");
    assert!(waited <= ends + ttl.max(2 * WINDOW) + LATE, "{which:?} {fate:?}: {waited:?}");
}

#[test]
fn a_killed_fleet_costs_at_most_a_ttl_or_two_windows() {
    for which in FLEETS {
        is_served(which, Fate::Killed, Duration::from_secs(6), true);
        is_served(which, Fate::Killed, Duration::from_secs(6), false);
    }
    // The bound of two windows, with a TTL that would hide nothing shorter.
    is_served(FLEETS[3], Fate::Killed, Duration::from_secs(30), true);
}

#[test]
fn a_frozen_fleet_costs_at_most_a_ttl_or_two_windows() {
    for which in FLEETS {
        is_served(which, Fate::Frozen, Duration::from_secs(6), true);
    }
}

#[test]
fn a_killed_fleet_refuses_no_try_after_a_ttl() {
    let ttl = Duration::from_secs(1);
    for which in FLEETS {
        let server = RedisServer::start();
        let mut fleet = fleet(&setup(&server, ttl), which, Fate::Killed, false);
        fleet.kill(HOLDER);
        // What the holder has sent may be executed after its end.
        server.command(&["PING"]);
        let killed = micros();
        while micros() < killed + ttl.as_micros() as u64 {
            thread::sleep(Duration::from_millis(10));
        }
        let options = RedisOptions { response_timeout: Duration::from_secs(10), ..RedisOptions::default() };
        let store = RedisStore::with_options(&server.url(), options).unwrap();
        let asked = Acquisition {
            hold: Hold {
                resource: ResourceName::new("crowded").unwrap(),
                token: Token::from_bits(7),
                owner: None,
            },
            mode: Mode::Exclusive,
            reentrant: false,
            ttl,
            lock_delay: Duration::ZERO,
            metadata: Default::default(),
            ticket: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer = runtime.block_on(store.acquire(&asked)).unwrap();
        assert!(matches!(answer, Acquired::Granted(_)), "{which:?}: {answer:?}");
    }
}
