//! The question whether a connection that was idle is still there, before something is sent on it.
//!
//! A request on a connection that has ended may have been executed, for all that the client library says. So the end is looked
//! for first. A firewall or a proxy that forgot a connection does not end it; it is asked, and answers nothing.

use std::time::Duration;

use futures_util::FutureExt;
use redis::aio::MultiplexedConnection;
use tokio::{task::yield_now, time::timeout};

/// The time without an answer after which it is looked whether the connection has ended. That takes no round trip.
pub(super) const LOOKED_AT: Duration = Duration::from_millis(1);

/// The time without an answer after which the server is asked. Firewalls forget a connection after minutes.
const ASKED: Duration = Duration::from_secs(5);

/// Returns true if a connection that was `idle` for so long is there. A server that does not answer `within` this time is not.
pub(super) async fn is_there(
    mut connection: MultiplexedConnection,
    idle: Duration,
    within: Duration,
) -> bool {
    // The runtime looks at the socket, and then the driver of the connection has its turn, in which it sees the end.
    for _ in 0..2 {
        yield_now().await;
    }
    let ping = redis::cmd("PING");
    let answer = connection.send_packed_command(&ping);
    if idle < ASKED {
        // The driver takes no request any more if it has ended, and does not send one that nobody waits for.
        return !matches!(answer.now_or_never(), Some(Err(error)) if error.is_io_error());
    }
    // A refusal is an answer as well.
    timeout(within, answer).await.is_ok_and(|answer| !answer.is_err_and(|error| error.is_io_error()))
}
