//! The decoding of the Lua scripts' answers; a malformed answer counts as a lost reply.

use std::{sync::Arc, time::Duration};

use redis::Value;

use crate::{
    core::{Fence, Mode},
    store::{
        Acquired, AcquiredAll, Acquisition, Certainty, Grant, HandedOff, Holder, HolderState, Refusal,
        Released, Renewed, StoreError,
        redis::wire::{
            fields::{Fields, NO_RECORD, NO_TOKEN, foreign, senseless},
            record,
        },
    },
};

/// Decodes the answer to a batch into the answers to its requests, in their order. `None` stands for a request that was
/// certainly not served, and is to be sent once more.
pub(crate) fn each<T>(
    answered: Result<Value, StoreError>,
    requests: usize,
    read: impl Fn(usize, Value) -> Result<T, StoreError>,
) -> Vec<Option<Result<T, StoreError>>> {
    let all = |error: StoreError| (0..requests).map(|_| Some(Err(error.clone()))).collect();
    let read = |(number, value)| (!is_later(&value)).then(|| read(number, value));
    match answered {
        Ok(Value::Array(values)) if values.len() == 1 + requests => {
            values.into_iter().skip(1).enumerate().map(read).collect()
        }
        Ok(_) => all(senseless("not one for each request")),
        Err(error) => all(error),
    }
}

/// Returns true if a script has left this request for later, because it has served as many as one call serves.
fn is_later(answer: &Value) -> bool {
    matches!(answer, Value::BulkString(word) if word == b"later")
}

pub(crate) fn acquired(answer: Value, asked: Mode) -> Result<Acquired, StoreError> {
    if let Value::Int(fence) = answer {
        let fence = u64::try_from(fence).map_err(|_| granted_without_a_fence())?;
        return Ok(Acquired::Granted(Grant { fence: Some(Fence::new(fence)), holds: 1 }));
    }
    let (verdict, mut rest) = Fields::of(answer)?;
    match verdict.as_str() {
        "granted" => {
            let fence = rest.text().map_err(StoreError::perhaps_executed)?;
            let fence = record::fence(&fence).ok_or_else(granted_without_a_fence)?;
            let holds = rest.number().map_err(StoreError::perhaps_executed)?;
            Ok(Acquired::Granted(Grant { fence, holds }))
        }
        "refused" => refusal(&mut rest).map(Acquired::Refused),
        "queued" => {
            let ahead = rest.number()?;
            // It has a ticket, which it has to leave.
            let refusal = refusal(&mut rest).map_err(StoreError::perhaps_executed)?;
            Ok(Acquired::Queued { refusal, ahead })
        }
        "full" => Ok(Acquired::Full { waiters: rest.number()? }),
        "deadlock" => Err(StoreError::Deadlock { asked, held: rest.mode()? }),
        "mismatch" => Err(StoreError::ModeMismatch { asked, used: rest.mode()? }),
        other => Err(rest.otherwise(other)),
    }
}

/// Decodes the answer to all of these: the grant of each, or the one that was not granted.
pub(crate) fn acquired_all(answer: Value, asked: &[Arc<Acquisition>]) -> Result<AcquiredAll, StoreError> {
    let mut parts = parts(answer)?;
    let not_granted = parts.number()?;
    let Some(which) = not_granted.checked_sub(1).map(|which| which as usize) else {
        let grants = asked.iter().map(|asked| granted(&mut parts, asked.mode)).collect::<Result<_, _>>()?;
        return Ok(AcquiredAll::Granted(grants));
    };
    let asked = asked.get(which).ok_or_else(|| senseless("nobody has this number"))?;
    let answer = acquired(parts.value("why one is not granted")?, asked.mode);
    match answer.map_err(|error| error.about(&asked.hold.resource)) {
        Ok(Acquired::Refused(refusal)) => Ok(AcquiredAll::Refused { which, refusal }),
        Ok(_) => Err(senseless("not the refusal of a try")),
        Err(error) if error.certainty() == Certainty::NotExecuted => Ok(AcquiredAll::Failed { which, error }),
        Err(error) => Err(error),
    }
}

