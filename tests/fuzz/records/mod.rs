//! The target `records`: a server whose keys have garbage in them, which frees no hold and stops no script.

mod garbage;
mod plain;

use std::{collections::HashSet, sync::Arc, time::Duration};

use leasehold::{
    Layout, Mode, Owner, RedisOptions, RedisStore, ResourceName, StoreError, Token,
    store::{Acquired, Acquisition, Grant, Hold, Store},
};
use leasehold_testing::servers::RedisServer;
use redis::{AsyncConnectionConfig, aio::MultiplexedConnection};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use self::plain::Seen;
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

/// The keys of a layout.
struct Shape {
    is_plain: bool,
    /// The main key of the resource with garbage.
    main: &'static str,
    /// The main key of the one beside it.
    beside: &'static str,
    /// Other keys for garbage: those of all resources, or of a register and of another resource.
    others: [&'static str; 2],
}

const FULL: Shape = Shape {
    is_plain: false,
    main: "leasehold:{r}",
    beside: "leasehold:{beside}",
    others: ["leasehold:fence", "leasehold:recovered"],
};

const PLAIN: Shape = Shape {
    is_plain: true,
    main: "leasehold:r",
    beside: "leasehold:beside",
    others: ["leasehold:{r}:r", "leasehold:s"],
};

async fn run(world: &World, input: &Input<'_>) {
    let shape = &if input.once_in(8) { PLAIN } else { FULL };
    // A script that takes this long does not end.
    let options = RedisOptions {
        layout: if shape.is_plain { Layout::Plain } else { Layout::Full },
        connect_timeout: PATIENCE,
        response_timeout: PATIENCE,
        ..RedisOptions::default()
    };
    let store = &RedisStore::with_options(&world.url, options).expect("a store on a server that is there");
    let mut server = world.server.clone();
    redis::cmd("FLUSHALL").exec_async(&mut server).await.expect("an empty server");
    let [garbled, other, beside] =
        ["r", "s", "beside"].map(|name| ResourceName::new(name).expect("a short name"));
    let neighbour = hold(&beside, 1);
    granted(store, &neighbour).await;
    let before: Vec<u8> = redis::cmd("GET").arg(shape.beside).query_async(&mut server).await.expect("a hold");
    // A hold of its own in the same resource, whose own key stays as it is, or none.
    let own = input.once_in(2).then(|| hold(&garbled, 2));
    if let Some(own) = &own {
        granted(store, own).await;
    }
    for _ in 0..=input.below(5) {
        let command = garbage::command(input, shape, own.is_some());
        // A server refuses what makes no sense of what is there.
        let _: Result<redis::Value, _> = command.query_async(&mut server).await;
    }
    let foreign = [Seen::of(shape.main, &mut server).await, Seen::of(shape.others[1], &mut server).await];
    let cast = Cast::new(input, &["r", "s"]);
    let mut keeper =
        Keeper { own: own.clone(), held: Vec::new(), forced: HashSet::new(), is_plain: shape.is_plain };
    for _ in 0..=input.below(6) {
        play(store, input, &cast, &mut keeper).await;
    }
    let after: Vec<u8> = redis::cmd("GET").arg(shape.beside).query_async(&mut server).await.expect("a hold");
    assert_eq!(before, after, "the hold of another resource was changed");
    assert_eq!(store.is_held(&neighbour.hold).await.ok(), Some(true), "the hold of another resource is gone");
    if shape.is_plain {
        let tokens: Vec<_> = cast.tokens().into_iter().chain(own.iter().map(|own| own.hold.token)).collect();
        for (seen, key, resource) in
            [(&foreign[0], shape.main, &garbled), (&foreign[1], shape.others[1], &other)]
        {
            seen.check((key, keeper.forced.contains(resource)), &tokens, &mut server).await;
        }
    }
    if let Some(own) = own.filter(|_| !keeper.forced.contains(&garbled)) {
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
    /// The resources that were taken away from all their holders.
    forced: HashSet<ResourceName>,
    is_plain: bool,
}

impl Watch for Keeper {
    fn granted(&mut self, asked: &Acquisition, grant: Grant) {
        let has_fence = grant.fence.is_some_and(|fence| fence.get() > 0);
        assert!(has_fence != self.is_plain && grant.holds > 0, "{grant:?}");
        let of_it = |held: &&Acquisition| held.hold.resource == asked.hold.resource;
        let own = self.own.as_ref().filter(|own| !self.forced.contains(&own.hold.resource));
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
        self.held.retain(|held| !is_it(held));
        if token.is_none() {
            self.forced.insert(resource.clone());
        }
    }

    fn not_all_granted(&mut self, asked: &[Arc<Acquisition>]) {
        let is_plain = self.is_plain;
        // The plain layout takes them one after the other, and gives up also what they held before.
        for asked in asked.iter().filter(|_| is_plain) {
            self.given_up(&asked.hold.resource, Some(asked.hold.token));
        }
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
