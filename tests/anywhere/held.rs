//! The assertion that a lock is held around the code that asks: where it is true, where it is not, and after a loss.

use std::{sync::Arc, thread, time::Duration};

use actix::{
    Actor, ActorContext, Addr, AsyncContext, Context, Handler, Message, ResponseFuture, Running, WrapFuture,
};
use actix_web::{
    App, Error, HttpRequest, HttpResponse, test,
    web::{self, Bytes, Data},
};
use futures_util::stream;
use leasehold::{
    Acquire, AcquireAll, BlockingLocks, LockManager, LossReason, MemoryStore, NotHeldError, ReadLock, Revoke,
    WithLock, assert_held,
    election::{Singleton, SingletonContext},
    schedule::Schedule,
    web::{LockKey, Locked, Locks},
};
use leasehold_testing::waiting::PATIENCE;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    time::timeout,
};

fn manager() -> Addr<LockManager> {
    LockManager::builder(Arc::new(MemoryStore::default())).start().unwrap()
}

/// Code deep below, which is given no lease.
async fn deep_below(resource: &str) -> Result<(), NotHeldError> {
    tokio::task::yield_now().await;
    assert_held(resource)
}

fn is_not_here(told: Result<(), NotHeldError>) -> bool {
    matches!(told, Err(NotHeldError::NotHere { .. }))
}

#[actix::test]
async fn work_under_a_lock_holds_it_and_nothing_outside_does() {
    let locks = manager();
    assert!(is_not_here(deep_below("r").await));
    let done = locks.with_lock(Acquire::new("r"), async |_| {
        let here = (deep_below("r").await, assert_held("s"));
        let spawned = tokio::spawn(deep_below("r")).await.unwrap();
        let local = actix::spawn(deep_below("r")).await.unwrap();
        let blocking = tokio::task::spawn_blocking(|| assert_held("r")).await.unwrap();
        let thread = thread::spawn(|| assert_held("r")).join().unwrap();
        assert!([spawned, local, blocking, thread].into_iter().all(is_not_here));
        here
    });
    let (held, other) = done.await.unwrap().value;
    assert_eq!(held, Ok(()));
    let told = other.unwrap_err();
    assert!(told.to_string().starts_with("s is not held here"), "{told}");
    assert!(is_not_here(deep_below("r").await), "and it is over");
}

#[actix::test]
async fn work_inside_of_other_work_holds_both_locks_and_two_tasks_hold_their_own() {
    let locks = manager();
    let done = locks.with_lock(ReadLock::new("outer"), async |_| {
        let inner = locks.with_lock(Acquire::new("inner"), async |_| {
            (deep_below("outer").await, deep_below("inner").await)
        });
        let both = inner.await.unwrap().value;
        (both, deep_below("outer").await, is_not_here(deep_below("inner").await))
    });
    assert_eq!(done.await.unwrap().value, ((Ok(()), Ok(())), Ok(()), true));
    let beside = async |own: &str, other: &str| {
        let work = locks.with_lock(Acquire::new(own), async |_| {
            (deep_below(own).await, is_not_here(deep_below(other).await))
        });
        work.await.unwrap().value
    };
    assert_eq!(tokio::join!(beside("a", "b"), beside("b", "a")), ((Ok(()), true), (Ok(()), true)));
}

#[actix::test]
async fn blocking_work_a_lease_and_a_set_that_run_work_hold_their_locks() {
    let locks = manager();
    let held = || (assert_held("r"), is_not_here(assert_held("s")));
    assert_eq!(
        locks.with_lock_blocking(Acquire::new("r"), move |_| held()).await.unwrap().value,
        (Ok(()), true)
    );
    let blocking = BlockingLocks::from(locks.clone());
    let on_a_thread = thread::spawn(move || {
        let done = blocking.with_lock(Acquire::new("r"), |_| held()).unwrap();
        (done.value, is_not_here(assert_held("r")))
    });
    assert_eq!(on_a_thread.join().unwrap(), ((Ok(()), true), true));
    let lease = locks.send(Acquire::new("r").wait(PATIENCE)).await.unwrap().unwrap();
    assert!(is_not_here(assert_held("r")), "a lease in hand is no scope");
    assert_eq!(lease.run(deep_below("r")).await.unwrap(), Ok(()));
    let set = locks.send(AcquireAll::new(["x", "y"])).await.unwrap().unwrap();
    let both =
        set.run(async { (deep_below("x").await, deep_below("y").await, is_not_here(assert_held("r"))) });
    assert_eq!(both.await.unwrap(), (Ok(()), Ok(()), true));
}

