//! The end of a command: its exit code, and the line that says why and what to do.

use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
    process::ExitCode,
};

use leasehold::{Certainty, StoreError, text::one_line};
use leasehold_console::view::printable;

use crate::{FAILED, Failure, print};

/// Exit code of a change that may have been made or not.
pub(crate) const UNKNOWN: u8 = 3;

/// Exit code of a certain no: nothing was there to show or to change.
pub(crate) const NO: u8 = 1;

/// A change that may have been made or not.
#[derive(Debug)]
struct UnknownOutcome {
    error: StoreError,
    /// The next step of whoever wants to know.
    next: String,
}

impl fmt::Display for UnknownOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", one_line(&self.error), self.next)
    }
}

impl Error for UnknownOutcome {}

/// Returns the failure of a change. If it may have been made all the same, that is what it says, with the next step.
pub(crate) fn of_change(failure: Failure, next: impl Into<String>) -> Failure {
    match failure.downcast::<StoreError>() {
        Ok(error) if error.certainty() == Certainty::Unknown => {
            UnknownOutcome { error: *error, next: next.into() }.into()
        }
        Ok(error) => error,
        Err(failure) => failure,
    }
}

/// Tells a result, which is the same where it cannot be told, and so is the exit code. The standard error then says so.
pub(crate) fn tell_result(tell: impl FnOnce() -> Result<(), Failure>) {
    match tell() {
        Err(failure) if !is_closed_output(&failure) => {
            print::note(&format!("leasehold: the result could not be written: {}", line(&failure)));
        }
        // Who reads the output has seen enough.
        Ok(()) | Err(_) => {}
    }
}

/// Returns the exit code of a report that is bad, or good, and was told or not: a bad one stays bad, and who has no report does not
/// know that all is well.
pub(crate) fn told_with(is_bad: bool, told: Result<(), Failure>) -> Result<ExitCode, Failure> {
    if !is_bad {
        return told.map(|()| ExitCode::SUCCESS);
    }
    tell_result(|| told);
    Ok(ExitCode::from(NO))
}

fn is_closed_output(failure: &Failure) -> bool {
    failure.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// Tells a failure in one line on the standard error, and returns the exit code for it.
pub(crate) fn failed(failure: &Failure) -> ExitCode {
    // Who reads the output has seen enough.
    if is_closed_output(failure) {
        return ExitCode::SUCCESS;
    }
    print::note(&format!("leasehold: {}", line(failure)));
    ExitCode::from(if failure.is::<UnknownOutcome>() { UNKNOWN } else { FAILED })
}

/// Formats a failure with the step that may cure it, in one line that is safe on a terminal.
pub(crate) fn line(failure: &Failure) -> String {
    let line = one_line(&**failure);
    let advice = failure.downcast_ref::<StoreError>().and_then(advice);
    printable(&advice.map_or(line.clone(), |advice| format!("{line}; {advice}"))).into_owned()
}

/// Returns the step that may cure an error that does not name one itself.
fn advice(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Denied { reason } if is_about_rights(reason) => Some(
            "give the user that right: docs/operations.md has the rule, and `leasehold doctor` names what is missing",
        ),
        StoreError::Denied { reason } if reason.contains("protected mode") => {
            Some("give it a password, which store.url then has too; or set protected-mode no")
        }
        StoreError::Denied { .. } => Some("check the user, the password and the certificates of the store"),
        StoreError::Unavailable { .. } => {
            Some("does the server run, and is store.url right? `leasehold doctor` says more")
        }
        StoreError::NoQuorum { .. } => Some("`leasehold doctor` examines the nodes"),
        _ => None,
    }
}

/// Returns true if the user is known and lacks a right. Servers say so in these words.
fn is_about_rights(reason: &str) -> bool {
    ["NOPERM", "no permissions", "No permissions", "can't run"].iter().any(|words| reason.contains(words))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_failure_is_one_line_with_what_to_do() {
        let denied = |reason: &str| StoreError::Denied { reason: reason.to_owned() };
        for (error, expected) in [
            (denied("NOPERM User x has no permissions to run the 'scan' command"), "docs/operations.md"),
            (denied("DENIED: Redis is running in protected mode"), "protected-mode no"),
            (denied("WRONGPASS invalid username-password pair"), "check the user"),
            (StoreError::unavailable("127.0.0.1:1: refused"), "does the server run"),
            (StoreError::unavailable("two\nlines \u{1b}[31m"), "two\\nlines \\u{1b}[31m"),
        ] {
            let line = line(&error.into());
            assert!(line.contains(expected) && line.lines().count() == 1, "{line}");
        }
    }

    #[test]
    fn a_change_is_unknown_only_if_it_may_have_been_made() {
        let changed = |error: StoreError| of_change(error.into(), "look again");
        let unknown = changed(StoreError::timed_out(Duration::from_secs(1)));
        assert!(unknown.is::<UnknownOutcome>() && unknown.to_string().ends_with("; look again"), "{unknown}");
        assert!(changed(StoreError::unavailable("gone")).is::<StoreError>());
        assert!(!of_change("something else".into(), "look again").is::<UnknownOutcome>());
    }
}
