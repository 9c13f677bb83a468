//! A relay between a store and its server that can lose an answer, or forget the connections that it has.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
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
    held_back: Arc<Mutex<Option<Arc<HeldBack>>>>,
}

/// A command that waits in the relay, and all that follows it.
pub(crate) struct HeldBack {
    name: String,
    reached: Notify,
    let_go: Notify,
}

impl HeldBack {
    /// Waits until all before that command has been relayed.
    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }

    pub(crate) fn let_go(&self) {
        self.let_go.notify_one();
    }
}

impl Proxy {
    pub(crate) async fn start(server: &RedisServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = server.url().replace("redis://", "");
        let lose = Arc::new(AtomicBool::new(false));
        let (opened, forgotten) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let held_back = Arc::<Mutex<_>>::default();
        let proxy = Self { port, lose, opened, forgotten, held_back };
        let (lose, opened, forgotten) =
            (Arc::clone(&proxy.lose), Arc::clone(&proxy.opened), Arc::clone(&proxy.forgotten));
        let held_back = Arc::clone(&proxy.held_back);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&address).await.unwrap();
                let number = opened.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(relay(
                    client,
                    server,
                    Arc::clone(&lose),
                    number,
                    Arc::clone(&forgotten),
                    Arc::clone(&held_back),
                ));
            }
        });
        proxy
    }

    /// From now on, what comes on today's connections, from either side, is accepted and goes nowhere.
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

    /// Holds the next request back from where this text is in it.
    pub(crate) fn hold_back(&self, name: String) -> Arc<HeldBack> {
        let held_back = Arc::new(HeldBack { name, reached: Notify::new(), let_go: Notify::new() });
        self.held_back.lock().unwrap().replace(Arc::clone(&held_back));
        held_back
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
    held_back: Arc<Mutex<Option<Arc<HeldBack>>>>,
) {
    let is_forgotten = || number < forgotten.load(Ordering::Relaxed);
    let (mut requests, mut replies) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        let relayed = tokio::select! {
            Ok(length) = client.read(&mut requests) => match is_forgotten() {
                true => Ok(length),
                false => pass_on(&mut server, &requests[..length], &held_back).await.map(|()| length),
            },
            Ok(length) = server.read(&mut replies) => {
                if lose.swap(false, Ordering::Relaxed) {
                    return;
                }
                match is_forgotten() {
                    true => Ok(length),
                    false => client.write_all(&replies[..length]).await.map(|()| length),
                }
            }
            else => return,
        };
        if !matches!(relayed, Ok(1..)) {
            return;
        }
    }
}

/// Passes a request on, and holds back what is to wait.
async fn pass_on(
    server: &mut TcpStream,
    request: &[u8],
    held_back: &Mutex<Option<Arc<HeldBack>>>,
) -> io::Result<()> {
    let at = |name: &str| request.windows(name.len()).position(|part| part == name.as_bytes());
    let held = held_back.lock().unwrap().clone().and_then(|held| Some((at(&held.name)?, held)));
    let Some((at, held)) = held else { return server.write_all(request).await };
    held_back.lock().unwrap().take();
    // The command begins before its name, with the numbers of its parts.
    let begin = request[..at].windows(1).rposition(|part| part == b"*").unwrap_or(0);
    server.write_all(&request[..begin]).await?;
    held.reached.notify_one();
    held.let_go.notified().await;
    server.write_all(&request[begin..]).await
}
