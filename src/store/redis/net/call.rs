//! One call: a command for a server, how it is sent, and which answers are its own.

use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{
    Arg, Cmd, ErrorKind, RedisError, RedisResult, RedisWrite, Script, ServerErrorKind, ToRedisArgs, Value,
    aio::MultiplexedConnection,
};

use super::{errors, server::is_refusal};
use crate::{
    core::{Owner, Token},
    store::StoreError,
};

pub(crate) struct Call {
    command: Cmd,
    answers: OwnAnswers,
    /// The slot of all its keys, on a cluster; `None` for a call that any node can answer.
    pub(crate) slot: Option<u16>,
    /// True if it must not be executed twice.
    pub(crate) once: bool,
    /// The number of replicas that must confirm it, and the time that they have.
    confirmation: Option<(u32, Duration)>,
}

/// The answers that are to a call, and not to another one.
enum OwnAnswers {
    /// Those of a script: they begin with the argument at this index, which no other call has.
    Echo(&'static Script, usize),
    /// Those of a command that has no place for such a mark.
    Like(Box<dyn Fn(&Value) -> bool + Send + Sync>),
}

pub(crate) struct CallAnswer {
    pub(crate) value: Value,
    /// True if an earlier try of the same call was sent and lost: it may have been executed.
    pub(crate) repeated: bool,
    /// The reason why the work of the master does not count.
    pub(crate) shortfall: Option<Shortfall>,
    /// The number of the connection that it was sent on, to one server.
    pub(crate) connection: u64,
}

/// A confirmation by fewer replicas than required.
pub(crate) struct Shortfall {
    wanted: u32,
    reached: u32,
    /// The error that the server gave instead of a number.
    refused: Option<Arc<RedisError>>,
}

/// The failure of a try, as far as it decides where and when the next try goes.
pub(crate) enum TryFailure {
    /// The connection is gone; whether the call was executed is open.
    Gone(StoreError),
    /// There was no connection. Nothing was sent.
    Unreachable(StoreError),
    /// The server did not execute it, and names the node that would, as `host:port`; if `asked`, only this once.
    Elsewhere {
        node: String,
        asked: bool,
        error: StoreError,
    },
    /// The server did not execute it, and a try in a moment may succeed.
    TryLater(StoreError),
    /// The server did not execute it for this user.
    Refused(StoreError, RedisError),
    Other(StoreError),
}

impl Call {
    /// Creates a call of a script that is to get this many keys, which are in this slot of a cluster.
    pub(crate) fn of_script(script: &'static Script, slot: Option<u16>, keys: usize) -> Self {
        let mut command = Cmd::with_capacity(9 + 5 * keys, 96 + 192 * keys);
        command.arg("EVALSHA").arg(script.get_hash()).arg(keys);
        let answers = OwnAnswers::Echo(script, command.args_iter().len() + keys);
        Self { command, answers, slot, once: false, confirmation: None }
    }

    /// Creates a question that changes nothing. It knows its answers by `like`.
    pub(crate) fn question(words: &[&str], like: impl Fn(&Value) -> bool + Send + Sync + 'static) -> Self {
        let (mut command, answers) = (Cmd::new(), OwnAnswers::Like(Box::new(like)));
        command.arg(words);
        Self { command, answers, slot: None, once: false, confirmation: None }
    }

    /// Ends the keys and begins the arguments with the echo, which the answer repeats.
    pub(crate) fn echo(&mut self) {
        // Unlike a token, this number is never used twice. So even the answer to an earlier verb of the same lease is
        // told from the answer to this one.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.command.arg(NEXT.fetch_add(1, Ordering::Relaxed));
    }

    pub(crate) fn arg(&mut self, arg: impl ToRedisArgs) -> &mut Self {
        self.command.arg(arg);
        self
    }

    /// Returns the same call with one argument more.
    pub(crate) fn with(mut self, arg: impl ToRedisArgs) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds an argument of these parts, one behind the other. To format it would take several times as long.
    pub(crate) fn parts<const N: usize>(&mut self, parts: [&[u8]; N]) -> &mut Self {
        let mut arg = self.command.writer_for_next_arg();
        // It writes to memory, which takes all of it.
        parts.into_iter().for_each(|part| drop(arg.write_all(part)));
        drop(arg);
        self
    }

    pub(crate) fn token(&mut self, token: Token, behind: &str) -> &mut Self {
        self.parts([&token.digits(), behind.as_bytes()])
    }

    pub(crate) fn owner(&mut self, owner: Option<&Owner>) -> &mut Self {
        match owner {
            None => self.parts([]),
            Some(owner) => self.arg(owner.encoded()),
        }
    }

    /// Makes this many replicas confirm it `within` this time.
    pub(crate) fn confirmed_by(self, replicas: u32, within: Duration) -> Self {
        Self { confirmation: Some((replicas, within)), ..self }
    }

    /// Sends it and waits for the answer. With `asking` it goes to a node that is still receiving its slot.
    pub(crate) async fn send(
        &self,
        connection: &mut MultiplexedConnection,
        asking: bool,
    ) -> RedisResult<Value> {
        let answer = self.send_command(connection, asking).await;
        match (&answer, &self.answers) {
            // Somebody emptied the server's cache of scripts: nothing was executed.
            (Err(error), OwnAnswers::Echo(script, _))
                if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) =>
            {
                Box::pin(Cmd::load_script(script).exec_async(connection)).await?;
                Box::pin(self.send_command(connection, asking)).await
            }
            _ => answer,
        }
    }

