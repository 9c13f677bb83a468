//! The recovery of nodes that may have forgotten: they are asked for their reports, and taught the missing fences.
//!
//! Each node keeps the time at which it heard of another's incarnation in a register, so that a process that has just
//! started need not wait.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use tokio::time::{Instant, timeout};

use super::{node::Observed, round::Round, shared::Quorum};
use crate::{
    core::{NotYet, Report, ResourceName, Token, lessons},
    store::{QuorumNode, RegisterWrite, StoreError},
};

/// The shortest interval at which nodes are asked.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest interval at which nodes that are too young are asked.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The revision of every register about an incarnation. All clients use the same one, so the first write stays.
const REVISION: Token = Token::from_bits(1);

/// A recovery in progress. It is over when this is dropped, also together with the runtime.
struct InProgress(Arc<Quorum>);

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.books(|books| books.lessons.in_progress = false);
        self.0.lesson_over.notify_waiters();
    }
}

/// Asks and teaches the nodes in the background, unless that is in progress or was done a moment ago.
pub(super) fn recover_later(quorum: &Arc<Quorum>, voted: Instant) {
    let begins = quorum.books(|books| {
        let lessons = &mut books.lessons;
        let is_due = lessons.next.is_none_or(|next| next <= Instant::now());
        let begins = !lessons.in_progress && !lessons.has_taught_since(voted) && is_due;
        lessons.in_progress |= begins;
        begins
    });
    if begins {
        tokio::spawn(recover(InProgress(Arc::clone(quorum))));
    }
}

async fn recover(in_progress: InProgress) {
    let quorum = &in_progress.0;
    let mut taught = teach(quorum).await;
    if taught != Ok(true) && compare_ages(quorum).await {
        // Those without records count by their age from now on; the others are taught if they may be.
        taught = teach(quorum).await.or(Ok(true)).map(|_| true);
    }
    let pause = match taught {
        Err(NotYet::Young(left)) => left.clamp(PAUSE, LONGEST_PAUSE),
        Ok(_) | Err(NotYet::Missing) => PAUSE,
    };
    let now = Instant::now();
    quorum.books(|books| {
        if taught == Ok(true) {
            books.lessons.taught = Some(now);
        }
        books.lessons.next = Some(now + pause);
    });
}

/// Waits until nodes have been taught since `voted`, so that another vote may be decided. Returns true if that was in time.
pub(super) async fn recovered(quorum: &Quorum, voted: Instant, within: Duration) -> bool {
    let recovered = async {
        loop {
            let over = quorum.lesson_over.notified();
            let (taught, in_progress) =
                quorum.books(|books| (books.lessons.has_taught_since(voted), books.lessons.in_progress));
            if taught || !in_progress {
                return taught;
            }
            over.await;
        }
    };
    timeout(within, recovered).await.unwrap_or(false)
}

