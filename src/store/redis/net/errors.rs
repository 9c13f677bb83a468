//! The meaning of the client library's errors for the verb that got one.
//!
//! Servers and versions differ in their sentences and agree in the code in front of them, so the code decides. Where a
//! sentence has to be matched, a comment gives the reason.

use std::sync::Arc;

use redis::{ErrorKind, RedisError};

use crate::store::StoreError;

/// Translates an error from before the verb was sent. The verb was certainly not executed.
pub fn before_sending(error: RedisError) -> StoreError {
    let reason = error.to_string();
    // A wrong certificate is an error of input and output, like a broken cable: only the words of rustls tell them apart.
    let of_rustls = ["invalid peer certificate", "received fatal alert", "peer is incompatible"];
    let is_tls_refusal = error.is_io_error() && says(&reason, &of_rustls);
    if error.kind() == ErrorKind::AuthenticationFailed || is_tls_refusal {
        return StoreError::Denied { reason };
    }
    answered(&error).unwrap_or_else(|| StoreError::Unavailable { reason, source: Some(Arc::new(error)) })
}

/// Translates an error from the opening of a connection to this database, without the address.
pub(crate) fn opening(error: RedisError, database: i64) -> StoreError {
    let text = error.to_string();
    let detail = error.detail().unwrap_or_default();
    // The client library keeps the sentence of a refused `SELECT` and loses the code: a server that is busy refuses it too.
    let of_the_database = ["DB index", "not allowed in cluster mode", "no permissions", "unknown command"];
    if error.is_io_error() && text.contains("received corrupt message") {
        without_tls()
    } else if text.contains("refused to switch database") && says(detail, &of_the_database) {
        misconfigured(&format!("refuses database {database} ({detail})"))
    } else {
        before_sending(error)
    }
}

pub(crate) fn without_tls() -> StoreError {
    misconfigured("seems not to speak TLS; use redis://, or the port that speaks TLS")
}

/// Returns the error of a server that should have all keys, and has some of them.
pub(crate) fn of_a_cluster() -> StoreError {
    misconfigured("is a node of a cluster; use redis+cluster://")
}

fn misconfigured(reason: &str) -> StoreError {
    StoreError::Misconfigured { reason: reason.to_owned() }
}

/// Adds to an error the address where it happened.
pub(crate) fn at(address: &str, mut error: StoreError) -> StoreError {
    match &mut error {
        StoreError::Misconfigured { reason } => *reason = format!("{address} {reason}"),
        StoreError::ReplyLost { doing: said, .. }
        | StoreError::Unavailable { reason: said, .. }
        | StoreError::OutOfMemory { reason: said }
        | StoreError::Denied { reason: said }
        | StoreError::Corrupt { reason: said, .. } => *said = format!("{address}: {said}"),
        _ => {}
    }
    error
}

/// Translates an error from after the verb was sent. Only an answer of the server is certain.
pub(crate) fn after_sending(error: RedisError) -> StoreError {
    let doing = error.category().to_owned();
    answered(&error).unwrap_or_else(|| StoreError::ReplyLost { doing, source: Some(Arc::new(error)) })
}

/// Translates the error of one request of a batch, in the words in which its script caught it. What was done before is
/// unknown, unless the server refused a command.
pub(crate) fn within_script(text: &str) -> StoreError {
    let (code, detail) = text.split_once(' ').unwrap_or((text, ""));
    let known = class(code, detail, text).or_else(|| class(code_within(text)?, "", text));
    match known.or_else(|| class("ERR", text, text)) {
        Some(StoreError::Misconfigured { reason }) => misconfigured(&format!("it {reason}")),
        Some(known) => known,
        None => StoreError::reply_lost(format!("a script failed: {text}")),
    }
}

/// Returns true if another connection may do better than the one that gave this error.
pub(crate) fn wants_new_connection(error: &RedisError) -> bool {
    // A replica answers READONLY: the master's name may lead to another machine by now.
    error.is_io_error()
        || error.is_unrecoverable_error()
        || matches!(error.code(), Some("READONLY" | "MASTERDOWN"))
}

