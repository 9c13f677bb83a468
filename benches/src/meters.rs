//! Meters of processes and of the machine: time, processor, memory.

use std::{fs, time::Duration};

use rustix::{
    thread::set_name,
    time::{ClockId, clock_gettime},
};

use crate::Failure;

/// The name of a thread that runs callers.
const CALLERS: &str = "callers";
/// The name that actix gives to the thread of an arbiter, cut short by the system. Arbiters of callers have the other
/// name.
const MANAGER: &str = "actix-rt|system";

/// Nanoseconds on a clock that all processes of the machine share.
pub(crate) fn now() -> u64 {
    nanos(ClockId::Monotonic)
}

/// The processor time of all threads of this process.
pub(crate) fn processor_time() -> Duration {
    Duration::from_nanos(nanos(ClockId::ProcessCPUTime))
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Names this thread as one that runs callers.
pub(crate) fn this_thread_runs_callers() -> Result<(), Failure> {
    let name = std::ffi::CString::new(CALLERS)?;
    Ok(set_name(&name)?)
}

/// Seconds of processor time of this process, by what its threads do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Threads {
    pub(crate) all: f64,
    /// The arbiter of leasehold's manager.
    pub(crate) manager: f64,
    pub(crate) callers: f64,
}

impl Threads {
    pub(crate) fn now() -> Result<Self, Failure> {
        let mut threads = Self { all: processor_time().as_secs_f64(), ..Self::default() };
        for (name, seconds) in of_threads("self")? {
            match name.as_str() {
                CALLERS => threads.callers += seconds,
                MANAGER => threads.manager += seconds,
                _ => {}
            }
        }
        Ok(threads)
    }

    /// Returns the time that was used since then.
    pub(crate) fn since(self, then: Self) -> Self {
        Self {
            all: self.all - then.all,
            manager: self.manager - then.manager,
            callers: self.callers - then.callers,
        }
    }
}

/// The seconds of processor time that a process has used, without its threads that have ended.
pub(crate) fn processor_of(process: u32) -> Result<f64, Failure> {
    Ok(of_threads(&process.to_string())?.iter().map(|(_, seconds)| seconds).sum())
}

/// The names of the threads of a process, and their seconds of processor time.
///
/// `schedstat` counts nanoseconds; `stat` counts hundredths of a second, which is too coarse for a short measurement.
fn of_threads(process: &str) -> Result<Vec<(String, f64)>, Failure> {
    let mut threads = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let path = thread?.path();
        let read = |file| fs::read_to_string(path.join(file));
        let (name, spent) = match (read("comm"), read("schedstat")) {
            (Ok(name), Ok(spent)) => (name, spent),
            // The thread has ended meanwhile.
            _ if !path.exists() => continue,
            (name, spent) => (name?, spent?),
        };
        let nanos: u64 = spent.split_whitespace().next().ok_or("schedstat is empty")?.parse()?;
        threads.push((name.trim_end().to_owned(), Duration::from_nanos(nanos).as_secs_f64()));
    }
    Ok(threads)
}

/// The time of the machine's processors since its start, in ticks, all together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Machine {
    idle: u64,
    all: u64,
    cores: u32,
}

impl Machine {
    pub(crate) fn now() -> Result<Self, Failure> {
        Self::parse(&fs::read_to_string("/proc/stat")?)
    }

    fn parse(stat: &str) -> Result<Self, Failure> {
        let mut lines = stat.lines();
        let total =
            lines.next().and_then(|line| line.strip_prefix("cpu ")).ok_or("/proc/stat is not known")?;
        // user, nice, system, idle, waiting for a disk, interrupts (two), stolen; guests are counted in the first two.
        let ticks: Vec<u64> = total
            .split_whitespace()
            .take(8)
            .map(str::parse)
            .collect::<Result<_, std::num::ParseIntError>>()?;
        let [_, _, _, idle, waiting, ..] = ticks[..] else { return Err("/proc/stat is too short".into()) };
        let cores = lines.take_while(|line| line.starts_with("cpu")).count();
        Ok(Self { idle: idle + waiting, all: ticks.iter().sum(), cores: u32::try_from(cores)? })
    }

    /// Returns the number of cores that had nothing to do since then, on average.
    pub(crate) fn idle_since(self, then: Self) -> f64 {
        let share = self.idle.saturating_sub(then.idle) as f64 / self.all.saturating_sub(then.all) as f64;
        f64::from(self.cores) * share
    }
}

/// The bytes of memory that this process has in use.
pub(crate) fn memory() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let kilobytes: u64 = kilobytes.ok_or("/proc/self/status tells no memory")?.parse()?;
    Ok(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_cores_are_a_share_of_all() {
        let before = Machine::parse("cpu  100 0 0 300 0 0 0 0 50 0\ncpu0 50\ncpu1 50\nintr 1\n").unwrap();
        assert_eq!(before, Machine { idle: 300, all: 400, cores: 2 });
        let after = Machine::parse("cpu  120 0 10 360 10 0 0 0 0 0\ncpu0 50\ncpu1 50\nintr 1\n").unwrap();
        assert_eq!(after.idle_since(before), 2.0 * 70.0 / 100.0);
    }

    #[test]
    fn threads_of_callers_are_told_by_their_name() {
        let before = Threads::now().unwrap();
        let thread = std::thread::spawn(move || {
            this_thread_runs_callers().unwrap();
            let end = now() + 20_000_000;
            while now() < end {}
            Threads::now().unwrap().since(before)
        });
        let spent = thread.join().unwrap();
        assert!(spent.callers > 0.0 && spent.all >= spent.manager, "{spent:?}");
    }
}
