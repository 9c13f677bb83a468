//! A console below `/locks` of an application, a browser that knows its session, and an audit that is read.

use std::{cell::RefCell, pin::pin, sync::Arc};

use actix::{Actor, Addr};
use actix_web::{
    App,
    body::to_bytes,
    http::header::{HeaderMap, LOCATION, SET_COOKIE},
    test::{TestRequest, call_service, init_service},
    web::scope,
};
use leasehold::{Acquire, Config, Lease, LockManager, election::SingletonContext};
use leasehold_console::{Console, ConsoleBuilder, console};
use serde_json::Value;
use tokio::time::sleep;
use tracing::subscriber::DefaultGuard;

use super::odd::Odd;
use support::{
    log::Log,
    virtual_time::{World, secs},
};

pub(crate) const TOKEN: &str = "correct-horse-battery-staple";
pub(crate) const HOST: &str = "127.0.0.1:8640";

/// A console and a browser.
pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) locks: Addr<LockManager>,
    pub(crate) console: Console,
    pub(crate) audit: Audit,
    _subscriber: DefaultGuard,
    cookie: RefCell<Option<String>>,
}

/// An owner of partitions that does nothing.
pub(crate) struct Idle;

impl Actor for Idle {
    type Context = SingletonContext<Self>;
}

/// An answer of the console.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: impl AsRef<str>) -> &str {
        self.headers.get(name.as_ref()).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn leads_to(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.text);
        self.header(LOCATION)
    }
}

impl Site {
    /// A console with a token, which everybody may read.
    pub(crate) fn new() -> Self {
        Self::with(|console| console.token(TOKEN))
    }

    pub(crate) fn with(set: impl FnOnce(ConsoleBuilder) -> ConsoleBuilder) -> Self {
        Self::of(World::manager, set)
    }

    /// A console of a store that is odd.
    pub(crate) fn odd(odd: Odd) -> Self {
        let manager = |world: &World| {
            let store = odd.around(world.store.clone());
            world.builder_on(Arc::new(store)).start_here().unwrap()
        };
        Self::of(manager, |console| console.token(TOKEN))
    }

    fn of(
        manager: impl FnOnce(&World) -> Addr<LockManager>,
        set: impl FnOnce(ConsoleBuilder) -> ConsoleBuilder,
    ) -> Self {
        let (audit, subscriber) = Audit::begin();
        let world = World::new();
        let locks = manager(&world);
        let config = Config::from_toml("store.url = 'memory://'").unwrap();
        let console = set(console(locks.clone()).doctor(config)).start().unwrap();
        Self { world, locks, console, audit, _subscriber: subscriber, cookie: RefCell::default() }
    }

    /// Sends a request as it is, but to the host of the console unless it names one.
    pub(crate) async fn send(&self, request: TestRequest) -> Answer {
        let app = App::new().service(scope("/locks").service(self.console.clone()));
        let app = init_service(app).await;
        let response = call_service(&app, request.to_request()).await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = to_bytes(response.into_body()).await.unwrap();
        Answer { status, headers, text: String::from_utf8(body.to_vec()).unwrap() }
    }

    fn with_cookie(&self, request: TestRequest) -> TestRequest {
        let request = request.insert_header(("host", HOST));
        match &*self.cookie.borrow() {
            Some(cookie) => request.insert_header(("cookie", cookie.clone())),
            None => request,
        }
    }

    /// Reads as the browser does.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        let request = TestRequest::get().uri(&format!("/locks/{path}"));
        self.send(self.with_cookie(request)).await
    }

    pub(crate) async fn get_json(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.json()
    }

    /// Sends a form as a page of the console does.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let origin = format!("http://{HOST}");
        self.post_from(&[("origin", &origin), ("sec-fetch-site", "same-origin")], path, fields).await
    }

    /// Sends a form as a page elsewhere does, with these headers.
    pub(crate) async fn post_from(
        &self,
        headers: &[(&str, &str)],
        path: &str,
        fields: &[(&str, &str)],
    ) -> Answer {
        let request = TestRequest::post().uri(&format!("/locks/{path}"));
        let request = self.with_cookie(request).set_form(fields);
        let request = headers.iter().fold(request, |request, header| request.insert_header(*header));
        self.send(request).await
    }

    /// Changes something as a program does.
    pub(crate) async fn call(&self, token: &str, path: &str, body: &Value) -> Answer {
        let request = TestRequest::post().uri(&format!("/locks/api/{path}")).insert_header(("host", HOST));
        let request = request.insert_header(("authorization", format!("Bearer {token}")));
        self.send(request.set_json(body)).await
    }

    pub(crate) async fn sign_in(&self) {
        let answer = self.post("login", &[("token", TOKEN), ("name", "ann <ops>")]).await;
        assert_eq!(answer.leads_to(), "./");
        let cookie = answer.header(SET_COOKIE);
        assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
        *self.cookie.borrow_mut() = cookie.split(';').next().map(str::to_owned);
    }

    pub(crate) async fn hold(&self, request: Acquire) -> Lease {
        self.locks.send(request.ttl(secs(600))).await.unwrap().unwrap()
    }

    /// Lets somebody else wait for a resource, for as long as the test runs.
    pub(crate) async fn wait_for(&self, name: &str) {
        let others = self.world.manager();
        let request = Acquire::new(name).ttl(secs(600)).wait(secs(3600)).purpose("a waiter");
        actix::spawn(async move {
            let _lease = others.send(request).await;
            std::future::pending::<()>().await
        });
        self.look().await;
    }

    /// Lets the console look.
    pub(crate) async fn look(&self) {
        sleep(secs(3)).await;
    }

    /// Opens the stream of events, and gives each event to `told` until that is false.
    pub(crate) async fn follow(&self, mut told: impl AsyncFnMut(String) -> bool) {
        use actix_web::body::MessageBody;
        let app = init_service(App::new().service(scope("/locks").service(self.console.clone()))).await;
        let request = self.with_cookie(TestRequest::get().uri("/locks/events"));
        let response = call_service(&app, request.to_request()).await;
        assert_eq!(response.headers().get("content-type").unwrap(), "text/event-stream");
        let mut body = pin!(response.into_body());
        while let Some(part) = std::future::poll_fn(|cx| body.as_mut().poll_next(cx)).await {
            let text = String::from_utf8(part.ok().unwrap().to_vec()).unwrap();
            if !told(text).await {
                return;
            }
        }
        panic!("the stream has ended");
    }
}

/// What was logged, the audit included.
pub(crate) struct Audit(Log);

impl Audit {
    fn begin() -> (Self, DefaultGuard) {
        let (log, guard) = Log::begin(tracing::Level::TRACE);
        (Self(log), guard)
    }

    /// Everything that was logged.
    pub(crate) fn text(&self) -> String {
        self.0.text()
    }

    /// The lines of the audit.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lines_with("leasehold::audit")
    }
}
