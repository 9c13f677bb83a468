//! The view: a view model in, a frame of the terminal out. Pure, so that screens can be compared with files.

mod chart;
mod detail;
mod foot;
mod head;
mod help;
mod palette;
mod table;
mod words;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect, Size},
    text::Line,
    widgets::Paragraph,
};

pub(crate) use self::palette::Palette;
use super::state::{Overlay, Screen};

/// The smallest screen on which something can be read.
const SMALLEST: Size = Size::new(40, 10);

/// The parts of a screen, from top to bottom.
struct Parts {
    head: Rect,
    chart: Rect,
    table: Rect,
    foot: Rect,
}

impl Parts {
    fn of(area: Rect) -> Self {
        let chart = match area.height {
            0..20 => 0,
            20..40 => 6,
            _ => 14,
        };
        let heights =
            [Constraint::Length(3), Constraint::Length(chart), Constraint::Fill(1), Constraint::Length(2)];
        let [head, chart, table, foot] = Layout::vertical(heights).areas(area);
        Self { head, chart, table, foot }
    }

    /// The room for one resource in full.
    fn open(&self) -> Rect {
        self.chart.union(self.table)
    }
}

/// Returns the number of rows of the table that a screen has room for.
pub(crate) fn rows(size: Size) -> usize {
    let table = Parts::of(Rect::new(0, 0, size.width, size.height)).table;
    usize::from(table.height.saturating_sub(table::HEAD))
}

/// Draws a screen. Returns the first line of an open resource that is on it, which is less than was asked for at its end.
pub(crate) fn draw(frame: &mut Frame<'_>, screen: &Screen<'_>, palette: Palette) -> usize {
    let area = frame.area();
    if area.width < SMALLEST.width || area.height < SMALLEST.height {
        let text = format!("too small: {}x{} at least; q quits", SMALLEST.width, SMALLEST.height);
        frame.render_widget(Paragraph::new(text), area);
        return 0;
    }
    let parts = Parts::of(area);
    head::draw(frame, parts.head, &screen.head, palette);
    let mut scrolled = 0;
    match &screen.detail {
        Some(open) => scrolled = detail::draw(frame, parts.open(), open, screen.now, palette),
        None => {
            chart::draw(frame, parts.chart, screen, palette);
            table::draw(frame, parts.table, screen, palette);
        }
    }
    foot::draw(frame, parts.foot, screen, palette);
    if matches!(screen.overlay, Overlay::Help) {
        help::draw(frame, area, palette);
    }
    scrolled
}

/// Draws lines into an area, each cut where it ends.
fn draw_lines(frame: &mut Frame<'_>, area: Rect, lines: Vec<Line<'_>>) {
    frame.render_widget(Paragraph::new(lines), area);
}
