//! The fields of an answer of a script, read one after the other.

use std::{time::Duration, vec};

use redis::Value;

use super::record;
use crate::{
    core::Mode,
    store::{StoreError, redis::net::errors},
};

pub(super) const NO_RECORD: &str = "a record that is not ours";
pub(super) const NO_TOKEN: &str = "a token that is none";

pub(crate) fn senseless(what: &str) -> StoreError {
    StoreError::reply_lost(format!("the answer makes no sense: {what}"))
}

/// The remaining fields of a list in an answer.
pub(super) struct Fields(vec::IntoIter<Value>);

impl Fields {
    pub(super) fn new(list: Value) -> Result<Self, StoreError> {
        match list {
            Value::Array(values) => Ok(Self(values.into_iter())),
            _ => Err(senseless("not a list")),
        }
    }

    /// Splits a list into the verdict in front and the fields that follow it.
    pub(super) fn of(list: Value) -> Result<(String, Self), StoreError> {
        let mut fields = Self::new(list)?;
        let verdict = fields.text().map_err(|_| senseless("a verdict is missing"))?;
        Ok((verdict, fields))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    pub(super) fn value(&mut self, what: &str) -> Result<Value, StoreError> {
        self.0.next().ok_or_else(|| senseless(what))
    }

    /// Reads the next field. A text that cannot be read, and nothing in place of one, come from a record: all that a script
    /// says by itself can be.
    fn next<T: redis::FromRedisValue>(&mut self, what: &str) -> Result<T, StoreError> {
        let missing = || senseless(&format!("a {what} is missing"));
        let value = self.0.next().ok_or_else(missing)?;
        let is_of_a_record = matches!(value, Value::BulkString(_) | Value::Nil);
        redis::from_redis_value(value).map_err(|_| match is_of_a_record {
            true => StoreError::corrupt(format!("a {what} is missing in a record, or cannot be read")),
            false => missing(),
        })
    }

    pub(super) fn text(&mut self) -> Result<String, StoreError> {
        self.next("text in UTF-8")
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        self.next("text")
    }

    pub(super) fn number(&mut self) -> Result<u64, StoreError> {
        self.next("number")
    }

    pub(super) fn duration(&mut self) -> Result<Duration, StoreError> {
        let millis: i64 = self.next("time")?;
        Ok(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    }

    pub(super) fn mode(&mut self) -> Result<Mode, StoreError> {
        let (letter, permits) = (self.text()?, self.text()?);
        record::mode(&letter, &permits).ok_or_else(|| StoreError::corrupt("a mode that is none"))
    }

    /// Returns the error of a verdict that every verb may get, or of an unknown one.
    pub(super) fn otherwise(&mut self, verdict: &str) -> StoreError {
        let read = match verdict {
            "corrupt" => self.text().map(StoreError::corrupt),
            "error" => self.text().map(|reason| errors::within_script(&reason)),
            _ => Err(senseless("an unknown verdict")),
        };
        read.unwrap_or_else(|error| error)
    }
}
