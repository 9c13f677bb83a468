//! The target `run_arguments`: the arguments of the command, of which errors name the argument in one line.

use std::{ffi::OsString, os::unix::ffi::OsStringExt};

use crate::secrets;

/// Reads bytes as the arguments of the command, one a line.
pub fn run_arguments(data: &[u8]) {
    let text = std::str::from_utf8(data).map(|text| secrets::planted(text).into_bytes());
    let data = text.unwrap_or_else(|_| data.to_vec());
    let arguments: Vec<OsString> =
        data.split(|byte| *byte == b'\n').map(|argument| OsString::from_vec(argument.to_vec())).collect();
    let Err(line) = leasehold_cli::understood(&arguments) else { return };
    // The help was asked for.
    if line.is_empty() {
        return;
    }
    secrets::are_kept(&line);
    let shown = |c: char| !c.is_control();
    assert!(line.chars().all(shown), "more than one line: {line:?}");
    let (told, see) =
        line.rsplit_once("; see 'leasehold").unwrap_or_else(|| panic!("no way to the help: {line}"));
    assert!(see.ends_with("--help'"), "{line}");
    // Each argument is named as `'--ttl'` or `<NAME>`.
    assert!(told.contains('\'') || told.contains('<'), "no argument is named: {line}");
}
