//! The calls of a verb that takes many requests: a plan of slots and calls, and one loop.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use futures_util::future::join_all;
use redis::Value;

use crate::store::{Acquisition, Answers, Hold, StoreError, redis::wire::fields::senseless};

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
        bytes(self.hold())
    }
}

impl<T> Batched for (&Hold, T) {
    fn hold(&self) -> &Hold {
        self.0
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
        let metadata = self.metadata.iter().map(|(name, text)| name.len() + text.len() + 6);
        let bytes = bytes(&self.hold) + metadata.sum::<usize>();
        if self.is_simple() { bytes } else { bytes.max(AT_LEAST) }
    }
}

fn bytes(Hold { resource, owner, .. }: &Hold) -> usize {
    const REST: usize = 256;
    REST + resource.as_bytes().len() + owner.as_ref().map_or(0, |owner| owner.as_str().len())
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
    let mut slots = BTreeMap::<_, Vec<usize>>::new();
    for (place, request) in requests.iter().enumerate() {
        slots.entry(slot(request)).or_default().push(place);
    }
    let send = &send;
    let mut answers = together(slots.into_values().map(move |places| async move {
        let mut answers = Vec::with_capacity(places.len());
        for round in rounds(requests, places, order) {
            answers.extend(together(round.into_iter().map(|call| until_served(requests, call, send))).await);
        }
        answers
    }))
    .await;
    answers.sort_unstable_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// Sends requests in one call, and those that it leaves for later in further calls, one after the other, until all have
/// an answer. The order is kept: a call that leaves one for later leaves all that follow it.
async fn until_served<'a, T, R, F>(
    requests: &'a [T],
    mut open: Vec<usize>,
    send: &impl Fn(Vec<&'a T>, u64) -> F,
) -> Vec<(usize, Result<R, StoreError>)>
where
    F: Future<Output = Result<CallAnswers<R>, StoreError>>,
{
    let (mut served, mut most) = (Vec::with_capacity(open.len()), open.len());
    while !open.is_empty() {
        let later = open.split_off(most.min(open.len()));
        let ahead = open.last().map_or(0, |last| last + 1 - open.len());
        let sent = send(open.iter().map(|&at| &requests[at]).collect(), ahead as u64).await;
        let told = sent.unwrap_or_else(|error| open.iter().map(|_| Some(Err(error.clone()))).collect());
        let failure = failure(&told);
        let mut left = Vec::new();
        for (at, answer) in open.into_iter().zip(told) {
            match answer {
                Some(answer) => served.push((at, answer)),
                None => left.push(at),
            }
        }
        left.extend(later);
        if let Some(error) = failure {
            // The next call would not do better either.
            served.extend(left.drain(..).map(|at| (at, Err(error.clone()))));
        }
        (open, most) = (left, MOST_AGAIN);
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
        let mut resources = call.iter().map(|&at| &requests[at].hold().resource);
        let waits = order == CallOrder::OneByOne || resources.any(|resource| met.contains(resource));
        if waits || rounds.is_empty() {
            rounds.push(Vec::new());
            met.clear();
        }
        met.extend(call.iter().map(|&at| &requests[at].hold().resource));
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
async fn together<R>(mut sent: impl ExactSizeIterator<Item = impl Future<Output = Vec<R>>>) -> Vec<R> {
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
mod tests {
    use std::cell::RefCell;

    use futures_util::FutureExt;

    use super::*;
    use crate::{
        core::{Mode, ResourceName, Token},
        store::{
            Renewed,
            redis::wire::{decode, decode::tests::list},
        },
    };

    /// A request in this slot, about this resource, of this size.
    struct TestRequest(u16, Hold, usize);

    impl Batched for TestRequest {
        fn hold(&self) -> &Hold {
            &self.1
        }

        fn weight(&self) -> usize {
            self.2
        }
    }

    fn asked(slot: u16, resource: &str, size: usize) -> TestRequest {
        let resource = ResourceName::new(resource).unwrap();
        TestRequest(slot, Hold { resource, token: Token::from_bits(1), owner: None }, size)
    }

    fn sizes(bytes: &[usize]) -> Vec<usize> {
        let requests: Vec<_> = bytes.iter().map(|&bytes| asked(0, "r", bytes)).collect();
        split(&requests, (0..bytes.len()).collect(), MOST_REQUESTS).iter().map(Vec::len).collect()
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
    fn a_call_waits_for_an_earlier_one_about_the_same_resource() {
        let requests = ["a", "b", "a", "c"].map(|resource| asked(0, resource, MOST_BYTES));
        let rounds = |order| rounds(&requests, vec![0, 1, 2, 3], order);
        assert_eq!(rounds(CallOrder::Together), [vec![vec![0], vec![1]], vec![vec![2], vec![3]]]);
        assert_eq!(rounds(CallOrder::OneByOne), [[[0]], [[1]], [[2]], [[3]]]);
        assert_eq!(rounds(CallOrder::Each), [[[0], [1], [2], [3]]]);
    }

    #[test]
    fn answers_of_several_slots_are_in_the_order_of_the_requests() {
        let requests = [(3, "a"), (1, "b"), (3, "c"), (2, "d"), (1, "e")].map(|(slot, r)| asked(slot, r, 1));
        let answer = async |open: Vec<&TestRequest>, _| {
            let together = open.len();
            Ok(open.iter().map(|asked| Some(Ok((asked.1.resource.to_string(), together)))).collect())
        };
        let answered = |slot: fn(&TestRequest) -> Option<u16>| {
            let answers = send_each(&requests, slot, CallOrder::Together, answer).now_or_never().unwrap();
            answers.into_iter().map(Result::unwrap).collect::<Vec<_>>()
        };
        let expected = |of: [(&str, usize); 5]| of.map(|(name, together)| (name.to_owned(), together));
        let by_slot = expected([("a", 2), ("b", 2), ("c", 2), ("d", 1), ("e", 2)]);
        assert_eq!(answered(|asked| Some(asked.0)), by_slot);
        assert_eq!(answered(|_| None), expected(["a", "b", "c", "d", "e"].map(|name| (name, 5))));
    }

    #[test]
    fn what_calls_leave_for_later_is_answered_in_the_order_of_the_requests() {
        let (requests, ahead_of) = ([10, 11, 12, 13, 14].map(|size| asked(0, "r", size)), RefCell::default());
        let call = async |open: Vec<&TestRequest>, ahead| {
            RefCell::<Vec<u64>>::borrow_mut(&ahead_of).push(ahead);
            Ok(open.iter().zip(0..).map(|(asked, at)| (at < 2).then_some(Ok(asked.2))).collect())
        };
        let answered = send_each(&requests, |_| None, CallOrder::Together, call).now_or_never().unwrap();
        assert_eq!(answered.into_iter().map(Result::unwrap).collect::<Vec<_>>(), [10, 11, 12, 13, 14]);
        assert_eq!(*ahead_of.borrow(), [0, 2, 4]);
    }

    #[test]
    fn a_call_that_serves_nobody_is_the_last() {
        let requests = [1, 2].map(|size| asked(0, "r", size));
        let call =
            async |open: Vec<&TestRequest>, _| Ok(open.iter().map(|_| None::<Result<(), _>>).collect());
        let answered = send_each(&requests, |_| None, CallOrder::Together, call).now_or_never().unwrap();
        assert_eq!(
            answered.into_iter().map(|it| it.unwrap_err().kind()).collect::<Vec<_>>(),
            ["reply_lost"; 2]
        );
    }

    /// Returns the answers to two requests that these values make after the echo.
    fn read<R>(
        values: impl IntoIterator<Item = Value>,
        read: impl Fn(Value) -> Result<R, StoreError>,
    ) -> Result<CallAnswers<R>, StoreError> {
        let answer = Value::Array(std::iter::once(list(&[])).chain(values).collect());
        let requests = [asked(0, "a", 1), asked(0, "b", 1)];
        answers(answer, &requests.each_ref(), |_, value| read(value))
    }

    #[test]
    fn a_batch_with_too_few_or_too_many_answers_is_lost_as_a_whole() {
        let renewals =
            |answers: &[i64]| read(answers.iter().map(|&answer| Value::Int(answer)), decode::renewed);
        for answers in [&[][..], &[1], &[1, 1, 1]] {
            assert_eq!(renewals(answers).unwrap_err().kind(), "reply_lost");
        }
        let told = renewals(&[1, 0]).unwrap().into_iter().map(|told| told.unwrap().unwrap());
        assert_eq!(told.collect::<Vec<_>>(), [Renewed::Extended, Renewed::NotHeld]);
    }

    #[test]
    fn an_error_of_one_request_is_an_answer_to_it_alone() {
        let values = [list(&["error", "WRONGTYPE of another kind"]), Value::Int(8)];
        let told = read(values, |answer| decode::acquired(answer, Mode::Exclusive)).unwrap();
        assert!(matches!(told[..], [Some(Err(StoreError::Corrupt { .. })), Some(Ok(_))]), "{told:?}");
    }

    #[test]
    fn what_was_left_for_later_has_no_answer_yet() {
        let values = [Value::Int(7), Value::BulkString("later".into())];
        let told = read(values, |answer| decode::acquired(answer, Mode::Exclusive)).unwrap();
        assert!(matches!(told[..], [Some(Ok(_)), None]), "{told:?}");
    }
}
