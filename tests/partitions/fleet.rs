//! Six processes with 64 partitions, killed, frozen, stopped and started at random, with clocks that are apart.
//!
//! `LEASEHOLD_FLEET_SECONDS=180 LEASEHOLD_FLEET_SEED=7` makes it longer, and other.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

use leasehold_testing::{
    process::{Process, Signal, this_program},
    servers::{RedisServer, WallClock},
    waiting::PATIENCE,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rusqlite::Connection;

use super::{
    owners::{Violations, judge},
    process::{DATABASE, NAME, PARTITIONS, Said, TEST, TICK, TTL, URL, fences},
};
use crate::election::{
    fleet::from_environment,
    gaps::{Absence, Tick, Witness},
    process::micros,
};

const MEMBERS: usize = 6;

/// A place of the fleet, which is the name of its member.
enum Place {
    Well(Member),
    Frozen { member: Member, since: u64, until: Instant },
    Gone { until: Instant },
}

struct Member {
    process: Process,
    _clock: WallClock,
}

struct Fleet<'a> {
    url: String,
    database: &'a Path,
    rng: StdRng,
    places: Vec<Place>,
    say: Sender<(usize, Said)>,
    said: Receiver<(usize, Said)>,
    /// The work on each partition. Its process is the place of the member.
    work: BTreeMap<u32, Vec<Tick>>,
    /// The work that the database refused, with the end of the lease that it was done under.
    refused: Vec<(u32, Tick)>,
    /// The moment at which each process began.
    ready: [Instant; MEMBERS],
    /// The places that partitions were said to have, and when.
    there: Vec<(u32, u64, usize)>,
    /// The times in which processes were dead or frozen, with their places.
    absent: Vec<(usize, Absence)>,
    /// The moves that the changes of members required.
    needed: usize,
}

impl<'a> Fleet<'a> {
    fn start(url: String, database: &'a Path, seed: u64) -> Self {
        let (say, said) = channel();
        let mut fleet = Self {
            url,
            database,
            rng: StdRng::seed_from_u64(seed),
            places: Vec::new(),
            say,
            said,
            work: BTreeMap::new(),
            refused: Vec::new(),
            ready: [Instant::now(); MEMBERS],
            there: Vec::new(),
            absent: Vec::new(),
            needed: 0,
        };
        for place in 0..MEMBERS {
            let member = fleet.member(place);
            fleet.places.push(member);
        }
        fleet
    }

    fn member(&mut self, place: usize) -> Place {
        let mut command = this_program(TEST);
        command.env(URL, &self.url).env(DATABASE, self.database).env(NAME, format!("host-{place}"));
        let clock = WallClock::of(&mut command, self.rng.random_range(-600..600));
        let (mut process, say) = (Process::start(&mut command), self.say.clone());
        process.tell(move |line| {
            // What the harness prints is not meant for us, and nobody listens any more when the test is over.
            serde_json::from_str(&line).map_or(true, |said| say.send((place, said)).is_ok())
        });
        Place::Well(Member { process, _clock: clock })
    }

    /// Hears what processes say, for so long.
    fn listen(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Ok((process, said)) = self.said.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            match said {
                Said::Ready => self.ready[process] = Instant::now(),
                Said::Work { partition, at, until, fence } => {
                    self.work.entry(partition).or_default().push(Tick { at, until, fence, process });
                }
                Said::Refused { partition, at, until, fence } => {
                    self.refused.push((partition, Tick { at, until, fence, process }));
                }
                Said::There { partition, at, place } => self.there.push((partition, at, place)),
            }
        }
    }

    /// Returns the number of partitions on which each member worked in the last two ticks.
    fn shares(&self) -> [usize; MEMBERS] {
        let since = micros() - 3 * TICK.as_micros() as u64;
        let mut shares = [0; MEMBERS];
        let last = self.work.values().filter_map(|work| work.last()).filter(|last| last.at > since);
        last.for_each(|last| shares[last.process] += 1);
        shares
    }

    /// Waits until all work, in shares that differ by one at most. Returns how long that took.
    fn balanced(&mut self) -> Duration {
        let began = Instant::now();
        loop {
            self.listen(TICK);
            let shares = self.shares();
            let (most, least) = (shares.iter().max().unwrap(), shares.iter().min().unwrap());
            if shares.iter().sum::<usize>() == PARTITIONS as usize && most - least <= 1 {
                return began.elapsed();
            }
            assert!(began.elapsed() < PATIENCE, "{shares:?}");
        }
    }

    /// Does something to a process that is well, if enough others are.
    fn disturb(&mut self) {
        let well: Vec<_> =
            (0..MEMBERS).filter(|place| matches!(self.places[*place], Place::Well(_))).collect();
        if well.len() < MEMBERS - 2 {
            return;
        }
        let place = well[self.rng.random_range(0..well.len())];
        let away = Duration::from_millis(self.rng.random_range(100..5_000));
        let until = Instant::now() + away;
        let Place::Well(mut member) = std::mem::replace(&mut self.places[place], Place::Gone { until })
        else {
            return;
        };
        // To others and back. Nobody has to take what is there again before its leases end.
        let share = PARTITIONS as usize / well.len();
        let moves = if away >= 2 * TTL / 3 { 2 * share } else { 0 };
        match self.rng.random_range(0..3) {
            0 => {
                self.absent.push((place, Absence::killed(micros())));
                member.process.kill();
                self.needed += moves;
            }
            1 => {
                member.process.pause();
                self.places[place] = Place::Frozen { member, since: micros(), until };
                self.needed += moves;
            }
            _ => {
                self.stop(place, member);
                self.needed += 2 * share;
            }
        }
    }

    /// Stops a process, which gives everything up.
    fn stop(&mut self, place: usize, mut member: Member) {
        self.absent.push((place, Absence::killed(micros())));
        member.process.signal(Signal::TERM);
        member.process.end();
    }

    /// Stops the first process, and starts it again when the others have its share. Returns how long it took
    /// from its beginning to have one again.
    fn joins(&mut self) -> Duration {
        let gone = Place::Gone { until: Instant::now() };
        let Place::Well(member) = std::mem::replace(&mut self.places[0], gone) else {
            panic!("all are well")
        };
        self.stop(0, member);
        let began = Instant::now();
        while self.shares().iter().sum::<usize>() < PARTITIONS as usize || self.shares()[0] > 0 {
            self.listen(TICK);
            assert!(began.elapsed() < PATIENCE, "{:?}", self.shares());
        }
        self.heal(true);
        self.balanced();
        self.ready[0].elapsed()
    }

    /// Lets processes go on, and starts those again that have gone.
    fn heal(&mut self, all: bool) {
        let now = Instant::now();
        for place in 0..MEMBERS {
            let old = std::mem::replace(&mut self.places[place], Place::Gone { until: now });
            self.places[place] = match old {
                Place::Frozen { member, since, until } if all || now >= until => {
                    self.absent.push((place, Absence { from: since, until: micros() }));
                    member.process.resume();
                    Place::Well(member)
                }
                Place::Gone { until } if all || now >= until => self.member(place),
                other => other,
            };
        }
    }

    /// Returns how many answers named a member that did not work on the partition around that time.
    fn misnamed(&self) -> usize {
        let around = 2 * TTL.as_micros() as u64;
        let is_wrong = |(partition, at, place): &&(u32, u64, usize)| {
            let work = self.work.get(partition).into_iter().flatten();
            !work.into_iter().any(|work| work.process == *place && work.at.abs_diff(*at) < around)
        };
        self.there.iter().filter(is_wrong).count()
    }

    fn moves(&self) -> usize {
        let moved = |work: &Vec<Tick>| work.windows(2).filter(|two| two[0].process != two[1].process).count();
        self.work.values().map(moved).sum()
    }
}

