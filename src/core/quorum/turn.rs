//! The turn of a waiter in a quorum: the nodes that have named it as next, and the news that it is told.
//!
//! Every node has a queue of its own, which is a hint and no promise: what counts are the votes on the next attempt.

use std::time::Duration;

/// The time for which a waiter that a minority has named waits for the others before it attempts, after an attempt that
/// was not split. It doubles with each split until one is not split because somebody holds.
const FIRST_PATIENCE: Duration = Duration::from_millis(16);
const LONGEST_PATIENCE: Duration = Duration::from_millis(160);

/// The turn of one waiter, over all of its attempts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct QuorumTurn {
    stage: TurnStage,
    /// The nodes that have named it since its latest attempt was sent.
    pub(crate) named_by: Vec<usize>,
    /// The news that it was told since then. Each has it attempt on all nodes, so once is enough.
    told: Vec<TurnNews>,
    /// The number of split votes since one that was not, which make it patient. A holder that some nodes do not know of
    /// splits votes for as long as it holds.
    splits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnStage {
    /// An attempt is in progress.
    Attempting {
        /// True if a node had named it before. If it is not granted, the votes were split.
        was_named: bool,
        /// True if it is to be told that it is the next as soon as the attempt is answered. Told before, it would attempt
        /// at once, and each attempt takes back that it gives way.
        is_next: bool,
    },
    /// It waits for a majority to name it.
    Waiting,
    /// The same, but a minority has named it: it attempts when its patience ends.
    Impatient,
}

/// The news that a waiter is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnNews {
    /// Nodes have handed the resource over to it: a majority, or those that it was patient with.
    HandedOver,
    /// It is the next after a waiter to which a node has handed the resource over.
    Next,
    /// It is to attempt again, to show that it still waits.
    GoOn,
}

/// An event in the life of a waiter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TurnEvent<'a> {
    /// An attempt begins. What nodes said before it counts no more.
    Begun,
    /// The attempt was not granted.
    Answered {
        /// The nodes that granted it, which it gives back.
        split: &'a [usize],
        /// True if a majority named the same holder.
        is_held: bool,
    },
    /// A node has named it as next.
    Named(usize),
    /// A node has handed the resource over to the waiter before it.
    BecomesNext,
    /// A node wants to know if it still waits.
    Called,
    /// The time of [`TurnStep::Patience`] is over, and no attempt has begun since.
    PatienceEnded,
}

/// A consequence of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnStep {
    /// It is told.
    Tell(TurnNews),
    /// [`TurnEvent::PatienceEnded`] is due after this time.
    Patience(Duration),
}

impl QuorumTurn {
    /// Creates the turn of a waiter whose first attempt begins.
    pub(crate) const fn new() -> Self {
        let stage = TurnStage::Attempting { was_named: false, is_next: false };
        Self { stage, named_by: Vec::new(), told: Vec::new(), splits: 0 }
    }

    /// Returns true if it waits, and no attempt is in progress.
    pub(crate) const fn waits(&self) -> bool {
        !matches!(self.stage, TurnStage::Attempting { .. })
    }

    /// Returns the time after which it should attempt again if its vote was split just now. The random `draw` in
    /// `0.0..=1.0` differs from waiter to waiter, so that those whose votes were split together do not attempt together.
    pub(crate) fn patience_after_split(&self, draw: impl FnOnce(u32) -> f64) -> Duration {
        patience(self.splits.saturating_add(1), draw)
    }

    /// Handles an event, of which a majority are `needed` nodes. For `draw` see
    /// [`patience_after_split`](Self::patience_after_split).
    pub(crate) fn on(
        &mut self,
        event: TurnEvent<'_>,
        needed: usize,
        draw: impl FnOnce(u32) -> f64,
    ) -> Vec<TurnStep> {
        let mut steps = Vec::new();
        match (event, self.stage) {
            (TurnEvent::Begun, stage) => {
                // An attempt that was not answered has not told it yet.
                let is_next = matches!(stage, TurnStage::Attempting { is_next: true, .. });
                self.stage = TurnStage::Attempting { was_named: !self.named_by.is_empty(), is_next };
                self.named_by.clear();
                self.told.clear();
            }
            (TurnEvent::Answered { split, is_held }, TurnStage::Attempting { was_named, is_next }) => {
                self.stage = TurnStage::Waiting;
                if was_named || !split.is_empty() {
                    self.splits = self.splits.saturating_add(1);
                } else if is_held {
                    self.splits = 0;
                }
                self.named_by.retain(|node| !split.contains(node));
                if is_next {
                    self.tell(TurnNews::Next, &mut steps);
                }
                self.follow(needed, draw, &mut steps);
            }
            (TurnEvent::Named(node), _) => {
                if !self.named_by.contains(&node) {
                    self.named_by.push(node);
                }
                self.follow(needed, draw, &mut steps);
            }
            (TurnEvent::BecomesNext, TurnStage::Attempting { was_named, .. }) => {
                self.stage = TurnStage::Attempting { was_named, is_next: true };
            }
            (TurnEvent::BecomesNext, TurnStage::Waiting | TurnStage::Impatient) => {
                self.tell(TurnNews::Next, &mut steps);
            }
            (TurnEvent::Called, _) => self.tell(TurnNews::GoOn, &mut steps),
            (TurnEvent::PatienceEnded, TurnStage::Impatient) => self.tell(TurnNews::HandedOver, &mut steps),
            (TurnEvent::Answered { .. }, TurnStage::Waiting | TurnStage::Impatient)
            | (TurnEvent::PatienceEnded, TurnStage::Attempting { .. } | TurnStage::Waiting) => {}
        }
        steps
    }

    /// Acts on the nodes that have named it, unless it attempts anyway.
    fn follow(&mut self, needed: usize, draw: impl FnOnce(u32) -> f64, steps: &mut Vec<TurnStep>) {
        if !self.waits() || self.named_by.is_empty() {
            return;
        }
        if self.named_by.len() >= needed {
            self.tell(TurnNews::HandedOver, steps);
        } else if self.stage == TurnStage::Waiting {
            self.stage = TurnStage::Impatient;
            steps.push(TurnStep::Patience(patience(self.splits, draw)));
        }
    }

    fn tell(&mut self, news: TurnNews, steps: &mut Vec<TurnStep>) {
        if !self.told.contains(&news) {
            self.told.push(news);
            steps.push(TurnStep::Tell(news));
        }
    }
}

fn patience(splits: u32, draw: impl FnOnce(u32) -> f64) -> Duration {
    let doubled = FIRST_PATIENCE.saturating_mul(1 << splits.min(4)).min(LONGEST_PATIENCE);
    doubled.mul_f64(0.5 + draw(splits) / 2.0)
}

#[cfg(test)]
mod tests;
