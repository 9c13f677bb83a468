//! The values of answers: those of a server with a few of them changed, and any others.

use std::cell::RefCell;

use crate::input::Input;

/// The words of answers and records.
const WORDS: [&str; 44] = [
    "granted",
    "refused",
    "queued",
    "full",
    "deadlock",
    "mismatch",
    "corrupt",
    "error",
    "still_held",
    "not_held",
    "yes",
    "no",
    "opened",
    "notified",
    "register",
    "read",
    "written",
    "changed",
    "early",
    "report",
    "taught",
    "holders",
    "holding",
    "closed",
    "x",
    "s",
    "p",
    "1",
    "1/3",
    "0/5",
    "",
    "0",
    "7",
    "-1",
    "a",
    "{}",
    "00000007",
    "00000070000000000000000000000007",
    "7 x 1 0/1000  {}",
    "00001795824000000 x 1 0/60000 a {}",
    "7 p 1/3 !5/9 a {\"host\":\"h\"}",
    "99999999999999999999 x 1 0/0  {}",
    "18446744073709551615",
    "0 x 1 0  []",
];

/// Whole answers of scripts.
const ANSWERS: [&[&str]; 17] = [
    &["granted", "7", "1"],
    &["granted", "", "1"],
    &["granted", "00001795824000000", "2"],
    &["refused", "00000007", "holding", "5", "5", "7 x 1 0/1000  {}"],
    &["refused", "00000007", "closed", "-5", "9", "7 s 1 0/1000 a {}"],
    &["queued", "0", "00000007", "holding", "5", "5", "7 x 1 0/1000  {}"],
    &["full", "10"],
    &["deadlock", "x", "1"],
    &["mismatch", "p", "1/3"],
    &["corrupt", "a value that is no lock"],
    &["error", "@user_script: 5: -READONLY You can't write"],
    &["not_held", "1"],
    &[
        "holders",
        "1",
        "1",
        "1795824000000000",
        "1",
        "00000007",
        "holding",
        "5",
        "7 x 1 0/1  {}",
        "00000008",
        "8",
        " s 1 0/5  {}",
    ],
    &["notified", "1", "00000070000000000000000000000007"],
    &["register", "written", "1795824000000000", "00000070000000000000000000000007", "a value"],
    &["report", "7", "1795824000000000", "run 1 7"],
    &["still_held", "2"],
];

const ERRORS: [&str; 16] = [
    "ERR no",
    "NOSCRIPT No matching script",
    "MOVED 5 127.0.0.1:PORT",
    "ASK 5 127.0.0.1:PORT",
    "MOVED x",
    "TRYAGAIN",
    "CLUSTERDOWN",
    "LOADING",
    "READONLY",
    "OOM command not allowed",
    "NOPERM no permissions to run",
    "WRONGTYPE",
    "MASTERDOWN",
    "BUSY",
    "NOAUTH",
    "NOREPLICAS",
];

/// Roughly the answer of a server about itself.
const INFO: [&str; 12] = [
    "run_id:abc\r\n",
    "uptime_in_seconds:9\r\n",
    "uptime_in_seconds:18446744073709551615\r\n",
    "aof_enabled:1\r\n",
    "role:master\r\n",
    "redis_version:7.2.4\r\n",
    "used_cpu_user_main_thread:1e300\r\n",
    "used_cpu_sys_main_thread:-1\r\n",
    "used_cpu_user:2.5\r\n",
    "# Server\r\n",
    ":\r\n",
    "maxmemory:-1\r\n",
];

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

    /// Writes one of the answers of a script.
    pub(super) fn of_script(&self, text: &mut Vec<u8>) {
        match self.input.below(8) {
            0..=3 => self.list(text, self.input.one_of(&ANSWERS)),
            4 | 5 => self.number(text, self.input.one_of(&[1, 0, 7, 1_795_824_000_000_000, -1])),
            6 => self.any(text, 2),
            _ => self.list(text, &["yes"]),
        }
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
