//! The register of a schedule, and the processes that run its ticks.
//!
//! Each process may be elected at any time, though an earlier one still believes that it leads: the lease excludes others
//! only mostly, and the register alone has to keep the promises. A process has one call in flight. Its answer may be lost, and a
//! call whose connection broke may be executed late. One tick of the schedule is due at each tick of the server's clock, and
//! `Misfire::Once` makes up for missed ones.
//!
//! One order is left out: a call that begins the schedule stalls in its connection, the store loses everything, and the call
//! arrives after that. It begins the schedule with its old time, and ticks that have run may run again. No clock tells such a
//! call from one in time. So a lost store loses the calls on their way too, and no connection breaks in a world that loses.

mod process;

use std::fmt;

use stateright::{Model, Property};

/// The number of processes.
pub const PROCESSES: usize = 2;

/// A look, a change and a claim take no more.
const STEPS_OF_A_TICK: usize = 8;

/// No tick runs a second time, whoever runs it.
pub const ONCE: &str = "a tick runs at most once";
/// No write makes the last tick of a schedule an earlier one.
pub const FORWARD: &str = "ticks go forward";
/// No write makes the fence of the last claim a smaller one.
pub const NO_OLDER_FENCE: &str = "an older fence writes over no newer one";
/// No tick is claimed that is later than the clock of the store.
pub const IN_TIME: &str = "a tick is claimed when its time has come";
/// A living process that is elected runs a tick that was not due before, if nothing bad happens any more.
pub const GOES_ON: &str = "a schedule goes on";

/// The rules of a register and its runners, each of which is kept or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterRules {
    /// The store writes only over the revision that is expected.
    pub compares_revisions: bool,
    /// The store writes no tick before its time.
    pub compares_the_time: bool,
    /// A runner knows its claim by its token, and not by its tick.
    pub knows_its_claim: bool,
    /// A runner with a smaller fence than the last claim steps down.
    pub steps_down: bool,
    /// A runner looks at the last tick that was claimed.
    pub looks_at_the_last: bool,
    /// A runner remembers what was claimed, in case the store forgets it.
    pub remembers: bool,
    /// A runner begins a schedule that the store has forgotten.
    pub begins_anew: bool,
    /// What begins a schedule is not repeated as it is, but after another look: it has the time of its look.
    pub looks_before_it_begins: bool,
}

impl RegisterRules {
    /// The rules of the library.
    pub const TODAY: Self = Self {
        compares_revisions: true,
        compares_the_time: true,
        knows_its_claim: true,
        steps_down: true,
        looks_at_the_last: true,
        remembers: true,
        begins_anew: true,
        looks_before_it_begins: true,
    };
}

/// How much can happen.
#[derive(Clone, Copy)]
pub struct RegisterWorld {
    /// The rules that are kept.
    pub rules: RegisterRules,
    /// How many ticks go by.
    pub ticks: u8,
    /// How often a process is elected.
    pub elections: u8,
    /// How often a connection breaks.
    pub breaks: u8,
    /// How many processes die.
    pub deaths: u8,
    /// How often something else than a claim is written, such as a pause or the end of a run.
    pub changes: u8,
    /// How often the store forgets everything.
    pub losses: u8,
    /// How often a replica takes over that is behind.
    pub failovers: u8,
    /// True if nobody claims any more as soon as another process is elected, as a lease has it that is ended in time.
    pub one_leads: bool,
    /// True if another process may be elected before the runner has written down again what a failover has lost.
    pub elects_early: bool,
    /// True if the processes think that it is one tick later than it is.
    pub clocks_are_ahead: bool,
}

impl RegisterWorld {
    /// A world in which nothing happens yet.
    pub const EMPTY: Self = Self {
        rules: RegisterRules::TODAY,
        ticks: 0,
        elections: 0,
        breaks: 0,
        deaths: 0,
        changes: 0,
        losses: 0,
        failovers: 0,
        one_leads: false,
        elects_early: false,
        clocks_are_ahead: false,
    };
}

