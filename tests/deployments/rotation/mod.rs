//! Passwords that change while managers work, on one server, Sentinel and Cluster: no request fails, and no lease is lost.
//!
//! Two changes in each order, or `LEASEHOLD_ROTATIONS=30`, one each two seconds (`tests/long rotation`).

mod processes;

use std::{
    cell::{Cell, RefCell},
    env, fs,
    path::PathBuf,
    rc::Rc,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix::Addr;
use leasehold::{
    Acquire, Backoff, Config, Credentials, CredentialsProvider, LockManager, RedisOptions, RedisStore,
    Settings, Shutdown, store::Store,
};
use leasehold_testing::{
    servers::{RedisCluster, RedisServer, Sentinels},
    waiting::eventually,
};
use redis::Client;
use tempfile::TempDir;
use tokio::{
    sync::RwLock,
    task::spawn_blocking,
    time::{Instant, sleep_until},
};
use tracing::Level;

use support::{log::Log, patient::patient};

const MANAGERS: usize = 4;
/// The number of turns that each manager takes between two changes.
const TURNS: usize = 10;
/// Nobody waits for as long, unless a notification is lost.
const LONG: Duration = Duration::from_secs(100);

fn password(number: usize) -> String {
    format!("s3cret-{number}")
}

/// The servers that know the user `locker`, and those who are told its password.
struct Rotation {
    ports: Vec<u16>,
    number: Arc<AtomicUsize>,
    folder: TempDir,
    providers: Mutex<Vec<CredentialsProvider>>,
    /// Every turn passes it.
    gate: RwLock<()>,
}

impl Rotation {
    fn begin(ports: Vec<u16>) -> Self {
        let (number, providers, gate) = Default::default();
        let this = Self { ports, number, folder: tempfile::tempdir().unwrap(), providers, gate };
        this.on_all(&["ACL", "SETUSER", "locker", "on", &format!(">{}", password(0)), "~*", "&*", "+@all"]);
        this.tell(0);
        std::os::unix::fs::symlink("..data/password", this.file()).unwrap();
        this
    }

    fn on_all(&self, words: &[&str]) {
        for port in &self.ports {
            let mut connection = Client::open(("127.0.0.1", *port)).unwrap().get_connection().unwrap();
            let () = redis::cmd(words[0]).arg(&words[1..]).query(&mut connection).unwrap();
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("password")
    }

    /// Tells this password to those who ask. The file is replaced as Kubernetes does: by another link to a folder.
    fn tell(&self, number: usize) {
        let (folder, name) = (self.folder.path(), format!("..{number}"));
        fs::create_dir(folder.join(&name)).unwrap();
        fs::write(folder.join(&name).join("password"), password(number) + "\n").unwrap();
        std::os::unix::fs::symlink(&name, folder.join("..new")).unwrap();
        fs::rename(folder.join("..new"), folder.join("..data")).unwrap();
        self.number.store(number, Ordering::Relaxed);
        self.providers.lock().unwrap().iter().for_each(CredentialsProvider::refresh);
    }

    /// Changes the password under load: with a time in which both are good, or on the servers before or after it is told. And once more
    /// in either order with all connections cut between. They are cut when no request is on its way: its answer would be lost. Nobody
    /// waits then either: a manager that begins to listen anew needs the password that the other side does not know yet, and hears of no
    /// turn before.
    fn change(&self, to: usize) {
        let (new, old) = (format!(">{}", password(to)), format!("<{}", password(to - 1)));
        let cut = || self.on_all(&["CLIENT", "KILL", "USER", "locker"]);
        match to % 5 {
            0 => {
                self.on_all(&["ACL", "SETUSER", "locker", &new]);
                self.tell(to);
                self.on_all(&["ACL", "SETUSER", "locker", &old]);
            }
            1 => {
                self.on_all(&["ACL", "SETUSER", "locker", &new, &old]);
                self.tell(to);
            }
            2 => {
                self.tell(to);
                self.on_all(&["ACL", "SETUSER", "locker", &new, &old]);
            }
            3 => {
                let gate = self.gate.blocking_write();
                self.on_all(&["ACL", "SETUSER", "locker", &new, &old]);
                cut();
                drop(gate);
                self.tell(to);
            }
            _ => {
                let gate = self.gate.blocking_write();
                self.tell(to);
                cut();
                drop(gate);
                self.on_all(&["ACL", "SETUSER", "locker", &new, &old]);
            }
        }
    }

    /// Changes the password while both are good, and cuts the connections that listen, on which no request is on its way:
    /// they begin anew with the new one.
    fn change_and_listen_anew(&self, to: usize) {
        let (new, old) = (format!(">{}", password(to)), format!("<{}", password(to - 1)));
        self.on_all(&["ACL", "SETUSER", "locker", &new]);
        self.tell(to);
        self.on_all(&["ACL", "SETUSER", "locker", &old]);
        self.on_all(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    }

    /// Returns a provider of a function: it is told to ask again, or finds out by itself.
    fn provider(&self, is_told: bool) -> CredentialsProvider {
        let number = Arc::clone(&self.number);
        let provider = CredentialsProvider::new(move || {
            let number = number.load(Ordering::Relaxed);
            async move { Ok::<_, String>(Credentials::new(password(number)).user("locker")) }
        });
        if is_told {
            self.providers.lock().unwrap().push(provider.clone());
        }
        provider
    }

    fn options(&self, provider: CredentialsProvider) -> RedisOptions {
        let sentinel_credentials = Some(provider.clone());
        RedisOptions { credentials: Some(provider), sentinel_credentials, ..patient() }
    }

    /// Returns the store of a configuration with files.
    fn configured(&self, url: &str) -> Arc<dyn Store> {
        Config::from_toml(&self.configuration(url)).unwrap().open_store().unwrap()
    }

    /// Returns a configuration with files.
    fn configuration(&self, url: &str) -> String {
        fs::write(self.folder.path().join("user"), "locker").unwrap();
        let (password, user) = (self.file(), self.folder.path().join("user"));
        format!(
            "[store]\nurl = '{url}'\npassword_file = '{}'\nuser_file = '{}'\nconnect_timeout = '10s'\nfresh_start = true\nnode_timeout = '5s'\nresponse_timeout = '10s'\n\
             [lease]\nttl = '60s'",
            password.display(),
            user.display()
        )
    }
}

/// What the callers saw.
#[derive(Default)]
struct Report {
    turns: [Cell<usize>; MANAGERS],
    failures: RefCell<Vec<String>>,
    stop: Cell<bool>,
}

/// Takes turns with the callers of all other managers, which hear of each other by notifications alone.
async fn take_turns(number: usize, locks: Addr<LockManager>, rotation: Arc<Rotation>, report: Rc<Report>) {
    while !report.stop.get() {
        let _gate = rotation.gate.read().await;
        let outcome = async {
            let asked =
                locks.send(Acquire::new("turns").wait(LONG)).await.map_err(|error| error.to_string())?;
            let lease = asked.map_err(|error| error.to_string())?;
            tokio::task::yield_now().await;
            let token = lease.token().prefix();
            lease.is_valid().then_some(()).ok_or_else(|| format!("{token}: lost"))?;
            lease.release().await.map_err(|error| format!("{token}: {error}"))?;
            Ok::<_, String>(())
        };
        match outcome.await {
            Ok(()) => report.turns[number].set(report.turns[number].get() + 1),
            Err(error) => report.failures.borrow_mut().push(error),
        }
    }
}

/// Has managers on these stores work while the password changes. Their waiters pause for this long, unless they are notified.
async fn rotate(rotation: Rotation, stores: [Arc<dyn Store>; MANAGERS], pause: Duration) {
    let (log, _guard) = Log::begin(Level::TRACE);
    let (rotation, report) = (Arc::new(rotation), Rc::new(Report::default()));
    let mut settings = Settings::default();
    settings.backoff = Backoff::new(pause, pause).unwrap();
    let managers =
        stores.map(|store| LockManager::builder(store).settings(settings.clone()).start_here().unwrap());
    let mut kept = Vec::new();
    for (number, locks) in managers.iter().enumerate() {
        kept.push(locks.send(Acquire::new(format!("kept/{number}")).ttl(LONG)).await.unwrap().unwrap());
    }
    let callers = managers.iter().enumerate().flat_map(|of| [of, of]);
    let callers: Vec<_> = callers
        .map(|(number, locks)| {
            actix_rt::spawn(take_turns(number, locks.clone(), Arc::clone(&rotation), Rc::clone(&report)))
        })
        .collect();
    let timed = timed();
    let began = Instant::now();
    for number in 1..=timed.unwrap_or(10) {
        if timed.is_some() {
            sleep_until(began + Duration::from_secs(2 * number as u64)).await;
        }
        let changing = Arc::clone(&rotation);
        spawn_blocking(move || changing.change(number)).await.unwrap();
        let before = report.turns.each_ref().map(Cell::get);
        let all_went_on =
            async || report.turns.iter().zip(before).all(|(now, before)| now.get() >= before + TURNS);
        eventually(&format!("all go on after change {number}"), all_went_on).await;
        for lease in &kept {
            lease.renew().await.unwrap();
        }
    }
    report.stop.set(true);
    for caller in callers {
        caller.await.unwrap();
    }
    println!("{:?} turns in {:?}", report.turns.each_ref().map(Cell::get), began.elapsed());
    let failures = report.failures.borrow().clone();
    // What became of a lease or a request is in the lines that name it.
    let told = |failure: &String| log.lines_with(failure.split(':').next().unwrap_or_default());
    assert!(failures.is_empty(), "{failures:?}: {:#?}", failures.iter().map(told).collect::<Vec<_>>());
    for (lease, locks) in kept.into_iter().zip(managers) {
        assert!(lease.is_valid(), "{lease:?}");
        lease.release().await.unwrap();
        locks.send(Shutdown { drain: Duration::ZERO }).await.unwrap();
    }
    assert!(!log.text().contains("s3cret"), "a password is in the log");
}

/// Returns the number of changes, one each two seconds, if they are not to follow each other at once.
fn timed() -> Option<usize> {
    env::var("LEASEHOLD_ROTATIONS").ok().map(|number| number.parse().unwrap())
}

fn by_url(url: &str, options: RedisOptions) -> Arc<dyn Store> {
    Arc::new(RedisStore::with_options(url, options).unwrap())
}

/// Returns clients of the hosts of a URL.
fn clients(url: &str) -> Vec<Client> {
    let hosts = url.split("://").nth(1).unwrap().split('/').next().unwrap();
    hosts.split(',').map(|host| Client::open(format!("redis://{host}")).unwrap()).collect()
}

/// Returns the ports of the servers and of the sentinels.
fn ports_of(service: &Sentinels) -> Vec<u16> {
    let of =
        |client: &Client| client.get_connection_info().addr().to_string().split(':').nth(1).unwrap().parse();
    let sentinels = clients(&service.url());
    let sentinels = sentinels.iter().map(|client| of(client).unwrap());
    service.servers.iter().map(RedisServer::port).chain(sentinels).collect()
}

#[actix::test]
async fn one_server() {
    let server = RedisServer::start();
    let rotation = Rotation::begin(vec![server.port()]);
    let [told, untold] = [true, false].map(|is_told| rotation.options(rotation.provider(is_told)));
    let stores: [Arc<dyn Store>; MANAGERS] = [
        rotation.configured(&server.url()),
        rotation.configured(&server.url()),
        by_url(&server.url(), told),
        Arc::new(RedisStore::with_client(&clients(&server.url())[0], untold).unwrap()),
    ];
    rotate(rotation, stores, LONG).await;
}

#[actix::test]
async fn quorum() {
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let rotation = Rotation::begin(servers.iter().map(RedisServer::port).collect());
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    let stores = [(); MANAGERS].map(|()| rotation.configured(&format!("quorum://[{}]", urls.join(","))));
    // Nodes may disagree on who is first, and then the waiters attempt again.
    rotate(rotation, stores, Duration::from_millis(20)).await;
}

#[actix::test]
async fn sentinel() {
    let service = Sentinels::calm();
    let url = service.url();
    let sentinels = clients(&url);
    let rotation = Rotation::begin(ports_of(&service));
    let [told, untold] = [true, false].map(|is_told| rotation.options(rotation.provider(is_told)));
    let any = Client::open("redis://127.0.0.1").unwrap();
    let stores: [Arc<dyn Store>; MANAGERS] = [
        rotation.configured(&url),
        by_url(&url, rotation.options(rotation.provider(false))),
        by_url(&url, told),
        Arc::new(RedisStore::with_sentinel_clients(&sentinels, "locks", &any, untold).unwrap()),
    ];
    rotate(rotation, stores, LONG).await;
}

#[actix::test]
async fn cluster() {
    let cluster = RedisCluster::calm();
    let url = cluster.url();
    let rotation = Rotation::begin(cluster.nodes.iter().map(RedisServer::port).collect());
    let [told, untold] = [true, false].map(|is_told| rotation.options(rotation.provider(is_told)));
    let stores: [Arc<dyn Store>; MANAGERS] = [
        rotation.configured(&url),
        rotation.configured(&url),
        by_url(&url, told),
        Arc::new(RedisStore::with_cluster_clients(&clients(&url), untold).unwrap()),
    ];
    rotate(rotation, stores, LONG).await;
}
