//! Work that runs only while a lease holds.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use crate::lease::LeaseLostError;

/// Runs `work` until it is done or the lease is lost. `loss` says whether the lease is lost now, and `lost` waits for it.
pub(crate) async fn run_until_lost<T>(
    work: impl Future<Output = T>,
    loss: impl Fn() -> Option<LeaseLostError>,
    lost: impl Future<Output = LeaseLostError>,
) -> Result<T, LeaseLostError> {
    let mut work = pin!(work);
    // The clock is read at each poll: the timer of `lost` stops while the machine is suspended.
    let while_held = poll_fn(|turn| match loss() {
        Some(lost) => Poll::Ready(Err(lost)),
        None => work.as_mut().poll(turn).map(Ok),
    });
    tokio::select! {
        biased;
        lost = lost => Err(lost),
        done = while_held => done,
    }
}
