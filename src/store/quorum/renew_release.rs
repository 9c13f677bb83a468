//! Renewals and releases by a majority, and the repair of nodes that lost a lease.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt;
use tokio::sync::oneshot;

use crate::{
    core::{Fence, Moment, Tally, Verdict},
    store::{
        Certainty, Hold, Released, Renewed, StoreError,
        all::as_try,
        quorum::{
            asking::median,
            core::Core,
            ledger::PendingRelease,
            node::{Ballot, Node},
            options::Timeouts,
            poll::Round,
        },
    },
};

/// The time for which a release is tried again on a node that failed. After that the hold ends by itself.
const TRIED_FOR: Duration = Duration::from_secs(60);

/// An answer that tells whether the token held.
trait Held {
    fn held(&self) -> bool;
}

impl Held for Renewed {
    fn held(&self) -> bool {
        *self == Self::Extended
    }
}

impl Held for Released {
    fn held(&self) -> bool {
        !matches!(self, Self::NotHeld { .. })
    }
}

impl Held for bool {
    fn held(&self) -> bool {
        *self
    }
}

type Said<T> = Result<T, StoreError>;

fn verdict<T: Held + 'static>(round: &Round<Said<T>>, which: usize) -> Verdict {
    let answers = round.on(which);
    let mut tally = Tally::new(answers.len());
    for answer in answers.flatten() {
        match answer {
            Ok(answer) if answer.held() => tally.yes(),
            Ok(_) if planted!("a node that lost the lease counts for its renewal") => tally.yes(),
            Ok(_) => tally.no(),
            Err(_) => tally.silent(),
        }
    }
    tally.on_state()
}

/// Returns the error that says why there is no majority.
pub(super) fn short<T: 'static>(
    core: &Core,
    round: &Round<Said<T>>,
    which: usize,
    within: Duration,
) -> StoreError {
    let reason = |(node, answer): (&Arc<Node>, Option<&Said<T>>)| match answer {
        None => Some(node.failure(StoreError::timed_out(within))),
        Some(Err(error)) => Some(node.failure(error.clone())),
        Some(Ok(_)) => None,
    };
    let failures: Vec<_> = core.nodes.iter().zip(round.on(which)).filter_map(reason).collect();
    let executed = failures.len() < core.nodes.len() || failures.iter().any(|failure| failure.is_unknown());
    core.no_quorum(failures, if executed { Certainty::Unknown } else { Certainty::NotExecuted })
}

/// Waits until the answers of the nodes decide each question.
async fn decide<T: Held + 'static>(round: &mut Round<Said<T>>, questions: usize, timeouts: Timeouts) {
    round.gather(timeouts, |round| (0..questions).all(|which| verdict(round, which) != Verdict::Open)).await;
}

/// Renews on every node. A node that lost the lease is repaired. The repair does not count as a vote, since somebody else
/// may have held the lease there in between.
pub(super) async fn renew(
    core: Arc<Core>,
    renewals: Vec<(Hold, Duration)>,
    reply: oneshot::Sender<Vec<Said<Renewed>>>,
) {
    let (sent, renewals): (_, Arc<[_]>) = (core.now(), renewals.into());
    let mut round = Round::ask(&core.nodes, |_, node| {
        let (core, renewals) = (Arc::clone(&core), Arc::clone(&renewals));
        async move {
            let renewals: Vec<_> = renewals.iter().map(|(hold, ttl)| (hold, *ttl)).collect();
            node.ask(renewals.len(), &core.options, node.store.renew_each(&renewals)).await
        }
        .boxed()
    });
    let timeouts = timeouts(&core, &renewals, sent);
    decide(&mut round, renewals.len(), timeouts).await;
    let answer = |which| match verdict(&round, which) {
        Verdict::Yes => Ok(Renewed::Extended),
        Verdict::No => Ok(Renewed::NotHeld),
        Verdict::Open | Verdict::Short => Err(short(&core, &round, which, timeouts.met)),
    };
    let answers: Vec<_> = (0..renewals.len()).map(answer).collect();
    let extended: Vec<bool> = answers.iter().map(|answer| matches!(answer, Ok(Renewed::Extended))).collect();
    // The caller may be gone. A node that lost the lease is repaired all the same.
    drop(reply.send(answers));
    for (which, (hold, ttl)) in renewals.iter().enumerate().filter(|(which, _)| extended[*which]) {
        if !core.ledger.renewed(hold.token, sent + *ttl) {
            continue;
        }
        for (node, answer) in round.on(which).enumerate() {
            if matches!(answer, Some(Ok(Renewed::NotHeld))) {
                tokio::spawn(repair(Arc::clone(&core), node, hold.clone(), *ttl));
            }
        }
    }
    while let Some(node) = round.late().await {
        for (which, answer) in round.of(node).iter().enumerate() {
            if extended[which] && matches!(answer, Ok(Renewed::NotHeld)) {
                let (hold, ttl) = renewals[which].clone();
                tokio::spawn(repair(Arc::clone(&core), node, hold, ttl));
            }
        }
    }
}

