//! What the inboxes of both stores are told, and the comparison of it.

use std::time::Duration;

use futures_util::StreamExt;
use leasehold::{
    MemoryStore, Mode, RedisStore, ResourceName, Token, TokenPrefix,
    store::{Acquisition, Hold, Notification, Notifications, QueueTicket, Released, Store},
};

use super::{
    answers::{Found, same},
    case::{INBOXES, inbox},
};

const WITHIN: Duration = Duration::from_secs(30);

/// What an inbox was told, and about whom.
type Heard = (String, TokenPrefix);

/// The notifications of both stores to each inbox.
pub(crate) struct Told(Vec<[Notifications; 2]>);

impl Told {
    pub(crate) async fn listen(memory: &MemoryStore, redis: &RedisStore) -> Self {
        let mut inboxes = Vec::new();
        for number in 0..INBOXES {
            let mut notifications = [memory.listen(&inbox(number)), redis.listen(&inbox(number))];
            for notifications in &mut notifications {
                let first = next(notifications).await;
                assert!(matches!(first, Ok(Notification::Subscribed)), "{first:?}");
            }
            inboxes.push(notifications);
        }
        Self(inboxes)
    }

    /// Each inbox was told of the same hand-overs and of the same who are next, in the same order.
    pub(crate) async fn compare(&mut self, memory: &MemoryStore, redis: &RedisStore) -> Found {
        for (number, [model, real]) in self.0.iter_mut().enumerate() {
            let told = [told(memory, number, model).await?, told(redis, number, real).await?];
            let [model, real] = told;
            same(Ok((number, model)), Ok((number, real)))?;
        }
        Ok(())
    }
}

/// All notifications until now: what comes before a last hand-over that is made for this.
async fn told(
    store: &dyn Store,
    number: usize,
    notifications: &mut Notifications,
) -> Result<Vec<Heard>, String> {
    let last = hand_over(store, number).await?;
    let mut told = Vec::new();
    loop {
        match next(notifications).await? {
            Notification::HandedOver(token) if token == last => return Ok(told),
            Notification::HandedOver(token) => told.push(("handed over".to_owned(), token.prefix())),
            Notification::Next(token) => told.push(("next".to_owned(), token.prefix())),
            Notification::GoOn(token) => told.push(("go on".to_owned(), token.prefix())),
            Notification::ToHolders(tokens, notice) => {
                let notice = format!("{notice:?}");
                let mut heard: Vec<Heard> =
                    tokens.iter().map(|token| (notice.clone(), token.prefix())).collect();
                heard.sort();
                told.extend(heard);
            }
            other => return Err(format!("{other:?} was notified")),
        }
    }
}

/// Hands a token over to this inbox, and takes it back.
async fn hand_over(store: &dyn Store, number: usize) -> Result<Token, String> {
    let [holder, waiter] = [1, 2].map(|token| last(number, Token::from_bits(token)));
    for asked in [&holder, &waiter] {
        store.acquire(asked).await.map_err(|error| error.to_string())?;
    }
    for asked in [&holder, &waiter] {
        let released = store.release(&asked.hold, Duration::ZERO).await.map_err(|error| error.to_string())?;
        same(Ok(Released::Freed), Ok(released))?;
    }
    Ok(waiter.hold.token)
}

fn last(number: usize, token: Token) -> Acquisition {
    const LONG: Duration = Duration::from_secs(60);
    let resource = ResourceName::new(format!("last/{number}")).expect("a name");
    let ticket =
        QueueTicket { inbox: inbox(number), ttl: LONG, grant_window: LONG, max_waiters: 1, place: None };
    Acquisition {
        hold: Hold { resource, token, owner: None },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: LONG,
        lock_delay: Duration::ZERO,
        metadata: Default::default(),
        ticket: Some(ticket),
    }
}

async fn next(notifications: &mut Notifications) -> Result<Notification, String> {
    let next = tokio::time::timeout(WITHIN, notifications.next()).await;
    next.ok().flatten().ok_or_else(|| "a notification is missing".to_owned())
}
