//! Renewals and releases by a majority.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;

use crate::{
    core::{Moment, Verdict},
    store::{
        Answers, Hold, Released, Renewal, Renewed, StoreError,
        quorum::{
            options::Timeouts,
            releases::{PendingRelease, ReleaseState},
            round::Round,
            shared::{Quorum, median},
        },
    },
};

/// The time for which a release is tried again on a node that failed. After that the hold ends by itself.
pub(super) const TRIED_FOR: Duration = Duration::from_secs(60);

/// The answers of the nodes to a verb on holds: their votes on whether the tokens held.
pub(super) type Votes<T> = Round<Result<T, StoreError>>;

/// Tells by the answer of a node whether the token held there.
pub(super) type Held<T> = fn(&T) -> bool;

const RENEWED: Held<Renewed> = |renewed| *renewed == Renewed::Extended;
pub(super) const RELEASED: Held<Released> = |released| !matches!(released, Released::NotHeld { .. });

pub(super) fn verdict<T: 'static>(round: &Votes<T>, which: usize, held: Held<T>) -> Verdict {
    let held = |answer: &T| held(answer) || planted!("a node that lost the lease counts for its renewal");
    round.tally(which, |answer| answer.as_ref().ok().map(held)).on_state()
}

/// Returns whether the token held on a majority.
fn held_by_majority<T: Send + 'static>(
    round: &Votes<T>,
    which: usize,
    within: Duration,
    held: Held<T>,
) -> Result<bool, StoreError> {
    match verdict(round, which, held) {
        Verdict::Yes => Ok(true),
        Verdict::No => Ok(false),
        Verdict::Open | Verdict::Short => Err(round.short(which, within)),
    }
}

/// Waits until the answers of the nodes decide each question.
async fn decide<T: 'static>(round: &mut Votes<T>, questions: usize, timeouts: Timeouts, held: Held<T>) {
    let is_decided = |round: &Round<_>, which| verdict(round, which, held) != Verdict::Open;
    round.gather(timeouts, |round| (0..questions).all(|which| is_decided(round, which))).await;
}

/// Renews on every node, and repairs those that lost the lease. A repair is no vote: somebody else may have held in between.
pub(super) async fn renew(
    quorum: Arc<Quorum>,
    renewals: Vec<(Hold, Duration)>,
    reply: oneshot::Sender<Answers<Renewed>>,
) {
    let (sent, renewals): (_, Arc<[_]>) = (quorum.now(), renewals.into());
    let mut round = Round::ask(&quorum, |quorum, node| renew_on(quorum, node, Arc::clone(&renewals)));
    let timeouts = timeouts(&quorum, &renewals, sent);
    decide(&mut round, renewals.len(), timeouts, RENEWED).await;
    let answer = |which| match held_by_majority(&round, which, timeouts.met, RENEWED)? {
        true => Ok(Renewed::Extended),
        false => Ok(Renewed::NotHeld),
    };
    let answers: Vec<_> = (0..renewals.len()).map(answer).collect();
    let of = |wanted| {
        (0..).zip(&answers).filter(move |(_, answer)| matches!(answer, Ok(renewed) if *renewed == wanted))
    };
    let extended: Vec<usize> = of(Renewed::Extended).map(|(which, _)| which).collect();
    let lost: Vec<usize> = of(Renewed::NotHeld).map(|(which, _)| which).collect();
    // The caller may be gone. A node that lost the lease is repaired all the same.
    drop(reply.send(answers));
    let renewed = quorum.books(|books| {
        // No node that hands over to a lost lease has to be repaired.
        books.forget(lost.into_iter().map(|which| &renewals[which].0));
        let mut renew = |(hold, ttl): &(Hold, Duration)| books.tokens.renewed(hold.token, sent + *ttl);
        extended.into_iter().filter(|which| renew(&renewals[*which])).collect::<Vec<_>>()
    });
    let repair_if_lost = |node, which, answer: &Result<_, _>| {
        if matches!(answer, Ok(Renewed::NotHeld)) && renewed.binary_search(&which).is_ok() {
            quorum.repair_later(node, renewals[which].0.token);
        }
    };
    round.each_answer(repair_if_lost).await;
}

