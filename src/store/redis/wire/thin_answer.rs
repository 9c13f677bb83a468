//! The decoding of the answers to thin acquisitions.

use redis::{ServerError, Value};

use super::{decode::number, fields::senseless};
use crate::store::{Certainty, StoreError, redis::net::errors::after_sending};

/// The answers to the commands of thin acquisitions.
pub(crate) struct ThinAnswer {
    /// The last of their fences; `None` if the counter is no number that grows.
    pub(crate) last: Option<u64>,
    /// True if these answers are certainly to these requests, each is clear, nobody else was given a fence between the first
    /// command and the last one, and nobody waits for any of the resources.
    pub(crate) is_undisturbed: bool,
    /// The requests that were granted, or may have been, in their order. An error of a proxy leaves that open.
    pub(crate) granted: Vec<bool>,
    /// The first error.
    pub(crate) error: Option<ServerError>,
}

/// Decodes the answers to so many thin acquisitions, of which the first writes a value that begins with `own`.
pub(crate) fn acquired_thin(answers: Vec<Value>, asked: usize, own: &[u8]) -> Result<ThinAnswer, StoreError> {
    let error = answers.iter().find_map(|answer| match answer {
        Value::ServerError(error) => Some(error.clone()),
        _ => None,
    });
    let [first, granted @ .., waiters, found] = &answers[..] else {
        return Err(senseless("not one for each command"));
    };
    if granted.len() != asked {
        return Err(senseless("not one for each request"));
    }
    let last = number(first);
    let is_last = |counter: &[u8]| last.is_some_and(|last| *counter == *last.to_string().as_bytes());
    let found = if let Value::Array(found) = found { &found[..] } else { &[] };
    let (is_alone, is_own) = match found {
        [Value::BulkString(counter), value] => {
            (is_last(counter), matches!(value, Value::BulkString(value) if value.starts_with(own)))
        }
        _ => (false, false),
    };
    let is_alone = is_alone || planted!("others may come between plain commands");
    let is_own = is_own || planted!("plain commands do not ask whose hold it is");
    let nobody_waits = *waiters == Value::Int(0) || planted!("plain commands overtake whoever waits");
    let is_unclear = |answer: &Value| match answer {
        Value::Okay | Value::Nil => false,
        Value::ServerError(error) => after_sending(error.clone().into()).certainty() == Certainty::Unknown,
        _ => true,
    };
    let is_clear = !granted.iter().any(is_unclear);
    let may_be_granted = |answer: &Value| *answer == Value::Okay || is_unclear(answer);
    let is_undisturbed = is_own && is_alone && nobody_waits && is_clear;
    Ok(ThinAnswer { last, is_undisturbed, granted: granted.iter().map(may_be_granted).collect(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_commands_grant_what_their_own_answers_say() {
        let text = |text: &str| Value::BulkString(text.into());
        let told = |set: &Value, found: &Value| {
            let answers = vec![Value::Int(8), set.clone(), Value::Int(0), found.clone()];
            let told = acquired_thin(answers, 1, b"own-").unwrap();
            (told.is_undisturbed, told.granted[0])
        };
        let found = |counter, value| Value::Array(vec![text(counter), value]);
        let own = found("8", text("own-0 {}"));
        assert_eq!(told(&Value::Okay, &own), (true, true));
        let error = redis::parse_redis_value(b"-OOM full\r\n").unwrap();
        let others = [
            found("8", text("other-0 {}")),
            found("8", Value::Nil),
            found("9", Value::Nil),
            text("8"),
            error,
        ];
        for found in others.iter().chain([&found("9", text("own-0 {}"))]) {
            assert_eq!(told(&Value::Okay, found), (false, true), "{found:?}");
            for refused in [&Value::Nil, &others[4]] {
                assert_eq!(told(refused, found), (false, false), "{refused:?} {found:?}");
            }
        }
        let unclear = redis::parse_redis_value(b"-ERR upstream failure\r\n").unwrap();
        for found in others.iter().chain([&own]) {
            assert_eq!(told(&unclear, found), (false, true), "{found:?}");
        }
        for (second, expected) in [(&others[4], (true, [true, false])), (&unclear, (false, [true, true]))] {
            let answers = vec![Value::Int(8), Value::Okay, second.clone(), Value::Int(0), own.clone()];
            let told = acquired_thin(answers, 2, b"own-").unwrap();
            assert_eq!((told.is_undisturbed, &told.granted[..]), (expected.0, &expected.1[..]), "{second:?}");
        }
        // This is no answer to SET: it may be granted.
        for found in &others {
            assert_eq!(told(&Value::Int(1), found), (false, true), "{found:?}");
        }
    }
}