impl fmt::Debug for RegisterWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { ticks, elections, breaks, deaths, changes, losses, failovers, .. } = self;
        write!(f, "register, {ticks} ticks, {elections} elections, {breaks} breaks, {deaths} deaths, ")?;
        write!(f, "{changes} changes, {losses} losses, {failovers} failovers")
    }
}

/// The state of a schedule: `ScheduleState` in `src/leading/schedule/state.rs`.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub struct Schedule {
    /// A token of the time since it was begun.
    pub begun: u8,
    /// The last tick that was claimed.
    pub last: u8,
    /// The number of claims.
    pub number: u8,
    /// The token of the last claim.
    pub claim: u8,
    /// The fence of the last claim.
    pub fence: u8,
}

/// A call of the store, `register.lua`: it reads, after a write if there is one.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum RegisterCall {
    /// Only reads.
    Read,
    /// Writes if the register has this revision, 0 for none, and the time has come.
    Write {
        /// The revision that the register must have.
        expected: u8,
        /// The revision that it gets.
        revision: u8,
        /// The value that it gets.
        value: Schedule,
        /// The tick of the clock before which it is not written.
        not_before: u8,
    },
    /// No call: the clock goes on by one tick.
    Tick,
    /// No call: the store loses all registers.
    Lose,
}

/// The answer: the verdict, and what the register has after it.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct RegisterAnswer {
    /// The verdict on the write.
    pub verdict: Verdict,
    /// The revision, 0 for none, and the value.
    pub kept: (u8, Schedule),
    now: u8,
}

/// The verdict on a write: `RegisterVerdict`.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Verdict {
    Read,
    Written,
    Changed,
    Early,
}

/// All that is the case at a moment.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct RegisterState {
    /// The revision, 0 for none, and the value; and what a replica has of it.
    kept: (u8, Schedule),
    replica: (u8, Schedule),
    now: u8,
    processes: [Process; PROCESSES],
    late: Vec<RegisterCall>,
    next_revision: u8,
    fences: u8,
    left: Budget,
    /// The process that has to write down again what was lost, before another one is elected.
    restores: Option<usize>,
    /// The ticks that have run.
    ran: Vec<u8>,
    ran_twice: bool,
    went_back: bool,
    older_fence: bool,
    early: bool,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
struct Budget {
    ticks: u8,
    elections: u8,
    breaks: u8,
    deaths: u8,
    changes: u8,
    losses: u8,
    failovers: u8,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Process {
    is_alive: bool,
    /// The fence of its lease; it steps down by forgetting it.
    fence: Option<u8>,
    /// What it saw last, and when.
    seen: Option<((u8, Schedule), u8)>,
    floor: Schedule,
    doing: Doing,
    flight: Option<Flight>,
    /// True if the store has an older state than this one has seen.
    is_raised: bool,
}

/// What a process wants of its call, which it repeats until it has an answer.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Doing {
    Nothing,
    Looking,
    Claiming(RegisterCall),
    Changing(RegisterCall),
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
enum Flight {
    Sent(RegisterCall),
    Answered(RegisterAnswer),
}

/// One step of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterAction {
    /// A process is elected: `TickJob::term` in `src/leading/schedule/term.rs`.
    Elect(usize),
    /// A process reads the state, and begins it if there is none: `Notebook::open` in `src/leading/schedule/notebook.rs`.
    Look(usize),
    /// A runner claims the tick that is due: `Notebook::claim`.
    Claim(usize),
    /// A process raises the state, or changes something else in it: `Notebook::change`.
    Change(usize),
    /// A call without an answer is repeated: `Notebook::claim`, `Notebook::change`.
    Repeat(usize),
    /// The server executes the call of a process: `register.lua`.
    Execute(usize),
    /// An answer arrives, and a tick that is certainly claimed runs: `RunnerTerm::begin`.
    Receive(usize),
    /// A connection breaks: an answer is lost, or the call is executed late, or never.
    Break(usize),
    /// The server executes a call of a connection that broke.
    ExecuteLate(usize),
    /// A process ends, perhaps between the claim and the run.
    Die(usize),
    /// The clock of the server goes on.
    Tick,
    /// The server loses everything, also the calls on their way.
    Lose,
    /// The replica catches up.
    Replicate,
    /// The replica takes over, and connections break.
    FailOver,
}

