//! The decoding of the Lua scripts' answers; a malformed answer counts as a lost reply.

use std::{sync::Arc, time::Duration};

use redis::Value;

use crate::{
    core::{Fence, Incarnation, Mode, Recovered, Report},
    store::{
        Acquired, AcquiredAll, Acquisition, Certainty, Grant, HandedOff, Holder, HolderState,
        HoldersNotified, Refusal, Register, RegisterVerdict, Released, Renewed, StoreError,
        redis::wire::{
            fields::{Fields, NO_RECORD, NO_TOKEN, senseless},
            record::{self, HolderRecord},
        },
    },
};

pub(crate) fn acquired(answer: Value, asked: Mode) -> Result<Acquired, StoreError> {
    if let Value::Int(_) = answer {
        let fence = number(&answer).ok_or_else(granted_without_a_fence)?;
        return Ok(Acquired::Granted(Grant { fence: Some(Fence::new(fence)), holds: 1, slot: None }));
    }
    let (verdict, mut rest) = Fields::of(answer)?;
    match verdict.as_str() {
        "granted" => {
            let fence = rest.text().map_err(StoreError::perhaps_executed)?;
            let fence = record::fence(&fence).ok_or_else(granted_without_a_fence)?;
            let holds = rest.number().map_err(StoreError::perhaps_executed)?;
            let slot = (!rest.is_empty()).then(|| rest.number()).transpose();
            let slot = slot.map_err(StoreError::perhaps_executed)?.and_then(|slot| slot.try_into().ok());
            Ok(Acquired::Granted(Grant { fence, holds, slot }))
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

/// Returns the largest of the new fences in the answer to acquisitions. A repeat, a hold that is taken up and a re-entry have none.
pub(crate) fn newest_fence(answer: &Value) -> Option<u64> {
    let Value::Array(answers) = answer else { return None };
    answers.iter().filter_map(number).max()
}

pub(crate) fn number(answer: &Value) -> Option<u64> {
    let Value::Int(number) = answer else { return None };
    u64::try_from(*number).ok().filter(|number| *number > 0)
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
        other => {
            let (verdict, mut rest) = Fields::of(other)?;
            Err(rest.otherwise(&verdict))
        }
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

pub(crate) fn capacity_set(answer: Value) -> Result<(), StoreError> {
    only_if(answer, "set").map(drop)
}

pub(crate) fn opened(answer: Value) -> Result<u64, StoreError> {
    only_if(answer, "opened")?.number()
}

pub(crate) fn notified(answer: Value) -> Result<HoldersNotified, StoreError> {
    let mut rest = only_if(answer, "notified")?;
    let mut read = || {
        let complete = rest.number()? == 1;
        let mut holders = Vec::new();
        while !rest.is_empty() {
            holders.push(rest.text()?.parse().map_err(|_| StoreError::corrupt(NO_TOKEN))?);
        }
        Ok(HoldersNotified { holders, complete })
    };
    read().map_err(StoreError::perhaps_executed)
}

/// Decodes the answer to a call for a register. If it was `repeated`, its first try may have written.
pub(crate) fn registered(value: Value, repeated: bool) -> Result<Register, StoreError> {
    let mut rest = only_if(value, "register")?;
    let verdict = match rest.text()?.as_str() {
        "read" => RegisterVerdict::Read,
        "written" => RegisterVerdict::Written,
        "changed" => RegisterVerdict::Changed,
        "early" => RegisterVerdict::Early,
        _ => return Err(senseless("an unknown verdict")),
    };
    let now = Duration::from_micros(rest.number()?);
    let certain = !repeated && verdict != RegisterVerdict::Written;
    let mut content = || {
        let (revision, value) = (rest.text()?, rest.text()?);
        let revision = (!revision.is_empty()).then(|| revision.parse()).transpose();
        Ok((revision.map_err(|_| StoreError::corrupt("a revision that is no token"))?, value))
    };
    let (revision, value) =
        content().map_err(|error: StoreError| if certain { error } else { error.perhaps_executed() })?;
    Ok(Register { verdict, now, revision, value })
}

/// Decodes the answer to a call that named a first fence: the usual, the server's time in µs, and its record of recovery.
pub(crate) fn with_clock(answer: Value) -> Result<(Value, Fence, Option<Recovered>), StoreError> {
    let Value::Array(mut values) = answer else { return Err(senseless("not a list")) };
    let behind = Value::Array(values.split_off(values.len().saturating_sub(2)));
    let (micros, written): (u64, Vec<u8>) = redis::from_redis_value(behind)
        .map_err(|_| senseless("the time or the record of recovery is missing"))?;
    Ok((Value::Array(values), Fence::new(micros), recovered(&written)))
}

/// Decodes the record that a server keeps of its recovery; `None` if it is not ours.
pub fn recovered(written: &[u8]) -> Option<Recovered> {
    let mut words = str::from_utf8(written).ok()?.split(' ');
    let (incarnation, durable, fence) = (words.next()?, words.next()?, words.next()?.parse().ok()?);
    let durable = durable == "1";
    Some(Recovered { incarnation: incarnation.to_owned(), durable, fence: Fence::new(fence) })
}

/// Decodes the report of this incarnation.
pub(crate) fn reported(answer: Value, incarnation: Incarnation) -> Result<Report, StoreError> {
    let mut rest = only_if(answer, "report")?;
    let (last, clock) = (Fence::new(rest.number()?), Fence::new(rest.number()?));
    Ok(Report { incarnation, recovered: recovered(&rest.bytes()?), last, clock })
}

pub(crate) fn taught(answer: Value) -> Result<(), StoreError> {
    only_if(answer, "taught").map(drop)
}

/// Decodes the answer to one step of a walk over all keys: a cursor and keys.
pub(crate) fn scanned(answer: Value) -> Result<(u64, Vec<Vec<u8>>), StoreError> {
    redis::from_redis_value(answer).map_err(|_| senseless("no cursor with keys"))
}

pub(crate) fn holder(token: &str, state: &str, left: Duration, record: &str) -> Result<Holder, StoreError> {
    let HolderRecord { fence, mode, owner, metadata } =
        record::read(record).ok_or_else(|| StoreError::corrupt(NO_RECORD))?;
    let token = token.parse().map_err(|_| StoreError::corrupt(NO_TOKEN))?;
    let state = if state == "holding" { HolderState::Holding } else { HolderState::Closed };
    Ok(Holder { token, mode, state, owner, fence, remaining: left, held_for: None, metadata })
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
    StoreError::corrupt("a fence that is no number").perhaps_executed()
}

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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn list(fields: &[&str]) -> Value {
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
            &["granted", "0", "1"],
            &["refused", "0"],
            &["queued", "0"],
            &["full"],
            &["deadlock", "x"],
            &["corrupt"],
        ] {
            let error = acquired(list(fields), Mode::Exclusive).unwrap_err();
            assert_eq!(error.certainty(), Certainty::Unknown, "{fields:?}: {error}");
        }
        for fence in [-1, 0] {
            let error = acquired(Value::Int(fence), Mode::Exclusive).unwrap_err();
            assert_eq!(error.certainty(), Certainty::Unknown, "{fence}");
        }
        for value in [Value::Nil, Value::Int(2), list(&["granted", "1", "1"])] {
            assert_eq!(renewed(value.clone()).unwrap_err().kind(), "reply_lost", "{value:?}");
            assert_eq!(released(value.clone()).unwrap_err().kind(), "reply_lost", "{value:?}");
            let error = handed_off(call([value.clone()]), Mode::Exclusive).unwrap_err();
            assert_eq!(error.kind(), "reply_lost", "{value:?}");
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
    fn a_record_of_recovery_that_cannot_be_read_is_not_ours_and_hides_no_answer() {
        for written in [&b"\xff\xfe"[..], b"hello", b"run 1 99999999999999999999", b""] {
            let answer = [Value::BulkString(b"7".into()), Value::Int(5), Value::BulkString(written.into())];
            let (rest, clock, recovered) = with_clock(Value::Array(answer.into())).unwrap();
            assert_eq!((clock, recovered), (Fence::new(5), None), "{written:?}");
            assert!(matches!(rest, Value::Array(rest) if rest.len() == 1), "{written:?}");
        }
    }
}
