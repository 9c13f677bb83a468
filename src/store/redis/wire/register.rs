//! The call for a register, and its answer.

use std::time::Duration;

use redis::Value;

use crate::{
    core::{ResourceName, Token},
    store::{
        REGISTER_KEPT_FOR, Register, RegisterVerdict, RegisterWrite, StoreError,
        redis::wire::{
            decode::only_if,
            encoder::Encoder,
            fields::{Fields, foreign, senseless},
            keys,
            record::millis,
            script_call::ScriptCall,
            scripts,
        },
    },
};

/// The interval in which reads write the end of a register anew.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Encodes the question for a register. It has one key, which is the same in every layout, and follows its slot when that
/// moves.
pub(crate) fn call(encoder: &Encoder, name: &ResourceName, write: Option<&RegisterWrite>) -> ScriptCall {
    let slot = encoder.slot(name).map(|_| keys::slot(name));
    let mut call = ScriptCall::new(&scripts::REGISTER, slot, 1);
    call.text(format_args!("{}:r", keys::main(encoder.prefix(), name)));
    call.echo();
    call.arg(millis(REGISTER_KEPT_FOR + DAY));
    match write {
        None => call.arg(""),
        Some(write) => {
            call.text(write.revision.hex());
            match write.expected {
                None => call.arg(""),
                Some(expected) => call.text(expected.hex()),
            };
            // Not by `millis`, which is for times that are short of the time since 1970.
            let not_before = u64::try_from(write.not_before.as_millis()).unwrap_or(u64::MAX);
            call.arg(not_before).arg(&*write.value)
        }
    };
    call
}

/// Decodes the answer. If the call was `repeated`, its first try may have written.
pub(crate) fn answer(value: Value, repeated: bool) -> Result<Register, StoreError> {
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
    let (revision, value) =
        content(&mut rest).map_err(|error| if certain { error } else { error.perhaps_executed() })?;
    Ok(Register { verdict, now, revision, value })
}

fn content(rest: &mut Fields) -> Result<(Option<Token>, String), StoreError> {
    let (revision, value) = (rest.text()?, rest.text()?);
    let revision = match revision.is_empty() {
        true => None,
        false => Some(revision.parse().map_err(|_| foreign("a revision that is no token"))?),
    };
    Ok((revision, value))
}
