//! What a process does wrong on purpose, to show that the soak notices: `LEASEHOLD_SOAK_LIE=a_double_hold`.

use std::{fs::File, time::Duration};

use leasehold::Fence;
use leasehold_testing::history::Held;
use serde::{Deserialize, Serialize};

use super::{leading::Led, worker::Said};
use crate::load::{Loss, micros};

/// A lie of one process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Lie {
    /// Once it says of a lease that it lasted ten seconds longer.
    ADoubleHold,
    /// Once it says of a lease that it had the first fence of all.
    AnOldFence,
    /// Once it says that it ran a tick that it ran before.
    ATickTwice,
    /// Once it says of a lost lease that the loss was told a minute late.
    ALateLoss,
    /// It says of a lease that was to be renewed that it was lost, each second.
    ALoss,
    /// Once it says that a request has no answer.
    Silence,
    /// Once it says that a request failed in a way that no fault explains.
    AStrangeFailure,
    /// Once it says that it worked as the singleton while another one did, with the same fence.
    ASingletonTwice,
    /// Once it says that it worked on a partition while another one did, with the same fence.
    APartitionTwice,
    /// It ends with a lease that it never gives back.
    ALeftover,
    /// It never gives back some memory, each second.
    Memory,
    /// It never closes a file, each second.
    Descriptors,
}

/// A process that lies, with what it keeps.
pub(super) struct Liar {
    lie: Lie,
    /// How often it has said the truth.
    lines: usize,
    told: bool,
    kept: (Vec<Vec<u8>>, Vec<File>),
}

impl Lie {
    pub(super) fn begin(self) -> Liar {
        Liar { lie: self, lines: 0, told: false, kept: (Vec::new(), Vec::new()) }
    }
}

impl Liar {
    /// Changes what is said, or wastes something.
    pub(super) fn lie(&mut self, said: &mut Said) {
        self.lines += 1;
        match self.lie {
            Lie::Memory => self.kept.0.push(vec![1; 1 << 20]),
            Lie::Descriptors => self.kept.1.extend(File::open("/dev/null")),
            // What is false of a lease shows beside others.
            _ if self.told || self.lines < 10 => {}
            Lie::ATickTwice => {
                if let Some(run) = said.runs.last().copied() {
                    said.runs.push(run);
                    self.told = true;
                }
            }
            Lie::ASingletonTwice => {
                let again = said.led.last().map(beside);
                self.told = again.is_some();
                said.led.extend(again);
            }
            Lie::APartitionTwice => {
                let again = said.owned.last().map(|(partition, led)| (*partition, beside(led)));
                self.told = again.is_some();
                said.owned.extend(again);
            }
            Lie::Silence => {
                said.report.unanswered.push("a lie".to_owned());
                self.told = true;
            }
            Lie::AStrangeFailure => {
                said.report.errors.insert("restarted".to_owned(), 1);
                self.told = true;
            }
            Lie::ALoss => {
                let (resource, reason) = ("load/0".to_owned(), "a lie".to_owned());
                said.report.losses.push(Loss { at: micros(), resource, fence: 0, reason, found: true });
            }
            Lie::ALeftover => self.told = true,
            lie => self.told = said.report.held.iter_mut().any(|held| change(lie, held)),
        }
    }
}

/// The work of another process with the same fence.
fn beside(led: &Led) -> Led {
    Led { at: led.at + 1, by: led.by + 1, ..*led }
}

/// Changes a lease; returns false if it is of no use for that.
fn change(lie: Lie, held: &mut Held) -> bool {
    let is_ordinary = held.resource.as_bytes().starts_with(b"load/") && held.owner.is_none();
    match lie {
        Lie::ADoubleHold if is_ordinary && held.mode == leasehold::Mode::Exclusive && held.lost.is_none() => {
            held.stopped = held.stopped + Duration::from_secs(10);
            held.valid_until = held.stopped;
            true
        }
        Lie::AnOldFence if is_ordinary => {
            held.fence = Some(Fence::new(1));
            true
        }
        Lie::ALateLoss if held.lost.is_some() => {
            held.stopped = held.valid_until + Duration::from_secs(60);
            true
        }
        _ => false,
    }
}
