//! The calls of a verb that takes many requests: a plan of slots and calls, and one loop.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use futures_util::future::join_all;
use redis::Value;

use crate::store::{
    Acquisition, Answers, Hold, Metadata, Renewal, StoreError, redis::wire::fields::senseless,
};

/// The largest number of requests in a call: a server serves nobody else while it executes one.
const MOST_REQUESTS: usize = 256;
const MOST_BYTES: usize = 128 * 1024;
/// The largest number of requests in a further call, for what a call has left for later: a few more than a call serves
/// of their kind.
const MOST_AGAIN: usize = 32;

/// A request of a verb that takes many.
pub(super) trait Batched {
    fn hold(&self) -> &Hold;

    /// Returns the approximate size in bytes.
    fn weight(&self) -> usize {
        bytes(self.hold(), None)
    }
}

impl<T> Batched for (&Hold, T) {
    fn hold(&self) -> &Hold {
        self.0
    }
}

impl Batched for Renewal<'_> {
    fn hold(&self) -> &Hold {
        self.hold
    }

    fn weight(&self) -> usize {
        bytes(self.hold, self.metadata.as_deref())
    }
}

impl Batched for Arc<Acquisition> {
    fn hold(&self) -> &Hold {
        &self.hold
    }

    /// What takes the server longer, because it is not exclusive or has an owner, counts as more: the server serves nobody
    /// else while it executes a call.
    fn weight(&self) -> usize {
        const AT_LEAST: usize = 2_048;
        let bytes = bytes(&self.hold, Some(&self.metadata));
        if self.is_simple() { bytes } else { bytes.max(AT_LEAST) }
    }
}

