//! A fleet that was killed while it waited: what it costs one who lives.

use std::collections::BTreeMap;
use std::{sync::Arc, time::Duration};

use leasehold::{
    Acquire, Lease, LockManager, Mode, Token,
    store::{Acquisition, Hold, Inbox, Notifications, QueueTicket, Store},
};

use super::{
    GRANT_WINDOW,
    history::{History, What},
    resource,
};

/// The resource that it waits for; nobody else does.
const NUMBER: usize = 6;
const DEAD: u64 = 12;
/// Requests of the dead have numbers that no other has.
const REQUEST: u64 = 1_000_000;
const TTL: Duration = Duration::from_secs(1);
const TICKET_TTL: Duration = Duration::from_secs(9);
/// The holder's end, two grant windows, and what a scheduled attempt is late.
const WITHIN: Duration = Duration::from_millis(3_000);

/// A holder and waiters that are dead: nobody hears of them any more, or nobody answers.
pub(crate) async fn is_killed(
    store: &Arc<dyn Store>,
    locks: &actix::Addr<LockManager>,
    history: &History,
    heard: bool,
) {
    let mut lines: Vec<Notifications> = Vec::new();
    for number in 0..=DEAD {
        let inbox = Inbox(Token::from_bits(u128::from(REQUEST + number)));
        if heard {
            lines.push(store.listen(&inbox));
        }
        // How it is answered is judged by what the store did.
        let _ = store.acquire(&one_of_them(number, inbox)).await;
    }
    let request = REQUEST + DEAD + 1;
    history.add(NUMBER, What::Asked { request, wait: WITHIN });
    let ask =
        Acquire::new(resource(NUMBER).to_string()).wait(WITHIN).metadata("request", request.to_string());
    match locks.send(ask).await.map_err(|error| error.to_string()) {
        Ok(Ok(lease)) => let_go(lease, history).await,
        other => {
            let details = format!("nobody who lives gets what a killed fleet waited for: {other:?}");
            history.add(NUMBER, What::Wrong { property: "P16", details });
        }
    }
}

async fn let_go(lease: Lease, history: &History) {
    history.add(NUMBER, What::LetGo { token: lease.token() });
    // In quiet times it is released; if not, that is seen at the end.
    let _ = lease.release().await;
}

fn one_of_them(number: u64, inbox: Inbox) -> Acquisition {
    let token = Token::from_bits(u128::from(REQUEST + number) << 64);
    let ticket =
        QueueTicket { inbox, ttl: TICKET_TTL, grant_window: GRANT_WINDOW, max_waiters: 100, place: None };
    Acquisition {
        hold: Hold { resource: resource(NUMBER), token, owner: None },
        mode: Mode::Exclusive,
        reentrant: false,
        ttl: TTL,
        lock_delay: Duration::ZERO,
        metadata: BTreeMap::from([("request".to_owned(), (REQUEST + number).to_string())]).into(),
        ticket: Some(ticket),
    }
}