impl RegisterWorld {
    /// The call of the store that this action executes.
    pub fn call(&self, state: &RegisterState, action: &RegisterAction) -> Option<RegisterCall> {
        match action {
            RegisterAction::Execute(which) => match state.processes[*which].flight {
                Some(Flight::Sent(call)) => Some(call),
                _ => None,
            },
            RegisterAction::ExecuteLate(at) => state.late.get(*at).copied(),
            RegisterAction::Tick => Some(RegisterCall::Tick),
            RegisterAction::Lose => Some(RegisterCall::Lose),
            _ => None,
        }
    }

    /// The answer to a call in this state.
    pub fn answer(&self, state: &RegisterState, call: RegisterCall) -> RegisterAnswer {
        state.clone().execute(call, self.rules)
    }

    /// Whether a replica may take over without breaking what docs/schedule.md promises: the runner has seen all claims.
    fn may_fail_over(&self, state: &RegisterState) -> Option<usize> {
        let (revision, kept) = state.kept;
        let has_seen = |process: &Process| {
            let knows = process.floor.begun == kept.begun && process.floor.number >= kept.number;
            let claims = matches!(process.doing, Doing::Claiming(RegisterCall::Write { revision: own, .. }) if own == revision);
            process.is_alive && process.fence.is_some() && (knows || claims)
        };
        state.processes.iter().position(has_seen)
    }

    /// Goes on fairly: a living process is elected, all calls are answered, and the next tick runs.
    fn goes_on(&self, state: &RegisterState) -> bool {
        let Some(which) = state.processes.iter().position(|process| process.is_alive) else { return true };
        let mut state = state.clone();
        let now = state.now;
        while let Some(call) = state.late.pop() {
            state.execute(call, self.rules);
        }
        state.elect(which, self);
        // It begins the state if there is none, and then the next tick is its own.
        for _ in 0..STEPS_OF_A_TICK * 2 {
            if !state.next(which, self) {
                state.execute(RegisterCall::Tick, self.rules);
                state.send(which, Doing::Looking, RegisterCall::Read);
            }
        }
        // A claim on its way, or an answer to one, is of no later tick.
        state.ran.iter().any(|tick| *tick > now)
    }
}

impl Model for RegisterWorld {
    type State = RegisterState;
    type Action = RegisterAction;

    fn init_states(&self) -> Vec<RegisterState> {
        let &Self { ticks, elections, breaks, deaths, changes, losses, failovers, .. } = self;
        let process = Process {
            is_alive: true,
            fence: None,
            seen: None,
            floor: Schedule::default(),
            doing: Doing::Nothing,
            flight: None,
            is_raised: false,
        };
        vec![RegisterState {
            kept: Default::default(),
            replica: Default::default(),
            now: 0,
            processes: [process.clone(), process],
            late: Vec::new(),
            next_revision: 0,
            fences: 0,
            left: Budget { ticks, elections, breaks, deaths, changes, losses, failovers },
            restores: None,
            ran: Vec::new(),
            ran_twice: false,
            went_back: false,
            older_fence: false,
            early: false,
        }]
    }

