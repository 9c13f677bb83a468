//! The values of answers: those of a server with a few of them changed, and any others.

use std::cell::RefCell;

use super::words::{ANSWERS, ERRORS, INFO, WORDS};
use crate::input::Input;

/// The source of values.
pub(super) struct Values<'a> {
    input: &'a Input<'a>,
    pub(super) port: u16,
    /// All numbers that were sent and may be fences.
    pub(super) said: RefCell<Vec<u64>>,
}

pub(super) fn array(text: &mut Vec<u8>, length: usize) {
    text.extend(format!("*{length}\r\n").into_bytes());
}

pub(super) fn bulk(text: &mut Vec<u8>, bytes: &[u8]) {
    text.extend(format!("${}\r\n", bytes.len()).into_bytes());
    text.extend(bytes);
    text.extend(b"\r\n");
}

pub(super) fn int(text: &mut Vec<u8>, number: i64) {
    text.extend(format!(":{number}\r\n").into_bytes());
}

pub(super) fn simple(text: &mut Vec<u8>, word: &str) {
    text.extend(format!("+{word}\r\n").into_bytes());
}

impl<'a> Values<'a> {
    pub(super) fn new(input: &'a Input<'a>, port: u16) -> Self {
        Self { input, port, said: RefCell::default() }
    }

    /// Writes any value.
    pub(super) fn any(&self, text: &mut Vec<u8>, depth: usize) {
        match self.input.below(if depth == 0 { 6 } else { 8 }) {
            0 => self.word(text, self.input.one_of(&WORDS)),
            1 => self.number(text, self.input.number()),
            2 => bulk(text, &self.input.bytes(24)),
            3 => text.extend(b"$-1\r\n"),
            4 => simple(text, "OK"),
            5 => self.error(text),
            _ => {
                let length = self.input.below(6);
                array(text, length);
                (0..length).for_each(|_| self.any(text, depth - 1));
            }
        }
    }

    /// Writes one of the answers of scripts, mostly of this one.
    pub(super) fn of_script(&self, script: &str, text: &mut Vec<u8>) {
        let says = |answer: &&&[&str]| script.contains(&format!("'{}'", answer[0]));
        let own: Vec<_> = ANSWERS.iter().filter(says).copied().collect();
        match self.input.below(8) {
            0..=2 if !own.is_empty() => self.list(text, self.input.one_of(&own)),
            0..=3 => self.list(text, self.input.one_of(&ANSWERS)),
            4 | 5 => self.number(text, self.input.one_of(&[1, 0, 7, 1_795_824_000_000_000, -1])),
            6 => self.any(text, 2),
            _ => bulk(text, b"run 1 7"),
        }
    }

    /// Writes a number, mostly a small one.
    pub(super) fn count(&self, text: &mut Vec<u8>) {
        match self.input.below(8) {
            7 => self.any(text, 1),
            _ => self.number(text, self.input.one_of(&[0, 1, 2, i64::MAX])),
        }
    }

    /// Writes the time of a server, and how it has recovered.
    pub(super) fn clock(&self, text: &mut Vec<u8>) {
        self.number(text, self.input.one_of(&[1_795_824_000_000_000, 0, -1, i64::MAX]));
        bulk(text, self.input.one_of(&["", "run 1 7", "run 0 99999999999999999999", "run"]).as_bytes());
    }

    pub(super) fn error(&self, text: &mut Vec<u8>) {
        let error = self.input.one_of(&ERRORS).replace("PORT", &self.port.to_string());
        text.extend(format!("-{error}\r\n").into_bytes());
    }

    /// Writes a list, in which a field may be another one, missing or too much.
    pub(super) fn list(&self, text: &mut Vec<u8>, fields: &[&str]) {
        let odd = self.input.below(3 * fields.len());
        let length = match self.input.below(8) {
            6 => fields.len() - 1,
            7 => fields.len() + 1,
            _ => fields.len(),
        };
        array(text, length);
        for at in 0..length {
            match fields.get(at) {
                Some(field) if at + 1 != odd => self.word(text, field),
                _ => self.any(text, 1),
            }
        }
    }

    fn word(&self, text: &mut Vec<u8>, word: &str) {
        // A time of a grant has the fence behind it, if any.
        let fence = if word.len() > 17 && word.starts_with('0') { &word[17..] } else { word };
        self.said.borrow_mut().extend(fence.parse::<u64>().ok());
        match word.parse() {
            Ok(number) if self.input.once_in(2) => int(text, number),
            _ => bulk(text, word.as_bytes()),
        }
    }

    fn number(&self, text: &mut Vec<u8>, number: i64) {
        self.said.borrow_mut().extend(u64::try_from(number).ok());
        int(text, number);
    }

