//! The detection of a port that does not speak TLS.
//!
//! Redis takes the first message of TLS for the beginning of a command and waits for the rest. So nothing is said until
//! the time to connect is over, and that looks like a server that stalls. To tell them apart, the server is asked
//! without TLS too.

use std::{future, time::Duration};

use redis::{Client, ConnectionAddr, ConnectionInfo};
use tokio::time::sleep;

use crate::store::redis::net::dial::dial;

/// The time within which a handshake is not doubted.
const UNDOUBTED: Duration = Duration::from_millis(200);

/// Completes only if the server that this connects to over TLS answers without it. Only a `PING` is sent, and no password.
pub(crate) async fn answers(info: &ConnectionInfo) {
    if let ConnectionAddr::TcpTls { host, port, .. } = info.addr() {
        sleep(UNDOUBTED).await;
        if answers_ping(host, *port).await {
            return;
        }
    }
    future::pending().await
}

async fn answers_ping(host: &str, port: u16) -> bool {
    let Ok(client) = Client::open((host, port)) else { return false };
    let Ok(mut connection) = dial(&client).await else { return false };
    match redis::cmd("PING").exec_async(&mut connection).await {
        Ok(()) => true,
        // Whatever the server says, it says it without TLS.
        Err(error) => matches!(error.code(), Some("ERR" | "NOAUTH" | "DENIED" | "NOPERM" | "LOADING")),
    }
}
