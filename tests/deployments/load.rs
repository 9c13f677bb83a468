//! The load that servers tell of themselves: of one that is nearly full, of the masters of a cluster, and of a quorum.

use std::sync::{Arc, Mutex};

use actix::{Actor, Context, Handler};
use leasehold::{
    Backoff, Layout, LockManager, QuorumOptions, QuorumStore, RedisOptions, RedisStore, SetTuning, Settings,
    TunerSettings,
    store::{QuorumNode, ServerLoad, Store},
};
use leasehold_testing::{
    servers::{MASTERS, RedisCluster, RedisServer},
    waiting::eventually,
};
use leasehold_tuning::tuner::{Tuner, TunerEvent, TunerRule};
use support::{
    patient::{self, patient},
    virtual_time::{millis, secs},
};

/// Gives a server a limit of which `share` percent are used already.
fn limit_memory(server: &RedisServer, share: u64) {
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    server.command(&["SETRANGE", "filler", "30000000", "x"]);
    let used = "local info = redis.call('INFO', 'memory') return info:match('used_memory:(%d+)')";
    let used: String = redis::from_redis_value(server.command(&["EVAL", used, "0"])).unwrap();
    let limit = used.parse::<u64>().unwrap() * 100 / share;
    server.command(&["CONFIG", "SET", "maxmemory", &limit.to_string()]);
}

#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<TunerEvent>>>);

impl Actor for Told {
    type Context = Context<Self>;
}

impl Handler<TunerEvent> for Told {
    type Result = ();

    fn handle(&mut self, event: TunerEvent, _: &mut Self::Context) {
        self.0.lock().unwrap().push(event);
    }
}

#[actix::test]
async fn waiters_ask_a_server_that_is_nearly_full_less_often_and_fewer_times() {
    let server = RedisServer::start();
    limit_memory(&server, 95);
    let options = RedisOptions { layout: Layout::Plain, ..patient() };
    let store = Arc::new(RedisStore::with_options(&server.url(), options).unwrap());
    let mut settings = Settings::default();
    settings.backoff = Backoff::new(millis(100), millis(200)).unwrap().attempts(10).unwrap();
    settings.wait.timeout = secs(60);
    let (backoff, told) = (settings.backoff, Told::default());
    let locks = LockManager::builder(store).settings(settings).start().unwrap();
    let mut bounds = TunerSettings::default();
    (bounds.enabled, bounds.window) = (true, millis(100));
    let _tuner = Tuner::builder(&locks).settings(bounds).tell(told.clone().start().recipient()).start();
    let is_full = |event: &TunerEvent| {
        event.rule == TunerRule::PollSlower && event.reason.contains("% of its memory is used")
    };
    eventually("it is polled slower, because it is full", async || {
        told.0.lock().unwrap().iter().any(is_full)
    })
    .await;
    let now = locks.send(SetTuning::default()).await.unwrap().unwrap().backoff;
    assert!(now.max() > backoff.max() && now.max_attempts() < backoff.max_attempts(), "{now:?}");
}

#[actix::test]
async fn each_master_of_a_cluster_tells_its_own_load() {
    let cluster = RedisCluster::calm();
    let store = patient::open(&cluster.url());
    let before = store.server_load().await.unwrap();
    assert_eq!(before.len(), MASTERS, "{before:?}");
    let node = cluster.nodes.iter().find(|node| before[1].server.ends_with(&node.port().to_string()));
    let busy = node.expect("a server is named by its address");
    busy.command(&["CONFIG", "SET", "maxmemory", "100mb"]);
    eventually("it has worked for a second more", async || {
        busy.command(&["EVAL", "for i = 1, 1000000 do end return 1", "0"]);
        let now = store.server_load().await.unwrap();
        assert_eq!(
            now.iter().filter(|load| load.memory.is_some()).map(|load| &load.server).collect::<Vec<_>>(),
            [&before[1].server]
        );
        now[1].busy >= before[1].busy + secs(1)
    })
    .await;
    let now = store.server_load().await.unwrap();
    let share = |which: usize| ServerLoad::busiest(&before[which..=which], &now[which..=which], secs(1));
    let shares = [share(0), share(1), share(2)];
    assert!(shares[1].is_some_and(|most| shares[0] < Some(most) && shares[2] < Some(most)), "{shares:?}");
}

#[actix::test]
async fn the_majority_of_a_quorum_tells_its_load_without_the_node_that_hangs() {
    let servers: Vec<_> = (0..3).map(|_| RedisServer::start()).collect();
    let nodes = servers.iter().map(|server| {
        (server.url(), Arc::new(RedisStore::open(&server.url()).unwrap()) as Arc<dyn QuorumNode>)
    });
    let quorum = QuorumStore::new(nodes, QuorumOptions::default()).unwrap();
    limit_memory(&servers[2], 50);
    servers[0].pause();
    eventually("the two others tell", async || {
        let Ok(mut told) = quorum.server_load().await else { return false };
        told.sort_by(|one, other| one.memory.partial_cmp(&other.memory).unwrap());
        let ports = told.iter().map(|load| load.server.rsplit(':').next().unwrap().parse().unwrap());
        assert_eq!(ports.collect::<Vec<u16>>(), [servers[1].port(), servers[2].port()]);
        assert!(told[1].memory.is_some_and(|memory| (0.4..0.6).contains(&memory)), "{told:?}");
        true
    })
    .await;
    servers[1].pause();
    let error = quorum.server_load().await.unwrap_err();
    assert_eq!(error.kind(), "no_quorum");
    servers.iter().take(2).for_each(RedisServer::resume);
}
