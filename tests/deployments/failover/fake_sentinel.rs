//! A sentinel that says what a test wants to hear, or nothing for as long as the test wants.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What a sentinel says at the time. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct FakeSentinel {
    /// The port of the master; zero if it knows no service.
    pub(crate) port: Arc<AtomicU16>,
    pub(crate) epoch: Arc<AtomicU64>,
    /// How many other sentinels it knows.
    pub(crate) others: u64,
    pub(crate) silent: Arc<AtomicBool>,
}

impl FakeSentinel {
    /// One of three that names this master in this epoch.
    pub(crate) fn new(port: u16, epoch: u64) -> Self {
        let (port, epoch) = (Arc::new(port.into()), Arc::new(epoch.into()));
        Self { port, epoch, others: 2, silent: Arc::default() }
    }

    pub(crate) fn say(&self, port: u16, epoch: u64) {
        self.port.store(port, Ordering::Relaxed);
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    pub(crate) fn silence(&self, silent: bool) {
        self.silent.store(silent, Ordering::Relaxed);
    }

    /// Its address.
    pub(crate) async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let sentinel = self.clone();
        tokio::spawn(async move {
            while let Ok((caller, _)) = listener.accept().await {
                tokio::spawn(sentinel.clone().serve(caller));
            }
        });
        address
    }

    async fn serve(self, mut caller: TcpStream) {
        let mut heard = [0; 4096];
        while let Ok(length @ 1..) = caller.read(&mut heard).await {
            if self.silent.load(Ordering::Relaxed) {
                continue;
            }
            let asked = String::from_utf8_lossy(&heard[..length]).into_owned();
            let answer = match self.port.load(Ordering::Relaxed) {
                _ if !asked.contains("GET-MASTER-ADDR-BY-NAME") => "+OK\r\n".to_owned(),
                0 => "*-1\r\n-ERR No such master with that name\r\n".to_owned(),
                port => {
                    let epoch = self.epoch.load(Ordering::Relaxed).to_string();
                    let (port, others) = (port.to_string(), self.others.to_string());
                    let table = ["config-epoch", &epoch, "num-other-sentinels", &others];
                    list(&["127.0.0.1", &port]) + &list(&table)
                }
            };
            // The caller may have gone meanwhile.
            let _ = caller.write_all(answer.as_bytes()).await;
        }
    }
}

/// The URL of the service `locks` by sentinels at these addresses.
pub(crate) fn url_of(addresses: &[String]) -> String {
    format!("redis+sentinel://{}/locks", addresses.join(","))
}

fn list(words: &[&str]) -> String {
    let bulk = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
    format!("*{}\r\n{}", words.len(), words.iter().map(bulk).collect::<String>())
}
