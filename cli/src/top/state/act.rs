//! What actions do to the state, and what they ask of the world.

use std::time::Duration;

use leasehold::ResourceName;

use super::{Draft, State};
use crate::top::keys::{Action, Focus, Order};

/// The longest filter. Names have 512 bytes at most.
const LONGEST_TYPED: usize = 512;

/// What the loop has to do because of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Quit,
    Interrupt,
    Revoke(ResourceName, Duration),
}

impl State {
    /// Does what somebody wants at this moment, counted from the start of the view.
    pub(crate) fn act(&mut self, action: Action, now: Duration) -> Option<Effect> {
        self.now = now;
        match action {
            Action::Quit => return self.quit(),
            Action::Interrupt => return Some(Effect::Interrupt),
            Action::Move(lines) => self.step(lines),
            Action::Page(pages) => self.turn(pages),
            Action::First => self.go_to_end(false),
            Action::Last => self.go_to_end(true),
            Action::Open => self.open = self.table.selected().map(|resource| (resource.clone(), 0)),
            Action::Back => self.back(),
            Action::NextOrder => self.order_by(self.table.order.next()),
            Action::OrderBy(order) => self.order_by(order),
            Action::Filter => self.focus = Focus::Filter,
            Action::Help => self.focus = Focus::Help,
            Action::Revoke => self.ask_to_revoke(),
            Action::Type(typed) => self.edit(|text| {
                if text.len() < LONGEST_TYPED && !typed.is_control() {
                    text.push(typed);
                }
            }),
            Action::Erase => self.edit(|text| {
                text.pop();
            }),
            Action::Accept => self.accept(),
            Action::Yes => return self.yes(),
            Action::No => self.no(),
        }
        if self.focus == Focus::Table && self.open.is_some() {
            self.focus = Focus::Open;
        }
        None
    }

    fn quit(&mut self) -> Option<Effect> {
        if self.revoking.running(self.now).next().is_none() {
            return Some(Effect::Quit);
        }
        self.asked_to_quit = true;
        self.focus = Focus::Question;
        None
    }

    fn step(&mut self, lines: isize) {
        match &mut self.open {
            Some((_, first)) => *first = first.saturating_add_signed(lines),
            None => self.table.step(lines),
        }
    }

    fn turn(&mut self, pages: isize) {
        /// The lines by which a page of an open resource moves: fewer than the smallest screen has.
        const PAGE: isize = 10;
        match &mut self.open {
            Some((_, first)) => *first = first.saturating_add_signed(pages * PAGE),
            None => self.table.turn(pages),
        }
    }

    fn go_to_end(&mut self, last: bool) {
        match (&mut self.open, last) {
            // The screen stops at the last line.
            (Some((_, first)), _) => *first = if last { usize::from(u16::MAX) } else { 0 },
            (None, true) => self.table.go_to_last(),
            (None, false) => self.table.go_to_first(),
        }
    }

    /// Tells at which line of an open resource the screen has stopped, so that the way back begins there.
    pub(crate) fn scrolled(&mut self, line: usize) {
        if let Some((_, first)) = &mut self.open {
            *first = line;
        }
    }

    fn order_by(&mut self, order: Order) {
        self.table.order = order;
        self.table.arrange(&self.resources);
    }

    /// Leaves the innermost of what is open; in the table that is the filter.
    fn back(&mut self) {
        match self.focus {
            Focus::Table | Focus::Filter => {
                self.table.filter.clear();
                self.table.arrange(&self.resources);
            }
            Focus::Open => self.open = None,
            Focus::Grace | Focus::Question => self.revoking.draft = None,
            Focus::Help => {}
        }
        self.focus = Focus::Table;
    }

    fn ask_to_revoke(&mut self) {
        let open = self.open.as_ref().map(|(resource, _)| resource);
        if let Some(resource) = open.or(self.table.selected()) {
            self.revoking.draft = Some(Draft::new(resource.clone()));
            self.focus = Focus::Grace;
        }
    }

    fn edit(&mut self, edit: impl FnOnce(&mut String)) {
        match (self.focus, &mut self.revoking.draft) {
            (Focus::Grace, Some(draft)) => edit(&mut draft.grace),
            (Focus::Filter, _) => {
                edit(&mut self.table.filter);
                self.table.filter = self.table.filter.to_lowercase();
                self.table.arrange(&self.resources);
            }
            _ => {}
        }
    }

    fn accept(&mut self) {
        match (self.focus, &mut self.revoking.draft) {
            (Focus::Grace, Some(draft)) => {
                if draft.accept() {
                    self.focus = Focus::Question;
                }
            }
            _ => self.focus = Focus::Table,
        }
    }

    fn yes(&mut self) -> Option<Effect> {
        self.focus = Focus::Table;
        if self.asked_to_quit {
            return Some(Effect::Quit);
        }
        let Draft { resource, accepted, .. } = self.revoking.draft.take()?;
        let grace = accepted?;
        self.revoking.begin(resource.clone(), self.now + grace);
        self.tell(format!("revoke of {resource}: its holders are told"), false);
        if self.open.is_some() {
            self.focus = Focus::Open;
        }
        Some(Effect::Revoke(resource, grace))
    }

    fn no(&mut self) {
        self.asked_to_quit = false;
        self.revoking.draft = None;
        self.focus = Focus::Table;
    }
}
