//! One resource in full: its holders, its waiters, and who held it since the view runs.

use std::time::Duration;

use leasehold_console::{
    observe::{Look, Stay},
    view::{HolderView, WaiterView, Who},
};
use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::Paragraph,
};

use super::{
    Palette,
    words::{UNKNOWN, count, maybe, shorten, time},
};
use crate::top::state::{Detail, Found};

/// How many holders stand below the timeline; those before them come last.
const LATEST: usize = 5;

/// Draws it, and returns the first line that is shown.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    open: &Detail<'_>,
    now: Duration,
    palette: Palette,
) -> usize {
    let lines = lines(open, usize::from(area.width), now, palette);
    let last = lines.len().saturating_sub(usize::from(area.height));
    let first = open.scroll.min(last);
    // A look tells some hundred lines at most.
    let scroll = u16::try_from(first).unwrap_or(u16::MAX);
    frame.render_widget(Paragraph::new(lines).scroll((scroll, 0)), area);
    first
}

fn lines(open: &Detail<'_>, width: usize, now: Duration, palette: Palette) -> Vec<Line<'static>> {
    let title = |text: String| Line::from(Span::styled(text, palette.title()));
    let mut lines = Vec::new();
    let name = shorten(&open.name.to_string(), width.saturating_sub(24));
    let Some((ago, look)) = open.look else {
        lines.push(title(format!("{name}: not looked at yet")));
        return lines;
    };
    lines.push(title(format!("{name}, {} ago", time(ago))));
    lines.push(title(headed("HOLDERS", look.seen.holders.len(), look.seen.total)));
    lines.extend(look.seen.holders.iter().flat_map(holder));
    lines.push(title("HELD BY, as seen up to now (. free, blank not looked at, + several)".to_owned()));
    lines.push(Line::from(timeline(open)));
    let (latest, earlier) = open.holds.split_at(open.holds.len().min(LATEST));
    lines.extend(latest.iter().map(|stay| self::stay(stay, look, now)));
    lines.push(title(headed("WAITERS", look.seen.waiters.len(), look.seen.queue())));
    lines.extend(look.seen.waiters.iter().map(waiter));
    if !earlier.is_empty() {
        lines.push(title("HELD BEFORE".to_owned()));
        lines.extend(earlier.iter().map(|stay| self::stay(stay, look, now)));
    }
    lines
}

fn headed(what: &str, told: usize, total: u64) -> String {
    match total > told as u64 {
        true => format!("{what} {} of {}", count(told as u64), count(total)),
        false => format!("{what} {}", count(total)),
    }
}

/// Two lines: who it is would not fit behind the rest on a small screen.
fn holder(holder: &HolderView) -> [Line<'static>; 2] {
    let HolderView { who, fence, age, left, .. } = holder;
    let state = if holder.is_holding() { "holds" } else { "keeps it closed" };
    let fence = fence.map_or_else(|| UNKNOWN.to_owned(), |fence| fence.to_string());
    let (held, left) = (maybe(*age), time(*left));
    let lease = format!("  {} {} {state} for {held}, {left} left, fence {fence}", who.token, who.mode);
    [Line::from(lease), Line::from(format!("    {}", in_full(who)))]
}

fn waiter(waiter: &WaiterView) -> Line<'static> {
    let WaiterView { position, who, waited } = waiter;
    let (token, mode, waited) = (&who.token, who.mode, maybe(*waited));
    Line::from(format!("  {position:>3} {token} {mode} for {waited}, {}", in_full(who)))
}

fn in_full(who: &Who) -> String {
    format!("{} {}", who.in_short(), who.more()).trim_end().to_owned()
}

fn timeline(open: &Detail<'_>) -> String {
    let cell = |found: &Option<Found>| match found {
        None => ' ',
        Some(Found::Free) => '.',
        Some(Found::One(number)) => letter(*number),
        Some(Found::Many(_)) => '+',
    };
    open.timeline.iter().map(cell).collect()
}

fn letter(number: usize) -> char {
    const LETTERS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char::from(LETTERS[number % LETTERS.len()])
}

fn stay(stay: &Stay, look: &Look, now: Duration) -> Line<'static> {
    let Stay { token, mode, who, .. } = stay;
    let seen = time(stay.lasted());
    let is_among = |holder: &HolderView| holder.who.token == *token;
    let ago = time(now.saturating_sub(stay.last));
    let now = match stay.over {
        true => format!("gone, last seen {ago} ago"),
        false if look.late().any(is_among) => "holds, late".to_owned(),
        false if look.seen.holders.iter().any(is_among) => "holds".to_owned(),
        false => format!("not among those told, last seen {ago} ago"),
    };
    let letter = letter(stay.number);
    Line::from(format!("  {letter} {token} {mode} for at least {seen}, {now}, {who}"))
}
