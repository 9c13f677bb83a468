//! Keys, and what each means where the cursor is. Pure: a key and a place in, an action out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The part of the screen that has the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    /// The table of resources.
    Table,
    /// One resource in full.
    Open,
    /// The line in which a filter is typed.
    Filter,
    /// The line in which the grace of a revoke is typed.
    Grace,
    /// A question that is answered with yes or no.
    Question,
    /// The list of keys.
    Help,
}

/// The order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The most waiters first.
    Waiting,
    /// The longest present wait first.
    Age,
    /// By name.
    Name,
    /// The holder that ends first, first.
    Left,
}

impl Order {
    /// Returns the order after this one.
    pub(super) const fn next(self) -> Self {
        match self {
            Self::Waiting => Self::Age,
            Self::Age => Self::Name,
            Self::Name => Self::Left,
            Self::Left => Self::Waiting,
        }
    }

    /// Returns its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Age => "age",
            Self::Name => "name",
            Self::Left => "time left",
        }
    }
}

/// The wish of somebody who pressed a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    /// Ends at once, whatever is going on.
    Interrupt,
    /// By so many lines; down is positive.
    Move(isize),
    /// By so many pages.
    Page(isize),
    First,
    Last,
    Open,
    Back,
    NextOrder,
    OrderBy(Order),
    Filter,
    Revoke,
    Help,
    Type(char),
    Erase,
    Accept,
    Yes,
    No,
}

/// Returns the action of a key at this place; `None` if it has none.
pub(super) fn action(focus: Focus, key: KeyEvent) -> Option<Action> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Action::Interrupt);
    }
    match focus {
        Focus::Table => in_table(key.code).or_else(|| moving(key.code)),
        Focus::Open => in_open(key.code).or_else(|| moving(key.code)),
        Focus::Filter | Focus::Grace => typing(key.code),
        Focus::Question => answering(key.code),
        Focus::Help => Some(Action::Back),
    }
}

const fn in_table(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Char('?' | 'h') => Action::Help,
        KeyCode::Char('/') => Action::Filter,
        KeyCode::Char('s') => Action::NextOrder,
        KeyCode::Char('w') => Action::OrderBy(Order::Waiting),
        KeyCode::Char('a') => Action::OrderBy(Order::Age),
        KeyCode::Char('n') => Action::OrderBy(Order::Name),
        KeyCode::Char('t') => Action::OrderBy(Order::Left),
        KeyCode::Char('r') => Action::Revoke,
        KeyCode::Enter => Action::Open,
        KeyCode::Esc => Action::Back,
        _ => return None,
    })
}

const fn in_open(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char('q') => Action::Quit,
        KeyCode::Char('?' | 'h') => Action::Help,
        KeyCode::Char('r') => Action::Revoke,
        KeyCode::Enter | KeyCode::Esc | KeyCode::Backspace => Action::Back,
        _ => return None,
    })
}

const fn moving(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Down | KeyCode::Char('j') => Action::Move(1),
        KeyCode::Up | KeyCode::Char('k') => Action::Move(-1),
        KeyCode::PageDown | KeyCode::Char(' ') => Action::Page(1),
        KeyCode::PageUp => Action::Page(-1),
        KeyCode::Home | KeyCode::Char('g') => Action::First,
        KeyCode::End | KeyCode::Char('G') => Action::Last,
        _ => return None,
    })
}

const fn typing(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char(typed) => Action::Type(typed),
        KeyCode::Backspace => Action::Erase,
        KeyCode::Enter => Action::Accept,
        KeyCode::Esc => Action::Back,
        _ => return None,
    })
}

/// Only `y` is a yes: a question that somebody answers by habit shall not take a lock away.
const fn answering(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char('y' | 'Y') => Action::Yes,
        KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => Action::No,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(focus: Focus, code: KeyCode) -> Option<Action> {
        action(focus, KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn letters_are_commands_in_the_table_and_letters_in_a_filter() {
        assert_eq!(pressed(Focus::Table, KeyCode::Char('q')), Some(Action::Quit));
        assert_eq!(pressed(Focus::Filter, KeyCode::Char('q')), Some(Action::Type('q')));
        assert_eq!(pressed(Focus::Grace, KeyCode::Char('5')), Some(Action::Type('5')));
    }

    #[test]
    fn a_question_takes_y_for_yes_and_enter_for_nothing() {
        assert_eq!(pressed(Focus::Question, KeyCode::Char('y')), Some(Action::Yes));
        assert_eq!(pressed(Focus::Question, KeyCode::Enter), None);
        assert_eq!(pressed(Focus::Question, KeyCode::Esc), Some(Action::No));
    }

    #[test]
    fn control_c_ends_it_everywhere_and_other_control_keys_do_nothing() {
        for focus in [Focus::Table, Focus::Open, Focus::Filter, Focus::Grace, Focus::Question, Focus::Help] {
            let with_control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
            assert_eq!(action(focus, with_control('c')), Some(Action::Interrupt));
            assert_eq!(action(focus, with_control('q')), None);
        }
    }

    #[test]
    fn the_orders_go_round() {
        let orders: Vec<_> =
            std::iter::successors(Some(Order::Waiting), |order| Some(order.next())).take(5).collect();
        assert_eq!(orders, [Order::Waiting, Order::Age, Order::Name, Order::Left, Order::Waiting]);
    }
}