/// Returns true if the server refused for a reason that is over in a moment: a slot that moves, a failover, a start.
pub(crate) fn is_worth_a_moment(error: &RedisError) -> bool {
    matches!(error.code(), Some("TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "LOADING" | "READONLY"))
}

/// Returns the error of an answer by which the server refused the verb; `None` for all else, which leaves the outcome open.
fn answered(error: &RedisError) -> Option<StoreError> {
    let code = error.code()?;
    let detail = error.detail().unwrap_or_default();
    // As the server says it. The client library has a notation of its own, and a sentence may go on behind it.
    let text = format!("{code} {detail}");
    let text = text.trim_end_matches(['.', ' ']).to_owned();
    class(code, detail, &text).or_else(|| class(code_within(detail)?, "", &text))
}

fn class(code: &str, detail: &str, text: &str) -> Option<StoreError> {
    let reason = text.to_owned();
    Some(match code {
        "OOM" => StoreError::OutOfMemory { reason },
        "CROSSSLOT" => of_a_cluster(),
        "NOAUTH" | "WRONGPASS" | "NOPERM" => StoreError::Denied { reason },
        // What follows is a thousand bytes of advice to whoever runs the server.
        "DENIED" => {
            StoreError::Denied { reason: text.split(" If you want").next().unwrap_or(text).to_owned() }
        }
        // A script may have written before. It answers `corrupt` if the main key is of another type.
        "WRONGTYPE" => StoreError::corrupt(reason).perhaps_executed(),
        "NOREPLICAS" | "MISCONF" | "BUSY" | "LOADING" | "READONLY" | "MASTERDOWN" | "CLUSTERDOWN"
        | "TRYAGAIN" | "MOVED" | "ASK" | "NOSCRIPT" => StoreError::unavailable(reason),
        "ERR" if detail.contains("cluster support disabled") => {
            misconfigured("is no cluster (its cluster support is disabled); use redis://")
        }
        "ERR" if is_unknown_within(detail) => misconfigured(
            "does not know a command that the scripts of this library call (rename-command?); the doctor names it",
        ),
        "ERR" if unknown(detail).is_some() => misconfigured(&lacking(&unknown(detail)?)),
        "ERR" if is_denied_within(detail) => StoreError::Denied { reason },
        "ERR" if detail.starts_with("max number of clients") => StoreError::unavailable(reason),
        "ERR" if is_about_a_value(detail) => StoreError::corrupt(reason).perhaps_executed(),
        _ => return None,
    })
}

/// Returns true if the rights refused a command *inside* a script. That has no code of its own, only these sentences.
fn is_denied_within(detail: &str) -> bool {
    detail.contains("The user executing the script can't") || detail.starts_with("ACL failure in script")
}

/// Returns the command that the server does not have, if it says so. Its arguments, which follow, are not told.
fn unknown(detail: &str) -> Option<String> {
    let lower = detail.to_ascii_lowercase();
    let named =
        ["unknown command", "unknown subcommand"].iter().find_map(|words| lower.strip_prefix(words))?;
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "_-.|".contains(c);
    let name = named.trim_start_matches([' ', '\'', '`', '"', ':']).split(|c| !is_of_a_name(c)).next();
    Some(name.unwrap_or_default().to_ascii_uppercase())
}

fn lacking(command: &str) -> String {
    const UNDO: &str = "undo rename-command in its configuration, or use another server";
    match command {
        "SENTINEL" => "is no sentinel; use redis://".to_owned(),
        "SCRIPT" => format!("does not know the command SCRIPT: it may be a sentinel; or {UNDO}"),
        "" => format!("does not know a command; {UNDO}"),
        command => format!("does not know the command {command}; {UNDO}"),
    }
}

/// Returns true if a script called a command that the server does not have. The server does not name it.
fn is_unknown_within(detail: &str) -> bool {
    let detail = detail.to_ascii_lowercase();
    says(&detail, &["unknown redis command called from", "unknown command called from"])
}

/// Returns true if a script, which may have been half-way, came upon a value that only others write.
fn is_about_a_value(detail: &str) -> bool {
    let of_lua = ["perform arithmetic", "compare", "concatenate", "index"];
    let attempted = |what: &str| of_lua.iter().any(|operation| what.starts_with(operation));
    detail.split("attempt to ").skip(1).any(attempted)
        || says(detail, &["bad argument #", "value is not an integer", "is not a valid float"])
}

/// Returns the code of an error inside a script, which Redis before 7.0 wraps:
/// `ERR Error running script (…): @user_script: 5: -OOM command…`.
fn code_within(detail: &str) -> Option<&str> {
    let (_, inner) = detail.split_once(": -")?;
    let code = inner.split(' ').next()?;
    code.bytes().all(|b| b.is_ascii_uppercase()).then_some(code)
}

fn says(text: &str, any: &[&str]) -> bool {
    any.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use std::io;

    use redis::Value;

    use super::*;
    use crate::store::Certainty;

    fn server_says(line: &str) -> RedisError {
        let reply = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        let Value::ServerError(error) = reply else { panic!("{line} is no error") };
        error.into()
    }

    fn kind(line: &str) -> &'static str {
        let error = server_says(line);
        let (before, after) = (before_sending(error.clone()), after_sending(error));
        assert!(after.certainty() == Certainty::Unknown || before.kind() == after.kind(), "{line}");
        after.kind()
    }

    #[test]
    fn an_answer_is_told_as_the_server_says_it() {
        for (says, told) in [
            ("NOAUTH Authentication required.", "the store denies access: NOAUTH Authentication required"),
            ("LOADING Redis is loading", "the store is not available: LOADING Redis is loading"),
        ] {
            assert_eq!(before_sending(server_says(says)).to_string(), told);
        }
    }

    #[test]
    fn the_code_in_front_decides() {
        let unavailable = "NOREPLICAS MISCONF BUSY LOADING READONLY MASTERDOWN CLUSTERDOWN TRYAGAIN";
        let unavailable = unavailable.split(' ').map(|code| (code, "unavailable"));
        let denied = ["NOAUTH", "WRONGPASS", "NOPERM", "DENIED"].map(|code| (code, "denied"));
        for (code, expected) in unavailable.chain(denied).chain([
            ("OOM", "out_of_memory"),
            ("CROSSSLOT", "misconfigured"),
            ("ERR This instance has cluster support disabled; hear", "misconfigured"),
            ("ERR unknown command 'SENTINEL', with args beginning with", "misconfigured"),
            ("ERR unknown command `SCRIPT`, with args beginning with", "misconfigured"),
            ("ERR unknown command 'EVALSHA', with args beginning with: 'a'", "misconfigured"),
            ("ERR unknown command", "misconfigured"),
            ("ERR unknown subcommand 'SLOTS'. Try CLUSTER HELP.", "misconfigured"),
            ("ERR Unknown Redis command called from script script: 1, on @user_script:8.", "misconfigured"),
            ("WRONGTYPE", "corrupt"),
            ("UNKILLABLE", "reply_lost"),
            ("SOMETHING", "reply_lost"),
        ]) {
            assert_eq!(kind(&format!("{code} some words")), expected, "{code}");
        }
    }

    #[test]
    fn an_error_inside_a_script_is_recognised_unless_the_script_was_killed() {
        let old = "ERR Error running script (call to f_1): @user_script:5: @user_script: 5: ";
        assert_eq!(kind(&format!("{old}-OOM command not allowed")), "out_of_memory");
        assert_eq!(kind(&format!("{old}-READONLY You can't write")), "unavailable");
        assert_eq!(kind("ERR The user executing the script can't run this command or subcommand"), "denied");
        assert_eq!(kind("ERR ACL failure in script: User has no permissions"), "denied");
        assert_eq!(kind(&format!("{old}Unknown Redis command called from Lua script")), "misconfigured");
        assert_eq!(kind("ERR Error running script: Script killed by user with SCRIPT KILL"), "reply_lost");
    }

    #[test]
    fn an_error_of_one_request_of_a_batch_is_recognised() {
        for (text, expected) in [
            ("WRONGTYPE Operation against a key holding the wrong kind of value", "corrupt"),
            ("OOM command not allowed when used memory > 'maxmemory'.", "out_of_memory"),
            ("@user_script: 5: -OOM command not allowed when used memory > 'maxmemory'.", "out_of_memory"),
            ("ERR ACL failure in script: No permissions to access a key", "denied"),
            ("@user_script: 5: The user executing the script can't run this command or subcommand", "denied"),
            ("ERR Unknown Redis command called from script", "misconfigured"),
            ("@user_script: 5: Unknown Redis command called from Lua script", "misconfigured"),
            ("user_script:7: attempt to call field 'unpack' (a nil value)", "reply_lost"),
            ("", "reply_lost"),
        ] {
            assert_eq!(within_script(text).kind(), expected, "{text}");
        }
    }

    #[test]
    fn a_script_that_fails_over_a_value_tells_of_something_foreign() {
        for text in [
            "user_script:7: attempt to index a nil value",
            "ERR user_script:7: attempt to compare nil with number script: 0a, on @user_script:7.",
            "user_script:7: bad argument #1 to 'match' (string expected, got boolean)",
            "ERR hash value is not an integer",
        ] {
            let error = within_script(text);
            assert_eq!((error.kind(), error.certainty()), ("corrupt", Certainty::Unknown), "{text}");
        }
    }

    #[test]
    fn a_command_that_the_server_does_not_have_is_named_and_its_arguments_are_not() {
        for (said, name) in [
            ("ERR unknown command 'EVALSHA', with args beginning with: 's3cret' ", "EVALSHA"),
            ("ERR unknown command `evalsha`, with args beginning with: `s3cret`", "EVALSHA"),
            ("ERR Unknown command: EVALSHA s3cret", "EVALSHA"),
            ("ERR unknown subcommand 'LOAD'. Try SCRIPT HELP.", "LOAD"),
        ] {
            let told = after_sending(server_says(said)).to_string();
            assert!(told.contains(&format!("the command {name};")) && !told.contains("s3cret"), "{told}");
        }
    }

    #[test]
    fn a_connection_that_breaks_is_harmless_before_sending_and_open_after() {
        let broken = || RedisError::from(io::Error::from(io::ErrorKind::ConnectionReset));
        assert_eq!(before_sending(broken()).certainty(), Certainty::NotExecuted);
        assert_eq!(after_sending(broken()).certainty(), Certainty::Unknown);
        let distrusted = io::Error::other("invalid peer certificate: UnknownIssuer");
        assert_eq!(before_sending(distrusted.into()).kind(), "denied");
    }
}
