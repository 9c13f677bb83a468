//! Callers that want the same resources: one, or several of which the first are wanted most.

use std::{path::Path, rc::Rc, sync::Arc, time::Duration};

use super::AFTER_FAILURE;
use crate::{
    Failure,
    lockers::Locker,
    meters,
    referee::{Referee, Role, shared_file},
    sample::{Sample, Tally},
    worker::Callers,
};

pub(crate) struct Contended {
    tally: Tally,
    resources: Vec<(String, Referee)>,
    hold: Duration,
    pause: Duration,
}

/// Starts the callers. Each holds what it wants, then pauses.
pub(crate) fn start(
    locker: &Arc<Locker>,
    callers: usize,
    resources: usize,
    (hold, pause): (Duration, Duration),
    shared: Option<&Path>,
) -> Result<Rc<Contended>, Failure> {
    let watched = |resource| {
        let shared = shared.map(|directory| shared_file(directory, resource));
        Ok((format!("bench/hot/{resource}"), Referee::new(shared.as_deref())?))
    };
    let resources = (0..resources).map(watched).collect::<Result<_, Failure>>()?;
    let contended = Rc::new(Contended { tally: Tally::new(callers), resources, hold, pause });
    for caller in 0..callers {
        let (locker, contended) = (Arc::clone(locker), Rc::clone(&contended));
        actix_rt::spawn(async move {
            loop {
                if let Err(failure) = contended.turn(&locker, caller).await {
                    contended.tally.failed(&failure);
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        });
    }
    Ok(contended)
}

impl Contended {
    async fn turn(&self, locker: &Locker, caller: usize) -> Result<(), Failure> {
        let (resource, referee) = &self.resources[zipf(self.resources.len(), rand::random())];
        let asked = meters::now();
        self.tally.asked(caller, asked);
        let held = locker.acquire(resource).await?;
        let granted = meters::now();
        self.tally.granted(caller, granted);
        let released = referee.enter(Role::Writer, held.fence())?;
        // A hand-over is to somebody who waits for it already.
        if asked < released {
            self.tally.latency(granted.saturating_sub(released));
        }
        if !self.hold.is_zero() {
            tokio::time::sleep(self.hold).await;
        }
        referee.leave(Role::Writer)?;
        locker.release(held).await?;
        self.tally.turn(caller);
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        Ok(())
    }
}

impl Callers for Rc<Contended> {
    fn turns(&self) -> u64 {
        self.tally.turns()
    }

    fn reset(&self) {
        self.tally.reset();
    }

    fn sample(&self) -> Result<Sample, Failure> {
        let violations = self.resources.iter().map(|(_, referee)| referee.violations()).sum();
        let longest_wait = Some(self.tally.longest_wait(meters::now()));
        Ok(Sample { violations, longest_wait, ..self.tally.sample() })
    }
}

/// One of `count`, the n-th with a weight of 1/n.
fn zipf(count: usize, draw: f64) -> usize {
    let weight = |place: usize| 1.0 / (place + 1) as f64;
    let mut left = draw * (0..count).map(weight).sum::<f64>();
    (0..count - 1)
        .find(|place| {
            left -= weight(*place);
            left < 0.0
        })
        .unwrap_or(count - 1)
}

#[cfg(test)]
mod tests {
    use super::zipf;

    #[test]
    fn the_first_is_chosen_most_and_the_last_sometimes() {
        assert_eq!(zipf(1, 0.999), 0);
        // Weights 1 and 1/2.
        assert_eq!([zipf(2, 0.0), zipf(2, 0.66), zipf(2, 0.67), zipf(2, 0.999)], [0, 0, 1, 1]);
    }
}