    async fn send_command(&self, connection: &mut MultiplexedConnection, asking: bool) -> RedisResult<Value> {
        if !asking && self.confirmation.is_none() {
            // Like `query_async`, but without a box for the future.
            return connection.send_packed_command(&self.command).await?.extract_error();
        }
        Box::pin(self.send_pipeline(connection, asking)).await
    }

    /// Sends it with `ASKING` in front of it, or with the question for confirmations behind it.
    async fn send_pipeline(&self, connection: &mut MultiplexedConnection, asks: bool) -> RedisResult<Value> {
        // All in one pipeline: `ASKING` counts only for the command that follows it. The error of a pipeline would not
        // tell all that the server said, and a failure of `WAIT` does not change that the call was executed.
        let mut pipeline = redis::pipe();
        if asks {
            pipeline.cmd("ASKING").ignore();
        }
        pipeline.add_command(self.command.clone()).ignore_errors();
        if let Some((replicas, within)) = self.confirmation {
            let millis = within.as_nanos().div_ceil(1_000_000) as u64;
            pipeline.cmd("WAIT").arg(replicas).arg(millis.max(1));
        }
        let mut answers: Vec<Value> = pipeline.query_async(connection).await?;
        match (answers.first(), self.confirmation) {
            (Some(Value::ServerError(error)), _) => Err(error.clone().into()),
            (_, Some(_)) => Ok(Value::Array(answers)),
            (_, None) => Ok(answers.pop().unwrap_or(Value::Nil)),
        }
    }

    pub(crate) fn is_answered_by(&self, answer: &Value) -> bool {
        let answer = match (answer, self.confirmation) {
            (answer, None) => answer,
            (Value::Array(both), Some(_)) if both.len() == 2 => &both[0],
            _ => return false,
        };
        match (&self.answers, answer) {
            (OwnAnswers::Like(like), answer) => like(answer),
            (OwnAnswers::Echo(_, at), Value::Array(values)) => match values.first() {
                Some(Value::BulkString(echo)) => self.command.args_iter().nth(*at) == Some(Arg::Simple(echo)),
                _ => false,
            },
            _ => false,
        }
    }

    /// Splits what a server answered on this connection into the answer and the missing confirmations.
    pub(crate) fn answer(&self, mut value: Value, connection: u64) -> CallAnswer {
        let mut shortfall = None;
        if let (Some((wanted, _)), Value::Array(both)) = (self.confirmation, &mut value) {
            let (reached, refused) = match both.pop() {
                Some(Value::Int(reached)) => (u32::try_from(reached).unwrap_or(0), None),
                Some(Value::ServerError(error)) => (0, Some(Arc::new(error.into()))),
                _ => (0, None),
            };
            shortfall = (reached < wanted).then_some(Shortfall { wanted, reached, refused });
            value = both.pop().unwrap_or(Value::Nil);
        }
        CallAnswer { value, repeated: false, shortfall, connection }
    }

    #[cfg(test)]
    pub(crate) fn args(&self) -> impl Iterator<Item = String> {
        self.command.args_iter().map(|arg| match arg {
            Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => panic!("a cursor"),
        })
    }
}

impl Shortfall {
    /// Returns the error of a call that was executed by the master, and perhaps `undone` since. A missing right to ask
    /// replicas is no shortfall: no later try would do better.
    pub(crate) fn error(&self, undone: bool) -> StoreError {
        let &Self { wanted, reached, ref refused } = self;
        if let Some(refused) = refused.as_deref().filter(|_| undone)
            && let denied @ StoreError::Denied { .. } = errors::after_sending(refused.clone())
        {
            return denied;
        }
        let source = refused.clone().map(|refused| refused as _);
        StoreError::Unacknowledged { wanted, reached, undone, source }
    }
}

impl TryFailure {
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Self::Elsewhere { error, .. }
            | Self::Gone(error)
            | Self::Unreachable(error)
            | Self::TryLater(error)
            | Self::Refused(error, _)
            | Self::Other(error) => error,
        }
    }

    pub(super) fn of(error: RedisError, address: &str) -> Self {
        let told = errors::at(address, errors::after_sending(error.clone()));
        match error.redirect_node() {
            _ if error.is_io_error() => Self::Gone(told),
            Some((node, _)) => {
                let asked = error.code() == Some("ASK");
                Self::Elsewhere { node: node.to_owned(), asked, error: told }
            }
            None if errors::is_worth_a_moment(&error) => Self::TryLater(told),
            None if is_refusal(&error) => Self::Refused(told, error),
            None => Self::Other(told),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    #[test]
    fn only_the_answer_that_carries_its_own_echo_answers_a_call() {
        static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new("return ARGV"));
        let text = |text: &[u8]| Value::BulkString(text.into());
        let call = || {
            let mut call = Call::of_script(&SCRIPT, None, 1);
            call.arg("key").echo();
            call
        };
        let (earlier, call) = (call(), call());
        // Behind the command, the script, the number of keys and the key.
        let echo = |call: &Call| {
            let echo = call.args().nth(4).unwrap();
            Value::Array(vec![text(echo.as_bytes()), text(b"yes")])
        };
        assert!(call.is_answered_by(&echo(&call)));
        let of_another = Value::Array(vec![text(Token::from_bits(1).to_hex().as_bytes()), text(b"yes")]);
        for wrong in [echo(&earlier), of_another, Value::Array(vec![]), Value::Nil, Value::Okay] {
            assert!(!call.is_answered_by(&wrong), "{wrong:?}");
        }
        let both = Value::Array(vec![echo(&call), Value::Int(1)]);
        assert!(!call.is_answered_by(&both));
        assert!(call.confirmed_by(1, Duration::ZERO).is_answered_by(&both));
    }
}
