//! The rooms of the library as a table: their floors, sizes and arrows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{
    circles::inside,
    paths::Paths,
    rules::{File, module_of},
};

/// A folder, or a file, at the top of the library.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) files: usize,
    pub(crate) lines: usize,
    pub(crate) lines_without_tests: usize,
    /// The rooms that it imports.
    pub(crate) imports: BTreeSet<String>,
}

/// All rooms by their names.
pub(crate) struct Drawing(pub(crate) BTreeMap<String, Room>);

impl Drawing {
    pub(crate) fn of(files: &[File]) -> Self {
        let modules = files.iter().map(|(path, _)| module_of(path)).collect();
        let mut rooms = BTreeMap::<String, Room>::new();
        for (path, text) in files.iter().filter(|(path, _)| path != "src/lib.rs") {
            let name = module_of(path).swap_remove(0);
            let room = rooms.entry(name.clone()).or_default();
            room.files += 1;
            room.lines += text.lines().count();
            room.lines_without_tests += without_tests(path, text).lines().count();
            let imported = inside(path, &Paths::of(text), &modules);
            room.imports.extend(imported.into_iter().filter_map(|(_, to)| to.into_iter().next()));
            room.imports.remove(&name);
        }
        let names: BTreeSet<String> = rooms.keys().cloned().collect();
        rooms.values_mut().for_each(|room| room.imports.retain(|name| names.contains(name)));
        Self(rooms)
    }

    /// Returns the floor of a room: it stands above all that it imports, and floor 1 is the ground.
    pub(crate) fn floor(&self, room: &str) -> usize {
        1 + self.0[room].imports.iter().map(|below| self.floor(below)).max().unwrap_or(0)
    }
}

fn without_tests<'a>(path: &str, text: &'a str) -> &'a str {
    if path.contains("/tests") {
        return "";
    }
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

impl fmt::Display for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rooms: Vec<_> = self.0.iter().map(|(name, room)| (self.floor(name), name, room)).collect();
        rooms.sort_by_key(|(floor, name, _)| (*floor, *name));
        writeln!(f, "| floor | room | files | lines | without tests | imports |\n|--:|---|--:|--:|--:|---|")?;
        for (floor, name, room) in &rooms {
            let Room { files, lines, lines_without_tests, imports } = room;
            let imports = imports.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
            writeln!(f, "| {floor} | {name} | {files} | {lines} | {lines_without_tests} | {imports} |")?;
        }
        let sum = |count: fn(&Room) -> usize| self.0.values().map(count).sum::<usize>();
        let (files, lines) = (sum(|room| room.files), sum(|room| room.lines));
        let (without_tests, arrows) = (sum(|room| room.lines_without_tests), sum(|room| room.imports.len()));
        write!(f, "| | {} rooms | {files} | {lines} | {without_tests} | {arrows} arrows |", rooms.len())
    }
}
