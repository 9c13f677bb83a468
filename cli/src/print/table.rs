//! Tables for people: as wide as the terminal, one line a row where there is none.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, presets};

use leasehold_console::view::printable;

use super::has_colours;
use crate::Failure;

/// A column: its title, and the side on which its text stands.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    Text(&'static str),
    Number(&'static str),
}

/// The meaning of a cell, which has a colour.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// Worth a look.
    Notable,
    /// Something went wrong.
    Bad,
}

/// The text of a cell where nothing is known.
const NOTHING: &str = "-";

/// A row, cell by cell.
#[derive(Default)]
pub(crate) struct Row(Vec<(String, Tone)>);

impl Row {
    /// Adds a cell.
    pub(crate) fn cell(self, text: impl ToString) -> Self {
        self.toned(text, Tone::Plain)
    }

    /// Adds a cell, which shows a dash where there is nothing.
    pub(crate) fn known(self, text: Option<impl ToString>) -> Self {
        self.cell(text.map_or_else(|| NOTHING.to_owned(), |text| text.to_string()))
    }

    /// Adds a cell with a meaning.
    pub(crate) fn toned(mut self, text: impl ToString, tone: Tone) -> Self {
        self.0.push((printable(&text.to_string()).into_owned(), tone));
        self
    }
}

/// A table.
pub(crate) struct Table {
    inner: comfy_table::Table,
    columns: &'static [Column],
    /// True for each column of which something is known.
    filled: Vec<bool>,
}

impl Table {
    pub(crate) fn new(columns: &'static [Column]) -> Self {
        let mut inner = comfy_table::Table::new();
        inner.load_style(presets::NOTHING);
        if inner.is_tty() {
            inner.set_content_arrangement(ContentArrangement::Dynamic);
        }
        let title = |column: &Column| match column {
            Column::Text(title) => coloured(Cell::new(title), Tone::Plain, true),
            Column::Number(title) => {
                coloured(Cell::new(title), Tone::Plain, true).set_alignment(CellAlignment::Right)
            }
        };
        inner.set_header(columns.iter().map(title));
        inner.column_iter_mut().for_each(|column| {
            column.set_padding((0, 2));
        });
        Self { inner, columns, filled: vec![false; columns.len()] }
    }

    pub(crate) fn add(&mut self, row: Row) {
        self.filled.iter_mut().zip(&row.0).for_each(|(filled, (text, _))| *filled |= text != NOTHING);
        let cells = row.0.into_iter().zip(self.columns).map(|((text, tone), column)| {
            let cell = coloured(Cell::new(text), tone, false);
            match column {
                Column::Text(_) => cell,
                Column::Number(_) => cell.set_alignment(CellAlignment::Right),
            }
        });
        self.inner.add_row(cells);
    }

    /// Prints the table. On a terminal, which is narrow, columns are left out of which nothing is known.
    ///
    /// # Errors
    /// A broken pipe, where nobody reads the output any more.
    pub(crate) fn print(mut self) -> Result<(), Failure> {
        use std::io::Write;
        if self.inner.is_tty() {
            for (column, _) in self.inner.column_iter_mut().zip(&self.filled).filter(|(_, filled)| !**filled)
            {
                column.set_constraint(ColumnConstraint::Hidden);
            }
        }
        Ok(writeln!(std::io::stdout(), "{}", self.inner.trim_fmt())?)
    }
}

/// Gives a cell its colour, if there are colours.
fn coloured(cell: Cell, tone: Tone, is_title: bool) -> Cell {
    if !has_colours() {
        return cell;
    }
    match tone {
        Tone::Plain if is_title => cell.add_attribute(Attribute::Bold),
        Tone::Plain => cell,
        Tone::Notable => cell.fg(Color::Yellow),
        Tone::Bad => cell.fg(Color::Red),
    }
}