    fn actions(&self, state: &RegisterState, actions: &mut Vec<RegisterAction>) {
        use RegisterAction::*;
        let left = state.left;
        for (which, process) in state.processes.iter().enumerate().filter(|(_, process)| process.is_alive) {
            let may_elect =
                left.elections > 0 && state.restores.is_none() && process.fence != Some(state.fences);
            actions.extend(may_elect.then_some(Elect(which)));
            match (process.flight, process.doing) {
                (Some(Flight::Sent(_)), _) => actions.push(Execute(which)),
                (Some(Flight::Answered(_)), _) => actions.push(Receive(which)),
                (None, Doing::Nothing) => {
                    let is_old =
                        process.seen.is_none_or(|(kept, now)| (kept, now) != (state.kept, state.now));
                    actions.extend((process.fence.is_some() && is_old).then_some(Look(which)));
                    actions.extend(state.claim(which, self).map(|_| Claim(which)));
                    // What begins the state is sent right after the look.
                    let changes = state.change(which, self.rules).filter(|(expected, _)| *expected > 0);
                    actions.extend(changes.map(|_| Change(which)));
                }
                (None, _) => actions.push(Repeat(which)),
            }
            actions.extend((left.breaks > 0 && process.flight.is_some()).then_some(Break(which)));
            actions.extend((left.deaths > 0 && state.restores.is_none()).then_some(Die(which)));
        }
        actions.extend((0..state.late.len()).map(ExecuteLate));
        actions.extend((left.ticks > 0).then_some(Tick));
        actions.extend((left.losses > 0 && state.kept.0 > 0).then_some(Lose));
        if left.failovers > 0 {
            actions.extend((state.replica != state.kept).then_some(Replicate));
            actions.extend(self.may_fail_over(state).map(|_| FailOver));
        }
    }

    fn next_state(&self, before: &RegisterState, action: RegisterAction) -> Option<RegisterState> {
        let mut state = before.clone();
        match action {
            RegisterAction::Elect(which) => {
                state.left.elections -= 1;
                state.elect(which, self);
            }
            RegisterAction::Look(which) => state.send(which, Doing::Looking, RegisterCall::Read),
            RegisterAction::Claim(which) => {
                state.sends_claim(which, self);
            }
            RegisterAction::Change(which) => {
                state.sends_change(which, self);
            }
            RegisterAction::Repeat(which) => state.repeat(which, self.rules),
            RegisterAction::Execute(which) => {
                if let Some(Flight::Sent(call)) = state.processes[which].flight {
                    let answer = state.execute(call, self.rules);
                    state.processes[which].flight = Some(Flight::Answered(answer));
                }
            }
            RegisterAction::Receive(which) => state.receive(which, self),
            RegisterAction::Break(which) => {
                state.left.breaks -= 1;
                state.cut(which);
            }
            RegisterAction::ExecuteLate(at) => {
                let call = state.late.remove(at);
                state.execute(call, self.rules);
            }
            RegisterAction::Die(which) => {
                state.left.deaths -= 1;
                state.cut(which);
                state.processes[which].is_alive = false;
            }
            RegisterAction::Tick => {
                state.left.ticks -= 1;
                state.execute(RegisterCall::Tick, self.rules);
            }
            RegisterAction::Lose => {
                state.left.losses -= 1;
                state.execute(RegisterCall::Lose, self.rules);
                state.disconnect();
            }
            RegisterAction::Replicate => state.replica = state.kept,
            RegisterAction::FailOver => {
                state.left.failovers -= 1;
                state.restores = self.may_fail_over(&state).filter(|_| !self.elects_early);
                state.kept = state.replica;
                state.disconnect();
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(ONCE, |_, state: &RegisterState| !state.ran_twice),
            Property::always(FORWARD, |_, state: &RegisterState| !state.went_back),
            Property::always(NO_OLDER_FENCE, |_, state: &RegisterState| !state.older_fence),
            Property::always(IN_TIME, |_, state: &RegisterState| !state.early),
        ];
        if !self.clocks_are_ahead {
            properties.push(Property::always(GOES_ON, Self::goes_on));
        }
        properties
    }
}
