//! Tests of the division of requests into calls, and of the answers to these.

use std::{array, cell::RefCell};

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
    let (requests, sent) = (array::from_fn::<_, 64, _>(|place| asked(0, "r", place)), RefCell::default());
    let call = async |open: Vec<&TestRequest>, ahead| {
        RefCell::<Vec<_>>::borrow_mut(&sent).push((open.len(), ahead));
        Ok(open.iter().zip(0..).map(|(asked, at)| (at < 2).then_some(Ok(asked.2))).collect())
    };
    let answered = send_each(&requests, |_| None, CallOrder::Together, call).now_or_never().unwrap();
    assert!(answered.into_iter().map(Result::unwrap).eq(0..64));
    let (open, ahead): (Vec<_>, Vec<_>) = sent.into_inner().into_iter().unzip();
    assert!(open[0] == 64 && open[1..].iter().all(|open| *open <= MOST_AGAIN), "{open:?}");
    assert!(ahead.iter().copied().eq((0..32).map(|call| 2 * call)), "{ahead:?}");
}

#[test]
fn a_call_that_serves_nobody_is_the_last() {
    let requests = [1, 2].map(|size| asked(0, "r", size));
    let call = async |open: Vec<&TestRequest>, _| Ok(open.iter().map(|_| None::<Result<(), _>>).collect());
    let answered = send_each(&requests, |_| None, CallOrder::Together, call).now_or_never().unwrap();
    assert_eq!(answered.into_iter().map(|it| it.unwrap_err().kind()).collect::<Vec<_>>(), ["reply_lost"; 2]);
}

/// Returns the answers to three requests that these values make after the echo.
fn read<R>(
    values: impl IntoIterator<Item = Value>,
    read: impl Fn(Value) -> Result<R, StoreError>,
) -> Result<CallAnswers<R>, StoreError> {
    let answer = Value::Array(std::iter::once(list(&[])).chain(values).collect());
    let requests = ["a", "b", "c"].map(|resource| asked(0, resource, 1));
    answers(answer, &requests.each_ref(), |_, value| read(value))
}

#[test]
fn a_batch_with_too_few_or_too_many_answers_is_lost_as_a_whole() {
    let renewals = |answers: &[i64]| read(answers.iter().map(|&answer| Value::Int(answer)), decode::renewed);
    for answers in [&[][..], &[1, 1], &[1, 1, 1, 1]] {
        assert_eq!(renewals(answers).unwrap_err().kind(), "reply_lost");
    }
    let told = renewals(&[1, 0, 1]).unwrap().into_iter().map(|told| told.unwrap().unwrap());
    assert_eq!(told.collect::<Vec<_>>(), [Renewed::Extended, Renewed::NotHeld, Renewed::Extended]);
}

#[test]
fn an_error_is_an_answer_to_its_request_alone_and_what_was_left_for_later_has_none_yet() {
    let later = Value::BulkString("later".into());
    let values = [list(&["error", "WRONGTYPE of another kind"]), Value::Int(8), later];
    let told = read(values, |answer| decode::acquired(answer, Mode::Exclusive)).unwrap();
    assert!(matches!(told[..], [Some(Err(StoreError::Corrupt { .. })), Some(Ok(_)), None]), "{told:?}");
}
