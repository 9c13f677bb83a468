//! A transaction of plain commands, and which answers are its own.

use std::sync::atomic::{AtomicU64, Ordering};

use redis::{Cmd, Pipeline, RedisResult, ServerError, Value, aio::MultiplexedConnection};

/// The commands between `MULTI` and `EXEC`. A last one echoes a number that is never used twice, by which the answer is known.
pub(crate) struct Transaction {
    commands: Pipeline,
    echo: u64,
}

/// The answer to a transaction.
pub(crate) enum TransactionAnswer {
    /// It was executed, with these answers to its commands, of which some may be errors.
    Executed(Vec<Value>),
    /// Nothing of it was executed, for this reason.
    Aborted(ServerError),
    /// The server, or a proxy in front of it, takes no transactions. It may have executed any of the commands.
    NotTaken(ServerError),
    /// These are the answers to something else.
    OfAnother,
}

impl Transaction {
    pub(crate) fn new(commands: impl IntoIterator<Item = Cmd, IntoIter: ExactSizeIterator>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (commands, echo) = (commands.into_iter(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut pipeline = Pipeline::with_capacity(commands.len() + 3);
        // Not by `atomic`: what the server says of `MULTI` itself decides, and the client library would not tell.
        pipeline.cmd("MULTI");
        for command in commands {
            pipeline.add_command(command);
        }
        pipeline.cmd("ECHO").arg(echo).cmd("EXEC");
        Self { commands: pipeline, echo }
    }

    pub(crate) async fn send(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> RedisResult<TransactionAnswer> {
        let answers = connection.send_packed_commands(&self.commands, 0, self.commands.len()).await?;
        Ok(self.judge(answers))
    }

    /// Judges the answers to all commands, `MULTI` and `EXEC` included.
    fn judge(&self, mut answers: Vec<Value>) -> TransactionAnswer {
        let executed = answers.pop();
        let is_refused = |answer: &Value| matches!(answer, Value::ServerError(_));
        let refused = answers.iter().position(is_refused);
        let error = refused.map(|at| answers.swap_remove(at)).or(executed.clone().filter(is_refused));
        match (executed, error) {
            (Some(Value::ServerError(executed)), Some(Value::ServerError(error))) => {
                let is_aborted = executed.code() == "EXECABORT" && refused != Some(0);
                let answer =
                    if is_aborted { TransactionAnswer::Aborted } else { TransactionAnswer::NotTaken };
                answer(error)
            }
            (Some(Value::Array(answers)), None) => self.own(answers),
            _ => TransactionAnswer::OfAnother,
        }
    }

    /// Returns the answers without the echo.
    fn own(&self, mut answers: Vec<Value>) -> TransactionAnswer {
        let echo = answers.pop();
        let is_own = answers.len() + 3 == self.commands.len()
            && matches!(echo, Some(Value::BulkString(echo)) if echo == self.echo.to_string().as_bytes());
        if is_own { TransactionAnswer::Executed(answers) } else { TransactionAnswer::OfAnother }
    }
}

/// Returns true if the error is about the right to a command, or a command that there is not, which the next transaction would
/// lack too.
pub(crate) fn is_lasting(error: &ServerError) -> bool {
    let said = error.details().unwrap_or_default();
    error.code() == "NOPERM" || said.contains("NOPERM") || said.starts_with("unknown command")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges the answers to a transaction with one command, whose echo is 7.
    fn judged(answers: &[&str]) -> &'static str {
        let transaction = Transaction { echo: 7, ..Transaction::new([redis::cmd("SET")]) };
        let answers = answers
            .iter()
            .map(|answer| redis::parse_redis_value(format!("{answer}\r\n").as_bytes()).unwrap());
        match transaction.judge(answers.collect()) {
            TransactionAnswer::Executed(answers) if answers == [Value::Okay] => "executed",
            TransactionAnswer::Executed(answers) => panic!("{answers:?}"),
            TransactionAnswer::Aborted(error) if is_lasting(&error) => "aborted each time",
            TransactionAnswer::Aborted(_) => "aborted",
            TransactionAnswer::NotTaken(_) => "not taken",
            TransactionAnswer::OfAnother => "of another",
        }
    }

    #[test]
    fn what_the_server_says_of_each_command_decides() {
        let (ok, queued, denied) = ("+OK", "+QUEUED", "-NOPERM this user has no permissions to run it");
        let aborted = "-EXECABORT Transaction discarded because of: ";
        let (for_now, for_good) = (format!("{aborted}LOADING"), format!("{aborted}NOPERM no permissions"));
        for (answers, expected) in [
            ([ok, queued, queued, "*2\r\n+OK\r\n$1\r\n7"], "executed"),
            ([ok, queued, queued, "*2\r\n+OK\r\n$1\r\n8"], "of another"),
            ([ok, queued, queued, "*1\r\n$1\r\n7"], "of another"),
            ([ok, "-OOM command not allowed", queued, aborted], "aborted"),
            ([ok, denied, queued, aborted], "aborted each time"),
            ([ok, queued, "-ERR unknown command 'ECHO'", aborted], "aborted each time"),
            ([ok, queued, queued, &for_good], "aborted each time"),
            ([ok, queued, queued, &for_now], "aborted"),
            ([ok, queued, queued, "-ERR unknown command 'EXEC'"], "not taken"),
            ([denied, ok, "$1\r\n7", "-ERR EXEC without MULTI"], "not taken"),
            ([denied, ok, "$1\r\n7", &for_good], "not taken"),
        ] {
            assert_eq!(judged(&answers), expected, "{answers:?}");
        }
    }
}