/// Returns the timeout of a renewal: a share of the time that is left of the lease that ends first.
fn timeouts(core: &Core, renewals: &[(Hold, Duration)], now: Moment) -> Timeouts {
    let left = |(hold, ttl): &(Hold, Duration)| match core.ledger.end(hold.token) {
        Some(end) => core.options.timeouts_with(end.remaining(now).min(*ttl)),
        None => core.options.timeouts_for(*ttl),
    };
    let usual = core.options.timeouts();
    let shortest = renewals.iter().map(left).min_by_key(|timeouts| timeouts.met);
    shortest.unwrap_or(usual)
}

/// Acquires a lease again on a node that lost it.
pub(super) async fn repair(core: Arc<Core>, which: usize, hold: Hold, ttl: Duration) {
    let Some(granted) = core.ledger.granted(hold.token, core.now()) else {
        return;
    };
    let asked = [Arc::new(as_try(&granted.asked))];
    if core.ledger.want_again(which, &asked, core.now()).contains(&true) {
        return;
    }
    let node = &core.nodes[which];
    let (ballots, _) = node.vote(&asked, Fence::new(0), &core.options, &*core.clock).await;
    if !ballots.iter().all(Ballot::may_hold) {
        return;
    }
    tracing::debug!(node = node.name, resource = %hold.resource, "a node had lost a lease, and has it again");
    if let Some(fence) = granted.fence {
        // The node's own fence may be larger. It stands for that of the lease then.
        ballots.iter().filter_map(Ballot::fence).for_each(|said| fence.said(which, said));
        let _raised = node.store.raise_fences(&[(&hold, fence.get())]).await;
    }
    if !core.ledger.holds(hold.token, core.now()) {
        // The lease was released, or has ended, while it was being repaired.
        let (now, attempt) = (core.now(), core.ledger.remove([]));
        core.release_later(
            which,
            PendingRelease { hold, opening: now, end: now + ttl, attempt, again: None, queued_again: None },
        );
    }
}

/// Releases on every node, and tries again where that fails.
pub(super) async fn release(
    core: Arc<Core>,
    releases: Vec<(Hold, Duration)>,
    reply: oneshot::Sender<Vec<Said<Released>>>,
) {
    let (sent, releases): (_, Arc<[_]>) = (core.now(), releases.into());
    let attempt = core.forget(releases.iter().map(|(hold, _)| hold));
    let mut round = Round::ask(&core.nodes, |_, node| {
        let (core, releases) = (Arc::clone(&core), Arc::clone(&releases));
        async move {
            let releases: Vec<_> = releases.iter().map(|(hold, cooldown)| (hold, *cooldown)).collect();
            node.ask(releases.len(), &core.options, node.store.release_each(&releases)).await
        }
        .boxed()
    });
    let timeouts = core.options.timeouts();
    decide(&mut round, releases.len(), timeouts).await;
    drop(reply.send((0..releases.len()).map(|which| released(&core, &round, which, timeouts.met)).collect()));
    // An earlier attempt may still be executed somewhere.
    let tokens: Vec<_> = releases.iter().map(|(hold, _)| hold.token).collect();
    for (node, token) in core.ledger.aside(&tokens) {
        core.release_again(node, token, attempt);
    }
    let release_later = |node, which: usize| {
        let (hold, cooldown) = releases[which].clone();
        core.release_later(
            node,
            PendingRelease {
                hold,
                opening: sent + cooldown,
                end: sent + cooldown + TRIED_FOR,
                attempt,
                again: None,
                queued_again: None,
            },
        );
    };
    for which in 0..releases.len() {
        for (node, _) in round.on(which).enumerate().filter(|(_, answer)| matches!(answer, Some(Err(_)))) {
            release_later(node, which);
        }
    }
    while let Some(node) = round.late().await {
        for (which, _) in round.of(node).iter().enumerate().filter(|(_, answer)| answer.is_err()) {
            release_later(node, which);
        }
    }
}

fn released(core: &Core, round: &Round<Said<Released>>, which: usize, within: Duration) -> Said<Released> {
    let held = match verdict(round, which) {
        Verdict::Yes => true,
        Verdict::No => false,
        Verdict::Open | Verdict::Short => return Err(short(core, round, which, within)),
    };
    let left = |released: &Released| match *released {
        Released::Freed => 0,
        Released::StillHeld { count } | Released::NotHeld { count } => count,
    };
    let alike = round.on(which).flatten().flatten().filter(|released| released.held() == held);
    Ok(match (held, median(alike.map(left))) {
        (true, 0) => Released::Freed,
        (true, count) => Released::StillHeld { count },
        (false, count) => Released::NotHeld { count },
    })
}

/// Returns true if the token holds on a majority.
pub(super) async fn is_held(core: &Core, hold: &Hold) -> Result<bool, StoreError> {
    let mut round = Round::ask(&core.nodes, |_, node| {
        let hold = hold.clone();
        async move { node.insist(1, node.store.is_held(&hold).map(|held| vec![held])).await }.boxed()
    });
    let timeouts = core.options.timeouts();
    decide(&mut round, 1, timeouts).await;
    match verdict(&round, 0) {
        Verdict::Yes => Ok(true),
        Verdict::No => Ok(false),
        Verdict::Open | Verdict::Short => Err(short(core, &round, 0, timeouts.met)),
    }
}
