//! Random traces of the model of partitions, executed by a fleet in virtual time, which has to come to what the model comes to.
//!
//! `LEASEHOLD_TRACES=1000` takes more of them. A member that is frozen, or dies, is cut off from the store.

use std::{array, cell::Cell, collections::BTreeMap, env};

use leasehold_sim::checked::{
    PartitionsRules, PartitionsWorld,
    partitions::{MEMBERS, PARTITIONS},
    traces::{MemberEvent, PartitionsStep},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use support::virtual_time::{World, in_virtual_time, millis, secs};
use tokio::time::{Instant, sleep};

use super::member::{Lives, Process, TTL};

const WORLD: PartitionsWorld =
    PartitionsWorld { rules: PartitionsRules::TODAY, joins: 3, drains: 1, freezes: 2, deaths: 1 };

fn name(member: usize) -> String {
    format!("host-{member}")
}

struct Fleet {
    world: World,
    running: Lives,
    members: [Option<Process>; MEMBERS],
}

impl Fleet {
    /// Does to a member what happens to it.
    fn happens(&mut self, member: usize, event: MemberEvent) {
        let process = self.members[member].take();
        let process = match (event, process) {
            (MemberEvent::Joins, None) => {
                Process::start(&self.world, &self.running, &name(member), PARTITIONS as u32)
            }
            (MemberEvent::Joins, Some(process)) => {
                process.partitions.join();
                process
            }
            (_, None) => panic!("{} is no member", name(member)),
            (MemberEvent::Leaves, Some(process)) => {
                // It drains while other things happen.
                let partitions = process.partitions.clone();
                actix_rt::spawn(async move { partitions.drain().await });
                process
            }
            (event, Some(process)) => {
                process.cut_off(event != MemberEvent::Wakes);
                process
            }
        };
        self.members[member] = Some(process);
    }

    /// Waits until all has settled as in the model, and for a while to see that it stays so.
    async fn settles(&self, step: &PartitionsStep) -> Result<(), String> {
        let owners = (0..).zip(step.owners).filter_map(|(partition, owner)| Some((partition, name(owner?))));
        let owners: BTreeMap<u32, String> = owners.collect();
        let began = Instant::now();
        while self.running.owners() != owners {
            if began.elapsed() > TTL + secs(12) {
                return Err(format!("the model has {owners:?}, and the fleet {:?}", self.running.owners()));
            }
            sleep(millis(10)).await;
        }
        sleep(2 * TTL).await;
        let (settled, wrong) = (self.running.owners(), self.running.wrong());
        if settled == owners && wrong.is_empty() {
            return Ok(());
        }
        Err(format!("the model has {owners:?}, and the fleet {settled:?} in the end: {wrong:?}"))
    }
}

async fn live(number: u64) -> usize {
    let (steps, mut random) = (WORLD.trace(number), StdRng::seed_from_u64(number));
    let members = array::from_fn(|_| None);
    let mut fleet = Fleet { world: World::new(), running: Lives::default(), members };
    for (at, step) in steps.iter().enumerate() {
        fleet.happens(step.member, step.event);
        if step.settles || at + 1 == steps.len() {
            let settled = fleet.settles(step).await;
            assert!(settled.is_ok(), "trace {number}: {settled:?}\n{:#?}", &steps[..=at]);
        } else {
            sleep(millis(random.random_range(1..3_000))).await;
        }
    }
    steps.len()
}

#[test]
fn traces_of_partitions_come_to_what_a_fleet_comes_to() {
    let traces = env::var("LEASEHOLD_TRACES").map_or(100, |traces| traces.parse().expect("a number"));
    let events = Cell::new(0);
    for number in 0..traces {
        in_virtual_time(async || events.set(events.get() + live(number).await));
    }
    println!("{traces} traces of {} events", events.get());
}
