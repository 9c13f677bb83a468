//! A transaction of plain commands, and which answers are its own.

use std::sync::atomic::{AtomicU64, Ordering};

use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisResult, Value, aio::MultiplexedConnection};

/// The commands between `MULTI` and `EXEC`. A last one echoes a number that is never used twice, by which the answer is known.
pub(crate) struct Transaction {
    commands: Pipeline,
    echo: u64,
}

impl Transaction {
    pub(crate) fn new(commands: impl IntoIterator<Item = Cmd, IntoIter: ExactSizeIterator>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (commands, echo) = (commands.into_iter(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut pipeline = Pipeline::with_capacity(commands.len() + 1);
        pipeline.atomic();
        commands.for_each(|command| drop(pipeline.add_command(command)));
        pipeline.cmd("ECHO").arg(echo);
        Self { commands: pipeline, echo }
    }

    /// Sends it. Returns the answers to its commands and the echo, of which some may be errors, or the error for which the server
    /// executed none.
    pub(crate) async fn send(&self, connection: &mut MultiplexedConnection) -> RedisResult<Vec<Value>> {
        // `MULTI` and each command are answered before `EXEC` is.
        let before = self.commands.len() + 1;
        let mut answers = connection.send_packed_commands(&self.commands, before, 1).await?;
        match answers.pop() {
            Some(Value::Array(answers)) => Ok(answers),
            Some(Value::ServerError(error)) => Err(error.into()),
            _ => Err(RedisError::from((ErrorKind::UnexpectedReturnType, "not the answer of a transaction"))),
        }
    }

    /// Takes the echo out of the answers. Returns false if they are those of another call.
    pub(crate) fn is_answered_by(&self, answers: &mut Vec<Value>) -> bool {
        let echo = answers.pop();
        answers.len() + 1 == self.commands.len()
            && matches!(echo, Some(Value::BulkString(echo)) if echo == self.echo.to_string().as_bytes())
    }
}

/// Returns true if a server, or a proxy in front of it, takes no such transaction: no later one would be taken either.
pub(crate) fn is_not_taken(error: &RedisError) -> bool {
    let not_taken = |code: &str| matches!(code, "NOPERM" | "ERR");
    match error.clone().into_server_errors() {
        Some(errors) => errors.iter().any(|(_, error)| not_taken(error.code())),
        None => error.code().is_some_and(not_taken),
    }
}
