//! The progress of a schedule: what was claimed, which a runner remembers also if the store forgets it.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use serde::{Deserialize, Serialize};

use super::tick::Millis;
use crate::core::Token;

/// The number of runs that were asked for and claimed whose tokens are kept.
const SERVED: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ScheduleProgress {
    /// A random token of the time since the schedule was begun. Another one after its register was removed.
    begun: String,
    /// The last tick of the plan that was claimed; in the beginning, or after a pause, the time of that.
    pub(super) last: Millis,
    /// The number of runs that were claimed.
    pub(super) number: u64,
    /// The tokens of the latest runs that were asked for and claimed, the latest last.
    served: VecDeque<String>,
}

/// The latest progress that a runner has seen, in all its terms. A store that fails over may have forgotten some of it.
pub(super) type Floor = Rc<RefCell<ScheduleProgress>>;

impl ScheduleProgress {
    pub(super) fn begun(now: Millis, token: Token) -> Self {
        Self { begun: token.to_hex(), last: now, ..Self::default() }
    }

    /// Raises it to the floor if it is older than that, and the floor to it otherwise. A floor of before the schedule was begun
    /// counts for nothing.
    pub(super) fn meet(&mut self, floor: &mut Self) {
        if self.begun == floor.begun && self.number <= floor.number {
            self.last = self.last.max(floor.last);
            self.number = floor.number;
            floor.served.iter().for_each(|id| self.serve(id.clone()));
        }
        floor.clone_from(self);
    }

    pub(super) fn serve(&mut self, id: String) {
        if !self.has_served(&id) {
            self.served.push_back(id);
            self.served.drain(..self.served.len().saturating_sub(SERVED));
        }
    }

    pub(super) fn has_served(&self, id: &str) -> bool {
        self.served.iter().any(|served| served == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(number: u64, last: Millis, served: std::ops::Range<u64>) -> ScheduleProgress {
        let mut progress = ScheduleProgress { last, number, ..ScheduleProgress::default() };
        served.for_each(|id| progress.serve(id.to_string()));
        progress
    }

    #[test]
    fn an_older_progress_is_raised_and_a_later_one_or_one_that_began_anew_is_the_new_floor() {
        let mut floor = progress(5, 300, 0..20);
        let mut older = progress(4, 200, 0..18);
        older.meet(&mut floor);
        assert_eq!((&older, &floor), (&progress(5, 300, 0..20), &progress(5, 300, 0..20)));
        let mut later = progress(9, 400, 15..40);
        later.meet(&mut floor);
        assert_eq!((&later, &floor), (&progress(9, 400, 15..40), &progress(9, 400, 15..40)));
        assert!(floor.has_served("39") && floor.has_served("24") && !floor.has_served("23"));
        let mut anew = ScheduleProgress::begun(10, Token::from_bits(2));
        anew.meet(&mut floor);
        assert_eq!((anew.last, anew.number, anew.has_served("39")), (10, 0, false));
        assert_eq!(floor, anew);
    }
}
