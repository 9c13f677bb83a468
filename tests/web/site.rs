//! The application under test: a manager in an application, its lock, and handlers that are watched.

use std::{cell::Cell, rc::Rc, time::Duration};

use actix::Addr;
use actix_web::{
    Error, HttpRequest,
    body::MessageBody,
    dev::ServiceResponse,
    error::ErrorBadRequest,
    http::header::{CONTENT_TYPE, RETRY_AFTER},
    web::Data,
};
use leasehold::{Acquire, LockManager, ReadLock, web::LockKey};
use serde_json::Value;
use tokio::time::sleep;

use support::virtual_time::{World, millis, secs};

/// A lock on `items/{id}` that runs out after 10 s; a reader's for `?read`.
pub(crate) struct Item;

pub(crate) const TTL: Duration = secs(10);

impl LockKey for Item {
    fn lock(request: &HttpRequest) -> Result<Acquire, Error> {
        let id = request.match_info().get("id").ok_or_else(|| ErrorBadRequest("no id"))?;
        let name = if id == "long" { "x".repeat(513) } else { format!("items/{id}") };
        Ok(match request.query_string() {
            "read" => ReadLock::new(name).ttl(TTL).into(),
            _ => Acquire::new(name).ttl(TTL).no_renew(),
        })
    }
}

/// Two managers of one store: one of the application, one of everybody else.
pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) locks: Addr<LockManager>,
    pub(crate) others: Addr<LockManager>,
    pub(crate) seen: Rc<Seen>,
}

/// The fate of the handlers.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) running: Cell<bool>,
    pub(crate) dropped: Cell<bool>,
}

impl Site {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let (locks, others) = (world.manager(), world.manager());
        Self { world, locks, others, seen: Rc::default() }
    }

    pub(crate) fn data(&self) -> Data<Addr<LockManager>> {
        Data::new(self.locks.clone())
    }

    /// Returns true if others can have the lock of this item, when everything that is on its way has arrived.
    pub(crate) async fn is_free(&self, id: &str) -> bool {
        sleep(millis(1)).await;
        self.others.send(Acquire::new(format!("items/{id}"))).await.unwrap().is_ok()
    }
}

/// Notes that a handler runs, and that it was dropped.
pub(crate) struct Watched(Rc<Seen>);

impl Watched {
    pub(crate) fn begin(seen: &Rc<Seen>) -> Self {
        seen.running.set(true);
        Self(Rc::clone(seen))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.dropped.set(true);
    }
}

/// Reads a problem document: the status, the kind, and the seconds after which it may try again.
pub(crate) async fn told<B: MessageBody + 'static>(
    response: ServiceResponse<B>,
) -> (u16, String, Option<u64>) {
    let (status, headers) = (response.status().as_u16(), response.headers());
    assert_eq!(headers.get(CONTENT_TYPE).unwrap(), "application/problem+json");
    let after = headers.get(RETRY_AFTER).map(|after| after.to_str().unwrap().parse().unwrap());
    let body: Value = actix_web::test::read_body_json(response).await;
    (status, body["kind"].as_str().unwrap().to_owned(), after)
}
