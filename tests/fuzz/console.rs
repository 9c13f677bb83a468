//! The target `console`: requests of anybody, which are never answered with a secret, a script of others, or a fault of its own.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use actix_web::{
    App,
    body::to_bytes,
    http::{
        Method, Uri,
        header::{CONTENT_TYPE, SET_COOKIE},
    },
    test::{TestRequest, call_service, init_service},
};
use leasehold::{
    Config, LockManager, MemoryStore, Mode, ResourceName, Token,
    env::RuntimeClock,
    store::{Acquired, Acquisition, Hold, Store},
};
use leasehold_console::console as a_console;

/// The token of the console.
const TOKEN: &str = "correct-horse-battery-staple";
/// The token of a hold.
const HELD: u128 = 0x1234_5678_9abc_def0_1234_5678_9abc_def0;
/// The words of an input that stand for the token, and for a session.
const PLACE: &str = "@TOKEN";
const SESSION: &str = "@SESSION";
/// An element that a holder would like to have in a page.
const ELEMENT: &str = "<i>hunter</i>";
/// The line between two requests of an input.
const BETWEEN: &str = "\n===\n";
/// The most requests of an input.
const MOST: usize = 4;

/// Reads a text as requests: a line with method and path, headers, an empty line, and the body.
pub fn console(data: &[u8]) {
    let mut text = String::from_utf8_lossy(data).into_owned();
    // An error may repeat what the request says itself. What is left of one that stood inside another may be one.
    let secrets = [TOKEN.to_owned(), Token::from_bits(HELD).to_hex()];
    while let Some(secret) = secrets.iter().find(|secret| text.contains(*secret)) {
        text = text.replace(secret, "");
    }
    let paused = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime")
    };
    actix::System::with_tokio_rt(paused).block_on(send(&text));
}

async fn send(text: &str) {
    let clock = Arc::new(RuntimeClock::start());
    let store = MemoryStore::new(clock.clone());
    let held = hold(&store).await;
    let locks = LockManager::builder(Arc::new(store)).clock(clock).start_here().expect("a manager");
    let config = Config::from_toml("").expect("the defaults");
    let needs_token = text.starts_with("reading needs the token\n");
    let builder = a_console(locks).token(TOKEN).doctor(config).election("e").schedule("s");
    let builder = if needs_token { builder.reading_needs_token() } else { builder };
    let app = init_service(App::new().service(builder.start().expect("a console"))).await;
    let (mut session, mut secrets) = (String::new(), Vec::new());
    for text in text.split(BETWEEN).take(MOST) {
        let Some(request) = request(text, &session) else { continue };
        let response = call_service(&app, request.to_request()).await;
        let status = response.status().as_u16();
        assert!(status < 500, "{status} for {text:?}");
        let is_page = header(response.headers().get(CONTENT_TYPE)).starts_with("text/html");
        let is_stream = header(response.headers().get(CONTENT_TYPE)).starts_with("text/event-stream");
        let given =
            header(response.headers().get(SET_COOKIE)).split(';').next().unwrap_or_default().to_owned();
        for (name, value) in response.headers() {
            let value = header(Some(value));
            assert!(!value.contains(TOKEN) && !value.contains(&held), "a token is in {name}");
            assert!(!secrets.iter().any(|secret| value.contains(secret)), "a session is in {name}");
        }
        // A stream has no end in sight.
        let body = if is_stream {
            Default::default()
        } else {
            to_bytes(response.into_body()).await.unwrap_or_default()
        };
        let body = String::from_utf8_lossy(&body);
        let cookie = given.split_once('=').map_or("", |(_, secret)| secret);
        secrets.extend((cookie.len() >= 16).then(|| cookie.to_owned()));
        assert!(!body.contains(TOKEN), "the token of the console is told: {body}");
        assert!(!body.contains(&held), "the token of a hold is told: {body}");
        assert!(!secrets.iter().any(|secret| body.contains(secret)), "a session is told: {body}");
        assert!(!is_page || !body.contains(ELEMENT), "what others wrote is a part of a page: {body}");
        if !cookie.is_empty() {
            session = given;
        }
    }
}

/// Takes a lock that has an element in its name and its metadata, and returns its token.
async fn hold(store: &MemoryStore) -> String {
    let token = Token::from_bits(HELD);
    let resource = ResourceName::new(ELEMENT).expect("a short name");
    let asked = Acquisition {
        hold: Hold { resource, token, owner: None },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: Duration::from_secs(1_000_000),
        lock_delay: Duration::ZERO,
        metadata: Arc::new(BTreeMap::from([("purpose".to_owned(), ELEMENT.to_owned())])),
        ticket: None,
    };
    assert!(matches!(store.acquire(&asked).await, Ok(Acquired::Granted(_))));
    token.to_hex()
}

/// Reads a request; `None` if it cannot be sent.
fn request(text: &str, session: &str) -> Option<TestRequest> {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines().skip_while(|line| *line == "reading needs the token");
    let (method, path) = lines.next()?.split_once(' ')?;
    path.parse::<Uri>().ok().filter(|_| path.starts_with('/'))?;
    // An element of its own may be in an answer in JSON, but not in a page.
    let mut request = TestRequest::with_uri(path).method(Method::from_bytes(method.as_bytes()).ok()?);
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        let value = match value {
            "Bearer @TOKEN" => value.replace(PLACE, TOKEN),
            SESSION => session.to_owned(),
            other => other.to_owned(),
        };
        let name = actix_web::http::header::HeaderName::from_bytes(name.as_bytes()).ok()?;
        let value = actix_web::http::header::HeaderValue::from_str(&value).ok()?;
        request = request.append_header((name, value));
    }
    // The form of the login is the only one that has it.
    let fields: Vec<_> = body
        .split('&')
        .map(|field| if field == "token=@TOKEN" { field.replace(PLACE, TOKEN) } else { field.to_owned() })
        .collect();
    Some(request.set_payload(fields.join("&")))
}

fn header(value: Option<&actix_web::http::header::HeaderValue>) -> &str {
    value.and_then(|value| value.to_str().ok()).unwrap_or_default()
}
