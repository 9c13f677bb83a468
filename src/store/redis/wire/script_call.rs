//! One call of a script, and the way it is sent.

use std::sync::atomic::{AtomicU64, Ordering};

use redis::{
    Cmd, ErrorKind, RedisError, RedisResult, Script, ServerErrorKind, ToRedisArgs, Value,
    aio::MultiplexedConnection,
};

use crate::{
    core::{Owner, Token},
    store::redis::net::connection::Request,
};

/// One call of a script.
pub(crate) struct ScriptCall {
    script: &'static Script,
    command: Cmd,
    echo: String,
    /// The slot of all its keys, on a cluster.
    slot: Option<u16>,
    /// A scratch buffer for building arguments.
    text: String,
}

impl Request for ScriptCall {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        let answer = self.command.query_async(connection).await;
        match answer {
            Err(error) => {
                self.load_if_missing(error, connection).await?;
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

    fn slot(&self) -> Option<u16> {
        self.slot
    }

    async fn send_asking(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        // Both in one pipeline: `ASKING` counts only for the command that follows it.
        let mut both = redis::pipe();
        both.cmd("ASKING").ignore().add_command(self.command.clone()).ignore_errors();
        let [answer]: [Value; 1] = both.query_async(connection).await?;
        // The error of a pipeline would not tell all that the server said.
        answer.extract_error()
    }
}

impl ScriptCall {
    /// Creates a call without keys and arguments, with room for this many requests. Their keys are in this slot of a
    /// cluster.
    pub(crate) fn new(script: &'static Script, slot: Option<u16>, requests: usize) -> Self {
        // Unlike a token, this number is never used twice. So even the answer to an earlier verb of the same lease is
        // told from the answer to this one.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut call = Self {
            script,
            command: Cmd::with_capacity(6 + 5 * requests, 128 + 256 * requests),
            echo: NEXT.fetch_add(1, Ordering::Relaxed).to_string(),
            slot,
            text: String::new(),
        };
        call.arg("EVALSHA").arg(script.get_hash());
        call
    }

    /// Ends the keys and begins the arguments with the echo, which the answer repeats.
    pub(crate) fn echo(&mut self) {
        self.command.arg(&self.echo);
    }

    pub(crate) const fn command(&self) -> &Cmd {
        &self.command
    }

    /// Loads the script again if this error says that somebody emptied the server's cache: then nothing was executed,
    /// and the call can be sent once more. Returns any other error.
    pub(crate) async fn load_if_missing(
        &self,
        error: RedisError,
        connection: &mut MultiplexedConnection,
    ) -> RedisResult<()> {
        if error.kind() != ErrorKind::Server(ServerErrorKind::NoScript) {
            return Err(error);
        }
        self.script.load_async(connection).await?;
        Ok(())
    }

    pub(crate) fn arg(&mut self, arg: impl ToRedisArgs) -> &mut Self {
        self.command.arg(arg);
        self
    }

    pub(crate) fn texted(&mut self, put_together: impl FnOnce(&mut String)) -> &mut Self {
        self.text.clear();
        put_together(&mut self.text);
        self.command.arg(&self.text);
        self
    }

    pub(crate) fn token(&mut self, token: Token, behind: &str) -> &mut Self {
        self.texted(|text| {
            text.push_str(&token.to_hex());
            text.push_str(behind);
        })
    }

    pub(crate) fn owner(&mut self, owner: Option<&Owner>) -> &mut Self {
        match owner {
            Some(owner) => self.arg(owner.encoded()),
            None => self.arg(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        core::ResourceName,
        store::{
            Hold,
            redis::{Layout, wire::encoder::Encoder},
        },
    };

    fn answer(first: &str) -> Value {
        Value::Array(vec![Value::BulkString(first.into()), Value::BulkString("yes".into())])
    }

    #[test]
    fn only_the_answer_that_carries_its_own_echo_answers_a_call() {
        let hold =
            Hold { resource: ResourceName::new("r").unwrap(), token: Token::from_bits(1), owner: None };
        let encoder = Encoder::new(Layout::Full, "p".to_owned(), Duration::from_secs(1));
        let (earlier, call) = (encoder.is_held(&hold), encoder.is_held(&hold));
        assert!(call.is_answered_by(&answer(&call.echo)));
        for wrong in [
            answer(&earlier.echo),
            answer(&hold.token.to_hex()),
            Value::Array(vec![]),
            Value::Nil,
            Value::Okay,
        ] {
            assert!(!call.is_answered_by(&wrong), "{wrong:?}");
        }
    }
}
