//! The target `answers`: a server that answers anything to every verb, and never a grant without a fence that it sent.

mod scripts;
mod server;
mod values;
mod words;

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::{
    StreamExt,
    future::{Either, select},
};
use leasehold::{
    Layout, RedisOptions, RedisStore, ResourceName, StoreError, Token,
    store::{Acquisition, Grant, Store},
};
use leasehold_doctor::probe;
use leasehold_testing::waiting::PATIENCE;
use tokio::time::{Instant, timeout};

use self::server::Server;
use crate::{
    input::Input,
    reached::reach,
    verbs::{Cast, Watch, play},
};

/// The time for a call of a cluster or by sentinels, which is sent again and again until it is over.
const SHORT: Duration = Duration::from_millis(10);
/// The same for one server, which answers each call or breaks the connection.
const LONG: Duration = Duration::from_millis(100);

/// Plays verbs to a server that answers as these bytes say.
pub fn answers(data: &[u8]) {
    let input = Input::new(data);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let server = Server::start(&input).await;
        let asking = pin!(ask(&input, &server));
        // A client has to end also where the server has gone.
        if let Either::Left(((), asking)) = select(pin!(server.serve()), asking).await {
            timeout(PATIENCE, asking).await.expect("a client that ends");
        }
    });
}

async fn ask(input: &Input<'_>, server: &Server<'_>) {
    let (url, time) = match input.below(8) {
        6 => (format!("redis+cluster://{}", server.address()), SHORT),
        7 => (format!("redis+sentinel://{}/locks", server.address()), SHORT),
        _ => (format!("redis+unix://{}", server.socket()), LONG),
    };
    let is_cluster = url.starts_with("redis+cluster");
    let (layout, watched) = match input.below(8) {
        6 => (Layout::Full, true),
        7 => (Layout::Plain, false),
        _ => (Layout::Full, false),
    };
    let replicas_ack = u32::from(input.once_in(8));
    let options = RedisOptions {
        layout,
        replicas_ack,
        watch_leases: watched && !is_cluster && replicas_ack == 0,
        connect_timeout: time,
        response_timeout: time,
        ..RedisOptions::default()
    };
    let store = RedisStore::with_options(&url, options.clone()).expect("a store on a server that is there");
    let cast = Cast::new(input, &["r", "{s}"]);
    let mut reader = Reader { server, is_whole: layout == Layout::Full && !is_cluster };
    for _ in 0..=input.below(6) {
        match input.below(16) {
            14 => hear(&store, &cast).await,
            15 => drop(probe::run(&url, &options, Instant::now()).await),
            _ => play(&store, input, &cast, &mut reader).await,
        }
    }
}

/// Hears what comes to an inbox, a few at most.
async fn hear(store: &RedisStore, cast: &Cast) {
    let heard = store.listen(&cast.inbox()).take(8).count();
    // A server that has nothing to say leaves a listener waiting.
    let _ = timeout(SHORT, heard).await;
}

/// A reader of the answers.
struct Reader<'a, 'b> {
    server: &'a Server<'b>,
    /// True if each verb is one script: in the plain layout and on a cluster some are made of others.
    is_whole: bool,
}

impl Watch for Reader<'_, '_> {
    fn granted(&mut self, asked: &Acquisition, grant: Grant) {
        // A server of the plain layout gives none.
        let Some(fence) = grant.fence else { return };
        assert!(fence.get() > 0, "a fence that no store gives: {asked:?}");
        assert!(self.server.has_said(fence.get()), "nobody said {fence}: {asked:?}");
    }

    fn given_up(&mut self, _: &ResourceName, _: Option<Token>) {}

    fn not_all_granted(&mut self, _: &[Arc<Acquisition>]) {}

    fn read(&mut self, decoder: &'static str) {
        if self.is_whole {
            reach(decoder);
        }
    }

    fn failed(&mut self, error: &StoreError) {
        // What is shown of it is made of what the server said.
        let _ = (error.to_string(), format!("{error:?}"), error.certainty());
    }
}
