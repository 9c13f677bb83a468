//! The order of arrival across processes, and what a hand-over costs.

use std::time::Duration;

use crate::queue::{
    fleet::Fleet,
    monitor::Monitor,
    talk::{Do, Setup},
};
use leasehold_testing::servers::RedisServer;

/// The process that holds the resource while the others come to wait.
const HOLDER: usize = 0;
const PROCESSES: usize = 20;
/// They come in groups, each when the one before waits, so that the order of all is known.
const ROUNDS: usize = 5;
const GROUP: usize = 10;

#[test]
fn a_thousand_callers_of_twenty_processes_are_served_in_the_order_of_arrival() {
    let server = RedisServer::start();
    let setup = Setup {
        url: server.url(),
        ttl: Duration::from_secs(30),
        ticket_ttl: Duration::from_secs(600),
        // One that does not take its turn in this time is passed over.
        grant_window: Duration::from_secs(20),
        longest_pause: Duration::from_secs(1),
        local_handover_limit: 0,
    };
    let mut fleet = Fleet::start(&setup, 1 + PROCESSES);
    fleet.hold(HOLDER);
    let mut arrived = Vec::new();
    for round in 0..ROUNDS {
        for process in 1..=PROCESSES {
            fleet.ask(process, GROUP);
            arrived.extend((0..GROUP).map(|caller| (process, round * GROUP + caller)));
        }
    }
    let monitor = Monitor::start(&server);
    fleet.tell(HOLDER, Do::LetGo);
    let processes: Vec<usize> = (1..=PROCESSES).collect();
    fleet.until_all_are_answered(&processes);
    let sent = monitor.stop();

    let mut turns: Vec<_> = fleet.turns().collect();
    turns.sort_by_key(|(_, turn)| turn.fence);
    let served: Vec<_> = turns.iter().map(|(process, turn)| (*process, turn.caller)).collect();
    let overtaken = arrived.iter().zip(&served).position(|(arrived, served)| arrived != served);
    assert_eq!(overtaken.map(|place| (arrived[place], served[place])), None, "arrived, served");
    assert_eq!(served.len(), arrived.len());
    for pair in turns.windows(2) {
        assert!(pair[0].1.ended <= pair[1].1.granted, "valid at once: {pair:?}");
    }
    let took = Duration::from_micros(turns[turns.len() - 1].1.ended - turns[0].1.granted);
    let a_hand_over = sent.values().sum::<u64>() as f64 / served.len() as f64;
    println!("{a_hand_over:.2} commands a hand-over, {:?} a turn: {sent:?}", took / served.len() as u32);
    // The release and the taking up, and now and then what keeps places and subscriptions alive.
    assert!(a_hand_over <= 2.5);
    fleet.end(&processes, &server);
}