#[test]
fn processes_that_are_killed_frozen_and_stopped_never_own_a_partition_at_once_and_share_them_evenly() {
    let seed = from_environment("LEASEHOLD_FLEET_SEED", 1);
    let time = Duration::from_secs(from_environment("LEASEHOLD_FLEET_SECONDS", 15));
    let (server, directory) = (RedisServer::start(), tempfile::tempdir().unwrap());
    let database = directory.path().join("work");
    let table = Connection::open(&database).unwrap();
    table.pragma_update(None, "journal_mode", "WAL").unwrap();
    table.pragma_update(None, "synchronous", "OFF").unwrap();
    table.execute(&fences().create(), ()).unwrap();
    let witness = Witness::start();
    let mut fleet = Fleet::start(server.url(), &database, seed);
    let first = fleet.balanced();
    let before = fleet.moves();
    let (began, mut next) = (Instant::now(), Instant::now());
    while began.elapsed() < time {
        fleet.listen(Duration::from_millis(20));
        fleet.heal(false);
        if Instant::now() >= next {
            fleet.disturb();
            next = Instant::now() + Duration::from_millis(fleet.rng.random_range(500..3_000));
        }
    }
    fleet.heal(true);
    let last = fleet.balanced();
    fleet.listen(TTL);
    let moves = fleet.moves() - before;
    let pieces: usize = fleet.work.values().map(Vec::len).sum();
    let joined = fleet.joins();
    fleet.listen(TTL);
    let stalls = witness.stop();
    let needed = fleet.needed;
    let Violations { all: violations, hand_overs, of_others, late, events } =
        judge(&mut fleet.work, &fleet.refused, &fleet.absent, &stalls);
    let (asked, misnamed) = (fleet.there.len(), fleet.misnamed());
    println!(
        "seed {seed}: {pieces} pieces of work, {} refused; balanced {first:?} after the start and {last:?} after the last \
         change, a member that joins {joined:?} after its start; {moves} moves, at most {needed} were needed; {hand_overs} \
         hand-overs, {late} late, and {of_others} for which another one died; {asked} answers named another member, {misnamed} of \
         them a wrong one; shares {:?}",
        fleet.refused.len(),
        fleet.shares()
    );
    assert!(violations.is_empty(), "{violations:#?}");
    assert!(asked > 5 * time.as_secs() as usize && misnamed <= asked / 50, "{misnamed} wrong of {asked}");
    // A process that gets no processor for so long loses its leases, as one that was frozen.
    let froze = |&(start, end): &(u64, u64)| end - start > TTL.as_micros() as u64 / 4;
    let stalled: u64 = stalls.iter().map(|(start, end)| end - start).sum();
    let is_idle = !stalls.iter().any(froze) && Duration::from_micros(stalled) < began.elapsed() / 50;
    assert!(
        !is_idle || events as u64 <= 2 + time.as_secs() / 60,
        "{late} late, {of_others} by others, in {events}"
    );
    assert!(!is_idle || 10 * moves <= 13 * needed, "{moves} moves, and at most {needed} were needed");
    assert!(!is_idle || last < Duration::from_secs(5), "balanced {last:?} after the last change");
    assert!(
        !is_idle || joined < Duration::from_secs(3),
        "a member that joins has its share after {joined:?}"
    );
    assert!(pieces > 64 * 5 * time.as_secs() as usize / 4, "too little happened: {pieces} pieces of work");
}
