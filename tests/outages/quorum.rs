//! Five masters that know nothing of one another, of which two fail.

use std::{thread, time::Duration};

use crate::load::Kind;
use crate::outages::{
    scenario::{Conflicts, Keys, Rig, Scenario},
    single::FROZEN,
};
use leasehold_testing::servers::RedisServer;

/// How long two of five are down.
const DOWN: Duration = Duration::from_secs(4);

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = |name, rig| Scenario { name, conflicts: Conflicts::Never, rig };
    vec![
        scenario("quorum_two_of_five_killed_and_restarted_empty", killed),
        scenario("quorum_two_of_five_frozen", frozen),
    ]
}

fn killed() -> Rig {
    rig(|servers| {
        servers[..2].iter_mut().for_each(RedisServer::kill);
        thread::sleep(DOWN);
        servers[..2].iter_mut().for_each(RedisServer::restart);
    })
}

fn frozen() -> Rig {
    rig(|servers| {
        servers[..2].iter().for_each(RedisServer::pause);
        thread::sleep(FROZEN);
        servers[..2].iter().for_each(RedisServer::resume);
    })
}

fn rig(happens: fn(&mut [RedisServer])) -> Rig {
    let mut servers: Vec<_> = (0..5).map(|_| RedisServer::start()).collect();
    Rig {
        store: store(&servers),
        kinds: kinds(),
        repeated: false,
        outage: Box::new(move || {
            happens(&mut servers);
            Box::new(move || servers.iter().flat_map(keys_of_locks).collect()) as Keys
        }),
    }
}

/// The section `[store]` of a quorum of these.
pub(crate) fn store(servers: &[RedisServer]) -> String {
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    format!("url = \"quorum://[{}]\"\nfresh_start = true\nnode_timeout = \"150ms\"", urls.join(","))
}

/// The kinds of locks that a quorum has.
pub(crate) fn kinds() -> Vec<Kind> {
    vec![Kind::Exclusive, Kind::ReadWrite, Kind::ReEntrant]
}

/// The keys but for the two that each node of a quorum keeps for ever.
pub(crate) fn keys_of_locks(server: &RedisServer) -> Vec<(String, i64)> {
    let kept = ["leasehold:fence", "leasehold:recovered"];
    server.keys().into_iter().filter(|(key, _)| !kept.contains(&&**key)).collect()
}
