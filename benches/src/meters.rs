//! What this process has used: time, processor, memory.

use std::{fs, time::Duration};

use rustix::time::{ClockId, clock_gettime};

use crate::Failure;

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

/// The bytes of memory that this process has in use.
pub(crate) fn memory() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let kilobytes: u64 = kilobytes.ok_or("/proc/self/status tells no memory")?.parse()?;
    Ok(kilobytes * 1024)
}
