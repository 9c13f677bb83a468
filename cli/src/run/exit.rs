//! The end of `leasehold run` as its caller is told: an exit code, and a line that says what to do.

use std::{error::Error, ffi::OsStr, fmt, io, process::ExitCode, time::Duration};

use leasehold::{AcquireError, Certainty, LossReason, StoreError, text::one_line};
use rustix::process::Signal;

use super::{
    child::Status,
    supervise::{Cause, Ended},
    voice::{Voice, shown},
};
/// The part of the help behind the options.
pub(super) const HELP: &str = "\
Exit codes (nothing was run, except with the first two):
  0-255     that of COMMAND, or 128 and the number of the signal that ended it
  74        the lease was lost or taken back: COMMAND was ended, its work may be half done
  75        held by another: try again later, or wait with --wait
  64        wrong usage: an option or the name
  69        the store cannot be reached, or does not answer
  77        the store denies access
  78        the configuration is wrong
  70, 71    an error of leasehold, of the system
  126, 127  COMMAND cannot be executed, was not found

Example: a line of cron on all machines of a fleet, which one of them runs
  leasehold run nightly-report --no-overlap --min-hold 50s -- /usr/local/bin/report";

pub(crate) const USAGE: u8 = 64;
const UNAVAILABLE: u8 = 69;
const SOFTWARE: u8 = 70;
const SYSTEM: u8 = 71;
/// `EX_IOERR` of sysexits: something outside failed in the middle. `EX_TEMPFAIL`, which callers may answer by a repetition,
/// would be wrong, because the work may be half done.
const LOST: u8 = 74;
const HELD: u8 = 75;
const DENIED: u8 = 77;
const CONFIG: u8 = 78;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

const BESIDE: &str = "it may have run beside another holder";

/// The end of a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    code: u8,
    line: Option<String>,
}

impl End {
    fn new(code: u8, line: impl fmt::Display) -> Self {
        Self { code, line: Some(line.to_string()) }
    }

    /// Says the line as the last one, and returns the code.
    pub(super) fn told(self, voice: Voice) -> ExitCode {
        if let Some(line) = self.line {
            voice.say(line);
        }
        voice.finish();
        ExitCode::from(self.code)
    }

    /// Exit with 0 because somebody else runs it.
    pub(super) const fn overlap() -> Self {
        Self { code: 0, line: None }
    }

    pub(super) fn usage(error: &dyn Error) -> Self {
        Self::new(USAGE, format_args!("{}; see 'leasehold run --help'", one_line(error)))
    }

    pub(super) fn config(error: &dyn Error) -> Self {
        Self::new(CONFIG, one_line(error))
    }

    pub(super) fn system(doing: &str, error: &io::Error) -> Self {
        Self::new(SYSTEM, format_args!("{doing}: {error}"))
    }

    pub(super) fn internal(error: &dyn Error) -> Self {
        Self::new(SOFTWARE, format_args!("the lock manager gave no answer: {}", one_line(error)))
    }

    /// A signal that came before the command was started.
    pub(super) fn by_signal(name: &str, signal: Signal) -> Self {
        let number = signal.as_raw();
        let line = format_args!("told to end by signal {number} before {name} was granted; nothing was run");
        Self::new(Status::Killed(number).code(), line)
    }

