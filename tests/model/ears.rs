//! The messages of a store to the clients of a trace.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use leasehold::{
    Mode, ResourceName, Token,
    store::{
        Acquired, Acquisition, Hold, HolderNotice, Inbox, Notification, Notifications, Store, ToHolders,
    },
};
use leasehold_sim::checked::queue::{CLIENTS, Told};

use super::traces::TICK;

/// What the clients hear of a store, message by message.
pub(crate) struct Ears {
    streams: Vec<Notifications>,
    /// The number of notices that were sent to tell that all before them was heard.
    marks: u128,
}

impl Ears {
    pub(crate) async fn open(store: &dyn Store) -> Self {
        let mut streams: Vec<_> = (0..CLIENTS).map(|which| store.listen(&inbox(which, false))).collect();
        for stream in &mut streams {
            let first = stream.next().await;
            assert!(matches!(first, Some(Notification::Subscribed)), "{first:?}");
        }
        // Somebody has to hold what a notice is about.
        let hold = Hold { resource: mark(), token: Token::from_bits(1), owner: None };
        let forever = Acquisition {
            hold,
            mode: Mode::Exclusive,
            reentrant: false,
            ttl: TICK * 1_000_000,
            lock_delay: Duration::ZERO,
            metadata: Arc::default(),
            ticket: None,
        };
        assert!(matches!(store.acquire(&forever).await, Ok(Acquired::Granted(_))));
        Self { streams, marks: 0 }
    }

    /// Returns what each client has heard since the last time. A store sends in order: a notice to all comes behind it.
    pub(crate) async fn heard(&mut self, store: &dyn Store) -> Result<Vec<(usize, Token, Told)>, String> {
        self.marks += 1;
        let revocation = Token::from_bits(self.marks);
        let notice =
            HolderNotice::RevokeRequested { revocation, reason: "a mark".into(), grace: Duration::ZERO };
        let to = ToHolders { resource: mark(), among: None, notice: Some(notice.clone()) };
        store.notify_holders(&to).await.map_err(|error| error.to_string())?;
        let mut heard = Vec::new();
        for (which, stream) in self.streams.iter_mut().enumerate() {
            loop {
                heard.push(match stream.next().await {
                    Some(Notification::HandedOver(token)) => (which, token, Told::HandedOver),
                    Some(Notification::Next(token)) => (which, token, Told::Next),
                    Some(Notification::GoOn(token)) => (which, token, Told::GoOn),
                    Some(Notification::ToHolders(_, told)) if told == notice => break,
                    // What was taken by force is told to all.
                    Some(Notification::ToHolders(_, HolderNotice::Taken)) => continue,
                    other => return Err(format!("heard {other:?}")),
                });
            }
        }
        Ok(heard)
    }
}

fn mark() -> ResourceName {
    ResourceName::new("mark").expect("a name")
}

/// The inbox of a client. Nobody listens to that of a deaf one.
pub(crate) fn inbox(which: usize, is_deaf: bool) -> Inbox {
    Inbox(Token::from_bits(1 + which as u128 + if is_deaf { 100 } else { 0 }))
}
