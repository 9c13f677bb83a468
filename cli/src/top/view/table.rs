//! The table of resources, with the columns that the width has room for.

use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    text::Text,
    widgets::{Cell, Row as Cells, Table},
};

use super::{
    Palette,
    words::{UNKNOWN, count, maybe, rate, shorten, time},
};
use crate::top::state::{Row, Screen};

/// The lines above the rows.
pub(super) const HEAD: u16 = 1;

/// A column: its head, its width, whether figures stand at its right, and the least width of a screen that has it.
struct Column {
    head: &'static str,
    width: u16,
    is_figure: bool,
    from: u16,
    text: fn(&Row<'_>) -> String,
}

const fn figure(head: &'static str, width: u16, from: u16, text: fn(&Row<'_>) -> String) -> Column {
    Column { head, width, is_figure: true, from, text }
}

/// All columns but the name, which takes what the others leave.
const COLUMNS: [Column; 8] = [
    figure("WAIT", 6, 0, |row| row.waiting.map_or_else(|| UNKNOWN.to_owned(), count)),
    figure("OLDEST", 6, 0, |row| maybe(row.oldest)),
    figure("HELD", 6, 100, |row| maybe(row.held)),
    figure("LEFT", 6, 60, |row| {
        let left = maybe(row.left);
        if row.is_late { format!("!{left}") } else { left }
    }),
    figure("GR/S", 5, 70, |row| row.grants_a_second.map_or_else(|| UNKNOWN.to_owned(), rate)),
    Column {
        head: "MODE",
        width: 16,
        is_figure: false,
        from: 140,
        text: |row| row.mode.map_or_else(|| UNKNOWN.to_owned(), |mode| mode.to_string()),
    },
    figure("FENCE", 16, 140, |row| row.fence.map_or_else(|| UNKNOWN.to_owned(), |fence| fence.to_string())),
    figure("LOOKED", 6, 120, |row| row.ago.map_or_else(|| UNKNOWN.to_owned(), time)),
];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, screen: &Screen<'_>, palette: Palette) {
    let columns: Vec<_> = COLUMNS.iter().filter(|column| column.from <= area.width).collect();
    let who = (area.width / 4).max(16);
    let fixed: u16 = columns.iter().map(|column| column.width + 1).sum();
    let name = area.width.saturating_sub(fixed + who + 1);
    let heads = std::iter::once(Cell::from(head_of_names(screen)))
        .chain(columns.iter().map(|column| cell(column, column.head.to_owned())))
        .chain([Cell::from("HOLDER")]);
    let rows = screen.rows.iter().map(|row| {
        let cells = std::iter::once(Cell::from(shorten(&row.name.to_string(), usize::from(name))))
            .chain(columns.iter().map(|column| cell(column, (column.text)(row))))
            .chain([Cell::from(row.who.clone())]);
        let style = match (row.is_selected, row.is_late) {
            (true, _) => palette.selected(),
            (false, true) => palette.bad(),
            (false, false) => ratatui::style::Style::new(),
        };
        Cells::new(cells).style(style)
    });
    let widths = std::iter::once(Constraint::Length(name))
        .chain(columns.iter().map(|column| Constraint::Length(column.width)))
        .chain([Constraint::Length(who)]);
    let table = Table::new(rows, widths).header(Cells::new(heads).style(palette.title())).column_spacing(1);
    frame.render_widget(table, area);
}

fn cell(column: &Column, text: String) -> Cell<'static> {
    let text = Text::from(text);
    Cell::from(if column.is_figure { text.right_aligned() } else { text })
}

/// The head of the names also tells which of the rows are on the screen.
fn head_of_names(screen: &Screen<'_>) -> String {
    let (from, to) = (screen.first + 1, screen.first + screen.rows.len());
    match screen.rows.len() {
        0 => "RESOURCE".to_owned(),
        _ => format!("RESOURCE {from}-{to} of {}", count(screen.of as u64)),
    }
}