    pub(super) fn not_started(program: &OsStr, error: &io::Error) -> Self {
        let program = program.display();
        match error.kind() {
            io::ErrorKind::NotFound => Self::new(
                NOT_FOUND,
                format_args!(
                    "{program} was not found; is it on the PATH, and the interpreter of its first line?"
                ),
            ),
            // ENOEXEC has no kind: a file that is neither a program nor begins with `#!`.
            io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory => {
                Self::not_executable(program, error)
            }
            _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
                Self::not_executable(program, error)
            }
            _ => Self::new(SYSTEM, format_args!("{program} could not be started: {error}")),
        }
    }

    fn not_executable(program: impl fmt::Display, error: &io::Error) -> Self {
        Self::new(
            NOT_EXECUTABLE,
            format_args!(
                "{program} cannot be executed: {error}; is it a program, and allowed to run (chmod +x)?"
            ),
        )
    }

    /// A request that was not granted. Nothing was run.
    pub(super) fn refused(name: &str, error: &AcquireError, ttl: Duration) -> Self {
        let text = one_line(error);
        match error {
            AcquireError::Invalid(error) => Self::usage(error),
            AcquireError::Held { .. } => {
                Self::new(HELD, format_args!("{name} is {text}; wait longer for it with --wait"))
            }
            AcquireError::QueueFull { .. } | AcquireError::Busy { .. } => {
                Self::new(HELD, format_args!("{name}: {text}"))
            }
            AcquireError::Store(error) => Self::store(name, error, ttl),
            AcquireError::TooLate { .. } => Self::new(UNAVAILABLE, format_args!("{name}: {text}")),
            _ => Self::new(SOFTWARE, format_args!("{name}: {text}")),
        }
    }

    fn store(name: &str, error: &StoreError, ttl: Duration) -> Self {
        let text = one_line(error);
        match error {
            StoreError::Denied { reason } => {
                let check = match reason.contains("protected mode") {
                    true => "give the server a password, or set protected-mode no",
                    false => "check user and password in store.url, and the rights of that user",
                };
                Self::new(DENIED, format_args!("{text}; {check}"))
            }
            StoreError::Misconfigured { .. } | StoreError::Corrupt { .. } => Self::new(CONFIG, text),
            StoreError::ModeMismatch { .. }
            | StoreError::Deadlock { .. }
            | StoreError::Unsupported { .. } => Self::new(USAGE, format_args!("{name}: {text}")),
            _ if error.certainty() == Certainty::Unknown => {
                let locked = format_args!("{name} may stay locked for {}", shown(ttl));
                Self::new(UNAVAILABLE, format_args!("{text}; nothing was run, and {locked}"))
            }
            _ => Self::new(UNAVAILABLE, format_args!("{text}; nothing was run; leasehold doctor says more")),
        }
    }

    /// The end of a command that was started.
    pub(super) fn of(name: &str, ended: &Ended) -> Self {
        let Ended { status, cause, is_foreign } = ended;
        let Some(cause) = cause else { return Self { code: status.code(), line: None } };
        let why = match cause {
            Cause::Lost(reason) => format!("the lease of {name} was lost: {reason}"),
            Cause::Unrenewed => format!("the lease of {name} could not be renewed (is the store up?)"),
            Cause::Revoked(reason) => format!("{name} was wanted back: {reason}"),
        };
        let end = if *is_foreign {
            format!("this user may not end the command, which ended by itself ({status}); {BESIDE}")
        } else {
            format!("the command was ended ({status}), its work may be half done")
        };
        Self::new(LOST, format_args!("{why}; {end}"))
    }

    /// The end of a command that ended by itself, under a lease that had been lost before that.
    pub(super) fn lost_before(name: &str, reason: LossReason, status: Status) -> Self {
        Self::new(
            LOST,
            format_args!(
                "the lease of {name} was lost before the command ended ({status}): {reason}; {BESIDE}"
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_code() {
        let denied = StoreError::Denied { reason: "WRONGPASS".to_owned() };
        let within = Duration::from_millis(500);
        for (error, expected) in [
            (AcquireError::QueueFull { waiters: 3 }, HELD),
            (AcquireError::Busy { pending: 3 }, HELD),
            (StoreError::unavailable("refused").into(), UNAVAILABLE),
            (StoreError::timed_out(within).into(), UNAVAILABLE),
            (denied.into(), DENIED),
            (StoreError::unsupported("permits", "it is a quorum").into(), USAGE),
            (AcquireError::TooLate { ttl: within }, UNAVAILABLE),
            (AcquireError::ShuttingDown, SOFTWARE),
        ] {
            let end = End::refused("r", &error, within);
            assert_eq!(end.code, expected, "{end:?}");
            assert_eq!(end.line.unwrap().lines().count(), 1);
        }
    }

    #[test]
    fn a_command_that_could_not_be_ended_is_not_said_to_have_been_ended() {
        let line = |is_foreign| {
            let cause = Some(Cause::Lost(LossReason::NotHeld));
            End::of("r", &Ended { status: Status::Exited(0), cause, is_foreign }).line.unwrap()
        };
        assert!(line(false).contains("was ended (exit code 0)"), "{}", line(false));
        let foreign = line(true);
        assert!(!foreign.contains("was ended") && foreign.contains("beside another holder"), "{foreign}");
    }

    #[test]
    fn a_store_that_may_have_granted_it_is_told_from_one_that_has_not() {
        let line =
            |error: StoreError| End::refused("r", &error.into(), Duration::from_secs(30)).line.unwrap();
        assert!(line(StoreError::timed_out(Duration::from_secs(1))).contains("r may stay locked for 30s"));
        assert!(!line(StoreError::unavailable("refused")).contains("locked"));
    }
}
