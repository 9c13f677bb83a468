//! The list of keys, and what the figures mean.

use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    widgets::{Block, Clear, Paragraph},
};

use super::Palette;

const HELP: &str = "\
j k, arrows      one row down, up           w   sort by waiters
PgDn PgUp        one page                   a   by the longest wait
g G, Home End    first, last                n   by name
Enter            open one; Esc back         t   by the time left
/                filter names and holders   s   the next order
r                revoke, after a question   q   quit

WAIT    in the queue of the store: a process counts once
OLDEST  the longest present wait
LEFT    until the first holder's lease ends; ! is late
GR/S    grants that were seen, at most one a look: there
        may have been more
late         renewed before, now under a third left
near misses  late, and then renewed
ran out      late, and gone when the time was up: lost,
             or released in its last moments
-       not known: not looked at yet, or not told";

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, palette: Palette) {
    let width = HELP.lines().map(|line| line.chars().count()).max().unwrap_or(0) as u16 + 4;
    let height = HELP.lines().count() as u16 + 2;
    let place = area.centered(Constraint::Length(width), Constraint::Length(height));
    let title = Block::bordered().title("keys and figures").title_style(palette.title());
    frame.render_widget(Clear, place);
    frame.render_widget(
        Paragraph::new(HELP).block(title.padding(ratatui::widgets::Padding::horizontal(1))),
        place,
    );
}
