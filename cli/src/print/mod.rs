//! The output of commands: lines that are safe on a terminal, tables for people, and JSON for programs.

mod table;
mod time;

use std::io::{self, IsTerminal, Write};

use leasehold_console::view::{printable, printable_json};
use serde::Serialize;

pub(crate) use self::{
    table::{Column, Row, Table, Tone},
    time::span,
};
use crate::Failure;

/// A value of a kind, as JSON.
#[derive(Serialize)]
pub(crate) struct OfKind<T> {
    kind: &'static str,
    #[serde(flatten)]
    pub(crate) value: T,
}

/// Gives a value its kind.
pub(crate) const fn of_kind<T>(kind: &'static str, value: T) -> OfKind<T> {
    OfKind { kind, value }
}

/// Prints a line of text, without anything that a terminal takes for a command.
///
/// # Errors
/// A broken pipe, where nobody reads the output any more.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{}", printable(text))?)
}

/// Prints lines of text in the same way.
///
/// # Errors
/// A broken pipe, where nobody reads the output any more.
pub(crate) fn lines(text: &str) -> Result<(), Failure> {
    text.lines().try_for_each(line)
}

/// Returns a number with what is counted, which is named by its singular.
pub(crate) fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Prints a note beside the output, on the standard error.
pub(crate) fn note(text: &str) {
    // There is nobody else to tell.
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// A broken pipe, where nobody reads the output any more.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value)?;
    Ok(writeln!(io::stdout(), "{}", printable_json(&line))?)
}

/// Prints a value as lines of JSON.
///
/// # Errors
/// A broken pipe, where nobody reads the output any more.
pub(crate) fn pretty_json(value: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)?;
    text.lines().try_for_each(|line| Ok(writeln!(io::stdout(), "{}", printable_json(line))?))
}

/// Returns true if the output may have colours: it is a terminal that has them, and nobody has turned them off.
pub(crate) fn has_colours() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}
