//! The progress of a schedule: what was claimed, which a runner remembers also if the store forgets it.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use serde::{Deserialize, Serialize};

use super::plan::Millis;

/// The number of runs that were asked for and claimed whose tokens are kept.
const SERVED: usize = 16;

/// The progress of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Progress {
    /// The last tick of the plan that was claimed; in the beginning, or after a pause, the time of that.
    pub(super) last: Millis,
    /// The number of runs that were claimed.
    pub(super) number: u64,
    /// The tokens of the latest runs that were asked for and claimed, the latest last.
    served: VecDeque<String>,
}

/// The progress that a runner was certain of, in all its terms. A store that fails over may have forgotten some of it.
pub(super) type Floor = Rc<RefCell<Progress>>;

impl Progress {
    /// Returns the progress of a schedule that begins at this time.
    pub(super) fn begun(now: Millis) -> Self {
        Self { last: now, ..Self::default() }
    }

    /// Raises it to another one.
    pub(super) fn raise(&mut self, other: &Self) {
        self.last = self.last.max(other.last);
        self.number = self.number.max(other.number);
        other.served.iter().for_each(|id| self.serve(id.clone()));
    }

    /// Notes that the run with this token was claimed.
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

    #[test]
    fn it_is_only_raised_and_knows_the_latest_tokens() {
        let mut floor = Progress { last: 300, number: 2, ..Progress::default() };
        (0..20).for_each(|id| floor.serve(id.to_string()));
        let mut older = Progress { last: 200, number: 7, ..Progress::default() };
        older.serve("a".to_owned());
        older.raise(&floor);
        assert_eq!((older.last, older.number, older.served.len()), (300, 7, SERVED));
        assert!(older.has_served("19") && older.has_served("4") && !older.has_served("a"));
    }
}
