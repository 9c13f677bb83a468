//! The target `records`: a server whose keys have garbage in them, which frees no hold and stops no script.

mod garbage;

use std::time::Duration;

use leasehold::{
    Mode, Owner, RedisOptions, RedisStore, ResourceName, StoreError, Token,
    store::{Acquired, Acquisition, Grant, Hold, Store},
};
use leasehold_testing::servers::RedisServer;
use redis::{AsyncConnectionConfig, aio::MultiplexedConnection};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    input::Input,
    verbs::{Cast, TTL, Watch, play},
};

thread_local! {
    /// A server that ends with its thread.
    static WORLD: World = World::start();
}

struct World {
    runtime: Runtime,
    /// The URL of the server's socket: thousands of connections a minute would use up the ports.
    url: String,
    server: MultiplexedConnection,
    _folder: TempDir,
    _process: RedisServer,
}

impl World {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join("s").display().to_string();
        let with_socket = format!("exec \"$@\" --unixsocket {socket}");
        let process = RedisServer::bound_to_this_thread(&["sh", "-c", &with_socket, "sh"]);
        let url = format!("redis+unix://{socket}");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let client = redis::Client::open(&*url).expect("the URL of a server");
        // A machine that is busy may take any time.
        let patient = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let server = client.get_multiplexed_async_connection_with_config(&patient);
        let server = runtime.block_on(server).expect("a connection");
        Self { runtime, url, server, _folder: folder, _process: process }
    }
}

/// Plays verbs to a store in whose keys is garbage, both as these bytes say.
pub fn records(data: &[u8]) {
    WORLD.with(|world| world.runtime.block_on(run(world, &Input::new(data))));
}

/// The longest time that a store waits for a server.
const PATIENCE: Duration = Duration::from_secs(60);

/// The main key of the resource with garbage.
const KEY: &str = "leasehold:{r}";
/// The main key of the one beside it.
const BESIDE: &str = "leasehold:{beside}";

async fn run(world: &World, input: &Input<'_>) {
    // A script that takes this long does not end.
    let options =
        RedisOptions { connect_timeout: PATIENCE, response_timeout: PATIENCE, ..RedisOptions::default() };
    let store = &RedisStore::with_options(&world.url, options).expect("a store on a server that is there");
    let mut server = world.server.clone();
    redis::cmd("FLUSHALL").exec_async(&mut server).await.expect("an empty server");
    let [garbled, beside] = ["r", "beside"].map(|name| ResourceName::new(name).expect("a short name"));
    let neighbour = hold(&beside, 1);
    granted(store, &neighbour).await;
    let before: Vec<u8> = redis::cmd("GET").arg(BESIDE).query_async(&mut server).await.expect("a hold");
    // A hold of its own in the same resource, whose own key stays as it is, or none.
    let own = input.once_in(2).then(|| hold(&garbled, 2));
    if let Some(own) = &own {
        granted(store, own).await;
    }
    for _ in 0..=input.below(5) {
        let command = garbage::command(input, KEY, own.is_some());
        // A server refuses what makes no sense of what is there.
        let _: Result<redis::Value, _> = command.query_async(&mut server).await;
    }
    let cast = Cast::new(input, &["r", "s"]);
    let mut keeper = Keeper { own: own.clone(), held: Vec::new(), is_forced: false };
    for _ in 0..=input.below(6) {
        play(store, input, &cast, &mut keeper).await;
    }
    let after: Vec<u8> = redis::cmd("GET").arg(BESIDE).query_async(&mut server).await.expect("a hold");
    assert_eq!(before, after, "the hold of another resource was changed");
    assert_eq!(store.is_held(&neighbour.hold).await.ok(), Some(true), "the hold of another resource is gone");
    if let Some(own) = own.filter(|_| !keeper.is_forced) {
        assert_eq!(store.is_held(&own.hold).await.ok(), Some(true), "a hold is gone");
    }
}

fn hold(resource: &ResourceName, number: u128) -> Acquisition {
    Acquisition {
        hold: Hold {
            resource: resource.clone(),
            token: Token::from_bits(number << 100 | number),
            owner: None,
        },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: TTL,
        lock_delay: Duration::ZERO,
        metadata: Default::default(),
        ticket: None,
    }
}

async fn granted(store: &RedisStore, asked: &Acquisition) {
    let answer = store.acquire(asked).await;
    assert!(matches!(answer, Ok(Acquired::Granted(_))), "{answer:?}");
}

/// A keeper of what is held: nobody else may be granted it.
struct Keeper {
    own: Option<Acquisition>,
    held: Vec<Acquisition>,
    is_forced: bool,
}

impl Watch for Keeper {
    fn granted(&mut self, asked: &Acquisition, grant: Grant) {
        assert!(grant.fence.is_some_and(|fence| fence.get() > 0) && grant.holds > 0, "{grant:?}");
        let of_it = |held: &&Acquisition| held.hold.resource == asked.hold.resource;
        let own = self.own.as_ref().filter(|_| !self.is_forced);
        let held: Vec<_> = self.held.iter().chain(own).filter(of_it).collect();
        let owner = |asked: &Acquisition| asked.hold.owner.as_ref().map(Owner::encoded);
        let re_enters = |one: &Acquisition, other: &Acquisition| {
            one.reentrant && owner(one).is_some() && owner(one) == owner(other)
        };
        let repeats = held.iter().any(|held| held.hold.token == asked.hold.token);
        for held in held {
            let is_same = held.hold.token == asked.hold.token;
            let is_alone = held.mode == Mode::Exclusive || asked.mode == Mode::Exclusive;
            // One that repeats its request may be the first, which the other has entered again.
            let is_entered = re_enters(asked, held) || repeats && re_enters(held, asked);
            assert!(is_same || !is_alone || is_entered, "{asked:?}\nwas granted beside\n{held:?}");
        }
        self.held
            .retain(|held| held.hold.resource != asked.hold.resource || held.hold.token != asked.hold.token);
        self.held.push(asked.clone());
    }

    fn given_up(&mut self, resource: &ResourceName, token: Option<Token>) {
        let is_it = |held: &Acquisition| {
            held.hold.resource == *resource && token.is_none_or(|token| held.hold.token == token)
        };
        self.is_forced |= token.is_none() && self.own.as_ref().is_some_and(is_it);
        self.held.retain(|held| !is_it(held));
    }

    fn failed(&mut self, error: &StoreError) {
        // A script takes a record without an end for one of which a part is on another node.
        let is_parted = error.to_string().contains("TRYAGAIN part of it is on another node");
        let is_silent =
            matches!(error, StoreError::TimedOut { .. } | StoreError::Unavailable { .. }) && !is_parted;
        assert!(!is_silent, "the server, or a script, does not end: {error}");
        assert!(!error.to_string().contains("BUSY "), "{error}");
    }
}
