//! One server that is frozen.

use std::{thread, time::Duration};

use crate::outages::scenario::{Conflicts, Keys, Rig, Scenario, all_kinds};
use leasehold_testing::servers::RedisServer;

/// How long a frozen server is frozen.
pub(crate) const FROZEN: Duration = Duration::from_secs(10);

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![Scenario { name: "single_server_frozen", conflicts: Conflicts::Never, rig: frozen }]
}

fn frozen() -> Rig {
    let server = RedisServer::start();
    Rig {
        store: format!("url = {:?}", server.url()),
        kinds: all_kinds(),
        repeated: false,
        outage: Box::new(move || {
            server.pause();
            thread::sleep(FROZEN);
            server.resume();
            Box::new(move || server.keys()) as Keys
        }),
    }
}
