//! Several resources at once, all or none, and single answers as those of a batch.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::join_all};

use crate::store::{
    Acquired, Acquisition, Certainty, Grant, HandedOff, Hold, Refusal, Replies, Reply, Store, StoreError,
};

/// The largest number of resources that one [`Store::acquire_all`] takes.
pub const ALL_AT_MOST: usize = 64;

/// The certain answers to [`Store::acquire_all`].
#[derive(Clone, Debug)]
pub enum AcquiredAll {
    /// All of them hold. Carries the grants, in the order of the requests.
    Granted(Vec<Grant>),
    /// Nothing was granted, because somebody is in the way of one of them.
    Refused {
        /// The index of the refused request.
        which: usize,
        /// The holder that is in its way.
        refusal: Refusal,
    },
    /// Nothing was granted, because one of them failed and was certainly not executed.
    Failed {
        /// The index of the failed request.
        which: usize,
        /// The error of that request.
        error: StoreError,
    },
}

/// Returns the same acquisition as a try.
pub(super) fn as_try(asked: &Acquisition) -> Acquisition {
    Acquisition { ticket: None, ..asked.clone() }
}

/// Implements [`Store::hand_off`] for stores that cannot do both at one moment.
pub(super) async fn release_then_acquire<S: Store + ?Sized>(
    store: &S,
    from: &Hold,
    to: &Acquisition,
) -> Result<HandedOff, StoreError> {
    let released = store.release(from, Duration::ZERO).await?;
    let acquired = store.acquire(to).await;
    let others_wait = !matches!(acquired, Ok(Acquired::Granted(_)));
    Ok(HandedOff { released, acquired, others_wait })
}

/// Implements [`Store::acquire_all`] for stores that cannot do it at one moment.
pub(super) async fn one_after_the_other<S: Store + ?Sized>(
    store: &S,
    asked: &[Arc<Acquisition>],
) -> Result<AcquiredAll, StoreError> {
    let mut grants = Vec::with_capacity(asked.len());
    for (which, one) in asked.iter().enumerate() {
        let kept_out = match store.acquire(&as_try(one)).await {
            Ok(Acquired::Granted(grant)) => {
                grants.push(grant);
                continue;
            }
            Ok(Acquired::Refused(refusal)) => Ok(AcquiredAll::Refused { which, refusal }),
            Ok(other) => {
                let doing = format!("acquire: a try was answered {other:?}");
                Err(StoreError::reply_lost(doing))
            }
            Err(error) if error.certainty() == Certainty::NotExecuted => {
                Ok(AcquiredAll::Failed { which, error })
            }
            Err(error) => Err(error),
        };
        release_all(store, &asked[..which]).await?;
        return kept_out;
    }
    Ok(AcquiredAll::Granted(grants))
}

async fn release_all<S: Store + ?Sized>(store: &S, granted: &[Arc<Acquisition>]) -> Result<(), StoreError> {
    let releases: Vec<_> = granted.iter().map(|granted| (&granted.hold, Duration::ZERO)).collect();
    let failed = |error| StoreError::ReplyLost {
        doing: "acquire_all: one was not granted, and another could not be released".to_owned(),
        source: Some(Arc::new(error)),
    };
    store
        .release_each(&releases)
        .await
        .into_iter()
        .try_for_each(|released| released.map(drop).map_err(failed))
}

/// Joins the answers to single requests to those of a batch, for a store that executes each by itself. The requests run
/// side by side: a store that could execute those of one resource in another order than theirs must not use it.
pub fn join_replies<'a, T: Send + 'a>(replies: impl IntoIterator<Item = Reply<'a, T>>) -> Replies<'a, T> {
    join_all(replies).boxed()
}

/// Returns the answer of a batch of one.
pub(super) fn only<T>(verb: &str, mut answers: Vec<Result<T, StoreError>>) -> Result<T, StoreError> {
    answers.pop().unwrap_or_else(|| {
        let doing = format!("{verb}: the store gave no answer to one question");
        Err(StoreError::reply_lost(doing))
    })
}
