//! A transaction of plain commands, and which answers are its own.

use std::sync::atomic::{AtomicU64, Ordering};

use redis::{Cmd, ErrorKind, Pipeline, RedisResult, Value, aio::MultiplexedConnection};

/// The commands between `MULTI` and `EXEC`. A last one echoes a number that is never used twice, by which the answer is known.
pub(crate) struct Transaction {
    commands: Pipeline,
    echo: u64,
}

impl Transaction {
    pub(crate) fn new(commands: impl IntoIterator<Item = Cmd, IntoIter: ExactSizeIterator>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (commands, echo) = (commands.into_iter(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut pipeline = Pipeline::with_capacity(commands.len() + 3);
        // Not by `atomic`: with that, the client library miscounts if `MULTI` itself is refused.
        pipeline.cmd("MULTI");
        for command in commands {
            pipeline.add_command(command);
        }
        pipeline.cmd("ECHO").arg(echo).cmd("EXEC");
        Self { commands: pipeline, echo }
    }

    /// Sends it. Returns the answers to its commands and the echo, of which some may be errors, or the answer to `EXEC` if it is
    /// an error.
    pub(crate) async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Vec<Value>> {
        // `MULTI` and each command are answered before `EXEC` is.
        let before = self.commands.len() - 1;
        let mut answers = connection.send_packed_commands(&self.commands, before, 1).await?;
        match answers.pop() {
            Some(Value::Array(answers)) => Ok(answers),
            Some(Value::ServerError(error)) => Err(error.into()),
            _ => Err((ErrorKind::UnexpectedReturnType, "not the answer of a transaction").into()),
        }
    }

    /// Returns the answers without the echo; `None` if they are those of another call.
    pub(crate) fn own(&self, mut answers: Vec<Value>) -> Option<Vec<Value>> {
        let echo = answers.pop()?;
        let is_own = answers.len() + 3 == self.commands.len()
            && matches!(echo, Value::BulkString(echo) if echo == self.echo.to_string().as_bytes());
        is_own.then_some(answers)
    }
}
