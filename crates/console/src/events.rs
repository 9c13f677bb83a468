//! The stream of events: one for each change that the observer has seen (server-sent events).

use std::{convert::Infallible, time::Duration};

use actix_web::{
    HttpResponse,
    web::{Bytes, Data},
};
use futures_util::stream::unfold;
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::{Instant, sleep, sleep_until},
};

use super::{failure::Failure, model::Watch, shared::Shared};

/// The time after which a stream without events sends a comment, by which a client that has gone is noticed.
const BEAT: Duration = Duration::from_secs(15);
/// The time after which a stream ends. The browser begins another one, and is looked at anew: a session may be over.
const LONGEST: Duration = Duration::from_secs(300);

/// A stream of events to one client.
struct Stream {
    seen: watch::Receiver<Watch>,
    ends: Instant,
    is_new: bool,
    _place: OwnedSemaphorePermit,
}

/// Follows what changes: server-sent events named `change`, whose data is a Watch. The first says how things are.
#[utoipa::path(get, path = "/events", responses((status = 200, body = Watch, content_type = "text/event-stream")))]
pub(crate) async fn events(shared: Data<Shared>) -> Result<HttpResponse, Failure> {
    if shared.is_blind() {
        return Err(Failure::gone());
    }
    let place = shared.streams.clone().try_acquire_owned();
    let place = place.map_err(|_| Failure::busy("too many follow the events already"))?;
    let stream =
        Stream { seen: shared.seen.clone(), ends: Instant::now() + LONGEST, is_new: true, _place: place };
    let body = unfold(stream, async |mut stream| {
        let text = stream.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), stream))
    });
    let response = HttpResponse::Ok()
        .content_type("text/event-stream")
        // A proxy that gathers the answer would keep the events back.
        .insert_header(("x-accel-buffering", "no"))
        .streaming(body);
    Ok(response)
}

impl Stream {
    async fn next(&mut self) -> Option<String> {
        if std::mem::take(&mut self.is_new) {
            return Some(format!("retry: 3000\n{}", event(&self.seen.borrow_and_update())));
        }
        tokio::select! {
            // Without an observer nothing will be seen any more.
            changed = self.seen.changed() => changed.ok().map(|()| event(&self.seen.borrow_and_update())),
            () = sleep(BEAT) => Some(":\n\n".to_owned()),
            () = sleep_until(self.ends) => None,
        }
    }
}

/// Returns an event, whose data is one line of JSON.
fn event(watch: &Watch) -> String {
    // It has no maps with other keys than texts, and no numbers that JSON has not.
    let data = serde_json::to_string(watch).unwrap_or_default();
    format!("event: change\ndata: {data}\n\n")
}
