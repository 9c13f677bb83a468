//! A cluster whose masters are replaced, die, or give slots away.

use std::time::Duration;

use crate::load::name;
use crate::outages::{
    scenario::{Conflicts, FIRST_KEPT, Keys, RESOURCES, Rig, Scenario, all_kinds},
    sentinel::kill_ahead_of,
};
use leasehold_testing::servers::{RedisCluster, slot_of_tag};

/// How long a slot rests after each key that has moved.
const SLOWLY: Duration = Duration::from_millis(100);

pub(crate) fn scenarios() -> Vec<Scenario> {
    let scenario = |name, conflicts, rig| Scenario { name, conflicts, rig };
    let (around, never) = (Conflicts::AroundTheOutage, Conflicts::Never);
    vec![
        scenario("cluster_planned_failover", around, failed_over),
        scenario("cluster_master_killed", around, killed),
        scenario("cluster_master_killed_while_its_replica_is_behind", around, killed_ahead),
        scenario("cluster_master_killed_while_its_replica_is_behind_with_replicas_ack", never, killed_acked),
        scenario("cluster_slots_moved_there_and_back", never, moved),
    ]
}

fn failed_over() -> Rig {
    rig(0, |cluster, master| cluster.fail_over(replica_of(master)))
}

fn killed() -> Rig {
    rig(0, |cluster, master| {
        cluster.nodes[master].kill();
        cluster.wait_until_master(replica_of(master));
    })
}

pub(crate) fn killed_ahead() -> Rig {
    rig(0, kill_ahead)
}

fn killed_acked() -> Rig {
    // The only replica that a master has; so nothing is granted before the dead one is back.
    rig(1, kill_ahead)
}

/// Each resource that is kept for long, with one that is not.
fn moved() -> Rig {
    rig(0, |cluster, _| {
        let mut moved = Vec::new();
        for resource in (FIRST_KEPT..RESOURCES).chain([0]) {
            let slot = slot_of_tag(&name(resource));
            let source = cluster.master_of(slot);
            for to in [(source + 1) % 3, source] {
                moved.extend(cluster.move_slot(slot, to, SLOWLY));
            }
        }
        let locks = moved.iter().filter(|key| !key.ends_with(":fence")).count();
        assert!(locks > 0, "no lock was held in a slot that moved: {moved:?}");
    })
}

fn rig(replicas_ack: u32, happens: fn(&mut RedisCluster, usize)) -> Rig {
    let mut cluster = RedisCluster::calm();
    Rig {
        store: format!("url = {:?}\nreplicas_ack = {replicas_ack}", cluster.url()),
        kinds: all_kinds(),
        repeated: false,
        outage: Box::new(move || {
            let master = cluster.master_of(slot_of_tag(&name(0)));
            happens(&mut cluster, master);
            Box::new(move || cluster.keys()) as Keys
        }),
    }
}

fn kill_ahead(cluster: &mut RedisCluster, master: usize) {
    let (masters, replicas) = cluster.nodes.split_at_mut(replica_of(0));
    kill_ahead_of(&mut masters[master], &[&replicas[master]]);
    cluster.wait_until_master(replica_of(master));
    cluster.nodes[master].restart();
    cluster.wait_until_whole();
}

/// The place of the replica of a master that has not been replaced yet.
pub(crate) const fn replica_of(master: usize) -> usize {
    master + 3
}
