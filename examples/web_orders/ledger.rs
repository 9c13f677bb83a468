//! The orders that were paid, in SQLite: what keeps an order from being paid twice, whatever becomes of the lock.
//!
//! A lock keeps two payments of an order apart in time. That one was made before, or is still being made by a process that was
//! frozen, only the ledger can tell: it compares fences in the transaction that writes.

use std::{
    error::Error,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use leasehold::{
    Fence,
    fenced::sql::{self, Dialect, FenceTable},
};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use serde::Serialize;

/// The proof of one payment.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Receipt {
    /// True if it is the receipt of an earlier request.
    already_paid: bool,
    order: i64,
    fence: i64,
    receipt: i64,
}

/// The receipts, and beside them the largest fence of each order.
pub(crate) struct Ledger {
    database: Mutex<Connection>,
    fences: FenceTable,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

impl Ledger {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (database, fences) = (Connection::open(path)?, FenceTable::new(Dialect::Sqlite, "fences")?);
        database.busy_timeout(Duration::from_secs(5))?;
        let receipts =
            "CREATE TABLE IF NOT EXISTS receipts (receipt INTEGER PRIMARY KEY, paid INTEGER, fence BIGINT)";
        database.execute_batch(&format!("PRAGMA journal_mode = WAL; {}; {receipts}", fences.create()))?;
        Ok(Self { database: Mutex::new(database), fences })
    }

    /// Returns the receipt of an order, if it was paid.
    pub(crate) fn receipt(&self, order: i64) -> Result<Option<Receipt>> {
        self.transaction(|database| find(database, order))
    }

    /// Enters with a fence, before the money moves: from now on every smaller one is stale. Returns the receipt if the order was
    /// paid already.
    pub(crate) fn enter(&self, order: i64, fence: Fence) -> Result<Option<Receipt>> {
        self.transaction(|database| {
            self.check(database, order, fence)?;
            find(database, order)
        })
    }

    /// Books a payment, unless the fence is stale.
    pub(crate) fn book(&self, order: i64, fence: Fence) -> Result<Receipt> {
        self.transaction(|database| {
            self.check(database, order, fence)?;
            let fence = sql::parameter(fence)?;
            database.execute("INSERT INTO receipts (paid, fence) VALUES (?1, ?2)", (order, fence))?;
            Ok(Receipt { already_paid: false, order, receipt: database.last_insert_rowid(), fence })
        })
    }

    fn check(&self, database: &Transaction<'_>, order: i64, fence: Fence) -> Result<()> {
        let entry = (format!("orders/{order}"), sql::parameter(fence)?);
        let affected = database.execute(&self.fences.enter(), entry)?;
        Ok(sql::check(fence, affected as u64)?)
    }

    /// Commits what `work` did, if it succeeds.
    fn transaction<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

fn find(database: &Transaction<'_>, order: i64) -> Result<Option<Receipt>> {
    let found = database.query_row("SELECT receipt, fence FROM receipts WHERE paid = ?1", [order], |row| {
        Ok(Receipt { already_paid: true, order, receipt: row.get(0)?, fence: row.get(1)? })
    });
    Ok(found.optional()?)
}
