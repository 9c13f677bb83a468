//! The rights that a user lacks, found by trying each command in a way that does nothing.
//!
//! `ACL DRYRUN` would tell the same, but only since Redis 7 and only to users who may ask it. A server checks the
//! rights before it checks anything else but the number of arguments, so a command that fails for another reason is
//! allowed.

use redis::Value;

use crate::{
    runtime::env::{Random, SystemRandom},
    store::{
        StoreError,
        redis::{
            net::options::Layout,
            probe::{
                Lack, Purpose,
                exchange::{Asking, Exchange},
            },
        },
    },
};

/// A command with arguments that do nothing to a key that is not there. `KEY` and `CHANNEL` stand for ours.
type Try = (Purpose, &'static str);

use Purpose::{HandOvers, Lists, Locks, LongValues};

const BOTH: &[Try] = &[
    // No script has this digest, and this text is no script.
    (Locks, "EVALSHA ffffffffffffffffffffffffffffffffffffffff 0"),
    (Locks, "SCRIPT LOAD ("),
    (Locks, "GET KEY"),
    (Locks, "PTTL KEY"),
    (Locks, "PEXPIRE KEY 1"),
    // An expiry that is not valid.
    (Locks, "SET KEY EMPTY PX 0"),
    (Locks, "DEL KEY"),
    (LongValues, "GETRANGE KEY 0 0"),
];
const FULL: &[Try] = &[
    (Locks, "TIME"),
    (Locks, "MGET KEY"),
    // An empty text makes no key.
    (Locks, "SETRANGE KEY 0 EMPTY"),
    (Locks, "UNLINK KEY"),
    (Locks, "EXISTS KEY"),
    (Locks, "PEXPIREAT KEY 1"),
    (Locks, "HGET KEY f"),
    // A field without a value.
    (Locks, "HSET KEY f v g"),
    (Locks, "HDEL KEY f"),
    (Locks, "HLEN KEY"),
    (Locks, "HINCRBY KEY f no-number"),
    (Locks, "ZADD KEY XX 0 m"),
    (Locks, "ZREM KEY m"),
    (Locks, "ZCARD KEY"),
    (Locks, "ZCOUNT KEY 0 0"),
    (Locks, "ZSCORE KEY m"),
    (Locks, "ZRANK KEY m"),
    (Locks, "ZRANGE KEY 0 0"),
    (Locks, "ZREVRANGE KEY 0 0"),
    (Locks, "ZRANGEBYSCORE KEY 0 0"),
    (HandOvers, "PUBLISH CHANNEL EMPTY"),
    (HandOvers, "PING"),
];
const LIST: Try = (Lists, "SCAN 0 MATCH KEY COUNT 1");
const WAIT: Try = (Locks, "WAIT 0 1");
const ROLE: Try = (Locks, "ROLE");
const SLOTS: Try = (Locks, "CLUSTER SLOTS");
/// A try of `ASKING`. It is about the command after it, so it comes last.
const ASKING: Try = (Locks, "ASKING");

/// Tries everything that is needed, under a name that nobody uses.
pub(super) async fn lacks(asking: &Asking<'_>, exchange: &mut Exchange) -> Result<Vec<Lack>, StoreError> {
    let full = asking.options.layout == Layout::Full;
    let wanted: [(bool, &[Try]); 6] = [
        (true, BOTH),
        (full, FULL),
        (asking.options.replicas_ack > 0, &[WAIT]),
        (asking.sentinel, &[ROLE]),
        (true, &[LIST]),
        (asking.cluster, &[SLOTS, ASKING]),
    ];
    let tries = wanted.into_iter().filter(|(is_wanted, _)| *is_wanted).flat_map(|(_, tries)| tries);
    let mut trying = Trying::new(asking);
    trying.each(exchange, tries.copied()).await?;
    Ok(trying.lacks)
}

struct Trying {
    key: String,
    channel: String,
    /// The pattern of keys that a rule would have to allow.
    keys: String,
    channels: String,
    /// True if it is known which keys the user should have.
    own_keys: bool,
    lacks: Vec<Lack>,
}

impl Trying {
    fn new(asking: &Asking<'_>) -> Self {
        let prefix = &asking.options.prefix;
        let (of_its_own, name) = (super::prefix(prefix), SystemRandom.token().to_hex());
        Self {
            key: format!("{of_its_own}:{{{name}}}"),
            channel: format!("{of_its_own}:inbox:{name}"),
            keys: format!("~{prefix}:*"),
            channels: format!("&{prefix}:inbox:*"),
            own_keys: !prefix.is_empty(),
            lacks: Vec::new(),
        }
    }

    async fn each(
        &mut self,
        exchange: &mut Exchange,
        tries: impl Iterator<Item = Try>,
    ) -> Result<(), StoreError> {
        let tries: Vec<Try> = tries.collect();
        let mut pipeline = redis::pipe();
        for (_, command) in &tries {
            let mut words = command.split(' ');
            pipeline.cmd(words.next().unwrap_or_default());
            for word in words {
                pipeline.arg(match word {
                    "KEY" => &self.key,
                    "CHANNEL" => &self.channel,
                    "EMPTY" => "",
                    word => word,
                });
            }
        }
        let answers = exchange.send(pipeline).await?;
        for ((purpose, command), answer) in tries.into_iter().zip(answers) {
            if let Some(lack) = self.lack(purpose, command, &answer).filter(|it| !self.lacks.contains(it)) {
                self.lacks.push(lack);
            }
        }
        Ok(())
    }

    /// Returns the missing right that an answer shows, if any.
    fn lack(&self, purpose: Purpose, command: &str, answer: &Value) -> Option<Lack> {
        let Value::ServerError(error) = answer else { return None };
        let said = error.details().unwrap_or_default();
        let unknown = said.starts_with("unknown command") || said.starts_with("unknown subcommand");
        let right = match error.code() {
            // These words stand behind the name of the user, which may itself contain such a word.
            "NOPERM" if said.contains("permissions to run") => right(command),
            "NOPERM" if said.contains("channel") => self.channels.clone(),
            "NOPERM" if said.contains("key") && !self.own_keys => return None,
            "NOPERM" if said.contains("key") => self.keys.clone(),
            _ if unknown || error.code() == "NOPERM" => right(command),
            _ => return None,
        };
        // Keys are needed for everything, whichever command found that out.
        let purpose = if right == self.keys { Locks } else { purpose };
        Some(Lack { right, unknown, purpose })
    }
}

/// Returns the right to a command, as a rule names it.
fn right(command: &str) -> String {
    let mut words = command.split(' ');
    let mut right = format!("+{}", words.next().unwrap_or_default());
    if let Some(sub) = words.next().filter(|_| ["+SCRIPT", "+CLUSTER"].contains(&&*right)) {
        right = format!("{right}|{sub}");
    }
    right.to_lowercase()
}
