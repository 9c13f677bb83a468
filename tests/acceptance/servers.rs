//! One Redis server in every way in which it can be run: another layout, few rights, TLS, replicas.

use std::{path::PathBuf, sync::Arc, time::Duration};

use leasehold::{
    Layout, RedisOptions, RedisStore,
    store::{QuorumNode, Store},
};
use leasehold_testing::acceptance::World;
use leasehold_testing::waiting::until;
use redis::Value;

use leasehold_testing::servers::{RedisServer, Replicated};
use support::patient::patient;
use support::{acl, programs, tls::TlsServer};

/// A server of some kind, whose clock can be moved, and a store on it.
pub(crate) struct OnServer<Server> {
    server: Server,
    store: Arc<RedisStore>,
}

impl<Server: AsRef<RedisServer>> OnServer<Server> {
    fn open(server: Server, url: &str, options: RedisOptions) -> Self {
        Self { server, store: Arc::new(RedisStore::with_options(url, options).unwrap()) }
    }

    fn store(&self) -> Arc<RedisStore> {
        self.store.clone()
    }

    /// Moves the clock, and waits until the server has seen it: some look at it only now and then.
    fn pass(&self, time: Duration) {
        const PROBE: &str = "clock-probe";
        let server = self.server.as_ref();
        let half = (time.as_millis() / 2).max(1);
        server.command(&["SET", PROBE, "", "PX", &half.to_string()]);
        server.advance(time);
        until("the server sees that its clock was moved", || {
            server.command(&["EXISTS", PROBE]) == Value::Int(0)
        });
    }
}

/// Stamps a world: its name, and how its server and its store are made.
macro_rules! world {
    ($world:ident, $server:ty, $open:expr) => {
        pub(crate) struct $world(OnServer<$server>);

        impl World for $world {
            async fn start() -> Self {
                Self($open)
            }

            fn store(&self) -> Arc<dyn Store> {
                self.0.store()
            }

            fn node(&self) -> Option<Arc<dyn QuorumNode>> {
                Some(self.0.store())
            }

            async fn pass(&self, time: Duration) {
                self.0.pass(time);
            }
        }
    };
}

world!(PlainWorld, RedisServer, plain("", None));
world!(PlainAclWorld, RedisServer, plain("locks", Some("plain-locker")));
world!(AclWorld, RedisServer, acl());
world!(TlsWorld, TlsServer, tls());
world!(ReplicatedWorld, Replicated, replicated());
world!(OldWorld, RedisServer, of(programs::redis_6_2()));
world!(ValkeyWorld, RedisServer, of(programs::valkey_9()));

fn plain(prefix: &str, user: Option<&str>) -> OnServer<RedisServer> {
    let server = RedisServer::with_clock();
    let url = user.map_or_else(|| server.url(), |user| acl::url_of(&server, user));
    let options = RedisOptions { layout: Layout::Plain, prefix: prefix.to_owned(), ..patient() };
    OnServer::open(server, &url, options)
}

fn acl() -> OnServer<RedisServer> {
    let server = RedisServer::with_clock();
    let url = acl::url_of(&server, "locker");
    OnServer::open(server, &url, patient())
}

fn of(program: PathBuf) -> OnServer<RedisServer> {
    let server = RedisServer::of(&program);
    let url = server.url();
    OnServer::open(server, &url, patient())
}

fn tls() -> OnServer<TlsServer> {
    let server = TlsServer::start();
    let (url, tls_ca) = (server.url(), server.certificates.trust().tls_ca);
    OnServer::open(server, &url, RedisOptions { tls_ca, ..patient() })
}

fn replicated() -> OnServer<Replicated> {
    let server = Replicated::start(1);
    let url = acl::url_of(&server.master, "replicated-locker");
    OnServer::open(server, &url, RedisOptions { replicas_ack: 1, ..patient() })
}