#[actix::test]
async fn a_lock_that_was_lost_is_told_apart_from_one_that_was_never_held() {
    let store = MemoryStore::default();
    let start = || LockManager::builder(Arc::new(store.clone())).start().unwrap();
    let (locks, operator) = (start(), start());
    let (held, is_held) = tokio::sync::oneshot::channel();
    let work = locks.with_lock_blocking(Acquire::new("r"), move |lease| {
        held.send(()).unwrap();
        while lease.is_valid() {
            thread::yield_now();
        }
        (assert_held("r"), is_not_here(assert_held("s")))
    });
    let taken = async {
        is_held.await.unwrap();
        operator.send(Revoke::at_once("r")).await.unwrap().unwrap()
    };
    let (done, _) = tokio::join!(work, taken);
    let (told, other) = done.unwrap().value;
    let Err(NotHeldError::Lost(lost)) = &told else { panic!("{told:?}") };
    assert_eq!((lost.reason, lost.resource.as_bytes(), other), (LossReason::Forced, &b"r"[..], true));
    assert!(told.unwrap_err().to_string().starts_with("the lease of r was lost: "));
}

#[actix::test]
async fn a_lease_of_an_outer_scope_counts_when_that_of_the_inner_one_is_over() {
    let locks = manager();
    let done = locks.with_lock(ReadLock::new("r"), async |_| {
        let brief = ReadLock::new("r").ttl(Duration::from_secs(2)).no_renew();
        let lease = locks.send(brief).await.unwrap().unwrap();
        let inner = lease.run(async {
            while lease.is_valid() {
                thread::yield_now();
            }
            assert_held("r")
        });
        inner.await
    });
    // The poll in which it was lost was the last one of its work.
    assert!(matches!(done.await.unwrap().value, Ok(Ok(()))));
}

#[actix::test]
async fn the_work_of_a_schedule_holds_its_name() {
    let locks = manager();
    let (tell, mut told) = unbounded_channel();
    let schedule = Schedule::every(Duration::from_millis(10)).named("sweep");
    let scheduler = schedule.start(&locks, async move |_| {
        let spawned = actix::spawn(deep_below("sweep")).await.unwrap();
        tell.send((deep_below("sweep").await, is_not_here(spawned))).unwrap();
    });
    assert_eq!(heard(&mut told).await, (Ok(()), true));
    drop(scheduler);
}

async fn heard<T>(told: &mut UnboundedReceiver<T>) -> T {
    timeout(PATIENCE, told.recv()).await.unwrap().unwrap()
}

