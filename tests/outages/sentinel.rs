//! A master with two replicas, which sentinels watch.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::outages::{
    scenario::{Conflicts, Keys, Rig, Scenario, all_kinds},
    single::FROZEN,
};
use leasehold_testing::{
    servers::{RedisServer, Sentinels},
    waiting::until,
};

/// How much of what a master did last its replicas do not hear of.
const BEHIND: Duration = Duration::from_millis(800);

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = |name, conflicts, rig| Scenario { name, conflicts, rig };
    let (around, never) = (Conflicts::AroundTheOutage, Conflicts::Never);
    vec![
        scenario("sentinel_master_killed", around, killed),
        scenario("sentinel_master_killed_while_replicas_are_behind", around, killed_ahead),
        scenario("sentinel_master_killed_while_replicas_are_behind_with_replicas_ack", never, killed_acked),
        scenario("sentinel_master_frozen", around, frozen),
    ]
}

fn killed() -> Rig {
    rig(0, |servers, master| {
        servers.servers[master].kill();
        servers.wait_for_another(master);
    })
}

pub(crate) fn killed_ahead() -> Rig {
    rig(0, kill_ahead)
}

fn killed_acked() -> Rig {
    // All replicas that there are; so nothing is granted before the dead one is back.
    rig(2, kill_ahead)
}

fn frozen() -> Rig {
    rig(0, |servers, master| {
        let start = Instant::now();
        servers.servers[master].pause();
        servers.wait_for_another(master);
        thread::sleep(FROZEN.saturating_sub(start.elapsed()));
        servers.servers[master].resume();
        // Until then it takes itself for a master.
        wait_for_two_replicas(servers);
    })
}

fn rig(replicas_ack: u32, happens: fn(&mut Sentinels, usize)) -> Rig {
    let mut servers = Sentinels::calm();
    Rig {
        store: format!("url = {:?}\nreplicas_ack = {replicas_ack}", servers.url()),
        kinds: all_kinds(),
        repeated: false,
        outage: Box::new(move || {
            let master = servers.master();
            happens(&mut servers, master);
            Box::new(move || servers.servers[servers.master()].keys()) as Keys
        }),
    }
}

fn kill_ahead(servers: &mut Sentinels, master: usize) {
    let (replicas, others): (Vec<_>, Vec<_>) =
        servers.servers.iter_mut().enumerate().partition(|(number, _)| *number != master);
    let replicas: Vec<_> = replicas.iter().map(|(_, replica)| &**replica).collect();
    for (_, master) in others {
        kill_ahead_of(master, &replicas);
    }
    servers.wait_for_another(master);
    servers.servers[master].restart();
    let port = servers.servers[servers.master()].port().to_string();
    servers.servers[master].command(&["REPLICAOF", "127.0.0.1", &port]);
    wait_for_two_replicas(servers);
}

/// Kills a master that has gone on for a while after its replicas lost the connection to it.
pub(crate) fn kill_ahead_of(master: &mut RedisServer, replicas: &[&RedisServer]) {
    // What is on its way when a replica is stopped it will read later; so the connection has to go as well.
    replicas.iter().for_each(|replica| replica.pause());
    master.command(&["CLIENT", "KILL", "TYPE", "replica"]);
    let last_heard = written(master);
    thread::sleep(BEHIND);
    until("the master has written what the replicas did not hear of", || written(master) > last_heard);
    master.kill();
    replicas.iter().for_each(|replica| replica.resume());
}

/// How much a master has written for its replicas.
fn written(master: &RedisServer) -> u64 {
    let info: String = redis::from_redis_value(master.command(&["INFO", "replication"])).expect("a text");
    let offset = info.lines().find_map(|line| line.strip_prefix("master_repl_offset:"));
    offset.and_then(|offset| offset.trim_end().parse().ok()).expect("a number")
}

/// Waits until both replicas follow the master.
pub(crate) fn wait_for_two_replicas(servers: &Sentinels) {
    until("two replicas follow", || {
        let info = servers.servers[servers.master()].try_command(&["INFO", "replication"]);
        let info: Option<String> = info.ok().and_then(|info| redis::from_redis_value(info).ok());
        info.is_some_and(|info| info.matches("state=online").count() == 2)
    });
}
