//! What a process of a schedule does, and what its register answers.

use super::{
    Doing, Flight, PROCESSES, Process, RegisterAnswer, RegisterCall, RegisterRules, RegisterState,
    RegisterWorld, Schedule, Verdict,
};

impl RegisterState {
    pub(super) fn execute(&mut self, call: RegisterCall, rules: RegisterRules) -> RegisterAnswer {
        let verdict = match call {
            RegisterCall::Write { revision, .. } if revision == self.kept.0 => Verdict::Written,
            RegisterCall::Write { expected, .. } if rules.compares_revisions && expected != self.kept.0 => {
                Verdict::Changed
            }
            RegisterCall::Write { not_before, .. } if rules.compares_the_time && self.now < not_before => {
                Verdict::Early
            }
            RegisterCall::Write { revision, value, .. } => {
                self.write(revision, value);
                Verdict::Written
            }
            RegisterCall::Read => Verdict::Read,
            RegisterCall::Tick => {
                self.now += 1;
                Verdict::Read
            }
            RegisterCall::Lose => {
                self.kept = Default::default();
                Verdict::Read
            }
        };
        RegisterAnswer { verdict, kept: self.kept, now: self.now }
    }

    pub(super) fn write(&mut self, revision: u8, value: Schedule) {
        let (_, before) = self.kept;
        if before.begun == value.begun {
            self.went_back |= value.last < before.last;
            self.older_fence |= value.fence < before.fence;
        }
        self.early |= value.last > self.now;
        self.kept = (revision, value);
    }

    pub(super) fn token(&mut self) -> u8 {
        self.next_revision += 1;
        self.next_revision
    }

    /// The claim of the tick that is due, if there is one: `ScheduleState::step`, `Rules::due` and `ScheduleState::claim`.
    pub(super) fn claim(&self, which: usize, world: &RegisterWorld) -> Option<(u8, Schedule, u8)> {
        let Process { fence, seen, .. } = self.processes[which];
        let (fence, ((expected, value), seen)) = (fence?, seen?);
        let now = seen + u8::from(world.clocks_are_ahead);
        let is_due = now > value.last || !world.rules.looks_at_the_last && now > 0;
        let may = expected > 0 && is_due && (fence >= value.fence || !world.rules.steps_down);
        let number = value.number + 1;
        may.then_some((expected, Schedule { last: now, number, fence, ..value }, now))
    }

    pub(super) fn send(&mut self, which: usize, doing: Doing, call: RegisterCall) {
        let process = &mut self.processes[which];
        (process.doing, process.flight) = (doing, Some(Flight::Sent(call)));
    }

    /// Whether a process changes something: it begins or raises the state, or does so for another reason while it may.
    pub(super) fn change(&self, which: usize, rules: RegisterRules) -> Option<(u8, Option<Schedule>)> {
        let process = &self.processes[which];
        let ((expected, value), _) = process.seen?;
        if expected == 0 {
            return rules.begins_anew.then_some((0, None));
        }
        (process.is_raised || self.left.changes > 0).then_some((expected, Some(value)))
    }

    pub(super) fn receive(&mut self, which: usize, world: &RegisterWorld) {
        let rules = world.rules;
        let process = &mut self.processes[which];
        let Some(Flight::Answered(answer)) = process.flight.take() else { return };
        let doing = std::mem::replace(&mut process.doing, Doing::Nothing);
        let (revision, mut value) = answer.kept;
        // `ScheduleProgress::meet` in `src/leading/schedule/progress.rs`.
        process.is_raised = false;
        if revision > 0 {
            let floor = process.floor;
            if rules.remembers && floor.begun == value.begun && value.number <= floor.number {
                process.is_raised = value.number < floor.number || value.last < floor.last;
                (value.last, value.number) = (value.last.max(floor.last), floor.number);
            }
            process.floor = value;
        }
        process.seen = Some(((revision, value), answer.now));
        if self.restores == Some(which) && !self.processes[which].is_raised {
            self.restores = None;
        }
        if let Doing::Claiming(RegisterCall::Write { value: claimed, .. }) = doing {
            let is_own =
                if rules.knows_its_claim { value.claim == claimed.claim } else { value.last == claimed.last };
            if is_own && revision > 0 {
                self.run(claimed.last);
            }
        }
        if revision == 0 && doing != Doing::Nothing {
            // `Notebook::open` writes at once.
            self.sends_change(which, world);
        }
    }

