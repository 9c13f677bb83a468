//! The table of the documents: a row for each fault, a cell for each topology.

use super::{TOPOLOGIES, faults};

/// The name of the test.
pub(crate) const TABLE: &str = "faults_table";

/// The faults, in the words of the table.
const NINE: [&str; 9] = [
    "pause",
    "kill",
    "partition",
    "clock",
    "disk full",
    "slow disk",
    "restart empty",
    "failover",
    "duplicate delivery",
];

/// Checks that each of the nine faults is tried on each topology, and that the documents say what it costs there; panics if not.
pub(crate) fn table_is_whole() {
    let page = include_str!("../../../docs/limits.md");
    let rows: Vec<Vec<&str>> = page.lines().filter(|line| line.starts_with("| ")).map(cells).collect();
    let head = rows.iter().position(|row| row[1..] == TOPOLOGIES).expect("a table with the topologies");
    let rows = &rows[head + 1..];
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), NINE, "docs/limits.md");
    let tried = faults();
    for row in rows {
        for (number, cell) in row[1..].iter().enumerate() {
            let cells: Vec<_> =
                tried.iter().filter(|fault| fault.name == row[0]).map(|fault| &fault.cells[number]).collect();
            assert!(!cells.is_empty(), "nothing does {:?}", row[0]);
            let is_tried = cells.iter().any(|cell| cell.is_ok());
            let why = cells.iter().find_map(|cell| cell.as_ref().err()).copied().unwrap_or_default();
            let says = if is_tried { cell.contains(|c: char| c.is_ascii_digit()) } else { *cell == why };
            assert!(says, "docs/limits.md, {} of {}: {cell:?}", row[0], TOPOLOGIES[number]);
        }
    }
    println!("test {TABLE} ... ok");
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}
