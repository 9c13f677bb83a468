//! Garbage in the keys of a resource: values of each type, and pieces of those that belong there.

use redis::Cmd;

use super::Shape;
use crate::input::Input;

/// The ends of the keys of a resource: those that matter where it has several holders, those of its queue, its register, its capacity,
/// the numbers of its permits, and its main key at the end, which may be spared.
const KEYS: [&str; 10] = [":h", ":d", ":o", ":q", ":w", ":p", ":r", ":c", ":n", ""];

/// The tokens of the verbs, and another one.
const TOKENS: [&str; 4] = [
    "00000070000000000000000000000007",
    "00000080000000000000000000000008",
    "00000090000000000000000000000009",
    "ffffffffffffffffffffffffffffffff",
];

/// Pieces of values.
const PIECES: [&str; 40] = [
    "-",
    "+",
    "~",
    "!",
    "*s",
    "*x7",
    "*p3",
    "*p3/2",
    "*p0",
    "*p99999999999999999999",
    "*x",
    "*p3/",
    " ",
    "/",
    ":",
    "?",
    "7 x 1 0/1000  {}",
    "7 s 1 0/1000 a {}",
    "7 p 1/3 0/1000  {}",
    "7 p 9/3 !0/5 a {}",
    "7 x 1 99999999999999/1  {}",
    "00001795824000000 x 1 0/60000  {}",
    "x 1 0/1000  {}",
    "7 x 1 0/1000  [",
    "1 0 leasehold:inbox:a 1000 60000 0 x 1 0/1  {}",
    "0 0 0 0",
    "9 9 9 9",
    "1 1",
    "used",
    "oa",
    "pa",
    "c3",
    "c2",
    "revision",
    "value",
    "0",
    "-1",
    "99999999999999999999",
    "nan",
    "a",
];

const SCORES: [&str; 9] =
    ["0", "-1", "1", "inf", "-inf", "1795824000000", "9999999999999", "1e300", "9007199254740993"];

/// Returns a command that writes garbage into the keys of a resource or one of the others, and leaves the main key as it is if it
/// `spares` that.
pub(super) fn command(input: &Input<'_>, shape: &Shape, spares: bool) -> Cmd {
    let behind = KEYS[input.below(KEYS.len() - usize::from(spares))];
    // A resource of the plain layout has its main key alone.
    let behind = if shape.is_plain && !spares { "" } else { behind };
    let key = if input.once_in(12) {
        input.one_of(&shape.others).to_owned()
    } else {
        format!("{}{behind}", shape.main)
    };
    let mut command = Cmd::new();
    match input.below(12) {
        0 => command.arg("SET").arg(key).arg(text(input)),
        1 | 2 => command.arg("HSET").arg(key).arg(text(input)).arg(text(input)),
        3 => (0..=input.below(3)).fold(command.arg("ZADD").arg(key), |command, _| {
            command.arg(input.one_of(&SCORES)).arg(text(input))
        }),
        4 => command.arg("RPUSH").arg(key).arg(text(input)),
        5 => command.arg("SADD").arg(key).arg(text(input)),
        6 => command.arg("XADD").arg(key).arg("*").arg("field").arg(text(input)),
        7 => command.arg("DEL").arg(key),
        8 => command.arg("PEXPIRE").arg(key).arg(input.one_of(&["5000", "1", "9999999999999"])),
        9 => command.arg("PERSIST").arg(key),
        10 => command.arg("SETRANGE").arg(key).arg(input.one_of(&[0, 33, 40, 3])).arg(text(input)),
        _ => command.arg("SET").arg(key).arg("x".repeat(100_000)),
    };
    command
}

/// Returns a text of a few pieces.
fn text(input: &Input<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..=input.below(4) {
        match input.below(8) {
            0..=2 => text.extend(input.one_of(&TOKENS).bytes()),
            3 => text.extend(input.bytes(12)),
            _ => text.extend(input.one_of(&PIECES).bytes()),
        }
    }
    text
}
