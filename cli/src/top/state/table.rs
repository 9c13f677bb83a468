//! The table of resources: their order, the filter, and the row under the cursor.
//!
//! Once it was moved, the cursor stays on a resource, and not on a line: rows move while somebody reads them, and what `r` takes
//! back has to be what was pointed to. Before that, and after a jump to the first row, it stays on the first row.

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use leasehold::ResourceName;

use super::resource::Resource;
use crate::top::keys::Order;

/// The rows in their order, and the window of them that is on the screen.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) order: Order,
    /// What a name, a holder or a purpose has to contain, in lower case.
    pub(crate) filter: String,
    rows: Vec<ResourceName>,
    selected: Option<ResourceName>,
    /// True if the cursor goes where its resource goes.
    follows: bool,
    /// The line of the selected resource, where the next one is looked for if it goes.
    line: usize,
    first: usize,
    page: usize,
}

impl Table {
    pub(crate) const fn new() -> Self {
        Self {
            order: Order::Waiting,
            filter: String::new(),
            rows: Vec::new(),
            selected: None,
            follows: false,
            line: 0,
            first: 0,
            page: 1,
        }
    }

    /// Filters and sorts anew. The cursor keeps its resource if it is still there, else its line.
    pub(crate) fn arrange(&mut self, resources: &BTreeMap<ResourceName, Resource>) {
        let mut rows: Vec<_> =
            resources.iter().filter(|(_, resource)| resource.matches(&self.filter)).collect();
        // Names are in order already, and a stable sort leaves equal rows in it.
        match self.order {
            Order::Waiting => rows.sort_by_key(|(_, resource)| Reverse(resource.rank())),
            Order::Age => rows.sort_by_key(|(_, resource)| Reverse(resource.oldest())),
            Order::Name => {}
            Order::Left => rows.sort_by_key(|(_, resource)| resource.left().unwrap_or(Duration::MAX)),
        }
        self.rows = rows.into_iter().map(|(name, _)| name.clone()).collect();
        let followed = self.selected.as_ref().filter(|_| self.follows);
        let found = followed.and_then(|name| self.rows.iter().position(|row| row == name));
        self.select(found.unwrap_or(self.line));
    }

    /// Moves the cursor by so many lines, and as far as there are rows.
    pub(crate) fn step(&mut self, by: isize) {
        self.follows = true;
        self.select(self.line.saturating_add_signed(by));
    }

    /// Moves the cursor by so many pages.
    pub(crate) fn turn(&mut self, pages: isize) {
        self.step(pages.saturating_mul(self.page as isize));
    }

    pub(crate) fn go_to_first(&mut self) {
        self.follows = false;
        self.select(0);
    }

    pub(crate) fn go_to_last(&mut self) {
        self.follows = true;
        self.select(usize::MAX);
    }

    /// Sets the number of rows that the screen has room for.
    pub(crate) fn resize(&mut self, page: usize) {
        self.page = page.max(1);
        self.select(self.line);
    }

    pub(crate) const fn selected(&self) -> Option<&ResourceName> {
        self.selected.as_ref()
    }

    /// Returns the rows on the screen, and the number of the first of them.
    pub(crate) fn window(&self) -> (&[ResourceName], usize) {
        let end = (self.first + self.page).min(self.rows.len());
        (&self.rows[self.first.min(end)..end], self.first)
    }

    pub(crate) const fn len(&self) -> usize {
        self.rows.len()
    }

    fn select(&mut self, line: usize) {
        self.line = line.min(self.rows.len().saturating_sub(1));
        self.selected = self.rows.get(self.line).cloned();
        self.first = self.first.clamp((self.line + 1).saturating_sub(self.page), self.line);
        self.first = self.first.min(self.rows.len().saturating_sub(self.page));
    }
}

#[cfg(test)]
mod tests {
    use leasehold::Inspection;
    use leasehold_console::view::ResourceView;

    use super::*;

    fn name(name: &str) -> ResourceName {
        ResourceName::new(name).unwrap()
    }

    /// Resources with so many waiters each.
    fn resources(waiting: &[(&str, u64)]) -> BTreeMap<ResourceName, Resource> {
        let resource = |(text, waiting): &(&str, u64)| {
            let mut resource = Resource::new(&name(text));
            let found = Inspection { total: 1, waiting: *waiting, ..Inspection::default() };
            resource.take(ResourceView::of(&name(text), &found), Duration::ZERO);
            (name(text), resource)
        };
        waiting.iter().map(resource).collect()
    }

    fn rows(table: &Table) -> Vec<String> {
        table.window().0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_cursor_follows_its_resource_when_rows_move() {
        let mut table = Table::new();
        table.resize(10);
        table.arrange(&resources(&[("a", 3), ("b", 2), ("c", 1)]));
        table.step(1);
        assert_eq!(table.selected(), Some(&name("b")));
        table.arrange(&resources(&[("a", 3), ("b", 0), ("c", 1)]));
        assert_eq!(
            (table.selected(), rows(&table)),
            (Some(&name("b")), ["a", "c", "b"].map(Into::into).into())
        );
        table.arrange(&resources(&[("a", 3), ("c", 1)]));
        assert_eq!(table.selected(), Some(&name("c")), "the line that is nearest");
    }

    #[test]
    fn a_cursor_that_was_not_moved_stays_on_the_first_row() {
        let mut table = Table::new();
        table.resize(10);
        table.arrange(&resources(&[("a", 0), ("b", 0)]));
        table.arrange(&resources(&[("a", 0), ("b", 1)]));
        assert_eq!(table.selected(), Some(&name("b")));
    }

    #[test]
    fn the_window_follows_the_cursor_to_both_ends() {
        let mut table = Table::new();
        table.resize(2);
        table.arrange(&resources(&[("a", 0), ("b", 0), ("c", 0), ("d", 0), ("e", 0)]));
        table.go_to_last();
        assert_eq!(rows(&table), ["d", "e"]);
        table.step(-1);
        assert_eq!(rows(&table), ["d", "e"]);
        table.turn(-1);
        assert_eq!(rows(&table), ["b", "c"]);
        table.go_to_first();
        assert_eq!(rows(&table), ["a", "b"]);
        table.go_to_last();
        table.resize(4);
        assert_eq!(rows(&table), ["b", "c", "d", "e"], "no room is left empty");
    }

    #[test]
    fn a_filter_that_matches_nothing_has_no_cursor() {
        let mut table = Table::new();
        table.filter = "x".to_owned();
        table.arrange(&resources(&[("a", 0)]));
        assert_eq!((table.selected(), table.len()), (None, 0));
        table.step(1);
        table.filter.clear();
        table.arrange(&resources(&[("a", 0)]));
        assert_eq!(table.selected(), Some(&name("a")));
    }
}
