//! The decoding of a server's report on its recovery.

use redis::Value;

use crate::{
    core::Fence,
    store::{
        Incarnation, Recovered, Report, StoreError,
        redis::wire::{decode::only_if, fields::senseless},
    },
};

/// Decodes the answer to a call that named a first fence: the usual, the server's time in µs, and its record of recovery.
pub(crate) fn with_clock(answer: Value) -> Result<(Value, Fence, Option<Recovered>), StoreError> {
    let Value::Array(mut values) = answer else {
        return Err(senseless("not a list"));
    };
    let (written, micros) = (values.pop(), values.pop());
    let read = |value: Option<Value>| value.ok_or_else(|| senseless("the time is missing"));
    let micros: u64 = redis::from_redis_value(read(micros)?).map_err(|_| senseless("the time is missing"))?;
    let written: Vec<u8> = redis::from_redis_value(read(written)?).map_err(|_| senseless("no text"))?;
    Ok((Value::Array(values), Fence::new(micros), recovered(&written)))
}

/// Decodes the record that a server keeps of its recovery; `None` if it is not ours.
pub(crate) fn recovered(written: &[u8]) -> Option<Recovered> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
