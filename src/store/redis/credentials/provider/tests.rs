//! Tests of the provider in virtual time: slow ones, ones that hang, ones that panic.

use std::{future::pending, sync::atomic::AtomicUsize};

use tokio::time::sleep;

use super::*;

const CONNECT: Duration = Duration::from_secs(1);

/// Returns a provider of the answers of a function, which gets the number of the question, from 0.
fn answering<F>(answer: impl Fn(usize) -> F + Send + Sync + 'static) -> CredentialsProvider
where
    F: Future<Output = Credentials> + Send + 'static,
{
    let asked = AtomicUsize::new(0);
    CredentialsProvider::new(move || answer(asked.fetch_add(1, Ordering::Relaxed)).map(Ok::<_, String>))
}

#[tokio::test(start_paused = true)]
async fn connections_open_though_each_answer_takes_longer_than_the_time_to_connect() {
    let provider = answering(|_| async {
        sleep(CONNECT * 3).await;
        Credentials::new("s3cret")
    });
    assert!(timeout(CONNECT, provider.current(CONNECT / 2)).await.is_err(), "there are none");
    sleep(CONNECT * 4).await;
    let known = timeout(CONNECT, provider.current(CONNECT / 2)).await.unwrap().unwrap();
    assert_eq!(known.version, 1);
}

#[tokio::test(start_paused = true)]
async fn the_last_credentials_serve_new_connections_while_the_provider_hangs() {
    let provider = answering(|number| async move {
        if number > 0 {
            pending::<()>().await;
        }
        Credentials::new("s3cret").valid_for(Duration::from_secs(100))
    });
    provider.current(CONNECT / 2).await.unwrap();
    for _ in 0..100 {
        sleep(CONNECT).await;
        timeout(CONNECT, provider.current(CONNECT / 2)).await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_is_asked_again_a_second_later() {
    let provider = answering(|number| async move {
        assert!(!(1..4).contains(&number), "a panic of the provider");
        Credentials::new(format!("s3cret/{number}")).valid_for(Duration::from_secs(10))
    });
    let (known, began) = (provider.current(CONNECT / 2).await.unwrap(), Instant::now());
    assert_eq!(provider.newer_than(known.version).await.credentials.password, "s3cret/4");
    assert!(began.elapsed() >= Duration::from_secs(8 + 3), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn credentials_may_be_valid_for_ever() {
    for time in [Duration::MAX, Duration::from_secs(u64::MAX / 4)] {
        let provider = answering(move |_| async move { Credentials::new("s3cret").valid_for(time) });
        assert_eq!(provider.current(CONNECT / 2).await.unwrap().version, 1);
    }
}
