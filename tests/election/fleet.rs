//! Processes of which one ticks, killed, frozen and stopped at random: two never lead at once, and soon somebody does again.
//!
//! `LEASEHOLD_FLEET_SECONDS=120 LEASEHOLD_FLEET_SEED=7` makes it longer, and other.

use std::{
    collections::BTreeMap,
    env,
    str::FromStr,
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::election::{
    gaps::{Absence, Tick, Witness, gaps},
    held,
    process::{SCHEDULE, Said, TEST, TICK, TTL, URL, micros},
};
use leasehold_testing::{
    process::{Process, Signal, this_program},
    servers::{RedisServer, WallClock},
    waiting::PATIENCE,
};

const MEMBERS: usize = 5;

/// A process of the fleet.
pub(crate) struct Member {
    process: Process,
    /// Its clock, until it ends.
    _clock: Option<WallClock>,
    /// The number of this incarnation, which no other process has.
    number: usize,
    is_ready: bool,
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Well,
    /// Goes on at this moment.
    Frozen {
        since: u64,
        until: Instant,
    },
    /// Is started again at this moment.
    Gone {
        until: Instant,
    },
}

pub(crate) struct Fleet {
    url: String,
    /// True if its processes run a schedule, with clocks that are apart.
    schedules: bool,
    rng: StdRng,
    members: Vec<Member>,
    /// The number of processes that were started.
    started: usize,
    say: Sender<(usize, Said)>,
    said: Receiver<(usize, Said)>,
    pub(crate) ticks: Vec<Tick>,
    /// The ticks of the schedule: number, time in µs, and fence.
    pub(crate) runs: Vec<(u64, u64, u64)>,
    /// What each process believed to be the time of day in seconds, beside the true one.
    pub(crate) clocks: Vec<(u64, u64)>,
    /// The term and the fence of each election, by the process.
    elected: BTreeMap<usize, Vec<(u64, u64)>>,
    /// The moment from which each process stood for the lead.
    ready: BTreeMap<usize, u64>,
    pub(crate) absent: Vec<Absence>,
}

impl Fleet {
    pub(crate) fn start(url: String, schedules: bool, seed: u64) -> Self {
        let (say, said) = channel();
        let (ticks, runs, clocks) = (Vec::new(), Vec::new(), Vec::new());
        let (elected, absent, rng) = (BTreeMap::new(), Vec::new(), StdRng::seed_from_u64(seed));
        let (members, started, ready) = (Vec::new(), 0, BTreeMap::new());
        let mut fleet = Self {
            url,
            schedules,
            rng,
            members,
            started,
            say,
            said,
            ticks,
            runs,
            clocks,
            elected,
            ready,
            absent,
        };
        fleet.members = (0..MEMBERS).map(|_| fleet.member()).collect();
        fleet
    }

    fn member(&mut self) -> Member {
        self.started += 1;
        let (number, say) = (self.started, self.say.clone());
        let mut command = this_program(TEST);
        command.env(URL, &self.url);
        let clock = self.schedules.then(|| {
            command.env(SCHEDULE, "");
            WallClock::of(&mut command, self.rng.random_range(-600..600))
        });
        let mut process = Process::start(&mut command);
        process.tell(move |line| {
            // What the harness prints is not meant for us, and nobody listens any more when the test is over.
            serde_json::from_str(&line).map_or(true, |said| say.send((number, said)).is_ok())
        });
        Member { process, _clock: clock, number, is_ready: false, fate: Fate::Well }
    }

    /// Hears what processes say, for so long.
    pub(crate) fn listen(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Ok((process, said)) = self.said.recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            match said {
                Said::Ready { at, wall } => {
                    self.ready.insert(process, at);
                    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
                    self.clocks.push((wall, now));
                    let member = self.members.iter_mut().find(|member| member.number == process);
                    member.into_iter().for_each(|member| member.is_ready = true);
                }
                Said::Elected { term, fence } => self.elected.entry(process).or_default().push((term, fence)),
                Said::Tick { at, until, fence } => self.ticks.push(Tick { at, until, fence, process }),
                Said::Run { at, fence, number, scheduled_for } => {
                    // Whoever has claimed a tick runs it, and looks at its lease no more.
                    self.ticks.push(Tick { at, until: u64::MAX, fence, process });
                    self.runs.push((number, scheduled_for, fence));
                }
            }
        }
    }

    /// The member that said last that it ticks. Lines of one that was replaced may still come through its pipe.
    fn leader(&self) -> usize {
        let is_there = |process: &usize| self.members.iter().any(|member| member.number == *process);
        self.ticks.iter().rev().map(|tick| tick.process).find(is_there).expect("somebody ticks")
    }

    /// Asks the one that ticks to stop while all others are well, and waits until another one ticks.
    pub(crate) fn stop_the_leader(&mut self) {
        let leader = self.leader();
        let member = self.members.iter_mut().find(|member| member.number == leader).expect("it is there");
        member.process.signal(Signal::TERM);
        member.fate = Fate::Gone { until: Instant::now() };
        while self.leader() == leader {
            self.listen(TICK / 4);
        }
        self.heal(true);
    }

    /// Does something to a process that is well, if enough others are: to the one that ticks as often as not.
    fn disturb(&mut self) {
        let rng = &mut self.rng;
        let well = |member: &&Member| member.fate == Fate::Well && member.is_ready;
        let places: Vec<_> = (0..MEMBERS).filter(|place| well(&&self.members[*place])).collect();
        if places.len() < MEMBERS - 1 {
            return;
        }
        let ticks = self.ticks.last().map(|tick| tick.process);
        let leader = places.iter().find(|place| Some(self.members[**place].number) == ticks);
        let any = places[rng.random_range(0..places.len())];
        let place = *leader.filter(|_| rng.random_bool(0.5)).unwrap_or(&any);
        let again = Instant::now() + Duration::from_millis(rng.random_range(100..3_000));
        let member = &mut self.members[place];
        match rng.random_range(0..3) {
            0 => {
                self.absent.push(Absence::killed(micros()));
                member.process.kill();
                member.fate = Fate::Gone { until: again };
            }
            1 => {
                member.process.pause();
                member.fate = Fate::Frozen { since: micros(), until: again };
            }
            _ => {
                member.process.signal(Signal::TERM);
                member.fate = Fate::Gone { until: again };
            }
        }
    }

    /// Lets processes go on, and starts those again that have gone.
    fn heal(&mut self, all: bool) {
        let now = Instant::now();
        for place in 0..MEMBERS {
            match self.members[place].fate {
                Fate::Frozen { since, until } if all || now >= until => {
                    self.absent.push(Absence { from: since, until: micros() });
                    self.members[place].process.resume();
                    self.members[place].fate = Fate::Well;
                }
                Fate::Gone { until } if all || now >= until => {
                    self.members[place].process.end();
                    self.members[place] = self.member();
                }
                Fate::Well | Fate::Frozen { .. } | Fate::Gone { .. } => {}
            }
        }
    }

    /// Fences and terms that did not grow, ticks of two leaders at once, and times without a runner.
    pub(crate) fn violations(&mut self, stalls: &[(u64, u64)]) -> Vec<String> {
        let mut found = gaps(&mut self.ticks, &self.absent, stalls);
        let invalid = self.ticks.iter().filter(|tick| tick.at >= tick.until);
        found.extend(invalid.map(|tick| format!("without a valid lease: {tick:?}")));
        for two in self.ticks.windows(2) {
            let same = two[0].fence == two[1].fence;
            if two[1].fence < two[0].fence || (same && two[0].process != two[1].process) {
                found.push(format!("two lead at once: {two:?}"));
            }
        }
        for (process, elected) in &self.elected {
            let terms = elected.iter().map(|(term, _)| *term);
            if !terms.eq(1..=elected.len() as u64) || !elected.is_sorted_by(|one, next| one.1 < next.1) {
                found.push(format!("terms and fences of process {process}: {elected:?}"));
            }
        }
        found
    }
}