/// Asks all nodes, and teaches those that may be taught. Returns true if any was taught.
async fn teach(quorum: &Arc<Quorum>) -> Result<bool, NotYet> {
    let asked = quorum.now();
    let mut round = Round::of_one(quorum, (), |store, ()| store.report());
    let knowing = |report: &Report| report.incarnation.has_recovered(report.recovered.as_ref());
    let enough = |round: &Round<Result<Report, StoreError>>| {
        let told = || round.on(0).flatten().flatten();
        told().filter(|report| knowing(report)).count() >= quorum.needed()
            && told().any(|report| !knowing(report))
    };
    round.gather(quorum.options.timeouts(), enough).await;
    let now = quorum.now();
    let told = round.on(0).map(|answer| answer.and_then(|answer| answer.as_ref().ok()).cloned());
    let (reports, is_first_start) = quorum.books(|books| {
        let reports: Vec<Option<Report>> = told
            .zip(&mut books.nodes)
            .map(|(report, node)| {
                let report = report?;
                if knowing(&report) {
                    node.forget_age();
                    return Some(report);
                }
                Some(Report { incarnation: node.aged(report.incarnation, now), ..report })
            })
            .collect();
        // A deployment in which this client has noticed a restart is not at its first start.
        let mut nodes = reports.iter().zip(&mut books.nodes);
        let is_first = |(report, node): (&Option<Report>, &mut Observed)| {
            report.as_ref().is_none_or(|report| node.is_first(&report.incarnation))
        };
        let is_first_start = quorum.options.fresh_start && nodes.all(is_first);
        (reports, is_first_start)
    });
    let lessons = lessons(&reports, asked.elapsed(now), quorum.options.max_ttl, is_first_start)?;
    let taught = lessons.iter().map(async |(node, lesson)| {
        let teach = async { vec![quorum.store(*node).teach(lesson).await] };
        let failed = quorum.insist(*node, 1, teach).await.into_iter().find_map(Result::err);
        let name = &quorum.nodes[*node].name;
        match &failed {
            None => tracing::info!(node = name, fence = lesson.fence.get(), "a node counts from now on"),
            Some(error) => {
                let error = error as &dyn std::error::Error;
                tracing::debug!(node = name, error, "a node could not be taught");
            }
        }
        failed.is_none()
    });
    Ok(join_all(taught).await.contains(&true))
}

/// Asks all nodes since when they know the incarnations that are too young, and tells them. Returns true if one is old enough.
async fn compare_ages(quorum: &Arc<Quorum>) -> bool {
    let max_ttl = quorum.options.max_ttl;
    let young = |now| quorum.books(|books| books.nodes.iter().map(|node| node.young(now, max_ttl)).collect());
    let before: Vec<Option<String>> = young(quorum.now());
    let unsure: Vec<(usize, &String)> =
        (0..).zip(&before).filter_map(|(node, id)| Some((node, id.as_ref()?))).collect();
    // There is no register for a name that would be too long.
    let register =
        |(node, id): &(usize, _)| ResourceName::new(format!("quorum/{}/{id}", quorum.nodes[*node].name)).ok();
    let names: Option<Vec<ResourceName>> = unsure.iter().map(register).collect();
    let Some(names) = names.filter(|names| !names.is_empty()).map(Arc::<[_]>::from) else { return false };
    let mut round = Round::ask(quorum, |quorum, node| {
        let names = Arc::clone(&names);
        async move {
            let known = join_all(names.iter().map(|name| known_for(quorum.store(node), name)));
            quorum.insist(node, names.len(), known).await
        }
    });
    round.gather(quorum.options.timeouts(), |_| false).await;
    let now = quorum.now();
    for (question, (node, id)) in unsure.iter().enumerate() {
        let mut ages: Vec<Duration> = round
            .on(question)
            .map(|answer| answer.and_then(|age| age.as_ref().ok()).copied().unwrap_or_default())
            .collect();
        ages.sort_unstable_by(|one, other| other.cmp(one));
        quorum.books(|books| books.nodes[*node].vouch(id, ages[quorum.needed() - 1], now));
    }
    let after = young(quorum.now());
    unsure.iter().any(|(node, id)| after[*node].as_ref() != Some(*id))
}

/// Returns the time for which a node has known an incarnation, by its own clock. It hears of it now if it did not.
async fn known_for(store: &dyn QuorumNode, register: &ResourceName) -> Result<Duration, StoreError> {
    let mut known = store.register(register, None).await?;
    if known.revision.is_none() {
        let since = known.now.as_micros().to_string();
        let write =
            RegisterWrite { expected: None, revision: REVISION, value: since, not_before: Duration::ZERO };
        known = store.register(register, Some(&write)).await?;
    }
    // A value that nobody here has written says nothing, and a clock that was set back neither.
    let since = known.value.parse().map_or(known.now, Duration::from_micros);
    Ok(known.now.saturating_sub(since))
}