/// An actor of which one runs in the fleet, and which tells from where it asks, and the answer.
struct Only(UnboundedSender<(&'static str, bool)>);

impl Only {
    fn tell(&self, place: &'static str) {
        self.0.send((place, assert_held("only").is_ok())).unwrap();
    }
}

impl Actor for Only {
    type Context = SingletonContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.tell("started");
        ctx.run_later(Duration::from_millis(1), |this, ctx| {
            this.tell("a timer");
            let (tell, address) = (self_tell(this), ctx.address());
            let future = async move {
                tell("a future").await;
                address.do_send(Probe);
            };
            ctx.spawn(future.into_actor(this));
        });
    }

    fn stopping(&mut self, _: &mut Self::Context) -> Running {
        self.tell("stopping");
        Running::Stop
    }
}

/// Returns a function that tells from where it is called, after an await.
fn self_tell(only: &Only) -> impl AsyncFnOnce(&'static str) + use<> {
    let tell = only.0.clone();
    async move |place| {
        let held = deep_below("only").await.is_ok();
        tell.send((place, held)).unwrap();
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Probe;

impl Handler<Probe> for Only {
    type Result = ResponseFuture<()>;

    fn handle(&mut self, _: Probe, ctx: &mut Self::Context) -> ResponseFuture<()> {
        self.tell("a handler");
        ctx.stop();
        let tell = self_tell(self);
        Box::pin(async move { tell("a response that outlives the actor").await })
    }
}

/// An actor beside it, which holds nothing.
struct Other(UnboundedSender<(&'static str, bool)>);

impl Actor for Other {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.0.send(("another actor", assert_held("only").is_ok())).unwrap();
    }
}

#[actix::test]
async fn a_singleton_holds_its_lock_in_everything_that_its_context_runs() {
    let locks = manager();
    let (tell, mut told) = unbounded_channel();
    let factory = move || {
        Other(tell.clone()).start();
        tell.send(("the factory", assert_held("only").is_ok())).unwrap();
        Only(tell.clone())
    };
    let _election = Singleton::start(&locks, "only", factory).unwrap();
    let mut places = std::collections::BTreeMap::new();
    while places.len() < 8 {
        let (place, held) = heard(&mut told).await;
        assert_eq!(*places.entry(place).or_insert(held), held, "{place}");
    }
    let outside: Vec<_> = places.iter().filter(|(_, held)| !**held).map(|(place, _)| *place).collect();
    assert_eq!(outside, ["a response that outlives the actor", "another actor"], "{places:?}");
}

/// The lock of the handlers below.
struct Item;

impl LockKey for Item {
    fn lock(_: &HttpRequest) -> Result<Acquire, Error> {
        Ok(Acquire::new("items/1").wait(PATIENCE))
    }
}

async fn with_lock_of(_: Locked<Item>) -> Result<String, NotHeldError> {
    deep_below("items/1").await?;
    Ok("held".to_owned())
}

async fn without_lock() -> Result<String, NotHeldError> {
    deep_below("items/1").await?;
    Ok("held".to_owned())
}

async fn with_a_body(_: Locked<Item>) -> HttpResponse {
    let part = async { deep_below("items/1").await.map(|()| Bytes::from_static(b"held")) };
    HttpResponse::Ok().streaming(stream::once(Box::pin(part)))
}

async fn in_scope() -> Result<String, NotHeldError> {
    deep_below("items/2").await?;
    Ok(if deep_below("items/1").await.is_err() { "held" } else { "both" }.to_owned())
}

async fn in_scope_with_lock_of(_: Locked<Item>) -> Result<String, NotHeldError> {
    in_scope().await
}

#[actix::test]
async fn handlers_of_actix_web_hold_the_locks_of_their_extractors_and_scopes() {
    let scope = Locks::new().lock(|_| Some(Acquire::new("items/2").wait(PATIENCE)));
    let app = App::new()
        .app_data(Data::new(manager()))
        .wrap(Locks::new())
        .route("/extractor", web::get().to(with_lock_of))
        .route("/body", web::get().to(with_a_body))
        .route("/nothing", web::get().to(without_lock))
        .service(
            web::scope("/scope")
                .wrap(scope)
                .route("", web::get().to(in_scope))
                .route("/both", web::get().to(in_scope_with_lock_of)),
        );
    let app = test::init_service(app).await;
    for (path, status, body) in [
        ("/extractor", 200, "held"),
        ("/body", 200, "held"),
        ("/scope", 200, "held"),
        ("/scope/both", 200, "both"),
        ("/nothing", 500, "\"kind\":\"internal\""),
    ] {
        let response = test::call_service(&app, test::TestRequest::get().uri(path).to_request()).await;
        assert_eq!(response.status().as_u16(), status, "{path}");
        let told = String::from_utf8(test::read_body(response).await.to_vec()).unwrap();
        assert!(told.contains(body), "{path}: {told}");
    }
}
