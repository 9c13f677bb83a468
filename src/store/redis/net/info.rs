//! Names and values, as servers and sentinels tell them of themselves.

use std::{collections::BTreeMap, time::Duration};

/// Names and values, as `INFO`, `CONFIG GET` and `SENTINEL MASTER` tell them.
pub(crate) type InfoTable = BTreeMap<String, String>;

/// Reads lines of `name:value`, as in the answer to `INFO`.
pub fn table(text: &str) -> InfoTable {
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.map(|(name, value)| (name.to_owned(), value.trim_end().to_owned())).collect()
}

/// Reads a number.
pub fn number(table: &InfoTable, name: &str) -> Option<u64> {
    table.get(name)?.parse().ok()
}

/// Returns the time since the start of a server by its wall clock, which may have been set meanwhile. One that was set back
/// to before the start reports a negative number, which is read as zero.
pub fn age(info: &InfoTable) -> Option<Duration> {
    let seconds: i64 = info.get("uptime_in_seconds")?.parse().ok()?;
    // It is the difference of two points in time that were both cut to whole seconds.
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0).saturating_sub(1)))
}

/// Returns true if a server has an append-only file.
pub fn is_append_only(info: &InfoTable) -> bool {
    info.get("aof_enabled").is_some_and(|enabled| enabled == "1")
}

/// Returns true if a server syncs its append-only file at every write.
pub fn syncs_always(config: &InfoTable) -> bool {
    config.get("appendfsync").is_some_and(|fsync| fsync == "always")
}

/// Returns the processor time of the thread that serves commands; before version 7 that of all threads.
pub(crate) fn busy(cpu: &InfoTable) -> Option<Duration> {
    let seconds = |name: &str| -> Option<f64> { cpu.get(name)?.parse().ok() };
    let sum =
        |end: &str| Some(seconds(&format!("used_cpu_sys{end}"))? + seconds(&format!("used_cpu_user{end}"))?);
    Duration::try_from_secs_f64(sum("_main_thread").or_else(|| sum(""))?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_serves_counts_and_else_all_of_them() {
        let text = "# CPU\r\nused_cpu_sys:2.5\r\nused_cpu_user:1.5\r\nused_cpu_sys_children:9.0\r\n";
        assert_eq!(busy(&table(text)), Some(Duration::from_secs(4)));
        let newer = format!("{text}used_cpu_sys_main_thread:1.0\r\nused_cpu_user_main_thread:0.25\r\n");
        assert_eq!(busy(&table(&newer)), Some(Duration::from_millis(1_250)));
        assert_eq!(busy(&table("used_cpu_sys:-7\nused_cpu_user:1")), None);
        assert_eq!(busy(&table("used_cpu_sys:NaN\nused_cpu_user:1")), None);
    }
}