pub(crate) fn renewed(answer: Value) -> Result<Renewed, StoreError> {
    match answer {
        Value::Int(1) => Ok(Renewed::Extended),
        Value::Int(0) => Ok(Renewed::NotHeld),
        other => Err(no_verdict(other)),
    }
}

pub(crate) fn released(answer: Value) -> Result<Released, StoreError> {
    match answer {
        Value::Int(1) => return Ok(Released::Freed),
        Value::Int(0) => return Ok(Released::NotHeld { count: 0 }),
        _ => {}
    }
    let (verdict, mut rest) = Fields::of(answer)?;
    match verdict.as_str() {
        "still_held" => Ok(Released::StillHeld { count: rest.number()? }),
        "not_held" => Ok(Released::NotHeld { count: rest.number()? }),
        other => Err(rest.otherwise(other)),
    }
}

/// Reads the answer to a waiter that gives way.
pub(crate) fn gave_way(answer: Value) -> Result<(), StoreError> {
    released(parts(answer)?.value("that it gave way")?).map(drop)
}

pub(crate) fn handed_off(answer: Value, asked: Mode) -> Result<HandedOff, StoreError> {
    let mut parts = parts(answer)?;
    let released = released(parts.value("what the release did")?)?;
    let acquired = acquired(parts.value("what was acquired")?, asked);
    Ok(HandedOff { released, acquired, others_wait: parts.number()? > 0 })
}

pub(crate) fn is_held(answer: Value) -> Result<bool, StoreError> {
    let (verdict, mut rest) = only(answer)?;
    match verdict.as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        other => Err(rest.otherwise(other)),
    }
}

pub(crate) fn opened(answer: Value) -> Result<u64, StoreError> {
    only_if(answer, "opened")?.number()
}

/// Decodes the answer to one step of a walk over all keys: a cursor and keys.
pub(crate) fn scanned(answer: Value) -> Result<(u64, Vec<Vec<u8>>), StoreError> {
    redis::from_redis_value(answer).map_err(|_| senseless("no cursor with keys"))
}

pub(crate) fn holder(
    token: &str,
    state: &str,
    remaining: Duration,
    record: &str,
) -> Result<Holder, StoreError> {
    let record::Record { fence, mode, owner, metadata } =
        record::read(record).ok_or_else(|| foreign(NO_RECORD))?;
    let token = token.parse().map_err(|_| foreign(NO_TOKEN))?;
    let state = if state == "holding" { HolderState::Holding } else { HolderState::Closed };
    Ok(Holder { token, mode, state, owner, fence, remaining, held_for: None, metadata })
}

fn granted(parts: &mut Fields, asked: Mode) -> Result<Grant, StoreError> {
    match acquired(parts.value("what was granted")?, asked)? {
        Acquired::Granted(grant) => Ok(grant),
        _ => Err(senseless("one of all is not granted")),
    }
}

fn refusal(rest: &mut Fields) -> Result<Refusal, StoreError> {
    let (token, state) = (rest.text()?, rest.text()?);
    let (left, remaining) = (rest.duration()?, rest.duration()?);
    Ok(Refusal { by: holder(&token, &state, left, &rest.text()?)?, remaining })
}

fn granted_without_a_fence() -> StoreError {
    foreign("a fence that is no number").perhaps_executed()
}

/// Returns the fields that follow the echo in the answer to a call.
fn parts(answer: Value) -> Result<Fields, StoreError> {
    let mut parts = Fields::new(answer)?;
    parts.value("the echo is missing")?;
    Ok(parts)
}

/// Returns the verdict on the only request of a call, and the fields that follow it.
fn only(answer: Value) -> Result<(String, Fields), StoreError> {
    Fields::of(parts(answer)?.value("the answer is missing")?)
}

/// Returns the fields that follow this verdict on the only request of a call.
pub(super) fn only_if(answer: Value, expected: &str) -> Result<Fields, StoreError> {
    let (verdict, mut rest) = only(answer)?;
    if verdict == expected { Ok(rest) } else { Err(rest.otherwise(&verdict)) }
}

