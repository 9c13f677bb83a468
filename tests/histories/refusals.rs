//! Refusals: each has something in its way, and a history in which one has nothing is refused.

use std::time::Duration;

use leasehold::{Fence, Mode, ResourceName, env::Moment};
use leasehold_sim::refusals::unfounded;
use leasehold_testing::history::{
    Held,
    lines::{Request, Transcript},
};

use super::{callers::Kind, mutated::transcript};

const TTL: Duration = Duration::from_secs(10);

fn at(secs: u64) -> Moment {
    Moment::since_origin(Duration::from_secs(secs))
}

/// A request that was refused within a second.
fn refused(mode: Mode, asked: u64) -> (u64, Request) {
    let resource = ResourceName::new("r").unwrap();
    (0, Request { resource, mode, owner: None, ttl: TTL, asked: at(asked), answered: at(asked + 1) })
}

/// A lease that was asked for at 100, granted at 101 and over at 105, and these requests.
fn beside(mode: Mode, refused: Vec<(u64, Request)>, unanswered: Vec<(u64, Request)>) -> Transcript {
    let resource = ResourceName::new("r").unwrap();
    let lease = Held { mode, ..Held::exclusive(resource, Fence::new(7), TTL, [at(100), at(101), at(105)]) };
    Transcript { refused, unanswered, complete: true, ..Transcript::of([(1, &lease)]) }
}

#[test]
fn a_refusal_needs_a_lease_or_a_request_in_its_way() {
    let (shared, exclusive) = (Mode::Shared, Mode::Exclusive);
    let permits = Mode::permits(1, 3).unwrap();
    for (held, asked_as, asked, is_founded) in [
        (exclusive, exclusive, 98, false),
        (exclusive, exclusive, 99, true),
        (exclusive, shared, 103, true),
        // A TTL may have begun when it ended, and a renewal may have taken another one.
        (exclusive, permits, 125, true),
        (exclusive, exclusive, 126, false),
        (shared, exclusive, 103, true),
        (permits, permits, 103, true),
        // Readers are in each other's way only in a queue.
        (shared, shared, 101, true),
        (shared, shared, 102, false),
    ] {
        let transcript = beside(held, vec![refused(asked_as, asked)], Vec::new());
        let found = unfounded(&transcript).len();
        assert_eq!(found, usize::from(!is_founded), "{held:?}, {asked_as:?} at {asked}");
    }
    // Two at one time may be in each other's way, and one without an answer in that of all later ones.
    let two = |first, second| vec![refused(exclusive, first), refused(shared, second)];
    assert_eq!(unfounded(&beside(exclusive, two(300, 301), Vec::new())), [] as [&Request; 0]);
    assert_eq!(unfounded(&beside(exclusive, two(300, 302), Vec::new())).len(), 2);
    let later =
        |unanswered| beside(exclusive, vec![refused(exclusive, 300)], vec![refused(shared, unanswered)]);
    assert_eq!(unfounded(&later(200)), [] as [&Request; 0]);
    assert_eq!(unfounded(&later(302)).len(), 1);
}

/// Changes a request, which is of a history that ends at a moment.
type Mutation = fn(&mut Request, [Moment; 2]);

/// Ways in which a request cannot have been refused.
const MUTATIONS: [(&str, Mutation); 3] = [
    ("before anybody asked", |request, [first, _]| {
        let began = Moment::since_origin(Duration::ZERO);
        assert!(began < first, "the machine was started before");
        (request.asked, request.answered) = (began, began);
    }),
    ("when all is over", |request, [_, last]| {
        let later = last + 3 * request.ttl;
        (request.asked, request.answered) = (later, later);
    }),
    ("of a resource that nobody else asks for", |request, _| {
        request.resource = ResourceName::new("another").unwrap();
    }),
];

#[actix::test]
async fn a_history_in_which_one_is_refused_for_no_reason_is_refused() {
    let mut caught = 0;
    for kind in [Kind::Exclusive, Kind::ReadWrite, Kind::Permits, Kind::ReEntrant] {
        let history = transcript(kind).await;
        assert_eq!(unfounded(&history), [] as [&Request; 0], "{kind:?}: {history:#?}");
        let leases = || history.leases.iter().map(|(_, lease)| lease);
        let (first, last) =
            (leases().map(|lease| lease.asked).min(), leases().map(|lease| lease.stopped).max());
        let ends = [first.unwrap(), last.unwrap()];
        for (process, lease) in history.leases.iter().take(10) {
            let &Held { mode, ttl, asked, granted, .. } = lease;
            let (resource, owner) = (lease.resource.clone(), lease.owner.clone());
            let request = Request { resource, mode, owner, ttl, asked, answered: granted };
            for (what, change) in MUTATIONS {
                let mut changed = history.clone();
                let mut request = request.clone();
                change(&mut request, ends);
                changed.refused.push((*process, request.clone()));
                // As it is read by others.
                let changed = Transcript::read(&changed.to_lines()).unwrap();
                assert_eq!(unfounded(&changed), [&request], "{kind:?}, {what}: {changed:#?}");
                caught += 1;
            }
        }
    }
    assert_eq!(caught, 4 * 10 * MUTATIONS.len());
}
