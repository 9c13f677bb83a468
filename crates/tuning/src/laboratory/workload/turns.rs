//! The turns of a workload: each request that is made, drawn from the seed, the same in a simulation and on a real server.

use std::time::Duration;

use super::{Access, Arrivals, Workload, resources::Choice, trace::TracedTurn};
use crate::laboratory::chance::Chance;

/// One request of a workload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestTurn {
    /// The time at which it is made, since the start.
    pub(crate) at: Duration,
    /// The number of the resource.
    pub(crate) resource: u32,
    pub(crate) hold: Duration,
    pub(crate) patience: Option<Duration>,
    /// Its own wait, in place of that of the settings.
    pub(crate) wait: Option<Duration>,
    /// True if it reads, where there are readers.
    pub(crate) reads: bool,
}

/// The turns of a process.
#[derive(Debug)]
pub(crate) enum ProcessTurns {
    /// Requests that come by themselves, in the order of their times.
    Open(Vec<RequestTurn>),
    /// Callers that ask again and again.
    Callers(Vec<RepeatCaller>),
}

/// A caller that asks again and again until the end.
#[derive(Debug)]
pub(crate) struct RepeatCaller {
    /// The number of the caller, among those of all processes.
    pub(crate) number: u32,
    chance: Chance,
    drawing: Drawing,
}

/// Everything that the turns of a workload are drawn from.
#[derive(Clone, Debug)]
struct Drawing {
    workload: std::sync::Arc<Workload>,
    choice: std::sync::Arc<Choice>,
}

impl Workload {
    /// Returns the turns of a process, counted from 0.
    pub(crate) fn turns(&self, process: u32) -> ProcessTurns {
        let drawing = Drawing { workload: self.clone().into(), choice: self.resources.choice().into() };
        if let Arrivals::Callers { callers, .. } = self.arrivals {
            let numbers = (0..callers).filter(|number| number % self.processes == process);
            let caller = |number| RepeatCaller {
                number,
                chance: Chance::of(self.seed, u64::from(number) + 1),
                drawing: drawing.clone(),
            };
            return ProcessTurns::Callers(numbers.map(caller).collect());
        }
        let mut chance = Chance::of(self.seed, 0);
        let arrivals = match self.trace.is_empty() {
            true => self
                .arrivals
                .times(self.duration, &mut chance)
                .into_iter()
                .map(TracedTurn::at)
                .collect::<Vec<_>>(),
            false => self.trace.to_vec(),
        };
        let all = arrivals.into_iter().filter(|it| it.at < self.duration).map(|it| {
            // All processes draw the same, and each keeps its own.
            let turn = drawing.turn(it.at, &mut chance);
            let turn = RequestTurn {
                hold: it.hold.unwrap_or(turn.hold),
                resource: it.resource.unwrap_or(turn.resource),
                reads: it.reads.unwrap_or(turn.reads),
                wait: it.wait,
                patience: it.patience().or(turn.patience),
                ..turn
            };
            (chance.below(self.processes), turn)
        });
        ProcessTurns::Open(all.filter(|(whose, _)| *whose == process).map(|(_, turn)| turn).collect())
    }
}

impl Drawing {
    fn turn(&self, at: Duration, chance: &mut Chance) -> RequestTurn {
        let Workload { hold, patience, mode, .. } = &*self.workload;
        RequestTurn {
            at,
            resource: self.choice.draw(chance),
            hold: hold.draw(chance),
            patience: patience.as_ref().map(|patience| patience.draw(chance)),
            wait: None,
            reads: matches!(mode, Access::ReadWrite { readers } if chance.share() < *readers),
        }
    }
}

impl RepeatCaller {
    /// Returns the next turn of a caller that may make it from `now` on, after a pause. Before the first turn a part of
    /// the pause is over already, so that callers do not come in step.
    pub(crate) fn next(&mut self, now: Duration) -> RequestTurn {
        let mut pause = match &self.drawing.workload.arrivals {
            Arrivals::Callers { pause, .. } => pause.draw(&mut self.chance),
            _ => Duration::ZERO,
        };
        if now.is_zero() {
            pause = pause.mul_f64(self.chance.share());
        }
        self.drawing.turn(now + pause, &mut self.chance)
    }
}