    pub(super) fn scanned(&self, text: &mut Vec<u8>) {
        array(text, 2);
        bulk(text, self.input.one_of(&["0", "7", "x", "18446744073709551616"]).as_bytes());
        let keys = [
            "leasehold:{r}",
            "leasehold:{%}",
            "leasehold:{r}:q",
            "leasehold:{}",
            "r",
            "leasehold:{r}:r",
            "\u{fffd}",
        ];
        let length = self.input.below(4);
        array(text, length);
        (0..length).for_each(|_| bulk(text, self.input.one_of(&keys).as_bytes()));
    }

    pub(super) fn role(&self, text: &mut Vec<u8>) {
        self.list(text, if self.input.once_in(4) { &["slave", "127.0.0.1", "1"] } else { &["master", "7"] });
    }

    /// Returns this section of what a server tells of itself, or nearly.
    pub(super) fn info(&self, section: &str) -> String {
        let lines = (0..self.input.below(8)).map(|_| self.input.one_of(&INFO));
        format!("# {section}\r\nrun_id:abc\r\n{}", lines.collect::<String>())
    }

    /// Writes an address of this server, or of none: no other host is ever named.
    fn address(&self, text: &mut Vec<u8>) {
        match self.input.below(8) {
            5 => text.extend(b"$-1\r\n"),
            6 => bulk(text, b"?"),
            7 => bulk(text, b""),
            _ => bulk(text, b"127.0.0.1"),
        }
    }

    fn own_port(&self) -> i64 {
        self.input.one_of(&[i64::from(self.port), i64::from(self.port), i64::from(self.port), -1, 65_536])
    }

    pub(super) fn slots(&self, text: &mut Vec<u8>) {
        let ranges = 1 + self.input.below(3);
        array(text, ranges);
        for _ in 0..ranges {
            array(text, 3);
            int(text, self.input.one_of(&[0, 0, 5_000, -1, 16_384]));
            int(text, self.input.one_of(&[16_383, 16_383, 4_999, 16_384, i64::MAX]));
            array(text, 3);
            self.address(text);
            int(text, self.own_port());
            bulk(text, b"id");
        }
    }

    pub(super) fn sentinel(&self, words: &[String], text: &mut Vec<u8>) {
        if words.get(1).is_some_and(|word| word == "GET-MASTER-ADDR-BY-NAME") {
            array(text, 2);
            bulk(text, b"127.0.0.1");
            return bulk(text, self.own_port().to_string().as_bytes());
        }
        let port = self.port.to_string();
        let fields =
            ["name", "locks", "ip", "127.0.0.1", "port", &port, "config-epoch", "7", "flags", "master"];
        array(text, fields.len());
        fields.iter().for_each(|field| bulk(text, field.as_bytes()));
    }

    /// Writes what a server tells unasked: mostly that keys have changed, that everything has, or anything else.
    pub(super) fn pushed(&self, text: &mut Vec<u8>) {
        const KEYS: [&str; 5] =
            ["leasehold:{r}", "leasehold:{%7Bs%7D}", "leasehold:{r}:h", "leasehold:{", ""];
        match self.input.below(8) {
            6 => {
                let length = self.input.below(4);
                text.extend(format!(">{length}\r\n").into_bytes());
                return (0..length).for_each(|_| self.any(text, 2));
            }
            7 => text.extend(b">3\r\n$7\r\nmessage\r\n+a\r\n"),
            _ => text.extend(b">2\r\n$10\r\ninvalidate\r\n"),
        }
        match self.input.below(8) {
            5 => text.extend(b"_\r\n"),
            6 => text.extend(b"*-1\r\n"),
            7 => self.any(text, 2),
            _ => {
                let length = self.input.below(4);
                array(text, length);
                for _ in 0..length {
                    match self.input.below(8) {
                        7 => self.any(text, 1),
                        _ => bulk(text, self.input.one_of(&KEYS).as_bytes()),
                    }
                }
            }
        }
    }

    /// Confirms channels, and sends messages at once.
    pub(super) fn subscribed(&self, command: &[Vec<u8>], text: &mut Vec<u8>) {
        for (channel, number) in command[1..].iter().zip(1..) {
            array(text, 3);
            bulk(text, b"subscribe");
            bulk(text, channel);
            int(text, number);
        }
        let token = "00000070000000000000000000000007";
        for _ in 0..self.input.below(5) {
            array(text, 3);
            bulk(text, b"message");
            bulk(text, &command[command.len() - 1]);
            match self.input.below(6) {
                0 => bulk(text, token.as_bytes()),
                1 => bulk(text, format!("?{token}").as_bytes()),
                2 => {
                    bulk(text, format!("revoke {token},{token} {token} 18446744073709551615 why").as_bytes())
                }
                3 => bulk(text, format!("taken {token}").as_bytes()),
                4 => bulk(text, &self.input.bytes(60)),
                _ => self.any(text, 2),
            }
        }
    }
}