fn bytes(Hold { resource, owner, .. }: &Hold, metadata: Option<&Metadata>) -> usize {
    const REST: usize = 256;
    let metadata = metadata.into_iter().flatten().map(|(name, text)| name.len() + text.len() + 6);
    let owner = owner.as_ref().map_or(0, |owner| owner.as_str().len());
    REST + resource.as_bytes().len() + owner + metadata.sum::<usize>()
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum CallOrder {
    /// As few calls as possible. They are sent at the same time, unless two have a resource in common: then the later one
    /// has to wait, because the earlier one may not serve all its requests at once.
    Together,
    /// As few calls as possible, one after the other.
    OneByOne,
    /// A call for each request, all at the same time. A call always serves its first request, so the answers keep the order.
    Each,
}

/// The answers of a call to its requests, in their order. `None` stands for a request that was certainly not served, and
/// is to be sent once more.
pub(super) type CallAnswers<R> = Vec<Option<Result<R, StoreError>>>;

/// Sends the requests of each slot in calls, and those of different slots at the same time. The answers are in the order
/// of the requests.
///
/// `send` gets the requests of one call, and the distance of the first fence for them from that of all. With it, no fence
/// is smaller than it would have been.
pub(super) async fn send_each<'a, T: Batched, R, F>(
    requests: &'a [T],
    slot: impl Fn(&T) -> Option<u16>,
    order: CallOrder,
    send: impl Fn(Vec<&'a T>, u64) -> F,
) -> Answers<R>
where
    F: Future<Output = Result<CallAnswers<R>, StoreError>>,
{
    if are_one_call(requests, &slot, order) {
        let told = send(requests.iter().collect(), 0).await;
        return match told {
            Ok(all) if all.iter().all(Option::is_some) => all.into_iter().flatten().collect(),
            told => {
                let open = (0..requests.len()).collect();
                in_order(Box::pin(until_served(requests, open, Some(told), &send)).await)
            }
        };
    }
    let mut slots = BTreeMap::<_, Vec<usize>>::new();
    for (place, request) in requests.iter().enumerate() {
        slots.entry(slot(request)).or_default().push(place);
    }
    let send = &send;
    let answers = together(slots.into_values().map(move |places| async move {
        let mut answers = Vec::with_capacity(places.len());
        for round in rounds(requests, places, order) {
            let calls = round.into_iter().map(|call| until_served(requests, call, None, send));
            answers.extend(together(calls).await);
        }
        answers
    }));
    // In a box, so that the future of one call stays small.
    in_order(Box::pin(answers).await)
}

/// Returns true if one call serves all of these, which is what most callers have.
fn are_one_call<T: Batched>(requests: &[T], slot: impl Fn(&T) -> Option<u16>, order: CallOrder) -> bool {
    let [first, others @ ..] = requests else { return false };
    let slot_of_all = slot(first);
    others.is_empty()
        || order != CallOrder::Each
            && fit_in_a_call(requests)
            && others.iter().all(|other| slot(other) == slot_of_all)
}

/// Returns true if these are not too many, nor too long, for one call.
pub(super) fn fit_in_a_call<T: Batched>(requests: &[T]) -> bool {
    requests.len() <= MOST_REQUESTS && requests.iter().map(Batched::weight).sum::<usize>() <= MOST_BYTES
}

fn in_order<R>(mut answers: Vec<(usize, Result<R, StoreError>)>) -> Answers<R> {
    answers.sort_unstable_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// Sends requests in one call, unless that was sent and `told` this already. Those that it leaves for later follow in
/// further calls, one after the other, until all have an answer. The order is kept: a call that leaves one for later
/// leaves all that follow it.
async fn until_served<'a, T, R, F>(
    requests: &'a [T],
    mut open: Vec<usize>,
    mut told: Option<Result<CallAnswers<R>, StoreError>>,
    send: &impl Fn(Vec<&'a T>, u64) -> F,
) -> Vec<(usize, Result<R, StoreError>)>
where
    F: Future<Output = Result<CallAnswers<R>, StoreError>>,
{
    let (mut served, mut later) = (Vec::with_capacity(open.len()), Vec::new());
    while let Some(last) = open.last() {
        let ahead = (last + 1 - open.len()) as u64;
        let told = match told.take() {
            Some(told) => told,
            None => send(open.iter().map(|&at| &requests[at]).collect(), ahead).await,
        };
        let told_each = told.unwrap_or_else(|error| open.iter().map(|_| Some(Err(error.clone()))).collect());
        let failure = failure(&told_each);
        let mut left = Vec::new();
        for (at, answer) in open.into_iter().zip(told_each) {
            match answer {
                Some(answer) => served.push((at, answer)),
                None => left.push(at),
            }
        }
        left.append(&mut later);
        if let Some(error) = failure {
            // The next call would not do better either.
            served.extend(left.drain(..).map(|at| (at, Err(error.clone()))));
        }
        later = left.split_off(MOST_AGAIN.min(left.len()));
        open = left;
    }
    served
}

/// Returns the error of a call that as a whole did nothing, or may have done nothing.
fn failure<R>(told: &[Option<Result<R, StoreError>>]) -> Option<StoreError> {
    let errors = || told.iter().flatten().map(|answer| answer.as_ref().err());
    let did_nothing = errors().all(|error| error.is_some_and(StoreError::is_of_the_server));
    did_nothing.then(|| errors().flatten().next().cloned().unwrap_or_else(|| senseless("nothing was served")))
}

/// Divides requests, in their order, into rounds of calls that may be under way at the same time.
fn rounds<T: Batched>(requests: &[T], places: Vec<usize>, order: CallOrder) -> Vec<Vec<Vec<usize>>> {
    let calls = split(requests, places, if order == CallOrder::Each { 1 } else { MOST_REQUESTS });
    if order == CallOrder::Each || calls.len() < 2 {
        return vec![calls];
    }
    let (mut rounds, mut met) = (Vec::<Vec<_>>::new(), HashSet::new());
    for call in calls {
        let resources = call.iter().map(|&at| &requests[at].hold().resource);
        let waits = order == CallOrder::OneByOne || resources.clone().any(|resource| met.contains(resource));
        if waits || rounds.is_empty() {
            rounds.push(Vec::new());
            met.clear();
        }
        met.extend(resources);
        rounds.last_mut().expect("one was pushed").push(call);
    }
    rounds
}

/// Divides requests, in their order, into calls of at `most` so many. One that is larger than a call goes alone.
fn split<T: Batched>(requests: &[T], places: Vec<usize>, most: usize) -> Vec<Vec<usize>> {
    let (mut calls, mut size) = (Vec::<Vec<usize>>::new(), 0);
    for at in places {
        size += requests[at].weight();
        match calls.last_mut() {
            Some(call) if call.len() < most && size <= MOST_BYTES => call.push(at),
            _ => {
                calls.push(vec![at]);
                size = requests[at].weight();
            }
        }
    }
    calls
}

/// Waits for several at the same time. Their answers are in their order.
pub(super) async fn together<R>(
    mut sent: impl ExactSizeIterator<Item = impl Future<Output = Vec<R>>>,
) -> Vec<R> {
    match sent.len() {
        1 => sent.next().expect("there is one").await,
        _ => join_all(sent).await.into_iter().flatten().collect(),
    }
}

/// Decodes the answer to a call into the answers to its requests.
pub(super) fn answers<T: Batched, R>(
    answer: Value,
    requests: &[&T],
    read: impl Fn(&T, Value) -> Result<R, StoreError>,
) -> Result<CallAnswers<R>, StoreError> {
    let values = match answer {
        Value::Array(values) if values.len() == 1 + requests.len() => values.into_iter().skip(1),
        _ => return Err(senseless("not one for each request")),
    };
    let read = |(&request, value): (&&T, Value)| match value {
        // The script has served as many as one call serves.
        Value::BulkString(word) if word == b"later" => None,
        value => Some(read(request, value).map_err(|error| error.about(&request.hold().resource))),
    };
    Ok(requests.iter().zip(values).map(read).collect())
}

#[cfg(test)]
mod tests;