/// Returns the error of an answer that is no verdict of its verb.
fn no_verdict(answer: Value) -> StoreError {
    match Fields::of(answer) {
        Ok((verdict, mut rest)) => rest.otherwise(&verdict),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(fields: &[&str]) -> Value {
        Value::Array(fields.iter().map(|field| Value::BulkString((*field).into())).collect())
    }

    fn call(answers: impl IntoIterator<Item = Value>) -> Value {
        Value::Array(std::iter::once(list(&[])).chain(answers).collect())
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_never_a_verdict() {
        for fields in [
            &[][..],
            &["yes"],
            &["granted"],
            &["granted", "x", "1"],
            &["refused", "0"],
            &["queued", "0"],
            &["full"],
            &["deadlock", "x"],
            &["corrupt"],
        ] {
            let error = acquired(list(fields), Mode::Exclusive).unwrap_err();
            assert_eq!(error.certainty(), Certainty::Unknown, "{fields:?}: {error}");
        }
        assert_eq!(acquired(Value::Int(-1), Mode::Exclusive).unwrap_err().certainty(), Certainty::Unknown);
        for value in [Value::Nil, Value::Int(2), list(&["granted", "1", "1"])] {
            assert_eq!(renewed(value.clone()).unwrap_err().kind(), "reply_lost", "{value:?}");
            assert_eq!(released(value.clone()).unwrap_err().kind(), "reply_lost", "{value:?}");
            assert_eq!(
                handed_off(call([value.clone()]), Mode::Exclusive).unwrap_err().kind(),
                "reply_lost",
                "{value:?}"
            );
        }
        assert_eq!(released(list(&["not_held"])).unwrap_err().kind(), "reply_lost");
    }

    #[test]
    fn a_foreign_record_is_corrupt() {
        let fields = ["refused", "00000007", "holding", "5", "5", "", "hello"];
        assert_eq!(acquired(list(&fields), Mode::Exclusive).unwrap_err().kind(), "corrupt");
        let foreign = || list(&["corrupt", "a value that is no lock"]);
        assert_eq!(opened(call([foreign()])).unwrap_err().kind(), "corrupt");
        assert_eq!(handed_off(call([foreign()]), Mode::Exclusive).unwrap_err().kind(), "corrupt");
    }

    #[test]
    fn a_batch_with_too_few_or_too_many_answers_is_lost_as_a_whole() {
        let renewals = |answers: &[i64]| {
            let values = answers.iter().map(|&answer| Value::Int(answer));
            let told = each(Ok(call(values)), 2, |_, answer| renewed(answer));
            told.into_iter().map(Option::unwrap).collect::<Vec<_>>()
        };
        for answers in [&[][..], &[1], &[1, 1, 1]] {
            let told = renewals(answers);
            assert_eq!(told.len(), 2);
            assert!(told.iter().all(|told| told.as_ref().is_err_and(|error| error.kind() == "reply_lost")));
        }
        let told: Vec<_> = renewals(&[1, 0]).into_iter().map(Result::unwrap).collect();
        assert_eq!(told, [Renewed::Extended, Renewed::NotHeld]);
    }

    #[test]
    fn an_error_of_one_request_is_an_answer_to_it_alone() {
        let answers = [Value::Int(7), list(&["error", "WRONGTYPE of another kind"]), Value::Int(8)];
        let told = each(Ok(call(answers)), 3, |_, answer| acquired(answer, Mode::Exclusive));
        assert!(
            matches!(told[..], [Some(Ok(_)), Some(Err(StoreError::Corrupt { .. })), Some(Ok(_))]),
            "{told:?}"
        );
    }

    #[test]
    fn what_was_left_for_later_has_no_answer_yet() {
        let answers = [Value::Int(7), Value::BulkString("later".into())];
        let told = each(Ok(call(answers)), 2, |_, answer| acquired(answer, Mode::Exclusive));
        assert!(matches!(told[..], [Some(Ok(_)), None]), "{told:?}");
    }
}
