//! Readers that keep coming, and one writer that has to get in. What is timed is the writer's wait.

use std::{rc::Rc, sync::Arc, time::Duration};

use super::AFTER_FAILURE;
use crate::{
    Failure,
    lockers::Locker,
    meters,
    referee::{Referee, Role},
    sample::{Sample, Tally},
    worker::Callers,
};

const RESOURCE: &str = "bench/read";

/// The writer's place among the callers.
const WRITER: usize = 0;

pub(crate) struct Readers {
    tally: Tally,
    referee: Referee,
    hold: Duration,
}

/// Starts the readers and the writer.
pub(crate) fn start(locker: &Arc<Locker>, readers: usize, hold: Duration) -> Result<Rc<Readers>, Failure> {
    let all = Rc::new(Readers { tally: Tally::new(1 + readers), referee: Referee::new(None)?, hold });
    for caller in 0..=readers {
        let (locker, all) = (Arc::clone(locker), Rc::clone(&all));
        actix_rt::spawn(async move {
            loop {
                if let Err(failure) = all.turn(&locker, caller).await {
                    all.tally.failed(&failure);
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        });
    }
    Ok(all)
}

impl Readers {
    async fn turn(&self, locker: &Locker, caller: usize) -> Result<(), Failure> {
        let asked = meters::now();
        self.tally.asked(caller, asked);
        let (role, held) = match caller {
            WRITER => (Role::Writer, locker.write(RESOURCE).await?),
            _ => (Role::Reader, locker.read(RESOURCE).await?),
        };
        let granted = meters::now();
        self.tally.granted(caller, granted);
        if role == Role::Writer {
            self.tally.latency(granted - asked);
        }
        // Answers to readers may overtake each other on their way to this thread, so fences are not compared.
        self.referee.enter(role, None)?;
        tokio::time::sleep(self.hold).await;
        self.referee.leave(role)?;
        locker.release(held).await?;
        self.tally.turn(caller);
        Ok(())
    }
}

impl Callers for Rc<Readers> {
    fn turns(&self) -> u64 {
        self.tally.turns()
    }

    fn reset(&self) {
        self.tally.reset();
    }

    fn sample(&self) -> Result<Sample, Failure> {
        let longest_wait = Some(self.tally.longest_wait(meters::now()));
        Ok(Sample { violations: self.referee.violations(), longest_wait, ..self.tally.sample() })
    }
}
