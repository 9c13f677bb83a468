//! One resource in full: its holders, its waiters, and who held it since the view runs.

use std::time::Duration;

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
use crate::top::{
    seen::{Hold, Look, Wait, Who},
    state::{Detail, Found, Turn},
};

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
    lines.push(title(headed("HOLDERS", look.holders.len(), look.total)));
    lines.extend(look.holders.iter().flat_map(holder));
    lines.push(title("HELD BY, as seen up to now (. free, blank not looked at, + several)".to_owned()));
    lines.push(Line::from(timeline(open)));
    let (latest, earlier) = open.turns.split_at(open.turns.len().min(LATEST));
    lines.extend(latest.iter().map(|turn| self::turn(turn, look, now)));
    lines.push(title(headed("WAITERS", look.waiters.len(), look.waiting)));
    lines.extend(look.waiters.iter().zip(1..).map(|(waiter, place)| self::waiter(waiter, place)));
    if !earlier.is_empty() {
        lines.push(title("HELD BEFORE".to_owned()));
        lines.extend(earlier.iter().map(|turn| self::turn(turn, look, now)));
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
fn holder(hold: &Hold) -> [Line<'static>; 2] {
    let state = if hold.closed { "keeps it closed" } else { "holds" };
    let fence = hold.fence.map_or_else(|| UNKNOWN.to_owned(), |fence| fence.to_string());
    let (held, left) = (maybe(hold.held), time(hold.left));
    let lease = format!("  {} {} {state} for {held}, {left} left, fence {fence}", hold.token, hold.mode);
    [Line::from(lease), Line::from(format!("    {}", in_full(&hold.who)))]
}

fn waiter(wait: &Wait, place: usize) -> Line<'static> {
    Line::from(format!(
        "  {place:>3} {} {} for {}, {}",
        wait.token,
        wait.mode,
        maybe(wait.waited),
        in_full(&wait.who),
    ))
}

fn in_full(who: &Who) -> String {
    format!("{} {}", who.in_short(), who.more).trim_end().to_owned()
}

fn timeline(open: &Detail<'_>) -> String {
    let cell = |found: &Option<Found>| match found {
        None => ' ',
        Some(Found::Free) => '.',
        Some(Found::Turn(number)) => letter(*number),
        Some(Found::Many(_)) => '+',
    };
    open.timeline.iter().map(cell).collect()
}

fn letter(number: usize) -> char {
    const LETTERS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char::from(LETTERS[number % LETTERS.len()])
}

fn turn(turn: &Turn, look: &Look, now: Duration) -> Line<'static> {
    let seen = time(turn.last.saturating_sub(turn.since));
    let now = match turn.holds {
        true if turn.late => "holds, late".to_owned(),
        true if look.holders.iter().any(|hold| hold.token == turn.token) => "holds".to_owned(),
        true => format!("not among those told, last seen {} ago", time(now.saturating_sub(turn.last))),
        false => format!("gone, last seen {} ago", time(now.saturating_sub(turn.last))),
    };
    let (letter, token, mode, who) = (letter(turn.number), turn.token, turn.mode, turn.who.in_short());
    Line::from(format!("  {letter} {token} {mode} for at least {seen}, {now}, {who}"))
}
