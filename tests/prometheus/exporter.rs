//! A process's page of metrics: a manager on a server, callers that give it every kind of trouble, and the page itself.
//!
//! The recorder of the metrics is that of a thread, so that two of these stand beside each other in one test.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use actix::{Addr, System};
use leasehold::{Acquire, LockManager, RedisOptions, RedisStore};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::time::sleep;

use crate::prometheus::words::{metrics_of_the_console, recommended_buckets, text};

/// How long the manager waits for an answer of the server: an outage of a second is then more than one of them.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(250);

/// A page of metrics, which is there until the test ends.
pub(crate) struct Exporter {
    pub(crate) address: SocketAddr,
    page: PrometheusHandle,
}

impl Exporter {
    /// Starts a manager under load whose times are told as summaries, which is what the exporter does by itself.
    pub(crate) fn with_summaries(store: &str) -> Self {
        Self::start(store, "summaries", PrometheusBuilder::new())
    }

    /// Starts a manager under load whose times are told as histograms, with the buckets that the documents recommend.
    pub(crate) fn with_buckets(store: &str) -> Self {
        let with = |builder: PrometheusBuilder, (metric, buckets): (String, Vec<f64>)| {
            builder.set_buckets_for_metric(Matcher::Full(metric), &buckets).unwrap()
        };
        let documented = recommended_buckets(&text("docs/observability.md"));
        Self::start(store, "buckets", documented.into_iter().fold(PrometheusBuilder::new(), with))
    }

    fn start(store: &str, prefix: &str, builder: PrometheusBuilder) -> Self {
        let prefix = prefix.to_owned();
        let options = RedisOptions { prefix, response_timeout: RESPONSE_TIMEOUT, ..RedisOptions::default() };
        let store = RedisStore::with_options(store, options).unwrap();
        let (page_of, page) = mpsc::channel();
        thread::spawn(move || {
            let recorder = builder.build_recorder();
            page_of.send(recorder.handle()).unwrap();
            let _told_here = metrics::set_default_local_recorder(&recorder);
            tell_as_a_console();
            System::new().block_on(async {
                let locks = LockManager::builder(Arc::new(store)).start_here().unwrap();
                tokio::join!(wait_in_turn(&locks), ask_for_what_is_taken(&locks), keep(&locks), lose(&locks));
            });
        });
        let page = page.recv().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shown = page.clone();
        thread::spawn(move || {
            listener.incoming().for_each(|stream| answer(stream.unwrap(), &shown.render()));
        });
        Self { address, page }
    }

    /// The page, as Prometheus reads it.
    pub(crate) fn page(&self) -> String {
        self.page.render()
    }

    /// The value of a series; none if it is not on the page.
    pub(crate) fn value(&self, series: &str) -> Option<f64> {
        let page = self.page();
        let value = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.map(|value| value.parse().unwrap())
    }
}

/// Tells the metrics of a console, which is a process of its own, as if all were well.
fn tell_as_a_console() {
    for name in metrics_of_the_console() {
        metrics::describe_gauge!(name.clone(), "As a console tells it.");
        metrics::gauge!(name).set(1.0);
    }
}

/// Answers one request with the page, whatever it asks for.
fn answer(mut stream: TcpStream, page: &str) {
    let mut request = [0; 4096];
    // Who goes away before its answer is there, as Prometheus does when it is stopped, asks for none.
    let _ = stream.read(&mut request).and_then(|_| {
        let length = page.len();
        let head = format!(
            "Content-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\nConnection: close"
        );
        write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n{page}")
    });
}

/// Four callers of one class that want the same lock, again and again, for which they wait.
async fn wait_in_turn(locks: &Addr<LockManager>) {
    let caller = async || loop {
        let request = Acquire::new("shared").class("payments").wait(Duration::from_secs(2));
        match locks.send(request).await.unwrap() {
            Ok(lease) => {
                sleep(Duration::from_millis(5)).await;
                // What the server does not confirm, the library tries again.
                let _ = lease.release().await;
            }
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    };
    tokio::join!(caller(), caller(), caller(), caller());
}

/// A caller that tries, and one that waits in vain, for a lock that is held all the time.
async fn ask_for_what_is_taken(locks: &Addr<LockManager>) {
    loop {
        for request in [Acquire::new("kept"), Acquire::new("kept").wait(Duration::from_millis(20))] {
            drop(locks.send(request).await.unwrap());
            sleep(Duration::from_millis(100)).await;
        }
    }
}

/// A holder that keeps its lock, by renewals, and takes it again whenever it lost it.
async fn keep(locks: &Addr<LockManager>) {
    loop {
        if let Ok(lease) = locks.send(Acquire::new("kept").ttl(Duration::from_secs(4))).await.unwrap() {
            lease.lost().await;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// A holder that loses its lock every time, for nobody renews it.
async fn lose(locks: &Addr<LockManager>) {
    loop {
        let request = Acquire::new("mortal").class("payments").ttl(Duration::from_millis(200)).no_renew();
        if let Ok(lease) = locks.send(request).await.unwrap() {
            lease.lost().await;
        }
        sleep(Duration::from_millis(300)).await;
    }
}
