//! One process of the soak: callers in all modes, a schedule, a singleton, partitions, holders that are revoked, and what it says each
//! second.

use std::{
    cell::Cell,
    io::BufRead,
    path::PathBuf,
    rc::Rc,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use leasehold::Acquire;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinHandle,
    time::{interval, sleep},
};

use super::{
    leading::{self, Led, Run},
    lie::Lie,
    revoked::{self, Taken},
};
use crate::load::{Plan, Report, Work, look_for_stalls};

/// How many more callers there are in a burst.
const BURST: usize = 150;

/// What a process is to do.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) plan: Plan,
    /// The number of the process, which no other one has.
    pub(super) number: usize,
    /// Where its marks are.
    pub(super) folder: PathBuf,
    /// Whether the store has schedules.
    pub(super) schedules: bool,
    /// Whether this process takes locks back from others.
    pub(super) revokes: bool,
    /// What it does wrong, to show that the soak notices.
    pub(super) lie: Option<Lie>,
}

/// What a process says each second, as one line.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Said {
    /// The leases that ended, and the counts.
    pub(super) report: Report,
    pub(super) runs: Vec<Run>,
    pub(super) led: Vec<Led>,
    /// What the actors of partitions did, each with its partition.
    pub(super) owned: Vec<(u32, Led)>,
    pub(super) taken: Vec<Taken>,
    /// True for its last line.
    pub(super) is_last: bool,
}

/// What the tasks of a process write down for the next line.
pub(super) type Notes = Arc<Mutex<Said>>;

/// Works until its input is closed.
pub(super) fn run(task: Task) {
    actix::System::new().block_on(async {
        let folder = task.folder.join(task.number.to_string());
        let mut work = Work::start(task.plan.clone(), &folder, task.number as u64);
        let notes = Notes::default();
        let _witness = actix_rt::spawn(look_for_stalls(Rc::clone(&work.report)));
        let _leading = leading::start(&work.managers[0], &notes, task.number, task.schedules);
        let revoked = revoked::start(&work, &notes, &task);
        let mut liar = task.lie.map(Lie::begin);
        let (mut bursts, mut told) = (Vec::new(), 0);
        let (mut orders, mut second) = (orders(), interval(Duration::from_secs(1)));
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    None => break,
                    Some(time) => bursts.push(burst(&work, &task.plan, time)),
                },
                _ = second.tick() => {
                    work.sums_hold().await;
                    let mut said = said(&work, &notes);
                    told += said.report.told_not_held();
                    if let Some(liar) = &mut liar {
                        liar.lie(&mut said);
                    }
                    say(&said);
                }
            }
        }
        work.finish().await;
        for task in revoked.into_iter().chain(bursts) {
            task.await.unwrap();
        }
        let mut last = said(&work, &notes);
        last.report.found_lost = work.found_lost(told + last.report.told_not_held()).await;
        if matches!(task.lie, Some(Lie::ALeftover)) {
            let lease = work.managers[0].send(Acquire::new("load/left")).await.unwrap();
            std::mem::forget(lease);
        } else {
            work.shut_down().await;
        }
        say(&Said { is_last: true, ..last });
    });
}

fn said(work: &Work, notes: &Notes) -> Said {
    let report = Report { held: work.history.take(), ..work.report.take() };
    Said { report, ..std::mem::take(&mut *notes.lock().unwrap()) }
}

fn say(said: &Said) {
    println!("{}", serde_json::to_string(said).unwrap());
}

/// Receives the times of bursts in milliseconds, a line each, until the input is closed.
fn orders() -> UnboundedReceiver<Duration> {
    let (order, orders) = unbounded_channel();
    thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let Some(millis) = line.parse().ok() else { break };
            if order.send(Duration::from_millis(millis)).is_err() {
                break;
            }
        }
    });
    orders
}

/// Has many more callers ask without a pause, for some time. A panic of one is one of the answer.
fn burst(work: &Work, plan: &Plan, time: Duration) -> JoinHandle<()> {
    let stop = Rc::new(Cell::new(false));
    let plan = Rc::new(Plan { pause: Duration::ZERO, ..plan.clone() });
    let start = |number| {
        let caller = work.caller(plan.callers + number, false, Rc::clone(&plan), Rc::clone(&stop));
        actix_rt::spawn(caller.run())
    };
    let callers: Vec<_> = (0..BURST).map(start).collect();
    let whole = Rc::clone(&work.stop);
    actix_rt::spawn(async move {
        let ends = actix_rt::time::Instant::now() + time;
        while !whole.get() && actix_rt::time::Instant::now() < ends {
            sleep(Duration::from_millis(50)).await;
        }
        stop.set(true);
        for caller in callers {
            caller.await.unwrap();
        }
    })
}
