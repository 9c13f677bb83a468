//! The division of requests into calls.

use std::collections::{BTreeMap, HashSet};

use futures_util::future::join_all;

use crate::{
    core::ResourceName,
    store::{StoreError, redis::wire::decode::senseless},
};

/// The largest number of requests in a call: a server serves nobody else while it executes one.
const MOST_REQUESTS: usize = 256;
const MOST_BYTES: usize = 128 * 1024;
/// The largest number of requests in a further call, for what a call has left for later: a few more than a call serves
/// of their kind.
const MOST_AGAIN: usize = 32;

/// Divides requests, in their order, into calls. `bytes` returns the rough size of a request; one that is larger than a
/// call goes alone.
pub(crate) fn split<T>(requests: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut calls = Vec::new();
    let (mut first, mut size) = (0, 0);
    for (at, request) in requests.iter().enumerate() {
        let more = bytes(request);
        if at > first && (at - first == MOST_REQUESTS || size + more > MOST_BYTES) {
            calls.push(&requests[first..at]);
            (first, size) = (at, 0);
        }
        size += more;
    }
    if first < requests.len() {
        calls.push(&requests[first..]);
    }
    calls
}

/// The requests of one call that have no answer yet.
pub(crate) struct Open<'a, T> {
    /// The requests, in their order.
    pub(crate) requests: Vec<&'a T>,
    /// The index of the last of them among all requests of the call.
    last: usize,
}

impl<T> Open<'_, T> {
    /// Returns the distance of their first fence from that of the whole call. With it, no fence is smaller than it
    /// would have been.
    pub(crate) fn ahead(&self) -> u64 {
        (self.last + 1 - self.requests.len()) as u64
    }
}

/// Sends requests in one call, and those that it leaves for later in further calls, one after the other, until all have
/// an answer. The order is kept: a call that leaves one for later leaves all that follow it.
pub(crate) async fn until_served<'a, T, R, F>(
    requests: &'a [T],
    call: impl Fn(Open<'a, T>) -> F,
) -> Vec<Result<R, StoreError>>
where
    F: Future<Output = Vec<Option<Result<R, StoreError>>>>,
{
    let mut answers: Vec<_> = requests.iter().map(|_| None).collect();
    let mut open: Vec<usize> = (0..requests.len()).collect();
    while let Some(&last) = open.last() {
        let sent = Open { requests: open.iter().map(|&at| &requests[at]).collect(), last };
        let told = call(sent).await;
        let failure = failure(&told);
        for (at, answer) in open.into_iter().zip(told) {
            answers[at] = answer;
        }
        if let Some(error) = failure {
            // The next call would not do better either.
            let open = answers.iter_mut().filter(|answer| answer.is_none());
            open.for_each(|answer| *answer = Some(Err(error.clone())));
        }
        open = (0..requests.len()).filter(|&at| answers[at].is_none()).take(MOST_AGAIN).collect();
    }
    answers.into_iter().flatten().collect()
}

/// Returns the error of a call that as a whole did nothing, or may have done nothing.
fn failure<R>(told: &[Option<Result<R, StoreError>>]) -> Option<StoreError> {
    let is_of_all = |told: &Option<_>| match told {
        Some(Err(error)) => {
            use StoreError::{ReplyLost, TimedOut, Unavailable};
            matches!(error, ReplyLost { .. } | TimedOut { .. } | Unavailable { .. })
        }
        Some(Ok(_)) => false,
        None => true,
    };
    let error = told.iter().flatten().find_map(|answer| answer.as_ref().err().cloned());
    told.iter().all(is_of_all).then(|| error.unwrap_or_else(|| senseless("nothing was served")))
}

/// Sends calls at the same time, unless they have a resource in common: then the later one has to wait, because the
/// earlier one may not serve all its requests at once. The answers are in the order of the calls.
pub(crate) async fn in_order<'a, T, R, F>(
    calls: Vec<&'a [T]>,
    resource: impl Fn(&'a T) -> &'a ResourceName,
    answer: impl Fn(&'a [T]) -> F,
) -> Vec<R>
where
    F: Future<Output = Vec<R>>,
{
    let mut answers = Vec::new();
    for round in rounds(calls, resource) {
        answers.extend(together(round.into_iter().map(&answer)).await);
    }
    answers
}

/// Divides calls, in their order, into rounds of calls that have no resource in common.
pub(crate) fn rounds<'a, T>(
    calls: Vec<&'a [T]>,
    resource: impl Fn(&'a T) -> &'a ResourceName,
) -> Vec<Vec<&'a [T]>> {
    if calls.len() < 2 {
        return vec![calls];
    }
    let (mut rounds, mut round, mut met) = (Vec::new(), Vec::new(), HashSet::new());
    for call in calls {
        if call.iter().any(|request| met.contains(resource(request))) {
            rounds.push(std::mem::take(&mut round));
            met.clear();
        }
        met.extend(call.iter().map(&resource));
        round.push(call);
    }
    rounds.push(round);
    rounds
}

/// Sends calls at the same time. The answers are in the order of the calls.
pub(crate) async fn together<T>(calls: impl Iterator<Item = impl Future<Output = Vec<T>>>) -> Vec<T> {
    join_all(calls).await.into_iter().flatten().collect()
}

/// Sends the requests of each slot together, and those of different slots at the same time. The answers are in the
/// order of the requests.
pub(crate) async fn by_slot<T, R, F>(
    requests: &[T],
    slot: impl Fn(&T) -> Option<u16>,
    answer: impl Fn(Vec<T>) -> F,
) -> Vec<R>
where
    T: Clone,
    F: Future<Output = Vec<R>>,
{
    let mut slots: BTreeMap<Option<u16>, Vec<usize>> = BTreeMap::new();
    for (place, request) in requests.iter().enumerate() {
        slots.entry(slot(request)).or_default().push(place);
    }
    let asked = slots.values().map(|places| answer(places.iter().map(|&at| requests[at].clone()).collect()));
    let answers = together(asked).await;
    let places = slots.values().flatten().copied();
    let in_order: BTreeMap<usize, R> = places.zip(answers).collect();
    in_order.into_values().collect()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn sizes(bytes: &[usize]) -> Vec<usize> {
        split(bytes, |&bytes| bytes).into_iter().map(<[_]>::len).collect()
    }

    #[test]
    fn a_call_is_bounded_in_requests_and_in_bytes() {
        assert!(sizes(&[]).is_empty());
        assert_eq!(sizes(&[1; 256]), [256]);
        assert_eq!(sizes(&[1; 600]), [256, 256, 88]);
        assert_eq!(sizes(&[MOST_BYTES / 3; 7]), [3, 3, 1]);
        assert_eq!(sizes(&[1, 2 * MOST_BYTES, 1, 1]), [1, 1, 2]);
    }

    #[test]
    fn answers_of_several_slots_are_in_the_order_of_the_requests() {
        let requests = [(3, 'a'), (1, 'b'), (3, 'c'), (2, 'd'), (1, 'e')];
        let answer = async |requests: Vec<(u16, char)>| {
            let together = requests.len();
            requests.into_iter().map(|(_, name)| (name, together)).collect()
        };
        let answered = by_slot(&requests, |(slot, _)| Some(*slot), answer).now_or_never().unwrap();
        assert_eq!(answered, [('a', 2), ('b', 2), ('c', 2), ('d', 1), ('e', 2)]);
    }
}
