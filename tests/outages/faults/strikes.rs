//! The faults, each on the servers of any topology.

use std::{thread, time::Duration};

use leasehold_testing::servers::RedisServer;

use super::{
    cut::{ALL, Cut},
    topology::{Servers, Topology},
};
use crate::outages::{
    scenario::{Keys, Rig},
    single::FROZEN,
};

/// How long a fault lasts: longer than three TTLs.
const LASTING: Duration = FROZEN;
const HOUR: Duration = Duration::from_secs(3600);
/// How long clocks are wrong at least while leases are taken.
const WRONG: Duration = Duration::from_secs(4);
/// How long a slow disk needs: longer than the longest TTL.
const SLOW: Duration = Duration::from_secs(4);
const APPEND_ONLY: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "everysec"];

pub(super) fn paused(topology: Topology) -> Rig {
    rig(topology, &[], |servers| {
        servers.fail_for(
            LASTING,
            |struck| struck.iter().for_each(RedisServer::pause),
            |struck, ()| {
                struck.iter().for_each(RedisServer::resume);
            },
        );
    })
}

/// They come back with what their append-only files have.
pub(super) fn killed(topology: Topology) -> Rig {
    rig(topology, &APPEND_ONLY, |servers| {
        servers.fail_for(
            LASTING,
            |struck| struck.iter_mut().for_each(RedisServer::kill),
            |struck, ()| {
                struck.iter_mut().for_each(RedisServer::restart);
            },
        );
    })
}

pub(super) fn cut_off(topology: Topology) -> Rig {
    rig(topology, &[], |servers| {
        let (_, own) = servers.sources();
        servers.fail_for(LASTING, |struck| Cut::between(struck, ALL, &own), |_, cut| drop(cut));
    })
}

/// Clients still reach them.
pub(super) fn cut_off_from_peers(topology: Topology) -> Rig {
    rig(topology, &[], |servers| {
        let (peers, own) = servers.sources();
        servers.fail_for(LASTING, |struck| Cut::between(struck, &peers, &own), |_, cut| drop(cut));
    })
}

pub(super) fn clock_forward(topology: Topology) -> Rig {
    rig(topology, &[], |servers| {
        servers.struck().iter().for_each(|server| server.advance(HOUR));
        thread::sleep(WRONG);
    })
}

pub(super) fn clock_back(topology: Topology) -> Rig {
    rig(topology, &[], |servers| {
        servers.struck().iter().for_each(|server| server.set_back(HOUR));
        thread::sleep(WRONG);
    })
}

pub(super) fn disk_full(topology: Topology) -> Rig {
    rig(topology, &APPEND_ONLY, |servers| {
        servers.struck().iter().for_each(|server| server.fill_disk(true));
        thread::sleep(LASTING);
        servers.struck().iter().for_each(|server| server.fill_disk(false));
    })
}

pub(super) fn slow_disk(topology: Topology) -> Rig {
    rig(topology, &APPEND_ONLY, |servers| {
        servers.struck().iter().for_each(|server| server.slow_disk(SLOW));
        thread::sleep(LASTING);
        servers.struck().iter().for_each(|server| server.slow_disk(Duration::ZERO));
    })
}

/// They are back before anybody takes them for dead.
pub(super) fn restarted_empty(topology: Topology) -> Rig {
    rig(topology, &[], |servers| servers.struck().iter_mut().for_each(RedisServer::restart))
}

pub(super) fn fail_over(topology: Topology) -> Rig {
    rig(topology, &[], |servers| servers.fail_over())
}

pub(super) fn repeated(topology: Topology) -> Rig {
    Rig { repeated: true, ..rig(topology, &[], |_| thread::sleep(LASTING)) }
}

fn rig(topology: Topology, arguments: &[&str], happens: fn(&mut Servers)) -> Rig {
    let mut servers = topology.start(arguments);
    Rig {
        store: servers.store(),
        kinds: topology.kinds(),
        repeated: false,
        outage: Box::new(move || {
            happens(&mut servers);
            Box::new(move || servers.keys()) as Keys
        }),
    }
}
