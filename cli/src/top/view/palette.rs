//! The styles of the view. Nothing is told by colour alone: with `NO_COLOR` all of it is told by bold and reverse, or by words.

use ratatui::style::{Color, Modifier, Style};

/// The styles, with or without colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    is_coloured: bool,
}

impl Palette {
    pub(crate) const fn new(is_coloured: bool) -> Self {
        Self { is_coloured }
    }

    /// Colours unless `NO_COLOR` is set to something, see no-color.org.
    pub(crate) fn of_the_environment() -> Self {
        Self::new(std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
    }

    /// The title, and the heads of columns.
    pub(super) const fn title(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The row under the cursor.
    pub(super) const fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What somebody should look at.
    pub(super) const fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// What is not new, or less important.
    pub(super) const fn faint(self) -> Style {
        self.coloured(Color::DarkGray)
    }

    /// The line of the longest waits.
    pub(super) const fn high(self) -> Style {
        self.coloured(Color::Yellow)
    }

    /// The line of the usual waits.
    pub(super) const fn usual(self) -> Style {
        self.coloured(Color::Cyan)
    }

    const fn coloured(self, colour: Color) -> Style {
        match self.is_coloured {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }
}
