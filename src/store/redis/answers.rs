//! The answers of the Lua scripts, read into values; what makes no sense is an answer that was lost.

use std::{time::Duration, vec};

use redis::Value;

use super::record;
use crate::{
    protocol::{Fence, Mode},
    store::{Acquired, Grant, Holder, HolderState, Inspection, Refusal, Released, Renewed, StoreError},
};

pub(super) fn acquired(answer: Value, asked: Mode) -> Result<Acquired, StoreError> {
    let (verdict, mut rest) = Fields::of(answer)?;
    match verdict.as_str() {
        "granted" => {
            let fence = Some(Fence::new(rest.number()?));
            Ok(Acquired::Granted(Grant { fence, holds: rest.number()? }))
        }
        "refused" => rest.refusal().map(Acquired::Refused),
        "queued" => {
            let ahead = rest.number()?;
            Ok(Acquired::Queued { refusal: rest.refusal()?, ahead })
        }
        "full" => Ok(Acquired::Full { waiters: rest.number()? }),
        "deadlock" => Err(StoreError::Deadlock { asked, held: rest.mode()? }),
        "mismatch" => Err(StoreError::CapacityMismatch { asked, used: rest.mode()? }),
        other => Err(rest.otherwise(other)),
    }
}

pub(super) fn renewed(answer: Value) -> Result<Renewed, StoreError> {
    let (verdict, mut rest) = Fields::of(answer)?;
    match verdict.as_str() {
        "extended" => Ok(Renewed::Extended),
        "not_held" => Ok(Renewed::NotHeld),
        other => Err(rest.otherwise(other)),
    }
}

pub(super) fn released(answer: Value) -> Result<Released, StoreError> {
    let (verdict, mut rest) = Fields::of(answer)?;
    match verdict.as_str() {
        "freed" => Ok(Released::Freed),
        "still_held" => Ok(Released::StillHeld { count: rest.number()? }),
        "not_held" => Ok(Released::NotHeld { count: rest.number()? }),
        other => Err(rest.otherwise(other)),
    }
}

pub(super) fn is_held(answer: Value) -> Result<bool, StoreError> {
    let (verdict, mut rest) = Fields::of(answer)?;
    match verdict.as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        other => Err(rest.otherwise(other)),
    }
}

pub(super) fn inspected(answer: Value) -> Result<Inspection, StoreError> {
    let (verdict, mut rest) = Fields::of(answer)?;
    if verdict != "holders" {
        return Err(rest.otherwise(&verdict));
    }
    let (total, waiting, capacity) = (rest.number()?, rest.number()?, rest.text()?);
    let mut holders = Vec::new();
    while !rest.is_empty() {
        let (token, state, remaining) = (rest.text()?, rest.text()?, rest.duration()?);
        holders.push(holder(&token, &state, remaining, &rest.text()?, &capacity)?);
    }
    Ok(Inspection { holders, total, waiting })
}

pub(super) fn opened(answer: Value) -> Result<u64, StoreError> {
    let (verdict, mut rest) = Fields::of(answer)?;
    match verdict.as_str() {
        "opened" => rest.number(),
        other => Err(rest.otherwise(other)),
    }
}

/// A cursor and the keys of one step of a walk over all keys.
pub(super) fn scanned(answer: Value) -> Result<(u64, Vec<Vec<u8>>), StoreError> {
    redis::from_redis_value(answer).map_err(|_| senseless("no cursor with keys"))
}

fn holder(
    token: &str,
    state: &str,
    remaining: Duration,
    record: &str,
    capacity: &str,
) -> Result<Holder, StoreError> {
    let foreign = || StoreError::Corrupt { reason: "a holder with a record that is not ours".to_owned() };
    let record::Record { fence, mode, owner, metadata } =
        record::read(record, capacity).ok_or_else(foreign)?;
    let token = token.parse().map_err(|_| foreign())?;
    let state = if state == "holding" { HolderState::Holding } else { HolderState::Closed };
    Ok(Holder { token, mode, state, owner, fence: Some(fence), remaining, metadata })
}

fn senseless(what: &str) -> StoreError {
    StoreError::Lost { doing: format!("the answer makes no sense: {what}"), source: None }
}

/// What follows the echo and the verdict in an answer.
struct Fields(vec::IntoIter<Value>);

impl Fields {
    fn of(answer: Value) -> Result<(String, Self), StoreError> {
        let Value::Array(values) = answer else {
            return Err(senseless("not a list"));
        };
        let mut fields = Self(values.into_iter());
        fields.0.next();
        Ok((fields.text()?, fields))
    }

    fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    fn next<T: redis::FromRedisValue>(&mut self, what: &str) -> Result<T, StoreError> {
        let value = self.0.next().ok_or_else(|| senseless(what))?;
        redis::from_redis_value(value).map_err(|_| senseless(what))
    }

    fn text(&mut self) -> Result<String, StoreError> {
        self.next("a text is missing")
    }

    fn number(&mut self) -> Result<u64, StoreError> {
        self.next("a number is missing")
    }

    fn duration(&mut self) -> Result<Duration, StoreError> {
        let millis: i64 = self.next("a time is missing")?;
        Ok(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    }

    fn mode(&mut self) -> Result<Mode, StoreError> {
        let (letter, permits, capacity) = (self.text()?, self.text()?, self.text()?);
        record::mode(&letter, &permits, &capacity).ok_or_else(|| senseless("a mode is missing"))
    }

    fn refusal(&mut self) -> Result<Refusal, StoreError> {
        let (token, state) = (self.text()?, self.text()?);
        let (left, remaining) = (self.duration()?, self.duration()?);
        let (capacity, record) = (self.text()?, self.text()?);
        Ok(Refusal { by: holder(&token, &state, left, &record, &capacity)?, remaining })
    }

    /// A verdict that every verb may get, or none that is known.
    fn otherwise(&mut self, verdict: &str) -> StoreError {
        if verdict != "corrupt" {
            return senseless("an unknown verdict");
        }
        match self.text() {
            Ok(reason) => StoreError::Corrupt { reason },
            Err(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(fields: &[&str]) -> Value {
        let echo = Value::BulkString("7".into());
        Value::Array(
            std::iter::once(echo).chain(fields.iter().map(|f| Value::BulkString((*f).into()))).collect(),
        )
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
        ] {
            let error = acquired(answer(fields), Mode::Exclusive).unwrap_err();
            assert_eq!(error.kind(), "lost", "{fields:?}");
        }
        assert_eq!(renewed(Value::Nil).unwrap_err().kind(), "lost");
        assert_eq!(released(answer(&["not_held"])).unwrap_err().kind(), "lost");
        assert_eq!(inspected(answer(&["holders", "1", "0", "", "00"])).unwrap_err().kind(), "lost");
    }

    #[test]
    fn a_foreign_record_is_corrupt() {
        let fields = ["refused", "00000007", "holding", "5", "5", "", "hello"];
        assert_eq!(acquired(answer(&fields), Mode::Exclusive).unwrap_err().kind(), "corrupt");
        assert_eq!(opened(answer(&["corrupt", "a value that is no lock"])).unwrap_err().kind(), "corrupt");
    }
}
