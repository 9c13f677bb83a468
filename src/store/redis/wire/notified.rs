//! The answer to a notice to holders.

use redis::Value;

use crate::store::{HoldersNotified, StoreError, redis::wire::decode};

pub(crate) fn holders_notified(answer: Value) -> Result<HoldersNotified, StoreError> {
    let mut rest = decode::only_if(answer, "notified")?;
    let complete = rest.number()? == 1;
    let mut holders = Vec::new();
    while !rest.is_empty() {
        let token = rest.text()?;
        holders.push(token.parse().map_err(|_| decode::senseless("a token that is none"))?);
    }
    Ok(HoldersNotified { holders, complete })
}
