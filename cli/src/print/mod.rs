//! The output of commands: lines that are safe on a terminal, tables for people, and JSON for programs.

mod table;
mod time;

use std::{
    borrow::Cow,
    io::{self, IsTerminal, Write},
};

use serde::Serialize;

pub(crate) use self::{
    table::{Column, Row, Table, Tone},
    time::{seconds, seconds_if_known, span, stamp},
};
use crate::Failure;

/// Prints a line of text, without anything that a terminal takes for a command.
///
/// # Errors
/// A broken pipe, where nobody reads the output any more.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{}", readable(text))?)
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
    let _ = writeln!(io::stderr(), "{}", readable(text));
}

/// Prints a value as one line of JSON.
///
/// # Errors
/// A broken pipe, where nobody reads the output any more.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(value)?;
    Ok(writeln!(io::stdout(), "{}", escaped_json(&line))?)
}

/// Prints a value as lines of JSON.
///
/// # Errors
/// A broken pipe, where nobody reads the output any more.
pub(crate) fn pretty_json(value: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)?;
    text.lines().try_for_each(|line| Ok(writeln!(io::stdout(), "{}", escaped_json(line))?))
}

/// Returns true if the output may have colours: it is a terminal that has them, and nobody has turned them off.
pub(crate) fn has_colours() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Returns the text with an escape in place of each character that a terminal obeys or that cannot be seen: control
/// characters, marks of the direction of writing, and others without a shape.
pub(crate) fn readable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_shown) {
        return text.into();
    }
    let escape = |c: char| if is_shown(c) { c.to_string() } else { c.escape_debug().to_string() };
    text.chars().map(escape).collect::<String>().into()
}

/// Returns the same JSON, with escapes in place of what a terminal obeys. It stands in texts alone.
fn escaped_json(json: &str) -> Cow<'_, str> {
    if json.chars().all(is_shown) {
        return json.into();
    }
    let escape = |c: char| -> String {
        if is_shown(c) {
            return c.to_string();
        }
        c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    json.chars().map(escape).collect::<String>().into()
}

/// Returns true if a terminal shows the character as one. Which others there are, the standard library knows for `Debug`; it
/// escapes quotes and the backslash besides, which are harmless.
fn is_shown(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\') || c.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_the_rest_is_left() {
        for (text, expected) in [
            ("it's a \"köln\" \\ ☃", "it's a \"köln\" \\ ☃"),
            ("\u{1b}[2Jx", "\\u{1b}[2Jx"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
        ] {
            assert_eq!(readable(text), expected);
        }
    }

    #[test]
    fn json_is_the_same_value_without_what_a_terminal_obeys() {
        let text = "\u{1b}[2J \u{9b}31m \u{7f} \u{202e} köln \u{e0001} \"";
        let json = serde_json::to_string(text).unwrap();
        let escaped = escaped_json(&json);
        assert!(escaped.chars().all(is_shown) && escaped.contains("köln"), "{escaped}");
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
    }
}