pub(crate) fn from_environment<T: FromStr>(name: &str, usual: T) -> T {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// Has a fleet on a server of its own live through a random time, and returns it with what was wrong and how long that took.
/// `healthy` sees it before anybody is killed or frozen.
pub(crate) fn live(schedules: bool, mut healthy: impl FnMut(&mut Fleet)) -> (Fleet, Vec<String>, Duration) {
    let seed = from_environment("LEASEHOLD_FLEET_SEED", 1);
    let time = Duration::from_secs(from_environment("LEASEHOLD_FLEET_SECONDS", 15));
    let server = RedisServer::start();
    let witness = Witness::start();
    let mut fleet = Fleet::start(server.url(), schedules, seed);
    let began = Instant::now();
    while fleet.ticks.is_empty() || fleet.members.iter().any(|member| !member.is_ready) {
        assert!(began.elapsed() < PATIENCE, "the fleet does not start");
        fleet.listen(TICK);
    }
    for _ in 0..3 {
        fleet.stop_the_leader();
    }
    healthy(&mut fleet);
    let (began, mut next) = (Instant::now(), Instant::now());
    while began.elapsed() < time {
        fleet.listen(Duration::from_millis(20));
        fleet.heal(false);
        if Instant::now() >= next {
            fleet.disturb();
            next = Instant::now() + Duration::from_millis(fleet.rng.random_range(200..1_500));
        }
    }
    fleet.heal(true);
    fleet.listen(TTL + Duration::from_secs(2));
    let stalls = witness.stop();
    if !schedules {
        held::transcript(&fleet.ticks, &fleet.ready).keep("fleet_of_singletons");
    }
    let violations = fleet.violations(&stalls);
    println!("seed {seed}: {} ticks, {} absences", fleet.ticks.len(), fleet.absent.len());
    (fleet, violations, time)
}

#[test]
fn processes_that_are_killed_frozen_and_stopped_never_lead_at_once_and_leave_no_gap() {
    let (fleet, violations, time) = live(false, |_| {});
    let terms: usize = fleet.elected.values().map(Vec::len).sum();
    assert!(violations.is_empty(), "{violations:#?}");
    assert!(terms as u64 > time.as_secs() / 4, "too little happened: {terms} terms");
}
