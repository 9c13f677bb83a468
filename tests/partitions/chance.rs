//! Fleets by chance: processes that join, leave, stop, and are cut off, in virtual time.
//!
//! `LEASEHOLD_SIM_SEEDS=10000` tries so many, from a random one on.

use std::{env, mem};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use support::virtual_time::{World, in_virtual_time, millis, secs};
use tokio::time::{Instant, sleep};

use super::member::{Lives, Process, TTL};

const PARTITIONS: u32 = 12;
const PLACES: usize = 4;

/// A place of the fleet, in which one process is after the other.
enum Place {
    Empty,
    Well(Process),
    Drained(Process),
    CutOff(Process),
}

struct Fleet {
    world: World,
    running: Lives,
    rng: StdRng,
    places: [Place; PLACES],
}

impl Fleet {
    fn start(&self, place: usize) -> Place {
        Place::Well(Process::start(&self.world, &self.running, &format!("host-{place}"), PARTITIONS))
    }

    /// Does something to one of them.
    async fn disturb(&mut self) {
        let place = self.rng.random_range(0..PLACES);
        let next = match (mem::replace(&mut self.places[place], Place::Empty), self.rng.random_range(0..4)) {
            (Place::Empty, _) => self.start(place),
            (Place::Well(process), 0) => {
                process.stop().await;
                Place::Empty
            }
            (Place::Well(process), 1) => {
                // It drains while other things happen.
                let partitions = process.partitions.clone();
                actix_rt::spawn(async move { partitions.drain().await });
                Place::Drained(process)
            }
            (Place::Well(process), _) => {
                process.cut_off(true);
                Place::CutOff(process)
            }
            (Place::Drained(process), _) => {
                process.partitions.join();
                Place::Well(process)
            }
            (Place::CutOff(process), _) => {
                process.cut_off(false);
                Place::Well(process)
            }
        };
        self.places[place] = next;
    }

    /// Lets all be well, and returns how many members there are.
    fn heal(&mut self) -> usize {
        for place in 0..PLACES {
            self.places[place] = match mem::replace(&mut self.places[place], Place::Empty) {
                Place::CutOff(process) => {
                    process.cut_off(false);
                    Place::Well(process)
                }
                Place::Empty => self.start(place),
                // So that there is one at least.
                Place::Drained(process) if place == 0 => {
                    process.partitions.join();
                    Place::Well(process)
                }
                other => other,
            };
        }
        self.places.iter().filter(|place| matches!(place, Place::Well(_))).count()
    }
}

async fn live(seed: u64) {
    let mut fleet = Fleet {
        world: World::new(),
        running: Lives::default(),
        rng: StdRng::seed_from_u64(seed),
        places: [const { Place::Empty }; PLACES],
    };
    fleet.places[0] = fleet.start(0);
    for _ in 0..fleet.rng.random_range(5..25) {
        fleet.disturb().await;
        let pause = if fleet.rng.random_bool(0.5) { 1..300 } else { 1..12_000 };
        sleep(millis(fleet.rng.random_range(pause))).await;
    }
    let (members, began) = (fleet.heal(), Instant::now());
    fleet.running.balanced(PARTITIONS, members).await;
    // A pause before it stands again, after many short terms, is longer than that after one change.
    assert!(began.elapsed() < TTL + secs(12), "seed {seed}: balanced after {:?}", began.elapsed());
    // For a moment others may have been balanced: one that leaves, in place of one that has not come yet.
    sleep(TTL).await;
    fleet.running.balanced(PARTITIONS, members).await;
    let settled = fleet.running.lives();
    sleep(3 * TTL).await;
    assert_eq!((fleet.running.wrong(), fleet.running.lives()), (vec![], settled), "seed {seed}");
}

#[test]
fn fleets_by_chance_never_have_two_owners_and_are_balanced_in_the_end() {
    let seeds = env::var("LEASEHOLD_SIM_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let first = seeds.map_or(1, |_: u64| rand::random_range(1..u64::from(u32::MAX)));
    for seed in first..first + seeds.unwrap_or(100) {
        in_virtual_time(|| live(seed));
    }
}
