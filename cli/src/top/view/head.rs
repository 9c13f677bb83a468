//! The three lines at the top: where, how many, and how it goes.

use ratatui::{
    Frame,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::{
    Palette, draw_lines,
    words::{count, rate, time},
};
use crate::top::state::{Head, Walked};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, head: &Head<'_>, palette: Palette) {
    draw_lines(frame, area, vec![first(head, palette), second(head, palette), third(head, palette)]);
}

fn first<'a>(head: &Head<'a>, palette: Palette) -> Line<'a> {
    let sampled = match head.sampled {
        None => "no sample yet".to_owned(),
        Some(ago) if ago <= 2 * head.every => format!("every {}", time(head.every)),
        Some(ago) => format!("last sample {} ago", time(ago)),
    };
    Line::from(vec![
        Span::styled("leasehold top", palette.title()),
        Span::raw(format!("  {}  up {}, {sampled}", head.place, time(head.up))),
    ])
}

fn second<'a>(head: &Head<'_>, palette: Palette) -> Line<'a> {
    let names = match &head.names {
        None => "…".to_owned(),
        Some((ago, walked)) => {
            format!("{} ({} ago, of {} keys)", found(walked), time(*ago), count(walked.keys))
        }
    };
    let contended = head.contended.as_ref().map_or_else(|| "…".to_owned(), |(_, walked)| found(walked));
    let waiting = match head.not_looked {
        _ if head.sampled.is_none() || head.contended.is_none() => "…".to_owned(),
        0 => count(head.waiting),
        some => format!("{} and {} queues more", count(head.waiting), count(some as u64)),
    };
    labelled(&[("not free", names), ("contended", contended), ("waiting", waiting)], palette)
}

/// The names of an incomplete walk are the least that there may be.
fn found(walked: &Walked) -> String {
    let least = if walked.complete { "" } else { "at least " };
    format!("{least}{}", count(walked.found as u64))
}

fn third<'a>(head: &Head<'_>, palette: Palette) -> Line<'a> {
    let grants = head.grants_a_second.map_or_else(|| "…".to_owned(), |seen| format!(">={}", rate(seen)));
    let server = match (&head.server, head.has_no_server_load) {
        (Some(busy), _) => format!("{:.0} % CPU", busy * 100.0),
        (None, true) => "not told".to_owned(),
        (None, false) => "…".to_owned(),
    };
    let mut line = labelled(&[("grants/s", grants)], palette);
    for (label, number) in
        [("late", head.late as u64), ("near misses", head.near_misses), ("ran out", head.ran_out)]
    {
        let style = if number > 0 { palette.bad() } else { Style::new() };
        line.push_span(Span::styled(format!("{label} "), palette.faint()));
        line.push_span(Span::styled(format!("{}  ", count(number)), style));
    }
    line.extend(labelled(&[("server", server)], palette));
    line
}

fn labelled<'a>(figures: &[(&str, String)], palette: Palette) -> Line<'a> {
    let spans = figures.iter().flat_map(|(label, figure)| {
        [Span::styled(format!("{label} "), palette.faint()), Span::raw(format!("{figure}  "))]
    });
    Line::from_iter(spans)
}
