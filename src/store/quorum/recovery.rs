//! The recovery of nodes that may have forgotten: they are asked for their reports, and taught the missing fences.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::join_all};
use tokio::time::{Instant, sleep};

use crate::{
    core::{NotYet, Report, lessons},
    store::{
        StoreError,
        quorum::{core::Core, node::Node, poll::Round, sightings},
    },
};

/// The shortest interval at which nodes are asked.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest interval at which nodes that are too young are asked.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Asks and teaches the nodes in the background, unless that is in progress or was done a moment ago.
pub(super) fn recover_later(core: &Arc<Core>, voted: Instant) {
    let Ok(mut next) = Arc::clone(&core.lessons.next).try_lock_owned() else {
        return;
    };
    if core.lessons.has_taught_since(voted) || next.is_some_and(|next| next > Instant::now()) {
        return;
    }
    let core = Arc::clone(core);
    tokio::spawn(async move {
        let mut taught = teach(&core).await;
        if taught != Ok(true) && sightings::compare(&core).await {
            // Those without records count by their age from now on; the others are taught if they may be.
            taught = teach(&core).await.or(Ok(true)).map(|_| true);
        }
        let pause = match taught {
            Ok(true) => {
                core.lessons.taught_now();
                PAUSE
            }
            Ok(false) | Err(NotYet::Missing) => PAUSE,
            Err(NotYet::Young(left)) => left.clamp(PAUSE, LONGEST_PAUSE),
        };
        *next = Some(Instant::now() + pause);
    });
}

/// Waits until nodes have been taught since `voted`, so that another vote may be decided. Returns true if that was in
/// time.
pub(super) async fn recovered(core: &Core, voted: Instant, within: Duration) -> bool {
    let over = async { drop(core.lessons.next.lock().await) };
    tokio::select! {
        biased;
        () = core.lessons.lesson_since(voted) => true,
        () = over => core.lessons.has_taught_since(voted),
        () = sleep(within) => false,
    }
}

/// Asks all nodes, and teaches those that may be taught. Returns true if any was taught.
async fn teach(core: &Core) -> Result<bool, NotYet> {
    let asked = core.now();
    let mut round = Round::ask(&core.nodes, |_, node| {
        async move { node.insist(1, node.store.report().map(|report| vec![report])).await }.boxed()
    });
    let knowing = |report: &Report| report.incarnation.has_recovered(report.recovered.as_ref());
    let enough = |round: &Round<Result<Report, StoreError>>| {
        let told = || round.on(0).flatten().flatten();
        told().filter(|report| knowing(report)).count() >= core.needed()
            && told().any(|report| !knowing(report))
    };
    round.gather(core.options.timeouts(), enough).await;
    let now = core.now();
    let told = round.on(0).map(|answer| answer.and_then(|answer| answer.as_ref().ok()).cloned());
    let observed = |(node, report): (&Arc<Node>, Option<Report>)| {
        let report = report?;
        if knowing(&report) {
            node.sighting.forget();
            return Some(report);
        }
        Some(Report { incarnation: node.sighting.aged(report.incarnation, now), ..report })
    };
    let reports: Vec<Option<Report>> = core.nodes.iter().zip(told).map(observed).collect();
    let spent = asked.elapsed(now);
    // A deployment in which this client has noticed a restart is not at its first start.
    let first = |(node, report): (&Arc<Node>, &Option<Report>)| {
        report.as_ref().is_none_or(|report| node.is_first(&report.incarnation))
    };
    let fresh_start = core.options.fresh_start && core.nodes.iter().zip(&reports).all(first);
    let lessons = lessons(&reports, spent, core.options.max_ttl, fresh_start)?;
    let taught = lessons.iter().map(async |(which, lesson)| {
        let node = &core.nodes[*which];
        let taught = node.insist(1, node.store.teach(lesson).map(|taught| vec![taught])).await;
        let failed = taught.into_iter().find_map(Result::err);
        match &failed {
            None => tracing::info!(node = node.name, fence = lesson.fence.get(), "a node counts from now on"),
            Some(error) => tracing::debug!(
                node = node.name,
                error = error as &dyn std::error::Error,
                "a node could not be taught"
            ),
        }
        failed.is_none()
    });
    Ok(join_all(taught).await.contains(&true))
}
