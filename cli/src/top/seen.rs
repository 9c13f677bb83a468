//! What a look at the store has found, as plain values: what [`sample`](super::sample) reports and
//! [`state`](super::state) remembers.

use std::{collections::BTreeMap, time::Duration};

use leasehold::{Mode, ResourceName, TokenPrefix};

use crate::print::readable;

/// One resource at one moment.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) resource: ResourceName,
    /// Those that hold it or keep it closed: as many as were asked for, the first to end before the others.
    pub(super) holders: Vec<Hold>,
    /// The number of all of them.
    pub(super) total: u64,
    /// The number of all waiters.
    pub(super) waiting: u64,
    /// As many waiters as were asked for, in the order of the queue.
    pub(super) waiters: Vec<Wait>,
}

/// A holder.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) token: TokenPrefix,
    pub(super) mode: Mode,
    /// True if it holds no more, and only keeps the resource closed.
    pub(super) closed: bool,
    pub(super) fence: Option<u64>,
    /// The time until its end.
    pub(super) left: Duration,
    /// The time since its grant, where the store knows it.
    pub(super) held: Option<Duration>,
    pub(super) who: Who,
}

/// A waiter.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub(super) token: TokenPrefix,
    pub(super) mode: Mode,
    /// The time since it joined the queue, where the store knows it.
    pub(super) waited: Option<Duration>,
    pub(super) who: Who,
}

/// Who holds or waits, as it says of itself. Everything is fit for a terminal: one line, without control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Who {
    /// Host and process, `?` for what is not told.
    pub(super) process: String,
    pub(super) purpose: Option<String>,
    pub(super) owner: Option<String>,
    /// All other metadata, `key=value`, separated by blanks.
    pub(super) more: String,
}

impl Who {
    /// Reads the metadata that a holder or a waiter has supplied.
    pub(super) fn new(owner: Option<&str>, metadata: &BTreeMap<String, String>) -> Self {
        let of = |key: &str| metadata.get(key).map(|value| printable(value));
        let process = match (of("host"), of("pid")) {
            (None, None) => "?".to_owned(),
            (host, pid) => {
                let told = |part: Option<String>| part.unwrap_or_else(|| "?".to_owned());
                format!("{}/{}", told(host), told(pid))
            }
        };
        let others = metadata.iter().filter(|(key, _)| !["host", "pid", "purpose"].contains(&key.as_str()));
        let more: Vec<_> =
            others.map(|(key, value)| format!("{}={}", printable(key), printable(value))).collect();
        Self { process, purpose: of("purpose"), owner: owner.map(printable), more: more.join(" ") }
    }

    /// Returns the process, and behind it the purpose and the owner if they are told.
    pub(super) fn in_short(&self) -> String {
        let purpose = self.purpose.iter().map(|purpose| format!(" {purpose}"));
        let owner = self.owner.iter().map(|owner| format!(" owner {owner}"));
        std::iter::once(self.process.clone()).chain(purpose).chain(owner).collect()
    }
}

/// Returns a text of somebody else so that it cannot command the terminal. Whoever holds a lock chooses its metadata.
fn printable(text: &str) -> String {
    readable(text).into_owned()
}

/// Names that a walk over the keys has found.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub(super) names: Vec<ResourceName>,
    /// False if there are more, which were not returned.
    pub(super) complete: bool,
    /// The number of keys that the walk looked at.
    pub(super) walked: u64,
}

/// The reason why a look shows nothing.
#[derive(Clone, Debug)]
pub(super) enum Missing {
    /// The store gave no answer.
    Answer(String),
    /// The record of this one resource cannot be read.
    Record(String),
}

/// An answer of the store, or the reason why there is none.
#[derive(Clone, Debug)]
pub(super) enum Report {
    /// The resources that somebody waits for.
    Contended(Result<Walk, String>),
    /// The resources that are not free.
    Names(Result<Walk, String>),
    /// The resources that were asked about. The last error, if some of them gave none.
    Looks(Vec<Look>, Option<Missing>),
    /// The work of the server. `None` if this kind of store cannot tell it.
    Server(Result<Option<Duration>, String>),
    /// The end of a revoke.
    Revoked(ResourceName, Result<String, String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(metadata: &[(&str, &str)]) -> Who {
        let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Who::new(Some("o\u{1b}[2J"), &metadata.iter().map(own).collect())
    }

    #[test]
    fn metadata_cannot_command_the_terminal() {
        let who = who(&[("host", "a\u{9b}31m"), ("purpose", "x\r\ny\u{202e}z"), ("k\u{7}", "v\n")]);
        assert_eq!(who.in_short(), "a\\u{9b}31m/? x\\r\\ny\\u{202e}z owner o\\u{1b}[2J");
        assert_eq!(who.more, "k\\u{7}=v\\n");
    }

    #[test]
    fn a_process_that_says_nothing_is_a_question_mark() {
        assert_eq!(who(&[]).process, "?");
        assert_eq!(who(&[("pid", "7")]).process, "?/7");
    }
}
