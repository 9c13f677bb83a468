//! The kinds of calls and answers that have to occur in the traces.

use leasehold_sim::checked::{
    queue::{QueueAnswer, QueueCall},
    traces::QueueStep,
};

/// A kind of call and answer: which of the ways through the scripts it takes.
pub(crate) fn kind(step: &QueueStep, in_batches: bool) -> String {
    let (call, answer) = match (step.call, step.answer) {
        (QueueCall::Acquire(..), QueueAnswer::Granted(_)) => ("acquire", "granted"),
        (QueueCall::Acquire(..), _) => ("acquire", "queued"),
        (QueueCall::Renew(_), QueueAnswer::Held(true)) => ("renew", "held"),
        (QueueCall::Renew(_), _) => ("renew", "not held"),
        (QueueCall::Release(_), QueueAnswer::Held(true)) => ("release", "held"),
        (QueueCall::Release(_), _) => ("release", "not held"),
        (QueueCall::HandOff(..), QueueAnswer::HandedOff(true, Some(_), _)) => ("hand-off", "granted"),
        (QueueCall::HandOff(..), QueueAnswer::HandedOff(true, None, _)) => ("hand-off", "queued"),
        (QueueCall::HandOff(..), _) => ("hand-off", "not held"),
        (QueueCall::ForceRelease, QueueAnswer::Taken(0)) => ("force", "nothing"),
        (QueueCall::ForceRelease, _) => ("force", "taken"),
        (QueueCall::Tick, _) => ("tick", ""),
    };
    let batched = in_batches && matches!(step.call, QueueCall::Acquire(..) | QueueCall::Release(_));
    let (beside, batch) =
        (if step.is_alone { "" } else { ", others wait" }, if batched { ", batch" } else { "" });
    format!("{call} {answer}{beside}{batch}")
}

/// The kinds of calls that have to occur in the traces. Without others that wait, scripts take a short way.
pub(crate) const KINDS: [&str; 23] = [
    "acquire granted",
    "acquire granted, batch",
    "acquire granted, others wait",
    "acquire granted, others wait, batch",
    "acquire queued",
    "acquire queued, batch",
    "acquire queued, others wait",
    "release held",
    "release held, batch",
    "release held, others wait",
    "release held, others wait, batch",
    "release not held",
    "release not held, others wait",
    "renew held",
    "renew not held, others wait",
    "hand-off granted",
    "hand-off granted, others wait",
    "hand-off not held, others wait",
    "hand-off queued, others wait",
    "force taken, others wait",
    "told HandedOver",
    "told Next",
    "told GoOn",
];
