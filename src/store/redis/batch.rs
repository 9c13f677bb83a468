//! Which requests go out in one call.

use std::collections::BTreeMap;

use futures_util::future::join_all;

/// A server serves nobody else while it executes a call.
const MOST_REQUESTS: usize = 256;
const MOST_BYTES: usize = 128 * 1024;

/// Cuts requests, in their order, into what goes out in one call each. `bytes` tells how large one is, roughly; one that
/// is larger than a call goes alone.
pub(super) fn split<T>(requests: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
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

/// The answers of calls that are sent at the same time, in the order of the calls.
pub(super) async fn together<T>(calls: impl Iterator<Item = impl Future<Output = Vec<T>>>) -> Vec<T> {
    join_all(calls).await.into_iter().flatten().collect()
}

/// Lets the requests of each slot be answered together, those of different slots at the same time. The answers are in the
/// order of the requests.
pub(super) async fn by_slot<T, R, F>(
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
