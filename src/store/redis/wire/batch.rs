//! The division of requests into calls.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    iter,
};

use futures_util::future::join_all;

use crate::{
    core::ResourceName,
    store::{StoreError, redis::wire::fields::senseless},
};

/// The largest number of requests in a call: a server serves nobody else while it executes one.
const MOST_REQUESTS: usize = 256;
const MOST_BYTES: usize = 128 * 1024;
/// The largest number of requests in a further call, for what a call has left for later: a few more than a call serves
/// of their kind.
const MOST_AGAIN: usize = 32;

/// Divides requests, in their order, into calls. `bytes` returns the rough size of a request; one that is larger than a
/// call goes alone.
pub(crate) fn split<T>(requests: &[T], bytes: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    let mut left = requests;
    iter::from_fn(move || {
        let mut size = 0;
        let fits = |request: &&T| {
            size += bytes(request);
            size <= MOST_BYTES
        };
        let fitting = left.iter().take(MOST_REQUESTS).take_while(fits).count();
        let (call, rest) = left.split_at(fitting.max(1).min(left.len()));
        left = rest;
        (!call.is_empty()).then_some(call)
    })
}

/// Returns true if these requests are exactly one call.
pub(crate) fn is_one_call<T>(requests: &[T], bytes: impl Fn(&T) -> usize) -> bool {
    split(requests, bytes).next().is_some_and(|first| first.len() == requests.len())
}

/// The requests of one call that have no answer yet.
pub(crate) struct Open<'a, T: Clone> {
    /// The requests, in their order.
    pub(crate) requests: Cow<'a, [T]>,
    /// The distance of their first fence from that of the whole call. With it, no fence is smaller than it would have
    /// been.
    pub(crate) ahead: u64,
}

/// Sends requests in one call, and those that it leaves for later in further calls, one after the other, until all have
/// an answer. The order is kept: a call that leaves one for later leaves all that follow it.
pub(crate) async fn until_served<'a, T: Clone, R, F>(
    requests: &'a [T],
    call: impl Fn(Open<'a, T>) -> F,
) -> Vec<Result<R, StoreError>>
where
    F: Future<Output = Vec<Option<Result<R, StoreError>>>>,
{
    let mut answers = call(Open { requests: Cow::Borrowed(requests), ahead: 0 }).await;
    let mut failed = failure(&answers);
    loop {
        if let Some(error) = failed {
            // The next call would not do better either.
            let open = answers.iter_mut().filter(|answer| answer.is_none());
            open.for_each(|answer| *answer = Some(Err(error.clone())));
        }
        let open: Vec<_> = (0..requests.len()).filter(|&at| answers[at].is_none()).take(MOST_AGAIN).collect();
        let Some(last) = open.last() else {
            // In the same memory, which `flatten` would not do.
            return answers.into_iter().map(|answer| answer.expect("nobody is left")).collect();
        };
        let ahead = (last + 1 - open.len()) as u64;
        let left = open.iter().map(|&at| requests[at].clone()).collect();
        let told = call(Open { requests: Cow::Owned(left), ahead }).await;
        failed = failure(&told);
        for (at, answer) in open.into_iter().zip(told) {
            answers[at] = answer;
        }
    }
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

/// Sends requests in calls, all at the same time, unless two have a resource in common: then the later one has to wait,
/// because the earlier one may not serve all its requests at once. The answers are in the order of the requests.
pub(crate) async fn in_order<'a, T, R, F>(
    requests: &'a [T],
    bytes: impl Fn(&T) -> usize,
    resource: impl Fn(&'a T) -> &'a ResourceName,
    answer: impl Fn(&'a [T]) -> F,
) -> Vec<R>
where
    F: Future<Output = Vec<R>>,
{
    if is_one_call(requests, &bytes) {
        return answer(requests).await;
    }
    let mut answers = Vec::with_capacity(requests.len());
    for round in rounds(split(requests, bytes), resource) {
        answers.extend(together(round.into_iter().map(&answer)).await);
    }
    answers
}

/// Divides calls, in their order, into rounds of calls that have no resource in common.
pub(crate) fn rounds<'a, T>(
    calls: impl Iterator<Item = &'a [T]>,
    resource: impl Fn(&'a T) -> &'a ResourceName,
) -> Vec<Vec<&'a [T]>> {
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
pub(crate) async fn by_slot<'a, T, R, F>(
    requests: &'a [T],
    slot: impl Fn(&T) -> Option<u16>,
    answer: impl Fn(Cow<'a, [T]>) -> F,
) -> Vec<R>
where
    T: Clone,
    F: Future<Output = Vec<R>>,
{
    // All slots are equal outside of a cluster, and often in one.
    if requests.iter().map(&slot).is_sorted_by(|one, next| one == next) {
        return answer(Cow::Borrowed(requests)).await;
    }
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
    use std::cell::RefCell;

    use futures_util::FutureExt;

    use super::*;

    fn sizes(bytes: &[usize]) -> Vec<usize> {
        split(bytes, |&bytes| bytes).map(<[_]>::len).collect()
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
        let answer = async |requests: Cow<'_, [(u16, char)]>| {
            let together = requests.len();
            requests.iter().map(|&(_, name)| (name, together)).collect()
        };
        let answered = by_slot(&requests, |(slot, _)| Some(*slot), answer).now_or_never().unwrap();
        assert_eq!(answered, [('a', 2), ('b', 2), ('c', 2), ('d', 1), ('e', 2)]);
        let answered = by_slot(&requests, |_| None, answer).now_or_never().unwrap();
        assert_eq!(answered, [('a', 5), ('b', 5), ('c', 5), ('d', 5), ('e', 5)]);
    }

    #[test]
    fn what_calls_leave_for_later_is_answered_in_the_order_of_the_requests() {
        let ahead = RefCell::new(Vec::new());
        let call = async |open: Open<'_, u32>| {
            ahead.borrow_mut().push(open.ahead);
            open.requests.iter().zip(0..).map(|(&request, at)| (at < 2).then_some(Ok(request))).collect()
        };
        let answered = until_served(&[10, 11, 12, 13, 14], call).now_or_never().unwrap();
        assert_eq!(answered.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [10, 11, 12, 13, 14]);
        assert_eq!(*ahead.borrow(), [0, 2, 4]);
    }

    #[test]
    fn a_call_that_serves_nobody_is_the_last() {
        let call = async |open: Open<'_, u32>| open.requests.iter().map(|_| None::<Result<u32, _>>).collect();
        let answered = until_served(&[1, 2], call).now_or_never().unwrap();
        assert!(
            answered.iter().all(|answer| answer.as_ref().is_err_and(|error| error.kind() == "reply_lost"))
        );
        assert_eq!(answered.len(), 2);
    }
}
