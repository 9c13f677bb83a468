//! Plain commands that are sent together, and whether answers are theirs.

use std::sync::atomic::{AtomicU64, Ordering};

use redis::{Cmd, Pipeline, RedisResult, Value, aio::MultiplexedConnection};

/// Commands of one round trip. The last one echoes a number that is never used twice, by which their answers are known. Others may
/// be served between them.
pub(crate) struct Together {
    commands: Pipeline,
    echo: u64,
}

impl Together {
    pub(crate) fn new(mut commands: Pipeline) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let echo = NEXT.fetch_add(1, Ordering::Relaxed);
        begin(&mut commands, "ECHO", 32).arg(echo);
        Self { commands, echo }
    }

    /// Sends the commands. Returns their answers, of which some may be errors; `None` if these are the answers to something else.
    pub(crate) async fn send(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> RedisResult<Option<Vec<Value>>> {
        let answers = connection.send_packed_commands(&self.commands, 0, self.commands.len()).await?;
        Ok(self.own(answers))
    }

    /// Returns the answers without the echo. A user may lack the right to it: then the first is taken for an error as well.
    fn own(&self, mut answers: Vec<Value>) -> Option<Vec<Value>> {
        let is_own = match answers.pop()? {
            Value::BulkString(echo) => echo == self.echo.to_string().as_bytes(),
            error @ Value::ServerError(_) => {
                *answers.first_mut()? = error;
                true
            }
            _ => false,
        };
        (is_own && answers.len() + 1 == self.commands.len()).then_some(answers)
    }
}

/// Adds a command with room for about so many bytes of arguments: to grow bit by bit takes longer than all else.
pub(crate) fn begin<'a>(commands: &'a mut Pipeline, name: &str, bytes: usize) -> &'a mut Pipeline {
    let mut command = Cmd::with_capacity(6, name.len() + bytes);
    command.arg(name);
    commands.add_command(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_echo_tells_whose_answers_these_are() {
        let sent = Together { echo: 7, ..Together::new(redis::pipe().cmd("SET").clone()) };
        let answer = |text: &&str| redis::parse_redis_value(format!("{text}\r\n").as_bytes()).unwrap();
        let own = |answers: &[&str]| sent.own(answers.iter().map(answer).collect());
        assert_eq!(own(&["+OK", "$1\r\n7"]), Some(vec![Value::Okay]));
        for of_another in
            [&["+OK", "$1\r\n8"][..], &["$1\r\n7"], &["+OK", "+OK", "$1\r\n7"], &["+OK", "+OK"], &[]]
        {
            assert_eq!(own(of_another), None, "{of_another:?}");
        }
        let denied = own(&[":1", "-NOPERM this user has no permissions to run the 'echo' command"]);
        assert!(matches!(denied.as_deref(), Some([Value::ServerError(_)])), "{denied:?}");
    }
}
