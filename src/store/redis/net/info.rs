//! Names and values, as servers and sentinels tell them of themselves.

use std::{collections::BTreeMap, time::Duration};

/// Names and values, as `INFO`, `CONFIG GET` and `SENTINEL MASTER` tell them.
pub(crate) type Table = BTreeMap<String, String>;

/// Reads lines of `name:value`, as in the answer to `INFO`.
pub(crate) fn table(text: &str) -> Table {
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.map(|(name, value)| (name.to_owned(), value.trim_end().to_owned())).collect()
}

/// Returns the number of this name.
pub(crate) fn number(table: &Table, name: &str) -> Option<u64> {
    table.get(name)?.parse().ok()
}

/// Returns the time since the start of a server by its wall clock, which may have been set meanwhile. One that was set back
/// to before the start reports a negative number, which is read as zero.
pub(crate) fn age(info: &Table) -> Option<Duration> {
    let seconds: i64 = info.get("uptime_in_seconds")?.parse().ok()?;
    // It is the difference of two points in time that were both cut to whole seconds.
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0).saturating_sub(1)))
}

/// Returns true if a server keeps an append-only file.
pub(crate) fn is_append_only(info: &Table) -> bool {
    info.get("aof_enabled").is_some_and(|enabled| enabled == "1")
}

/// Returns true if a server syncs its append-only file at every write.
pub(crate) fn syncs_always(config: &Table) -> bool {
    config.get("appendfsync").is_some_and(|fsync| fsync == "always")
}
