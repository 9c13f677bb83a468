//! The ages of those that wait, over time: p50 as dots, p99 as a finer line above it.

use std::time::Duration;

use ratatui::{
    Frame,
    layout::Rect,
    symbols::Marker,
    text::{Line, Span},
    widgets::{Axis, Block, Borders, Chart, Dataset, GraphType, Paragraph},
};

use super::{Palette, words::time};
use crate::top::state::{Ages, Screen};

/// The shortest and the longest time from the left to the right.
const SHORTEST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(300);

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, screen: &Screen<'_>, palette: Palette) {
    if area.is_empty() {
        return;
    }
    let shown = screen.now.clamp(SHORTEST, LONGEST);
    let block = Block::new().borders(Borders::TOP).title(title(screen, shown, palette));
    let Some(highest) = screen.ages.iter().map(|ages| ages.p99).max() else {
        frame.render_widget(Paragraph::new("").block(block), area);
        return;
    };
    let points = |age: fn(&Ages) -> Duration| -> Vec<_> {
        screen.ages.iter().map(|ages| (ages.at.as_secs_f64(), age(ages).as_secs_f64())).collect()
    };
    let (p50, p99) = (points(|ages| ages.p50), points(|ages| ages.p99));
    // Points, and no lines between them: where nobody waited, there is no age.
    let set = |points, marker, style| {
        Dataset::default().data(points).marker(marker).graph_type(GraphType::Scatter).style(style)
    };
    let sets = vec![set(&p99, Marker::Braille, palette.high()), set(&p50, Marker::Dot, palette.usual())];
    let now = screen.now.as_secs_f64();
    let top = highest.max(Duration::from_millis(1));
    let labels = [Duration::ZERO, top].map(|age| Span::raw(format!("{:>6}", time(age))));
    let chart = Chart::new(sets)
        .block(block)
        .legend_position(None)
        .x_axis(Axis::default().bounds([now - shown.as_secs_f64(), now]))
        .y_axis(Axis::default().bounds([0.0, top.as_secs_f64()]).labels(labels));
    frame.render_widget(chart, area);
}

fn title<'a>(screen: &Screen<'_>, shown: Duration, palette: Palette) -> Line<'a> {
    let mut title = vec![Span::styled(format!("age of waiters, last {}: ", time(shown)), palette.title())];
    // The last point is of the present only if somebody waits now.
    let present =
        screen.ages.last().filter(|ages| Some(screen.now.saturating_sub(ages.at)) <= screen.head.sampled);
    match present {
        Some(ages) => {
            title.push(Span::styled(format!("• p50 {}  ", time(ages.p50)), palette.usual()));
            title.push(Span::styled(format!("⠒ p99 {} ", time(ages.p99)), palette.high()));
        }
        None if screen.head.sampled.is_none() || screen.head.contended.is_none() => {
            title.push(Span::raw("not known yet "))
        }
        None if screen.head.waiting > 0 => title.push(Span::raw("not told by this store ")),
        None => title.push(Span::raw("nobody waits ")),
    }
    Line::from(title)
}
