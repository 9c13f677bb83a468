//! Rows of SQLite, written by fifty threads with the statements of the library, each with a fence of its own.

use std::process::Command;

use leasehold::fenced::sql::{Dialect, FenceTable, update};

/// Writes with all fences from 1 to 50 at once, then with 49 once more. Prints the fences that got in, in the order of their
/// transactions; then how many rows the older fence affected, by each of the two ways; then the order's fence and state.
const WRITERS: &str = "
import random, sqlite3, sys
from concurrent.futures import ThreadPoolExecutor
path, create, enter, update = sys.argv[1:]

def connect():
    return sqlite3.connect(path, timeout=60, isolation_level=None)

def write(fence):
    database = connect()
    database.execute('BEGIN')
    entered = database.execute(enter, ('orders/42', fence)).rowcount
    if entered == 1:
        database.execute('INSERT INTO journal (fence) VALUES (?1)', (fence,))
        database.execute('COMMIT')
    else:
        database.execute('ROLLBACK')
    updated = database.execute(update, (f'state {fence}', fence, 42)).rowcount
    return entered, updated

database = connect()
database.execute(create)
database.execute('CREATE TABLE journal (turn INTEGER PRIMARY KEY, fence INTEGER)')
database.execute('CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT, fence INTEGER)')
database.execute(\"INSERT INTO orders VALUES (42, 'new', NULL)\")
fences = list(range(1, 51))
random.Random(7).shuffle(fences)
list(ThreadPoolExecutor(50).map(write, fences))
print(*[fence for fence, in database.execute('SELECT fence FROM journal ORDER BY turn')])
print(*write(49))
print(*database.execute('SELECT fence, state FROM orders').fetchone())
print(database.execute(update, ('state', 99, 43)).rowcount)
for misspelled, found in [('id', 'ip'), ('fence', 'hence')]:
    try:
        database.execute(update.replace(f'\".\"{misspelled}\"', f'\".\"{found}\"'), ('state', 99, 42))
    except sqlite3.OperationalError as error:
        print(error)
try:
    database.execute(enter, (None, 7))
except sqlite3.IntegrityError as error:
    print(error)
";

#[test]
fn sqlite_refuses_the_older_fence_of_fifty_writers() {
    let directory = tempfile::tempdir().unwrap();
    let fences = FenceTable::new(Dialect::Sqlite, "fences").unwrap();
    let update = update(Dialect::Sqlite, "orders", &["state"], "id", "fence").unwrap();
    let python = Command::new("python3")
        .args(["-c", WRITERS])
        .arg(directory.path().join("shop"))
        .args([fences.create(), fences.enter(), update])
        .output()
        .expect("python3 must be installed");
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
    let told = String::from_utf8(python.stdout).unwrap();
    let lines: Vec<_> = told.lines().collect();
    let entered: Vec<u64> = lines[0].split(' ').map(|fence| fence.parse().unwrap()).collect();
    assert!(entered.is_sorted() && entered.last() == Some(&50), "{entered:?}");
    let refused = [
        "no such column: orders.ip",
        "no such column: orders.hence",
        "NOT NULL constraint failed: fences.resource",
    ];
    assert_eq!(lines[1..], [&["0 0", "50 state 50", "0"][..], &refused].concat());
}
