//! The two lines at the bottom: what happened or what is asked, and the keys.

use ratatui::{
    Frame,
    layout::{Position, Rect},
    style::Style,
    text::{Line, Span},
};

use super::{
    Palette, draw_lines,
    words::{shorten, time},
};
use crate::top::state::{Overlay, Screen};

/// The most columns of a name in a question.
const NAME: usize = 30;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, screen: &Screen<'_>, palette: Palette) {
    let (line, is_typed) = said(screen, palette);
    if is_typed {
        let end = area.x.saturating_add(u16::try_from(line.width()).unwrap_or(u16::MAX));
        frame.set_cursor_position(Position::new(end.min(area.right().saturating_sub(1)), area.y));
    }
    draw_lines(frame, area, vec![line, keys(screen, palette)]);
}

/// Returns the upper line, and true if something is being typed at its end.
fn said<'a>(screen: &Screen<'a>, palette: Palette) -> (Line<'a>, bool) {
    let asked = |text: String| Line::from(Span::styled(text, palette.title()));
    match &screen.overlay {
        Overlay::Filter => (asked(format!("filter: {}", screen.filter)), true),
        Overlay::Grace(draft) => {
            let name = shorten(&draft.resource.to_string(), NAME);
            let wrong = draft.wrong.iter().map(|wrong| format!("{wrong}  "));
            (asked(format!("{}revoke {name}, grace: {}", wrong.collect::<String>(), draft.grace)), true)
        }
        Overlay::Confirm(draft) => {
            let name = shorten(&draft.resource.to_string(), NAME);
            let grace = draft.accepted.map_or_else(String::new, time);
            (asked(format!("revoke {name}: {grace} to finish, then by force? y/n")), false)
        }
        Overlay::Quit => {
            (asked("a revoke runs, and takes nothing by force if this ends: quit? y/n".to_owned()), false)
        }
        Overlay::Nothing | Overlay::Help => (happened(screen, palette), false),
    }
}

fn happened<'a>(screen: &Screen<'a>, palette: Palette) -> Line<'a> {
    if let Some(trouble) = screen.trouble {
        return Line::from(Span::styled(trouble, palette.bad()));
    }
    let running = screen
        .revoking
        .iter()
        .map(|(name, left)| format!("revoking {}, {} left  ", shorten(&name.to_string(), NAME), time(*left)));
    let mut line = Line::from_iter(running.map(|text| Span::styled(text, palette.title())));
    if let Some(told) = screen.told {
        let style = if told.is_bad { palette.bad() } else { Style::new() };
        line.push_span(Span::styled(told.text.clone(), style));
    }
    line
}

fn keys<'a>(screen: &Screen<'_>, palette: Palette) -> Line<'a> {
    let text = match (&screen.overlay, &screen.detail) {
        (Overlay::Filter, _) => "Enter keep it  Esc remove it".to_owned(),
        (Overlay::Grace(_), _) => "Enter go on  Esc leave it".to_owned(),
        (Overlay::Confirm(_) | Overlay::Quit, _) => "y yes  n no".to_owned(),
        (Overlay::Help, _) => "any key leaves the help".to_owned(),
        (Overlay::Nothing, Some(_)) => "Esc back  j/k scroll  r revoke  ? help  q quit".to_owned(),
        (Overlay::Nothing, None) => {
            let filter = match screen.filter {
                "" => String::new(),
                filter => format!(": {}", shorten(filter, 12)),
            };
            format!("? help  / filter{filter}  s sort: {}  Enter open  r revoke  q quit", screen.order.name())
        }
    };
    Line::from(Span::styled(text, palette.faint()))
}
