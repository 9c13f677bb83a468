//! A relay before a server, which measures each script.
//!
//! Neither clock tells alone what a script costs. The one on the wall includes what a virtual machine loses: its processors are
//! gone for 5 to 10 ms several times a minute, even when nothing else runs. The server's processor time includes what the
//! server does by itself until the next request. Both are upper bounds, so the smaller one is taken.

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::Failure;

/// A server that has answered sleeps after this.
const ASLEEP_AFTER: Duration = Duration::from_millis(2);
/// The largest part of a request or an answer that is passed on at a time.
const PART: usize = 64 * 1024;

/// What the scripts of a server cost it. A clone is another handle to the same.
#[derive(Clone)]
pub(crate) struct Costs {
    /// Where Linux tells the time for which the server's main thread has run.
    schedstat: String,
    costs: Arc<Mutex<Vec<Duration>>>,
    /// The last script of each connection.
    last: Arc<Mutex<BTreeMap<usize, Script>>>,
}

/// A script that has not been counted yet.
struct Script {
    sent: Instant,
    answered: Instant,
    /// What the server had spent when it was sent.
    spent: Duration,
}

impl Script {
    fn cost(&self, spent: Duration) -> Duration {
        spent.saturating_sub(self.spent).min(self.answered - self.sent)
    }
}

impl Costs {
    /// Opens a relay to the server on this port. Returns the port of the relay, and the costs that it finds.
    pub(crate) async fn relay(port: u16, process: u32) -> Result<(u16, Self), Failure> {
        let costs = Self {
            schedstat: format!("/proc/{process}/schedstat"),
            costs: Arc::default(),
            last: Arc::default(),
        };
        costs.spent()?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let own = listener.local_addr()?.port();
        let relay = costs.clone();
        tokio::spawn(async move {
            for connection in 0.. {
                let (Ok((client, _)), Ok(server)) =
                    (listener.accept().await, TcpStream::connect(("127.0.0.1", port)).await)
                else {
                    return;
                };
                tokio::spawn(relay.clone().pass_on(connection, client, server));
            }
        });
        Ok((own, costs))
    }

    /// Returns the costs since they were taken last, once the server sleeps.
    pub(crate) async fn take(&self) -> Result<Vec<Duration>, Failure> {
        tokio::time::sleep(ASLEEP_AFTER).await;
        let spent = self.spent()?;
        let last = std::mem::take(&mut *lock(&self.last));
        let mut costs = std::mem::take(&mut *lock(&self.costs));
        costs.extend(last.values().map(|script| script.cost(spent)));
        Ok(costs)
    }

    /// The time for which the server has run. It is exact while the server sleeps: so the cost of a script is taken when the
    /// next request comes, and not when its answer does.
    fn spent(&self) -> Result<Duration, Failure> {
        let text = fs::read_to_string(&self.schedstat)?;
        let spent = text.split_whitespace().next().ok_or("schedstat is empty")?;
        Ok(Duration::from_nanos(spent.parse()?))
    }

    /// Passes on what both sides say, until one of them ends.
    async fn pass_on(self, connection: usize, mut client: TcpStream, mut server: TcpStream) -> Option<()> {
        let (mut request, mut answer) = (vec![0; PART], vec![0; PART]);
        let mut answered = true;
        loop {
            tokio::select! {
                read = client.read(&mut request) => {
                    let part = &request[..read.ok().filter(|read| *read > 0)?];
                    if std::mem::take(&mut answered) {
                        self.next(connection, part).ok()?;
                    }
                    server.write_all(part).await.ok()?;
                }
                read = server.read(&mut answer) => {
                    let part = &answer[..read.ok().filter(|read| *read > 0)?];
                    if let Some(script) = lock(&self.last).get_mut(&connection) {
                        script.answered = Instant::now();
                    }
                    answered = true;
                    client.write_all(part).await.ok()?;
                }
            }
        }
    }

    /// Another request begins, and the one before it has ended.
    fn next(&self, connection: usize, part: &[u8]) -> Result<(), Failure> {
        let (spent, mut last) = (self.spent()?, lock(&self.last));
        lock(&self.costs).extend(last.remove(&connection).map(|script| script.cost(spent)));
        if is_script(part) {
            let sent = Instant::now();
            last.insert(connection, Script { sent, answered: sent, spent });
        }
        Ok(())
    }
}

fn is_script(part: &[u8]) -> bool {
    const NAME: &[u8] = b"EVALSHA";
    part.windows(NAME.len()).take(32).any(|word| word == NAME)
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
