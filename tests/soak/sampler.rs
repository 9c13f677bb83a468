//! Memory and open files of processes, from `/proc`, and whether they grow.

use std::fs;

/// The size of a page of memory.
const PAGE: u64 = 4_096;

/// Samples of twenty minutes: in less time connections, buffers and pools of all servers have not yet grown to their size.
const SETTLED: usize = 1_200;

/// What a process has at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    /// Resident memory in KiB.
    pub(super) memory: u64,
    /// Open file descriptors.
    pub(super) files: u64,
}

impl Sample {
    /// Looks at a process; nothing if it is gone.
    pub(super) fn of(process: u32) -> Option<Self> {
        let pages = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
        let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
        let files = fs::read_dir(format!("/proc/{process}/fd")).ok()?.count() as u64;
        Some(Self { memory: pages * PAGE / 1_024, files })
    }
}

/// The samples of one process, one a second.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples(pub(super) Vec<Sample>);

impl Samples {
    /// The medians of the samples around a moment, in seconds since the beginning: of the thirtieth part of the whole time before and
    /// after it.
    pub(super) fn around(&self, second: usize) -> Sample {
        let reach = (self.0.len() / 30).max(1);
        let (from, until) = (second.saturating_sub(reach), (second + reach).min(self.0.len()));
        self.median(from.min(until), until)
    }

    fn median(&self, from: usize, until: usize) -> Sample {
        let median = |value: fn(&Sample) -> u64| {
            let mut values: Vec<_> = self.0[from..until].iter().map(value).collect();
            values.sort_unstable();
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        Sample { memory: median(|sample| sample.memory), files: median(|sample| sample.files) }
    }

    /// What has grown from the second quarter to the last one, in words. The first quarter is not asked, and nothing is in a run of less
    /// than twenty minutes: buffers and pools grow to their size. Memory is compared by its median, and may be an eighth and 4 MiB more. Files are compared by their smallest number, because
    /// there are more connections for a while after each fault.
    pub(super) fn growth(&self) -> Option<String> {
        if self.0.len() < SETTLED {
            return None;
        }
        let quarter = self.0.len() / 4;
        let (second, last) = (quarter..2 * quarter, 3 * quarter..self.0.len());
        let memory = [&second, &last].map(|of| self.median(of.start, of.end).memory);
        let fewest = |of: std::ops::Range<usize>| {
            self.0[of].iter().map(|sample| sample.files).min().unwrap_or_default()
        };
        let files = [fewest(second), fewest(last)];
        let grows = memory[1] > memory[0] + memory[0] / 8 + 4 * 1_024;
        let opens = files[1] > files[0] + files[0] / 2 + 8;
        let words = || {
            format!(
                "grew: {} KiB and then {}; at least {} files and then {}",
                memory[0], memory[1], files[0], files[1]
            )
        };
        (grows || opens).then(words)
    }
}
