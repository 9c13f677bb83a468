//! The rights that a user lacks, found by trying each command in a way that does nothing.
//!
//! `ACL DRYRUN` would tell the same, but only since Redis 7 and only to users who may ask it. A server checks the
//! rights before it checks anything else but the number of arguments, so a command that fails for another reason is
//! allowed.

use leasehold::{
    Layout, StoreError,
    env::{Random, SystemRandom},
    probe::Exchange,
};
use redis::Value;

use super::{
    questions::Probing,
    snapshot::{MissingRight, Purpose},
};

/// A command with arguments that do nothing to a key that is not there. `KEY` and `CHANNEL` stand for ours.
type Try = (Purpose, &'static str);

use Purpose::{HandOvers, Lists, Locks, LongValues, PlainCommands};

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
const THIN: &[Try] = &[(PlainCommands, "INCRBY KEY no-number")];

/// Returns a prefix for the probe alone, below the usual one. No application uses it, and a user who has the rights to
/// the keys and channels of `prefix` has them to this one too.
pub fn prefix(prefix: &str) -> String {
    let before = if prefix.is_empty() { "leasehold" } else { prefix };
    format!("{before}:inbox:doctor")
}

/// Tries everything that is needed, under a name that nobody uses.
pub(super) async fn lacks(
    asking: &Probing<'_>,
    exchange: &mut Exchange,
) -> Result<Vec<MissingRight>, StoreError> {
    let options = asking.options;
    let wanted: [(bool, &[Try]); 7] = [
        (true, BOTH),
        (options.layout == Layout::Full, FULL),
        (options.replicas_ack > 0, &[(Locks, "WAIT 0 1")]),
        (asking.sentinel, &[(Locks, "ROLE")]),
        (true, &[(Lists, "SCAN 0 MATCH KEY COUNT 1")]),
        (options.layout == Layout::Full && options.replicas_ack == 0 && !asking.cluster, THIN),
        // `ASKING` is about the command after it, so it comes last.
        (asking.cluster, &[(Locks, "CLUSTER SLOTS"), (Locks, "ASKING")]),
    ];
    let tries = wanted.into_iter().filter(|(is_wanted, _)| *is_wanted).flat_map(|(_, tries)| tries);
    let (of_its_own, name) = (prefix(&options.prefix), SystemRandom.token().to_hex());
    let (key, channel) = (format!("{of_its_own}:{{{name}}}"), format!("{of_its_own}:inbox:{name}"));
    let mut pipeline = redis::pipe();
    for (_, command) in tries.clone() {
        let words = command.split(' ').map(|word| match word {
            "KEY" => &key,
            "CHANNEL" => &channel,
            "EMPTY" => "",
            word => word,
        });
        let mut command = redis::Cmd::new();
        command.arg(words.collect::<Vec<_>>());
        pipeline.add_command(command);
    }
    let answers = exchange.send(pipeline).await?;
    let mut lacks = Vec::new();
    for ((purpose, command), answer) in tries.zip(answers) {
        let lack = lack(&options.prefix, *purpose, command, &answer);
        lacks.extend(lack.filter(|lack| !lacks.contains(lack)));
    }
    Ok(lacks)
}

/// Returns the missing right that an answer shows, if any.
fn lack(prefix: &str, purpose: Purpose, command: &str, answer: &Value) -> Option<MissingRight> {
    let Value::ServerError(error) = answer else { return None };
    let said = error.details().unwrap_or_default();
    let unknown = said.starts_with("unknown command") || said.starts_with("unknown subcommand");
    // These words stand behind the name of the user, which may itself contain such a word.
    let (right, purpose) = match error.code() {
        "NOPERM" if said.contains("permissions to run") => (right(command), purpose),
        "NOPERM" if said.contains("channel") => (format!("&{prefix}:inbox:*"), purpose),
        // It is not known which keys the user should have.
        "NOPERM" if said.contains("key") && prefix.is_empty() => return None,
        // Keys are needed for everything, whichever command found that out.
        "NOPERM" if said.contains("key") => (format!("~{prefix}:*"), Locks),
        _ if unknown || error.code() == "NOPERM" => (right(command), purpose),
        _ => return None,
    };
    Some(MissingRight { right, unknown, purpose })
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
