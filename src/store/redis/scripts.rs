//! Each Lua script as a typed call: keys and arguments in the order in which the script's header names them.

use std::{
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{
    Cmd, ErrorKind, Pipeline, RedisResult, Script, ServerErrorKind, ToRedisArgs, Value,
    aio::MultiplexedConnection,
};

use super::{
    connection::Request,
    keys::Keys,
    record::{self, millis},
};
use crate::{
    protocol::{Owner, Token},
    store::{Acquisition, Hold, Inbox, Place},
};

macro_rules! script {
    ($name:ident, $file:literal) => {
        static $name: LazyLock<Script> = LazyLock::new(|| Script::new(&whole(include_str!($file))));
    };
}

/// A script as it is sent: with the parts that it shares where it includes them, and without comments.
fn whole(verb: &str) -> String {
    let parts = [
        ("-- include fence.lua\n", include_str!("lua/fence.lua")),
        ("-- include holders.lua\n", include_str!("lua/holders.lua")),
        ("-- include admission.lua\n", include_str!("lua/admission.lua")),
        ("-- include queue.lua\n", include_str!("lua/queue.lua")),
    ];
    let text = parts.iter().fold(verb.to_owned(), |text, (place, part)| text.replace(place, part));
    let lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with("--"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

script!(ACQUIRE, "lua/acquire.lua");
script!(RENEW, "lua/renew.lua");
script!(RELEASE, "lua/release.lua");
script!(IS_HELD, "lua/is_held.lua");
script!(INSPECT, "lua/inspect.lua");
script!(FORCE_RELEASE, "lua/force_release.lua");

/// Loads all scripts. Sent on every new connection: a call that is executed after its caller gave up can then not fail
/// for want of its script, which for a release would leave the lock behind.
pub(super) fn loading() -> Pipeline {
    let mut pipeline = redis::pipe();
    for script in [&ACQUIRE, &RENEW, &RELEASE, &IS_HELD, &INSPECT, &FORCE_RELEASE] {
        pipeline.load_script(script).ignore();
    }
    pipeline
}

/// One call of a script.
pub(super) struct Call {
    script: &'static Script,
    command: Cmd,
    echo: String,
}

impl Call {
    fn new(script: &'static Script, keys: &[&str]) -> Self {
        // Unlike a token this number is never used twice, so even the answer to an earlier verb of the same lease is
        // told from the answer to this one.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let echo = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        let mut command = redis::cmd("EVALSHA");
        command.arg(script.get_hash()).arg(keys.len()).arg(keys).arg(&echo);
        Self { script, command, echo }
    }

    fn arg(mut self, arg: impl ToRedisArgs) -> Self {
        self.command.arg(arg);
        self
    }
}

impl Request for Call {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        let answer = self.command.query_async(connection).await;
        match answer {
            // Somebody emptied the server's cache. It has executed nothing.
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.script.load_async(connection).await?;
                self.command.query_async(connection).await
            }
            answer => answer,
        }
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        let Value::Array(values) = answer else {
            return false;
        };
        matches!(values.first(), Some(Value::BulkString(echo)) if echo == self.echo.as_bytes())
    }
}

/// `channel` is where the hand-over to an acquisition with a place is announced.
pub(super) fn acquire(
    keys: &Keys,
    asked: &Acquisition,
    fence_retention: Duration,
    channel: impl FnOnce(&Inbox) -> String,
) -> Call {
    let Acquisition { hold, mode, reentrant, ttl, lock_delay, metadata: _, place } = asked;
    let call = on_all(&ACQUIRE, keys)
        .arg(millis(fence_retention))
        .arg(hold.token.to_hex())
        .arg(record::letter(*mode))
        .arg(u8::from(*reentrant))
        .arg(record::permits(*mode))
        .arg(record::capacity(*mode).map(|of| of.to_string()).unwrap_or_default())
        .arg(positive_millis(*ttl))
        .arg(millis(*lock_delay))
        .arg(encoded(hold.owner.as_ref()))
        .arg(record::asked(asked));
    let Some(Place { inbox, patience, grant_window, max_waiters }) = place else {
        return call;
    };
    call.arg(channel(inbox))
        .arg(positive_millis(*patience))
        .arg(positive_millis(*grant_window))
        .arg(*max_waiters)
}

pub(super) fn renew(keys: &Keys, hold: &Hold, ttl: Duration) -> Call {
    on_holders(&RENEW, keys).arg(hold.token.to_hex()).arg(positive_millis(ttl))
}

pub(super) fn release(keys: &Keys, hold: &Hold, fence_retention: Duration, closed_for: Duration) -> Call {
    on_all(&RELEASE, keys)
        .arg(millis(fence_retention))
        .arg(hold.token.to_hex())
        .arg(encoded(hold.owner.as_ref()))
        .arg(millis(closed_for))
}

pub(super) fn is_held(keys: &Keys, token: Token) -> Call {
    on_holders(&IS_HELD, keys).arg(token.to_hex())
}

pub(super) fn inspect(keys: &Keys, limit: usize) -> Call {
    // More than this would not fit into one answer anyway.
    const MOST: usize = 100_000;
    on_all(&INSPECT, keys).arg(limit.min(MOST))
}

pub(super) fn force_release(keys: &Keys, fence_retention: Duration) -> Call {
    on_all(&FORCE_RELEASE, keys).arg(millis(fence_retention))
}

fn on_all(script: &'static Script, keys: &Keys) -> Call {
    let Keys { main, ends, records, counts, fence, queue, waiters, places } = keys;
    Call::new(script, &[main, ends, records, counts, fence, queue, waiters, places])
}

/// For what does not look at the queue.
fn on_holders(script: &'static Script, keys: &Keys) -> Call {
    Call::new(script, &[&keys.main, &keys.ends, &keys.records, &keys.counts])
}

fn encoded(owner: Option<&Owner>) -> String {
    owner.map(Owner::encoded).unwrap_or_default()
}

/// A server takes an expiry of zero for a deletion.
fn positive_millis(ttl: Duration) -> u64 {
    millis(ttl).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ResourceName;

    fn answer(first: &str) -> Value {
        Value::Array(vec![Value::BulkString(first.into()), Value::BulkString("yes".into())])
    }

    #[test]
    fn scripts_may_be_sent_by_who_has_not_said_the_password_yet() {
        // To more than this a server does not answer that it wants a password: it closes the connection.
        const MOST: usize = 16_384;
        for verb in [include_str!("lua/acquire.lua"), include_str!("lua/release.lua")] {
            let script = whole(verb);
            assert!(script.len() < MOST, "{}", script.len());
            assert!(!script.contains("-- ") && !script.contains("include"), "{script}");
        }
    }

    #[test]
    fn only_the_answer_that_carries_its_own_echo_answers_a_call() {
        let keys = Keys::of("p", &ResourceName::new("r").unwrap());
        let token = Token::from_bits(1);
        let (earlier, call) = (is_held(&keys, token), is_held(&keys, token));
        assert!(call.is_answered_by(&answer(&call.echo)));
        for wrong in
            [answer(&earlier.echo), answer(&token.to_hex()), Value::Array(vec![]), Value::Nil, Value::Okay]
        {
            assert!(!call.is_answered_by(&wrong), "{wrong:?}");
        }
    }
}
