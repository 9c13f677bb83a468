//! Notifications of hand-overs and notices to holders: a subscription on a connection of its own, opened again and again.
//!
//! It shares nothing with the connection of the verbs: there, a message that the server sends unasked could be taken
//! for the answer to a verb.

use std::time::Duration;

use futures_util::{Stream, StreamExt, future, stream};
use redis::{
    Client, Value,
    aio::{PubSubSink, PubSubStream},
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    address::NodeAddress,
    endpoint::Endpoint,
    errors, notices,
    opening::{opened_at, within},
    server::LoggedIn,
};
use crate::{
    core::Doubling,
    store::{Notification, StoreError},
};

/// The interval at which the server is asked whether it is there: a connection whose other end has vanished is silent.
const HEARTBEAT: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The pause after a denial or a wrong server: nothing changes until somebody changes the configuration.
const PAUSE_IF_WRONG: Duration = Duration::from_secs(30);

/// A subscriber to its channels, for as long as its stream is there.
pub(crate) struct Subscriber {
    endpoint: Endpoint,
    channels: Vec<String>,
    /// The time within which a subscription is opened, and a heartbeat is answered.
    within: Duration,
    subscription: Option<Subscription>,
    /// The pause before the subscription is opened.
    pause: Duration,
    pauses: Doubling,
    /// The kind of error that was told last as the reason why it is disconnected.
    told: Option<&'static str>,
}

struct Subscription {
    sink: PubSubSink,
    messages: PubSubStream,
    next_heartbeat: Instant,
    /// The master that the sentinels named for it.
    master: Option<NodeAddress>,
    login: LoggedIn,
    /// The time before which other credentials are of no interest.
    keep_until: Instant,
}

impl Subscriber {
    pub(crate) const fn new(endpoint: Endpoint, channels: Vec<String>, within: Duration) -> Self {
        let (pause, pauses) = (Duration::ZERO, Doubling::new(FIRST_PAUSE, LONGEST_PAUSE));
        Self { endpoint, channels, within, subscription: None, pause, pauses, told: None }
    }

    /// Returns the notifications from now on, without an end. All work is done while the stream is polled, and ends
    /// when it is dropped.
    pub(crate) fn notifications(self) -> impl Stream<Item = Notification> + Send {
        stream::unfold(self, |mut subscriber| async { Some((subscriber.next().await, subscriber)) })
    }

    async fn next(&mut self) -> Notification {
        loop {
            if let Some(subscription) = &mut self.subscription {
                if let Some(notification) =
                    subscription.next(&self.endpoint, &self.channels, self.within).await
                {
                    return notification;
                }
                self.subscription = None;
                self.pauses.reset();
                self.pause = self.pauses.next();
            }
            sleep(self.pause).await;
            let missing = || format!("{:?}: no subscription", self.endpoint);
            let opening = Subscription::open(&self.endpoint, &self.channels);
            match within(self.within, missing, opening).await {
                Ok(subscription) => {
                    self.subscription = Some(subscription);
                    self.told = None;
                    return Notification::Subscribed;
                }
                Err(error) => {
                    self.pause = match error.is_transient() {
                        true => self.pauses.next(),
                        false => PAUSE_IF_WRONG,
                    };
                    // Once: the next try is likely to say the same.
                    if self.told.replace(error.kind()) != Some(error.kind()) {
                        return Notification::Disconnected(error);
                    }
                }
            }
        }
    }
}

impl Subscription {
    async fn open(endpoint: &Endpoint, channels: &[String]) -> Result<Self, StoreError> {
        let (server, master) = endpoint.find().await?;
        let open = |client: Client| async move {
            let (mut sink, messages) = client.get_async_pubsub().await?.split();
            sink.subscribe(channels).await?;
            Ok((sink, messages))
        };
        let ((sink, messages), login) = opened_at(&server, server.open(open)).await?;
        let now = Instant::now();
        let (next_heartbeat, keep_until) = (now + HEARTBEAT, now + LONGEST_PAUSE);
        Ok(Self { sink, messages, next_heartbeat, master, login, keep_until })
    }

    /// Returns the next notification; `None` if the connection is gone, or leads to a server that is no longer the master.
    async fn next(&mut self, from: &Endpoint, channels: &[String], within: Duration) -> Option<Notification> {
        loop {
            tokio::select! {
                message = self.messages.next() => {
                    if let Some(notification) = message?.get_payload().ok().and_then(notices::read) {
                        return Some(notification);
                    }
                }
                () = from.moved(self.master.as_ref()) => return None,
                () = outdated(&self.login, self.keep_until) => {
                    // A subscription takes no login. Until there is another one, this one stays.
                    if let Ok(Ok(new)) = timeout(within, Self::open(from, channels)).await {
                        *self = new;
                        return Some(Notification::Subscribed);
                    }
                    self.keep_until = Instant::now() + LONGEST_PAUSE;
                }
                () = sleep_until(self.next_heartbeat) => {
                    if from.has_moved(self.master.as_ref()) {
                        return None;
                    }
                    self.ping(within).await?;
                }
            }
        }
    }

    /// Asks the server whether it is still there. A refusal is an answer as well.
    async fn ping(&mut self, within: Duration) -> Option<()> {
        let answer = timeout(within, self.sink.ping::<Value>()).await.ok()?;
        self.next_heartbeat = Instant::now() + HEARTBEAT;
        let gone = answer.is_err_and(|error| errors::wants_new_connection(&error));
        (!gone).then_some(())
    }
}

/// Completes when there are other credentials than those of this login.
async fn outdated(login: &LoggedIn, not_before: Instant) {
    match login {
        Some((provider, known)) => {
            sleep_until(not_before).await;
            provider.newer_than(known.version).await;
        }
        None => future::pending().await,
    }
}
