//! The state of a server as it tells it in `INFO`: its incarnation and its load.

use parking_lot::Mutex;
use redis::Value;
use tokio::time::Instant;

use super::{
    call::Call,
    connection::Connection,
    info::{self, InfoTable},
};
use crate::store::{Incarnation, ServerLoad, StoreError};

/// The known incarnation of the server, with the number of the connection on which it was learnt. It is asked for once a
/// connection, because a restart breaks them all.
#[derive(Debug, Default)]
pub(crate) struct KnownIncarnation(Mutex<Option<(u64, Instant, Incarnation)>>);

impl KnownIncarnation {
    pub(crate) async fn incarnation(&self, connection: &Connection) -> Result<Incarnation, StoreError> {
        let current = connection.number().await?;
        if let Some((number, at, known)) = &*self.0.lock()
            && *number == current
        {
            return Ok(Incarnation { age: known.age + at.elapsed(), ..known.clone() });
        }
        let incarnation = ask(connection).await?;
        // Another connection may have told of another incarnation.
        if connection.number().await? == current {
            *self.0.lock() = Some((current, Instant::now(), incarnation.clone()));
        }
        Ok(incarnation)
    }
}

async fn ask(connection: &Connection) -> Result<Incarnation, StoreError> {
    let mut server = section(connection, "server").await?;
    let id = server.remove("run_id").ok_or_else(|| senseless("no run_id"))?;
    // No decision depends on it.
    let age = info::age(&server).unwrap_or_default();
    Ok(Incarnation { id, age, durable: is_durable(connection).await })
}

/// Returns true if the server syncs an append-only file at every write. A server that the user may not ask counts as one
/// that may forget.
async fn is_durable(connection: &Connection) -> bool {
    let persistence = section(connection, "persistence").await;
    if !persistence.is_ok_and(|told| info::is_append_only(&told)) {
        return false;
    }
    let config = redis::from_redis_value_ref::<InfoTable>;
    let fsync = Call::question(&["CONFIG", "GET", "appendfsync"], move |answer| {
        config(answer).is_ok_and(|told| told.contains_key("appendfsync"))
    });
    let told = connection.send(&fsync).await;
    told.is_ok_and(|told| config(&told.value).is_ok_and(|told| info::syncs_always(&told)))
}

/// Asks the server behind a connection for its load, with one question: the time of its answer is taken for the latency.
pub(crate) async fn load(connection: &Connection) -> Result<ServerLoad, StoreError> {
    let cpu = section(connection, "cpu").await?;
    info::busy(&cpu).map(ServerLoad::new).ok_or_else(|| senseless("no processor time"))
}

async fn section(connection: &Connection, name: &'static str) -> Result<InfoTable, StoreError> {
    let question = Call::question(&["INFO", name], move |answer| is_titled(answer, name));
    let told = connection.send(&question).await?.value;
    let text = redis::from_redis_value::<String>(told);
    text.map(|text| info::table(&text)).map_err(|_| senseless("no text"))
}

/// Returns true if an answer to `INFO` is about this section, also if it is not all in UTF-8.
fn is_titled(answer: &Value, section: &str) -> bool {
    let text = match answer {
        Value::BulkString(text) => &text[..],
        Value::VerbatimString { text, .. } => text.as_bytes(),
        _ => return false,
    };
    let title = text.strip_prefix(b"# ").and_then(|text| text.get(..section.len()));
    title.is_some_and(|title| title.eq_ignore_ascii_case(section.as_bytes()))
}

fn senseless(what: &str) -> StoreError {
    StoreError::unavailable(format!("the answer to INFO has {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_title_whatever_else_it_has() {
        let answer = |text: &[u8]| Value::BulkString(text.to_vec());
        assert!(is_titled(&answer(b"# Server\r\nexecutable:/\xe9\r\n"), "server"));
        assert!(!is_titled(&answer(b"# Server\r\n"), "cpu"));
        assert!(!is_titled(&answer(b"# CP"), "cpu"));
        assert!(!is_titled(&Value::Nil, "cpu"));
    }
}
