//! A relay between a store and its server that can lose an answer.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::redis_server::RedisServer;

/// Stands between a store and its server, and can break the connection in place of an answer.
pub(crate) struct Proxy {
    port: u16,
    lose: Arc<AtomicBool>,
}

impl Proxy {
    pub(crate) async fn start(server: &RedisServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = server.url().replace("redis://", "");
        let lose = Arc::new(AtomicBool::new(false));
        let losing = Arc::clone(&lose);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&address).await.unwrap();
                tokio::spawn(relay(client, server, Arc::clone(&losing)));
            }
        });
        Self { port, lose }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn lose_next_reply(&self) {
        self.lose.store(true, Ordering::Relaxed);
    }
}

async fn relay(mut client: TcpStream, mut server: TcpStream, lose: Arc<AtomicBool>) {
    let (mut requests, mut replies) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        let relayed = tokio::select! {
            Ok(length) = client.read(&mut requests) => server.write_all(&requests[..length]).await.map(|()| length),
            Ok(length) = server.read(&mut replies) => {
                if lose.swap(false, Ordering::Relaxed) {
                    return;
                }
                client.write_all(&replies[..length]).await.map(|()| length)
            }
            else => return,
        };
        if !matches!(relayed, Ok(1..)) {
            return;
        }
    }
}
