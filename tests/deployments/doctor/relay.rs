//! A relay between the doctor and a server that is slow, or tells something else than the server.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::sleep,
};

use leasehold_testing::servers::RedisServer;

/// What happens to the answers of the server.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Late(Duration),
    /// Where the first text begins, the second is written over it and what follows.
    Changed(&'static str, &'static str),
    /// What contains this text does not arrive.
    Swallowed(&'static str),
}

/// Starts a relay, and answers its address.
pub(crate) async fn start(server: &RedisServer, way: Way) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = format!("127.0.0.1:{}", server.port());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (requests, answers) = client.into_split();
            let (from_server, to_server) = TcpStream::connect(&server).await.unwrap().into_split();
            tokio::spawn(relay(requests, to_server, None));
            tokio::spawn(relay(from_server, answers, Some(way)));
        }
    });
    address
}

async fn relay(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: Option<Way>) {
    let mut buffer = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let mut bytes = buffer[..length].to_vec();
        let place = |bytes: &[u8], text: &str| bytes.windows(text.len()).position(|it| it == text.as_bytes());
        match way {
            None => {}
            Some(Way::Late(by)) => sleep(by).await,
            Some(Way::Changed(text, other)) => {
                if let Some(at) = place(&bytes, text) {
                    bytes[at..at + other.len()].copy_from_slice(other.as_bytes());
                }
            }
            Some(Way::Swallowed(text)) if place(&bytes, text).is_some() => continue,
            Some(Way::Swallowed(_)) => {}
        }
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
