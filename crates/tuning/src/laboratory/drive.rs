//! The callers of a workload: they ask a lock manager, hold what they get, and note how it went.

use std::{rc::Rc, sync::Arc, time::Duration};

use actix::Addr;
use futures_util::future::{Either, join_all, select};
use leasehold::{Acquire, AcquireError, Lease, LockManager, ReadLock, WriteLock};
use serde::{Deserialize, Serialize};

use crate::laboratory::{
    pace::Pace,
    units::whole_micros,
    workload::{Access, GONE, LONGEST, ProcessTurns, RequestTurn, Workload},
};

/// The outcome of a request that got its lease.
const GRANTED: &str = "granted";

/// A request of a workload, and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Served {
    /// The number of the caller; the number of the process if requests come by themselves.
    pub caller: u32,
    /// The time at which the request was made, in microseconds since the start.
    pub at: u64,
    /// The time until it was answered, or until its caller went away, in microseconds.
    pub waited: u64,
    /// The outcome: `granted`, `gone` for a caller that went away, else the [kind](AcquireError::kind) of the error.
    pub outcome: String,
}

impl Served {
    /// Returns true if the request got its lease.
    pub fn is_granted(&self) -> bool {
        self.outcome == GRANTED
    }
}

/// Everything that the callers of a process share.
struct CallerWorld {
    locks: Addr<LockManager>,
    pace: Arc<dyn Pace>,
    mode: Access,
    end: Duration,
}

/// Runs the part of one process of a workload, counted from 0, on the manager of that process, and returns how its requests
/// ended. `pace` should have started just now. No request is made after the duration of the workload; the last ones may
/// take longer.
///
/// # Panics
/// When it is polled outside of a tokio `LocalSet`. Every actix arbiter is one.
pub async fn drive(
    workload: &Workload,
    process: u32,
    locks: &Addr<LockManager>,
    pace: Arc<dyn Pace>,
) -> Vec<Served> {
    let shared = Rc::new(CallerWorld {
        locks: locks.clone(),
        pace,
        mode: workload.mode.clone(),
        end: workload.duration,
    });
    let mut running = Vec::new();
    match workload.turns(process) {
        ProcessTurns::Open(turns) => {
            for turn in turns {
                shared.pace.until(turn.at).await;
                let shared = Rc::clone(&shared);
                running.push(actix_rt::spawn(async move { vec![shared.serve(process, turn).await] }));
            }
        }
        ProcessTurns::Callers(callers) => {
            for mut caller in callers {
                let shared = Rc::clone(&shared);
                running.push(actix_rt::spawn(async move {
                    let mut served = Vec::new();
                    let mut turn = caller.next(Duration::ZERO);
                    while turn.at < shared.end {
                        shared.pace.until(turn.at).await;
                        served.push(shared.serve(caller.number, turn).await);
                        turn = caller.next(shared.pace.now());
                    }
                    served
                }));
            }
        }
    }
    // A task that was aborted with its runtime has nothing to tell.
    join_all(running).await.into_iter().flatten().flatten().collect()
}

/// Takes and releases a lock, so that connections are open and scripts are loaded before a run.
///
/// # Errors
/// [`AcquireError`] when the manager gets no lock within ten seconds.
pub async fn warm_up(locks: &Addr<LockManager>) -> Result<(), AcquireError> {
    let ask = Acquire::new("tune/warm-up").wait(Duration::from_secs(10));
    let lease = locks.send(ask).await.unwrap_or(Err(AcquireError::ShuttingDown))?;
    // It ends with its TTL in any case.
    let _ = lease.release().await;
    Ok(())
}

impl CallerWorld {
    /// Makes a request, and holds the lease that it may get.
    async fn serve(&self, caller: u32, turn: RequestTurn) -> Served {
        let asked = self.pace.now();
        let answer = self.answer(&turn, asked).await;
        let answered = self.pace.now();
        let outcome = match &answer {
            Some(Ok(_)) => GRANTED,
            Some(Err(error)) => error.kind(),
            None => GONE,
        };
        if let Some(Ok(lease)) = answer {
            self.pace.until(answered + turn.hold).await;
            // The manager goes on until the release is certain, or the lease has ended.
            let _ = lease.release().await;
        }
        Served {
            caller,
            at: whole_micros(asked),
            waited: whole_micros(answered - asked),
            outcome: outcome.to_owned(),
        }
    }

    /// Returns the answer to a request; `None` if the caller lost its patience first.
    async fn answer(&self, turn: &RequestTurn, asked: Duration) -> Option<Result<Lease, AcquireError>> {
        let answer = Box::pin(self.ask(turn));
        let Some(patience) = turn.patience else { return Some(answer.await) };
        match select(answer, self.pace.until(asked + patience)).await {
            Either::Left((answer, _)) => Some(answer),
            Either::Right(_) => None,
        }
    }

    async fn ask(&self, turn: &RequestTurn) -> Result<Lease, AcquireError> {
        let resource = format!("tune/{}", turn.resource);
        let request = match self.mode {
            Access::Exclusive => Acquire::new(resource),
            Access::ReadWrite { .. } if turn.reads => ReadLock::new(resource).into(),
            Access::ReadWrite { .. } => WriteLock::new(resource).into(),
            Access::Permits { of } => Acquire::new(resource).permits(1, of),
        };
        let request = match turn.wait {
            // Longer than any setting allows: it waits without end.
            Some(wait) if wait > LONGEST => request.wait_forever(),
            Some(wait) => request.wait(wait),
            None => request,
        };
        self.locks.send(request).await.unwrap_or(Err(AcquireError::ShuttingDown))
    }
}