    pub(super) fn run(&mut self, tick: u8) {
        self.ran_twice |= self.ran.contains(&tick);
        self.ran.push(tick);
    }

    pub(super) fn cut(&mut self, which: usize) {
        if let Some(Flight::Sent(call)) = self.processes[which].flight.take() {
            self.late.push(call);
        }
    }
}

impl RegisterState {
    pub(super) fn elect(&mut self, which: usize, world: &RegisterWorld) {
        self.fences += 1;
        for other in (0..PROCESSES).filter(|other| world.one_leads && *other != which) {
            // Its claim may be executed, and does not run.
            self.cut(other);
            self.processes[other].doing = Doing::Nothing;
            self.processes[other].fence = None;
        }
        self.processes[which].fence = Some(self.fences);
    }

    /// Does what a runner does next, without trouble. Returns false if there is nothing to do at this moment.
    pub(super) fn next(&mut self, which: usize, world: &RegisterWorld) -> bool {
        match (self.processes[which].flight, self.processes[which].doing) {
            (Some(Flight::Sent(call)), _) => {
                let answer = self.execute(call, world.rules);
                self.processes[which].flight = Some(Flight::Answered(answer));
                self.receive(which, world);
            }
            (Some(Flight::Answered(_)), _) => self.receive(which, world),
            (None, Doing::Nothing) => {
                return self.sends_claim(which, world) || self.sends_change(which, world);
            }
            (None, _) => self.repeat(which, world.rules),
        }
        true
    }

    pub(super) fn sends_claim(&mut self, which: usize, world: &RegisterWorld) -> bool {
        let Some((expected, value, not_before)) = self.claim(which, world) else { return false };
        let revision = self.token();
        let value = Schedule { claim: revision, ..value };
        let call = RegisterCall::Write { expected, revision, value, not_before };
        self.send(which, Doing::Claiming(call), call);
        true
    }

    pub(super) fn sends_change(&mut self, which: usize, world: &RegisterWorld) -> bool {
        let Some((expected, value)) = self.change(which, world.rules) else { return false };
        let is_needed = expected == 0 || self.processes[which].is_raised;
        self.left.changes -= u8::from(!is_needed);
        let revision = self.token();
        // `ScheduleState::begun`: the ticks until now are not its own.
        let last = self.processes[which].seen.map_or(0, |(_, now)| now);
        let value = value.unwrap_or(Schedule { begun: revision, last, ..Schedule::default() });
        let call = RegisterCall::Write { expected, revision, value, not_before: 0 };
        self.send(which, Doing::Changing(call), call);
        true
    }

    pub(super) fn repeat(&mut self, which: usize, rules: RegisterRules) {
        let process = &mut self.processes[which];
        let begins = matches!(process.doing, Doing::Changing(RegisterCall::Write { expected: 0, .. }));
        if begins && rules.looks_before_it_begins {
            process.doing = Doing::Looking;
        }
        process.flight = match process.doing {
            Doing::Claiming(call) | Doing::Changing(call) => Some(Flight::Sent(call)),
            Doing::Looking => Some(Flight::Sent(RegisterCall::Read)),
            Doing::Nothing => None,
        };
    }

    /// Calls on their way are lost with the server, and are repeated.
    pub(super) fn disconnect(&mut self) {
        self.late.clear();
        self.processes.iter_mut().for_each(|process| process.flight = None);
    }
}