/// Renews on one node. The node has no vote on a token of which an earlier release may still be executed there: that would end what
/// it has just extended.
async fn renew_on(quorum: Arc<Quorum>, node: usize, renewals: Arc<[(Hold, Duration)]>) -> Answers<Renewed> {
    let now = quorum.now();
    let (without_vote, asked): (Vec<usize>, Vec<_>) = quorum.books(|books| {
        let releases = &books.releases[node];
        let is_late =
            |hold: &Hold| !releases.is_idle() && releases.state(hold.token, now) != ReleaseState::None;
        let without_vote = (0..renewals.len()).filter(|which| is_late(&renewals[*which].0)).collect();
        let untold = |hold: &Hold| books.nodes[node].untold.get(&hold.token).filter(|(_, end)| *end > now);
        let untold = |hold: &Hold| untold(hold).map(|(metadata, _)| Arc::clone(metadata));
        let asked = renewals.iter();
        let asked = asked.map(|(hold, ttl)| Renewal { metadata: untold(hold), ..Renewal::new(hold, *ttl) });
        (without_vote, asked.collect())
    });
    let mut answers = quorum.ask(node, asked.len(), quorum.store(node).renew_each(&asked)).await;
    quorum.books(|books| {
        let untold = &mut books.nodes[node].untold;
        for (Renewal { hold, metadata, .. }, answer) in asked.iter().zip(&answers) {
            let Some(told) = metadata else { continue };
            let is_latest = untold.get(&hold.token).is_some_and(|(latest, _)| Arc::ptr_eq(latest, told));
            if is_latest && matches!(answer, Ok(Renewed::Extended)) {
                untold.remove(&hold.token);
            }
        }
    });
    for which in without_vote {
        if matches!(answers[which], Ok(Renewed::Extended))
            && !planted!("a node that may still release a lease counts for its renewal")
        {
            let reason = "what an earlier attempt left there is still being released";
            answers[which] = Err(StoreError::unavailable(reason));
            quorum.repair_later(node, renewals[which].0.token);
        }
    }
    answers
}

/// Returns the timeout of a renewal: a share of the time that is left of the lease that ends first.
fn timeouts(quorum: &Quorum, renewals: &[(Hold, Duration)], now: Moment) -> Timeouts {
    let options = &quorum.options;
    let shortest = quorum.books(|books| {
        let left = |(hold, ttl): &(Hold, Duration)| match books.tokens.end(hold.token) {
            Some(end) => options.timeouts_with(end.remaining(now).min(*ttl)),
            None => options.timeouts_for(*ttl),
        };
        renewals.iter().map(left).min_by_key(|timeouts| timeouts.met)
    });
    shortest.unwrap_or(options.timeouts())
}

/// Releases on every node, and tries again where that fails.
pub(super) async fn release(
    quorum: Arc<Quorum>,
    releases: Vec<(Hold, Duration)>,
    reply: oneshot::Sender<Answers<Released>>,
) {
    let (sent, releases): (_, Arc<[_]>) = (quorum.now(), releases.into());
    let attempt = quorum.books(|books| books.begin_release(releases.iter().map(|(hold, _)| hold)));
    let mut round = each_node(&quorum, &releases);
    let timeouts = quorum.options.timeouts().for_each_of(releases.len());
    decide(&mut round, releases.len(), timeouts, RELEASED).await;
    let answer = |which| released(&round, which, timeouts.met);
    drop(reply.send((0..releases.len()).map(answer).collect()));
    // An earlier attempt may still be executed somewhere.
    let tokens = releases.iter().map(|(hold, _)| hold.token);
    for (node, token) in quorum.books(|books| books.end_release(tokens)) {
        quorum.release_again(node, token, attempt);
    }
    let release_if_failed = |node, which: usize, answer: &Result<_, _>| {
        if answer.is_err() {
            let (hold, cooldown) = releases[which].clone();
            let opening = sent + cooldown;
            quorum.release_later(node, PendingRelease::new(hold, opening, opening + TRIED_FOR, attempt));
        }
    };
    round.each_answer(release_if_failed).await;
}

pub(super) fn released(
    round: &Votes<Released>,
    which: usize,
    within: Duration,
) -> Result<Released, StoreError> {
    let held = held_by_majority(round, which, within, RELEASED)?;
    let left = |released: &Released| match *released {
        Released::Freed => 0,
        Released::StillHeld { count } | Released::NotHeld { count } => count,
    };
    let alike = round.on(which).flatten().flatten().filter(|released| RELEASED(released) == held);
    Ok(Released::of(held, median(alike.map(left))))
}

/// Returns true if the token holds on a majority.
pub(super) async fn is_held(quorum: &Arc<Quorum>, hold: &Hold) -> Result<bool, StoreError> {
    let mut round = Round::of_one(quorum, hold.clone(), |store, hold| store.is_held(hold));
    let timeouts = quorum.options.timeouts();
    decide(&mut round, 1, timeouts, |held| *held).await;
    held_by_majority(&round, 0, timeouts.met, |held| *held)
}

/// Asks every node to release all of these.
fn each_node(quorum: &Arc<Quorum>, asked: &Arc<[(Hold, Duration)]>) -> Votes<Released> {
    Round::ask(quorum, |quorum, node| {
        let asked = Arc::clone(asked);
        async move {
            let asked: Vec<_> = asked.iter().map(|(hold, time)| (hold, *time)).collect();
            quorum.ask(node, asked.len(), quorum.store(node).release_each(&asked)).await
        }
    })
}
