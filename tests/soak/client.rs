//! A process of callers, as the soak sees it.

use std::{
    io::Write,
    process::{ChildStdin, Command, Stdio},
    sync::{Mutex, mpsc::Sender},
    thread,
    time::Duration,
};

use leasehold_testing::{process::Process, servers::WallClock};
use rand::{RngExt, rngs::StdRng};

use super::{
    fault::Fault,
    stage::locked,
    worker::{Said, Task},
};

/// A process of callers.
pub(super) struct Client {
    pub(super) process: Process,
    /// Until it was told to end.
    pub(super) input: Option<ChildStdin>,
    clock: WallClock,
}

impl Client {
    /// Starts it. What it says goes to `say`, with its number in its topology.
    pub(super) fn start(task: &Task, process: usize, say: Sender<(usize, Said)>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([super::ROLE, &serde_json::to_string(task).unwrap()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Otherwise the allocator keeps as much as the largest line that was ever said, which looks like a leak.
        command.envs(["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"].map(|name| (name, "131072")));
        let clock = WallClock::of(&mut command, 0);
        let mut started = Process::start(&mut command);
        let input = Some(started.stdin());
        started.tell(move |line| {
            let said = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            say.send((process, said)).is_ok()
        });
        Self { process: started, input, clock }
    }
}

/// Does to processes of callers what a fault says, if it says something. Answers what that was, in words.
pub(super) fn disturb(all: &Mutex<Vec<Client>>, fault: Fault, random: &mut StdRng) -> String {
    let time = Duration::from_millis(random.random_range(1_000..6_000));
    let (process, seconds) = (random.random_range(0..locked(all).len()), random.random_range(-600..600_i64));
    let mut clients = locked(all);
    match fault {
        Fault::Burst => {
            for client in &mut *clients {
                // One that is dead is noticed elsewhere.
                let _ = client.input.as_mut().map(|input| writeln!(input, "{}", time.as_millis()));
            }
            drop(clients);
            thread::sleep(time);
        }
        Fault::ClientFrozen => {
            clients[process].process.pause();
            drop(clients);
            thread::sleep(time);
            locked(all)[process].process.resume();
        }
        Fault::ClientClock => {
            let by = Duration::from_secs(seconds.unsigned_abs());
            let clock = &clients[process].clock;
            if seconds < 0 {
                clock.set_back(by)
            } else {
                clock.advance(by)
            }
            return format!("by {seconds} s");
        }
        _ => return String::new(),
    }
    format!("{time:.1?}")
}
