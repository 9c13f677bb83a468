//! The target `run_arguments`: the arguments of the command, of which errors name the argument in one line.

use std::{ffi::OsString, os::unix::ffi::OsStringExt};

use crate::secrets;

/// Reads bytes as the arguments of the command, one a line.
pub fn run_arguments(data: &[u8]) {
    // Each byte as a character, for not all of them are text.
    let text: String = data.iter().map(|byte| char::from(*byte)).collect();
    let Err(line) = understood(&secrets::planted(&text)) else { return };
    // The help was asked for.
    if line.is_empty() {
        return;
    }
    // The parser leaves out what colours a text, and what is around that may then be the password.
    let has_it_anyway = || understood(&secrets::without(&text)).is_err_and(|line| secrets::is_in(&line));
    assert!(!secrets::is_in(&line) || has_it_anyway(), "it shows a password: {line}");
    let shown = |c: char| !c.is_control();
    assert!(line.chars().all(shown), "more than one line: {line:?}");
    let (told, see) =
        line.rsplit_once("; see 'leasehold").unwrap_or_else(|| panic!("no way to the help: {line}"));
    assert!(see.ends_with("--help'"), "{line}");
    // Each argument is named as `'--ttl'` or `<NAME>`.
    assert!(told.contains('\'') || told.contains('<'), "no argument is named: {line}");
}

/// Reads arguments of which each byte is a character.
fn understood(text: &str) -> Result<(), String> {
    let bytes: Vec<u8> = text.chars().map(|c| c as u8).collect();
    let arguments: Vec<OsString> =
        bytes.split(|byte| *byte == b'\n').map(|argument| OsString::from_vec(argument.to_vec())).collect();
    leasehold_cli::understood(&arguments)
}
