//! Arguments that are not understood: one line that says which, and the exit code of the command.

use std::{env, process};

use clap::error::{Error, ErrorKind};

use super::{exit::USAGE, voice::Voice};
use crate::FAILED;

/// Ends the process because of its arguments: with an error in one line, or with the help that was asked for.
pub(crate) fn refuse<T>(error: Error) -> T {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        error.exit();
    }
    let text = error.render().to_string();
    let is_run = env::args_os().nth(1).is_some_and(|command| command == "run");
    let of = if is_run { " run" } else { "" };
    Voice::new(false).say(format_args!("{}; see leasehold{of} --help", in_one_line(&text)));
    process::exit((if is_run { USAGE } else { FAILED }).into())
}

/// Joins what was found wrong, without the usage that follows.
fn in_one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let found =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    let joined = found.collect::<Vec<_>>().join(" ");
    joined.strip_prefix("error: ").unwrap_or(&joined).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_one_line() {
        for (text, expected) in [
            (
                "error: unexpected argument '--x' found\n\n  tip: a\n\nUsage: a\n\nFor more",
                "unexpected argument '--x' found tip: a",
            ),
            (
                "error: invalid value 'x' for '--ttl <TIME>': no\n\nFor more information, try '--help'.\n",
                "invalid value 'x' for '--ttl <TIME>': no",
            ),
        ] {
            assert_eq!(in_one_line(text), expected);
        }
    }
}
