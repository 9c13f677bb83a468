//! The members of a process group, as `/proc` tells of them.

use std::fs;

use rustix::process::Pid;

/// Returns true if a process of this group runs: one that has ended, and that nobody has collected, is a member for as long as
/// its parent pleases, and does nothing. True where `/proc` cannot be read.
pub(super) fn runs(group: Pid) -> bool {
    let Ok(entries) = fs::read_dir("/proc") else { return true };
    let statuses = entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    let mut members = 0;
    for status in statuses {
        let Some(member) = Member::read(&status).filter(|it| it.group == group.as_raw_nonzero().get()) else {
            continue;
        };
        if member.runs {
            return true;
        }
        members += 1;
    }
    // It has a member, since this was asked: without one the processes of others are hidden.
    members == 0
}

#[derive(Debug, PartialEq, Eq)]
struct Member {
    group: i32,
    runs: bool,
}

impl Member {
    /// Reads the `stat` of a process: `12 (name) S 1 12 …`, with a name that may have all characters.
    fn read(status: &str) -> Option<Self> {
        let (_, fields) = status.rsplit_once(") ")?;
        let mut fields = fields.split(' ');
        let ended = matches!(fields.next()?, "Z" | "X" | "x");
        let group = fields.nth(1)?.parse().ok()?;
        // The first thread may have ended before the others.
        let threads: u32 = fields.nth(14)?.parse().ok()?;
        Some(Self { group, runs: !ended || threads > 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_read_whatever_its_name_is() {
        let status = |state, threads| {
            format!("12 (a) Z 1 2 (b) {state} 1 34 5 0 -1 4 9 0 0 0 0 0 0 0 20 0 {threads} 0 4")
        };
        for (state, threads, runs) in
            [("R", 1, true), ("T", 1, true), ("Z", 1, false), ("X", 0, false), ("Z", 2, true)]
        {
            let read = Member::read(&status(state, threads));
            assert_eq!(read, Some(Member { group: 34, runs }), "{state}, {threads}");
        }
        assert_eq!(Member::read("12 (cut"), None);
    }
}
