//! The judgement of refusals: something has to have been in the way.
//!
//! It accepts whatever may have been right. A hold that conflicts is in the way until its TTL is certainly over. So is every request that
//! was under way at the same time: nobody may overtake it, and the nodes of a quorum may have been divided between the two. One without
//! an answer may be granted at any time after it, so it excuses all that comes later.

use leasehold::{Mode, env::Moment};
use leasehold_testing::history::{
    Held,
    lines::{Request, Transcript},
};

use crate::linearizable::kept_until;

/// Returns the refusals of a complete history that had nothing in their way; none of a history that is not complete.
pub fn unfounded(transcript: &Transcript) -> Vec<&Request> {
    let refused = transcript.refused.iter().filter(|_| transcript.complete).map(|(_, request)| request);
    refused.filter(|refused| !is_founded(refused, transcript)).collect()
}

fn is_founded(refused: &Request, transcript: &Transcript) -> bool {
    let is_beside = |from: Moment, until: Moment| from <= refused.answered && until >= refused.asked;
    let in_the_way = |lease: &Held| {
        let conflicts = [lease.mode, refused.mode] != [Mode::Shared; 2];
        is_beside(lease.asked, if conflicts { kept_until(lease) } else { lease.granted })
    };
    let resource = &refused.resource;
    let is_other = |other: &Request| other.resource == *resource && !std::ptr::eq(other, refused);
    let leases = transcript.leases.iter().filter(|(_, lease)| lease.resource == *resource);
    let mut others = transcript.refused.iter().filter(|(_, other)| is_other(other));
    let mut unanswered = transcript.unanswered.iter().filter(|(_, other)| is_other(other));
    leases.map(|(_, lease)| lease).any(in_the_way)
        || others.any(|(_, other)| is_beside(other.asked, other.answered))
        || unanswered.any(|(_, other)| other.asked <= refused.answered)
}
