//! The answer to a notice to holders.

use redis::Value;

use crate::store::{
    HoldersNotified, StoreError,
    redis::wire::{
        decode,
        fields::{Fields, NO_TOKEN, foreign},
    },
};

pub(crate) fn holders_notified(answer: Value) -> Result<HoldersNotified, StoreError> {
    let mut rest = decode::only_if(answer, "notified")?;
    read(&mut rest).map_err(StoreError::perhaps_executed)
}

fn read(rest: &mut Fields) -> Result<HoldersNotified, StoreError> {
    let complete = rest.number()? == 1;
    let mut holders = Vec::new();
    while !rest.is_empty() {
        holders.push(rest.text()?.parse().map_err(|_| foreign(NO_TOKEN))?);
    }
    Ok(HoldersNotified { holders, complete })
}
