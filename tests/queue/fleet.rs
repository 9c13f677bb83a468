//! The processes of a test: started, told what to do, heard, killed.

use std::{
    io::Write,
    process::{ChildStdin, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, channel},
    },
    time::{Duration, Instant},
};

use leasehold::{Fence, ResourceName, env::Moment};
use leasehold_testing::{
    history::{Held, lines::Transcript},
    process::{Process, this_program},
    servers::RedisServer,
    waiting::{PATIENCE, until},
};

use crate::queue::{
    process::{RESOURCE, SETUP, TEST},
    talk::{Do, Setup, Told, Turn},
};

/// What a process has told.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) asked: usize,
    /// How many times all who had asked waited.
    pub(crate) waiting: usize,
    pub(crate) holding: bool,
    pub(crate) turns: Vec<Turn>,
    pub(crate) refused: Vec<(u64, String)>,
    ended: Option<(u64, u64)>,
}

pub(crate) struct Fleet {
    processes: Vec<(Process, ChildStdin)>,
    heard: Vec<Heard>,
    told: Receiver<(usize, Told)>,
    ttl: Duration,
    /// Tests that measure time, one at a time.
    _alone: MutexGuard<'static, ()>,
}

impl Fleet {
    pub(crate) fn start(setup: &Setup, processes: usize) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        // What a failed test leaves behind is gone with it.
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (tell, told) = channel();
        let start_one = |number| {
            let tell = tell.clone();
            let mut command = this_program(TEST);
            command.env(SETUP, serde_json::to_string(setup).unwrap()).stdin(Stdio::piped());
            let mut process = Process::start(&mut command);
            process.tell(move |line| {
                // What the harness prints is not meant for us, and nobody listens any more when the test is over.
                serde_json::from_str(&line).map_or(true, |told| tell.send((number, told)).is_ok())
            });
            let stdin = process.stdin();
            (process, stdin)
        };
        let processes: Vec<_> = (0..processes).map(start_one).collect();
        let heard = processes.iter().map(|_| Heard::default()).collect();
        Self { processes, heard, told, ttl: setup.ttl, _alone }
    }

    pub(crate) fn tell(&mut self, process: usize, what: Do) {
        let mut line = serde_json::to_vec(&what).unwrap();
        line.push(b'\n');
        self.processes[process].1.write_all(&line).unwrap();
    }

    /// Callers of this process ask, and wait when this returns: behind all who have asked before.
    pub(crate) fn ask(&mut self, process: usize, callers: usize) {
        let asked_before = self.heard[process].waiting;
        self.heard[process].asked += callers;
        self.tell(process, Do::Ask(callers));
        self.until(&format!("{callers} callers wait"), |fleet| fleet.heard[process].waiting > asked_before);
    }

    /// A caller of this process has the resource when this returns.
    pub(crate) fn hold(&mut self, process: usize) {
        self.tell(process, Do::Hold);
        self.until("holding", |fleet| fleet.heard[process].holding);
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self, process: usize) {
        self.processes[process].0.kill();
    }

    /// SIGSTOP: its connections stay open.
    pub(crate) fn freeze(&mut self, process: usize) {
        self.processes[process].0.pause();
    }

    /// Hears what processes tell until a condition holds.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(self) {
            let Ok((process, told)) = self.told.recv_timeout(end.saturating_duration_since(Instant::now()))
            else {
                let served: Vec<_> =
                    self.heard.iter().map(|heard| (heard.asked, heard.turns.len())).collect();
                panic!("not within {PATIENCE:?}: {what}; asked and served by process: {served:?}");
            };
            let heard = &mut self.heard[process];
            match told {
                Told::Waiting => heard.waiting += 1,
                Told::Holding => heard.holding = true,
                Told::Served(turn) => heard.turns.push(turn),
                Told::Refused(at, reason) => heard.refused.push((at, reason)),
                Told::Ended(pending, held) => heard.ended = Some((pending, held)),
            }
        }
    }

    pub(crate) fn until_served(&mut self, callers: usize) {
        self.until(&format!("{callers} are served"), |fleet| fleet.turns().count() >= callers);
    }

    /// Waits until every caller of these processes was served or told.
    pub(crate) fn until_all_are_answered(&mut self, processes: &[usize]) {
        let answered = |heard: &Heard| heard.turns.len() + heard.refused.len() == heard.asked;
        self.until("all are answered", |fleet| {
            processes.iter().all(|process| answered(&fleet.heard[*process]))
        });
    }

    pub(crate) fn of(&self, process: usize) -> &Heard {
        &self.heard[process]
    }

    /// All turns, each with the number of its process.
    pub(crate) fn turns(&self) -> impl Iterator<Item = (usize, &Turn)> {
        let heard = self.heard.iter().enumerate();
        heard.flat_map(|(process, heard)| heard.turns.iter().map(move |turn| (process, turn)))
    }

    /// The leases that the callers told of.
    fn transcript(&self) -> Transcript {
        let resource = ResourceName::new(RESOURCE).unwrap();
        let lease = |(process, turn): (usize, &Turn)| {
            let known = [turn.asked, turn.granted, turn.ended];
            let known = known.map(|micros| Moment::since_origin(Duration::from_micros(micros)));
            (process as u64, Held::exclusive(resource.clone(), Fence::new(turn.fence), self.ttl, known))
        };
        Transcript { leases: self.turns().map(lease).collect(), ..Transcript::default() }
    }

    /// Ends these processes in good order: nothing is left in them, and no key on the server in the end.
    pub(crate) fn end(mut self, processes: &[usize], server: &RedisServer) {
        for process in processes {
            self.tell(*process, Do::End);
            self.until("ended", |fleet| fleet.heard[*process].ended.is_some());
            assert_eq!(self.heard[*process].ended, Some((0, 0)), "pending and held in process {process}");
        }
        until("only the fence is left", || server.keys().iter().all(|(key, _)| key == "leasehold:fence"));
    }
}

impl Drop for Fleet {
    /// Keeps the history, of a test that fails too.
    fn drop(&mut self) {
        self.transcript().keep("queue");
    }
}
