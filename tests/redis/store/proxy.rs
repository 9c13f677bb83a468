//! A relay between a store and its server that can lose an answer, or forget the connections that it has.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use leasehold_testing::servers::RedisServer;

/// Stands between a store and its server, and can break the connection in place of an answer.
pub(crate) struct Proxy {
    port: u16,
    lose: Arc<AtomicBool>,
    /// How many connections there were so far.
    opened: Arc<AtomicUsize>,
    /// How many of them, from the first on, are forgotten.
    forgotten: Arc<AtomicUsize>,
}

impl Proxy {
    pub(crate) async fn start(server: &RedisServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = server.url().replace("redis://", "");
        let lose = Arc::new(AtomicBool::new(false));
        let (opened, forgotten) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let proxy = Self { port, lose, opened, forgotten };
        let (lose, opened, forgotten) =
            (Arc::clone(&proxy.lose), Arc::clone(&proxy.opened), Arc::clone(&proxy.forgotten));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&address).await.unwrap();
                let number = opened.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(relay(client, server, Arc::clone(&lose), number, Arc::clone(&forgotten)));
            }
        });
        proxy
    }

    /// From now on, what comes on today's connections is accepted and goes nowhere.
    pub(crate) fn forget_connections(&self) {
        self.forgotten.store(self.opened(), Ordering::Relaxed);
    }

    /// How many connections there were so far.
    pub(crate) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn lose_next_reply(&self) {
        self.lose.store(true, Ordering::Relaxed);
    }
}

async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    lose: Arc<AtomicBool>,
    number: usize,
    forgotten: Arc<AtomicUsize>,
) {
    let is_forgotten = || number < forgotten.load(Ordering::Relaxed);
    let (mut requests, mut replies) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        let relayed = tokio::select! {
            Ok(length) = client.read(&mut requests) => match is_forgotten() {
                true => Ok(length),
                false => server.write_all(&requests[..length]).await.map(|()| length),
            },
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
