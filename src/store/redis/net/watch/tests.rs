//! Facts about doubts, in virtual time.

use std::sync::atomic::AtomicUsize;

use futures_util::{FutureExt, StreamExt, future::ready};

use super::*;

const TTL: Duration = Duration::from_secs(60);
const TOKEN: Token = Token::from_bits(7);

/// The watch over one lease, and its doubts. The connection has this number.
fn watch(number: u64) -> (Arc<Watch>, impl Stream<Item = Notification>) {
    let watch = Arc::<Watch>::default();
    let doubts = Box::pin(Arc::clone(&watch).doubts(move || ready(Ok(number))));
    (watch, doubts)
}

fn asks(watch: &Watch) -> u64 {
    watch.asks([(b"key".to_vec(), TOKEN, TTL)].into_iter())
}

fn is_held(watch: &Watch, count: u64, connection: u64) {
    watch.answered((b"key", TOKEN), Some(TTL), (count, connection));
}

fn told(watch: &Watch, key: &[u8]) {
    let keys = vec![Value::Array(vec![Value::BulkString(key.into())])];
    watch.hear(&PushInfo { kind: PushKind::Invalidate, data: keys });
}

/// Counts the doubts in this time.
async fn doubts_in(time: Duration, doubts: &mut (impl Stream<Item = Notification> + Unpin)) -> usize {
    let mut count = 0;
    let end = Instant::now() + time;
    while let Ok(Some(doubt)) = timeout_at(end, doubts.next()).await {
        assert!(matches!(doubt, Notification::Doubted(TOKEN)), "{doubt:?}");
        count += 1;
    }
    count
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_a_watch_doubts_once_what_was_held_on_the_one_before() {
    let (watch, mut doubts) = watch(1);
    is_held(&watch, asks(&watch), 0);
    watch.refused.store(true, Ordering::Relaxed);
    assert_eq!(doubts_in(TTL, &mut doubts).await, 1);
    assert!(watch.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_not_seen_held_is_not_doubted() {
    let (watch, mut doubts) = watch(0);
    told(&watch, b"key");
    let count = asks(&watch);
    told(&watch, b"key");
    watch.hear(&PushInfo { kind: PushKind::Invalidate, data: vec![Value::Nil] });
    watch.hear(&PushInfo { kind: PushKind::Disconnection, data: Vec::new() });
    assert_eq!(doubts_in(TTL / 2, &mut doubts).await, 0);
    // The change may have come after the renewal.
    is_held(&watch, count, 0);
    assert_eq!(doubts_in(PAUSE, &mut doubts).await, 1);
    watch.answered((b"key", TOKEN), None, (asks(&watch), 0));
    told(&watch, b"key");
    assert_eq!(doubts_in(TTL, &mut doubts).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_changed_again_and_again_is_doubted_once_in_a_while() {
    let (watch, mut doubts) = watch(0);
    is_held(&watch, asks(&watch), 0);
    let mut count = 0;
    for _ in 0..1_000 {
        told(&watch, b"key");
        told(&watch, b"another");
        count += doubts_in(TTL / 2_000, &mut doubts).await;
        is_held(&watch, asks(&watch), 0);
    }
    assert!((4..=7).contains(&count), "{count} in 30 s");
}

#[tokio::test(start_paused = true)]
async fn many_changes_are_told_by_few_looks() {
    let (watch, looks) = (Arc::<Watch>::default(), AtomicUsize::new(0));
    let look = || {
        looks.fetch_add(1, Ordering::Relaxed);
        ready(Ok(0))
    };
    let mut doubts = Box::pin(Arc::clone(&watch).doubts(look));
    is_held(&watch, asks(&watch), 0);
    let mut count = 0;
    for _ in 0..100 {
        told(&watch, b"key");
        count += doubts_in(GATHERS_FOR / 10, &mut doubts).await;
    }
    assert_eq!(count, 1);
    assert!((5..=11).contains(&looks.load(Ordering::Relaxed)), "{looks:?}");
}

#[tokio::test(start_paused = true)]
async fn a_doubt_without_an_answer_is_told_again_until_the_lease_has_ended() {
    let (watch, mut doubts) = watch(0);
    is_held(&watch, asks(&watch), 0);
    told(&watch, b"key");
    assert!((10..=13).contains(&doubts_in(TTL, &mut doubts).await));
    assert_eq!(doubts_in(TTL, &mut doubts).await, 0);
    assert!(watch.leases.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_answer_explains_the_changes_before_its_question_alone() {
    let (watch, mut doubts) = watch(0);
    is_held(&watch, asks(&watch), 0);
    told(&watch, b"key");
    is_held(&watch, asks(&watch), 0);
    assert_eq!(doubts_in(PAUSE, &mut doubts).await, 0);
    let count = asks(&watch);
    told(&watch, b"key");
    is_held(&watch, count, 0);
    assert_eq!(doubts_in(PAUSE / 2, &mut doubts).await, 1);
}

#[tokio::test(start_paused = true)]
async fn another_connection_doubts_what_was_read_on_the_one_before_and_only_once() {
    let (watch, mut doubts) = watch(1);
    is_held(&watch, asks(&watch), 1);
    assert_eq!(doubts_in(PAUSE, &mut doubts).await, 0);
    is_held(&watch, asks(&watch), 0);
    assert_eq!(doubts_in(PAUSE / 2, &mut doubts).await, 1);
    is_held(&watch, asks(&watch), 1);
    assert_eq!(doubts_in(TTL / 2, &mut doubts).await, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_released_and_what_somebody_else_holds_is_not_doubted() {
    let (watch, mut doubts) = watch(0);
    is_held(&watch, asks(&watch), 0);
    watch.forget([(b"key".to_vec(), Token::from_bits(8))].into_iter());
    assert!(!watch.is_empty());
    watch.forget([(b"key".to_vec(), TOKEN)].into_iter());
    told(&watch, b"key");
    assert!(doubts_in(TTL, &mut doubts).now_or_never().is_none());
    assert!(watch.is_empty());
}
