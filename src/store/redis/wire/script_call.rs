//! One call of a script, and the way it is sent.

use std::{
    fmt::Display,
    sync::atomic::{AtomicU64, Ordering},
};

use redis::{
    Arg, Cmd, ErrorKind, RedisError, RedisResult, RedisWrite, Script, ServerErrorKind, ToRedisArgs, Value,
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
    /// The index of the echo among the arguments of the command.
    echo: usize,
    /// The slot of all its keys, on a cluster.
    slot: Option<u16>,
}

impl Request for ScriptCall {
    async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        let answer = self.send_command(connection).await;
        match answer {
            Err(error) => {
                self.load_if_missing(error, connection).await?;
                self.send_command(connection).await
            }
            answer => answer,
        }
    }

    fn is_answered_by(&self, answer: &Value) -> bool {
        let Value::Array(values) = answer else {
            return false;
        };
        let Some(Value::BulkString(echo)) = values.first() else {
            return false;
        };
        self.command.args_iter().nth(self.echo) == Some(Arg::Simple(echo))
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
    /// Creates a call that is to get this many keys, which are in this slot of a cluster.
    pub(crate) fn new(script: &'static Script, slot: Option<u16>, keys: usize) -> Self {
        let mut command = Cmd::with_capacity(9 + 5 * keys, 96 + 192 * keys);
        command.arg("EVALSHA").arg(script.get_hash()).arg(keys);
        let echo = command.args_iter().len() + keys;
        Self { script, command, echo, slot }
    }

    /// Ends the keys and begins the arguments with the echo, which the answer repeats.
    pub(crate) fn echo(&mut self) {
        // Unlike a token, this number is never used twice. So even the answer to an earlier verb of the same lease is
        // told from the answer to this one.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.command.arg(NEXT.fetch_add(1, Ordering::Relaxed));
    }

    pub(crate) const fn command(&self) -> &Cmd {
        &self.command
    }

    /// Sends the command like `query_async`, but without a box for the future.
    async fn send_command(&self, connection: &mut MultiplexedConnection) -> RedisResult<Value> {
        connection.send_packed_command(&self.command).await?.extract_error()
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

    pub(crate) fn text(&mut self, arg: impl Display) -> &mut Self {
        self.command.write_arg_fmt(arg);
        self
    }

    pub(crate) fn token(&mut self, token: Token, behind: &str) -> &mut Self {
        self.text(format_args!("{}{behind}", token.hex()))
    }

    pub(crate) fn owner(&mut self, owner: Option<&Owner>) -> &mut Self {
        self.arg(owner.map_or_else(String::new, Owner::encoded))
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

    fn answer(first: &[u8]) -> Value {
        Value::Array(vec![Value::BulkString(first.into()), Value::BulkString("yes".into())])
    }

    #[test]
    fn only_the_answer_that_carries_its_own_echo_answers_a_call() {
        let hold =
            Hold { resource: ResourceName::new("r").unwrap(), token: Token::from_bits(1), owner: None };
        let encoder = Encoder::new(Layout::Full, "p".to_owned(), Duration::from_secs(1));
        let (earlier, call) = (encoder.is_held(&hold), encoder.is_held(&hold));
        // Behind the command, the script, the number of keys, the resource and the counter.
        let echo = |call: &ScriptCall| match call.command.args_iter().nth(5) {
            Some(Arg::Simple(echo)) => answer(echo),
            _ => panic!("no echo"),
        };
        assert!(call.is_answered_by(&echo(&call)));
        for wrong in [
            echo(&earlier),
            answer(hold.token.to_hex().as_bytes()),
            Value::Array(vec![]),
            Value::Nil,
            Value::Okay,
        ] {
            assert!(!call.is_answered_by(&wrong), "{wrong:?}");
        }
    }
}
