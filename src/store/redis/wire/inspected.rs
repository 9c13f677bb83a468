//! The decoding of the answer about the holders and waiters of a resource.

use std::time::Duration;

use redis::Value;

use crate::{
    core::since_given,
    store::{
        HolderState, Inspection, StoreError, Waiter,
        redis::wire::{
            decode::{holder, only_if},
            fields::{Fields, NO_RECORD, NO_TOKEN, senseless},
            record::{self, HolderRecord},
        },
    },
};

pub(crate) fn inspected(answer: Value) -> Result<Inspection, StoreError> {
    let mut rest = only_if(answer, "holders")?;
    let (total, waiting) = (rest.number()?, rest.number()?);
    let now = rest.text()?;
    // In the plain layout the server does not tell its time.
    let now = (!now.is_empty()).then(|| now.parse()).transpose();
    let now = now.map_err(|_| senseless("a time that is no number"))?;
    let told = rest.number()?;
    // Another program may have written it: then it counts for nothing.
    let capacity = rest.text()?.parse().ok();
    let since = |number| now.and_then(|now| since_given(number, now));
    let mut holders = Vec::new();
    for _ in 0..told {
        let (token, state, remaining) = (rest.text()?, rest.text()?, rest.duration()?);
        let record = rest.text()?;
        let mut holder = holder(&token, &state, remaining, &record)?;
        if holder.state == HolderState::Holding {
            holder.held_for = record::number(&record).and_then(since);
        }
        holders.push(holder);
    }
    let mut waiters = Vec::new();
    while !rest.is_empty() {
        waiters.push(waiter(&mut rest, since)?);
    }
    Ok(Inspection { holders, total, waiting, waiters, capacity })
}

fn waiter(rest: &mut Fields, since: impl Fn(u64) -> Option<Duration>) -> Result<Waiter, StoreError> {
    let (token, arrival) = (rest.text()?, rest.number()?);
    let HolderRecord { mode, owner, metadata, .. } =
        record::read(&rest.text()?).ok_or_else(|| StoreError::corrupt(NO_RECORD))?;
    let token = token.parse().map_err(|_| StoreError::corrupt(NO_TOKEN))?;
    Ok(Waiter { token, mode, owner, waited: since(arrival), metadata })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{core::Mode, store::redis::wire::decode::tests::list};

    fn answer(fields: &[&str]) -> Value {
        Value::Array(vec![Value::Nil, list(fields)])
    }

    #[test]
    fn holders_and_waiters_read_back_with_their_times() {
        let held = ["0000000a", "holding", "500", "7000000 x 1 0 me {\"host\":\"a\"}"];
        let waits = ["0000000b", "8000000", " p 2/3 0  {}"];
        let told = |time| answer(&[&["holders", "1", "1", time, "1", "7"][..], &held, &waits].concat());
        let Inspection { holders, total: 1, waiting: 1, waiters, capacity: Some(_) } =
            inspected(told("9000000")).unwrap()
        else {
            panic!("not one and one")
        };
        assert_eq!(holders[0].held_for, Some(Duration::from_secs(2)));
        assert_eq!(waiters[0].waited, Some(Duration::from_secs(1)));
        assert_eq!(waiters[0].mode, Mode::permits(2, 3).unwrap());
        let unknown = inspected(told("")).unwrap();
        assert_eq!((unknown.holders[0].held_for, unknown.waiters[0].waited), (None, None));
    }

    #[test]
    fn who_only_keeps_it_closed_has_not_held_it_for_any_time() {
        let closed =
            ["holders", "1", "0", "9000000", "1", "", "0000000a", "closed", "500", "7000000 x 1 0  {}"];
        assert_eq!(inspected(answer(&closed)).unwrap().holders[0].held_for, None);
    }

    #[test]
    fn an_answer_that_ends_too_early_is_lost_and_what_a_record_cannot_have_is_corrupt() {
        for (fields, kind) in [
            (&["holders", "1", "0", "", "1", "", "0000000a"][..], "reply_lost"),
            (&["holders", "0", "1", "", "0", "", "0000000a", "8"], "reply_lost"),
            (&["holders", "0", "0", "now", "0", ""], "reply_lost"),
            (&["holders", "0", "0", "", "0"], "reply_lost"),
            (&["holders", "0", "1", "", "0", "", "0000000a", "8", "hello"], "corrupt"),
            (
                &["holders", "0", "1", "", "0", "", "0000000a", "99999999999999999999", " x 1 0  {}"],
                "corrupt",
            ),
            (&["holders", "1", "0", "", "1", "", "0000000a", "holding", "5", "7 x 1 0  []"], "corrupt"),
        ] {
            assert_eq!(inspected(answer(fields)).unwrap_err().kind(), kind, "{fields:?}");
        }
    }
}
