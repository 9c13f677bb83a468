//! Fenced writes to SQL databases: statements that refuse a stale fence, for SQLite, PostgreSQL and MySQL.
//!
//! These are texts for the driver that the application has. Fences are passed as [`parameter`]s, and
//! [`check`] reads the number of affected rows. In MySQL and MariaDB a stale fence is the error [`STALE_IN_MYSQL`] instead: a client
//! may count changed rows only, so that no affected row can also mean that the same was written before.
//!
//! Two ways, of which one is enough:
//!
//! * [`FenceTable::enter`] is the first statement of a transaction, whatever the transaction writes.
//! * [`update`] changes one row that has a column for its fence, in one statement.
//!
//! ```
//! use leasehold::fenced::sql::{Dialect, FenceTable, update};
//!
//! let fences = FenceTable::new(Dialect::Postgres, "fences")?;
//! assert!(fences.create().starts_with("CREATE TABLE IF NOT EXISTS \"fences\""));
//! let statement = update(Dialect::Postgres, "orders", &["state"], "id", "fence")?;
//! assert!(statement.starts_with(r#"UPDATE "orders" SET "state" = $1, "fence" = $2 WHERE "orders"."id" = $3 AND "#));
//! # Ok::<_, leasehold::InvalidValue>(())
//! ```

use super::StaleFenceError;
use crate::core::{Fence, InvalidValue, ensure};

/// The dialect of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// SQLite 3.24 or newer: parameters are `?1`.
    Sqlite,
    /// PostgreSQL 9.5 or newer: parameters are `$1`.
    Postgres,
    /// MySQL 5.7, MariaDB 10.3, or newer, in any SQL mode: parameters are `?`, in their order.
    MySql,
}

/// The number of the error by which MySQL and MariaDB refuse a stale fence: a value is out of range. Roll the transaction back.
pub const STALE_IN_MYSQL: u16 = 1690;

impl Dialect {
    fn mark(self, place: usize) -> String {
        match self {
            Self::Sqlite => format!("?{place}"),
            Self::Postgres => format!("${place}"),
            Self::MySql => "?".to_owned(),
        }
    }
}

/// Returns the fence `new`, computed so that MySQL fails if it is smaller than `known`. Sums that overflow are errors in every
/// SQL mode, which differences are not: `~new` is the largest number less `new`, so adding more than `new` to it is too much.
fn in_mysql(new: &str, known: &str) -> String {
    format!("~(~{new} + {known}) + {known}")
}

/// A table of the largest fence of each resource, in the database that is protected.
#[derive(Clone, Debug)]
pub struct FenceTable {
    dialect: Dialect,
    table: String,
}

impl FenceTable {
    /// Names the table. Nothing is sent.
    ///
    /// # Errors
    /// [`InvalidValue`] when the name is no identifier: see [`update`].
    pub fn new(dialect: Dialect, table: &str) -> Result<Self, InvalidValue> {
        Ok(Self { dialect, table: quoted(dialect, "table", table)? })
    }

    /// Returns the statement that creates the table if it is missing. Execute it in a migration: PostgreSQL may refuse it to
    /// clients that execute it at the same moment.
    pub fn create(&self) -> String {
        let columns = match self.dialect {
            // A key of MySQL has a bound, and other collations take different names for the same.
            Dialect::MySql => "resource VARBINARY(1536) NOT NULL PRIMARY KEY, fence BIGINT UNSIGNED NOT NULL",
            _ => "resource TEXT NOT NULL PRIMARY KEY, fence BIGINT NOT NULL",
        };
        // Other engines of MySQL lock no row until the end of the transaction.
        let engine = if self.dialect == Dialect::MySql { " ENGINE = InnoDB" } else { "" };
        format!("CREATE TABLE IF NOT EXISTS {} ({columns}){engine}", self.table)
    }

    /// Returns the statement that enters with a fence. Its parameters are the resource, as the same text everywhere, and the
    /// [`parameter`] of the fence. It affects one row, or none if the fence is stale: see [`check`]. In MySQL it fails then, with
    /// [`STALE_IN_MYSQL`], and the number of rows says nothing.
    ///
    /// Execute it as the first statement of the transaction whose writes it protects. It locks the row of the resource:
    /// whoever comes with a larger fence waits for the end of the transaction, and whoever comes with a smaller one after
    /// that is refused. In PostgreSQL `READ COMMITTED`, the default, is enough; in the other levels repeat a transaction that
    /// fails with 40001. A holder that is frozen in its transaction keeps the newer one waiting: set `lock_timeout` and
    /// `idle_in_transaction_session_timeout` in PostgreSQL, `busy_timeout` in SQLite, and `innodb_lock_wait_timeout` in MySQL. There,
    /// in both `READ COMMITTED` and `REPEATABLE READ`, repeat a transaction that fails with 1213, a deadlock.
    pub fn enter(&self) -> String {
        let Self { dialect, table } = self;
        let (resource, fence) = (dialect.mark(1), dialect.mark(2));
        if *dialect == Dialect::MySql {
            let new = in_mysql("VALUES(fence)", "fence");
            return format!(
                "INSERT INTO {table} (resource, fence) VALUES (?, ?) ON DUPLICATE KEY UPDATE fence = {new}"
            );
        }
        format!(
            "INSERT INTO {table} AS known (resource, fence) VALUES ({resource}, {fence}) ON CONFLICT (resource) DO UPDATE \
             SET fence = excluded.fence WHERE known.fence <= excluded.fence"
        )
    }
}

/// Returns the statement that updates these columns of one row, unless the row has a larger fence. Its parameters are the
/// values of the columns, the [`parameter`] of the fence, and the key. It affects one row, or none if the fence is stale or
/// there is no such row: see [`check`]. In MySQL a stale fence is the error [`STALE_IN_MYSQL`], and no row may also mean that
/// nothing has changed, unless the client counts found rows.
///
/// The key has to be unique, and the column of the fence a `BIGINT`. A row whose fence is `NULL` has seen none yet.
///
/// # Errors
/// [`InvalidValue`] when there are no columns, that of the fence is among them, or a name is no identifier of 1 to 63 letters,
/// digits and `_` that starts with no digit. A table may have the name of its schema before it, with a dot.
pub fn update(
    dialect: Dialect,
    table: &str,
    columns: &[&str],
    key: &str,
    fence: &str,
) -> Result<String, InvalidValue> {
    ensure(!columns.is_empty(), "columns", "none", "1 or more")?;
    // MySQL assigns from left to right, and would compare a stale fence with itself.
    let are_others = !columns.iter().any(|column| column.eq_ignore_ascii_case(fence));
    ensure(are_others, "columns", fence, "others than the column of the fence")?;
    let quoted = |field, identifier| quoted(dialect, field, identifier);
    let (table, key, fence) = (quoted("table", table)?, quoted("key", key)?, quoted("fence", fence)?);
    let set = columns
        .iter()
        .enumerate()
        .map(|(at, column)| Ok(format!("{} = {}", quoted("column", column)?, dialect.mark(at + 1))));
    let set = set.collect::<Result<Vec<_>, InvalidValue>>()?.join(", ");
    let (new, key_is) = (dialect.mark(columns.len() + 1), dialect.mark(columns.len() + 2));
    if dialect == Dialect::MySql {
        let new = in_mysql("CAST(? AS UNSIGNED)", &format!("CAST(COALESCE({fence}, 0) AS UNSIGNED)"));
        return Ok(format!("UPDATE {table} SET {set}, {fence} = {new} WHERE {key} = ?"));
    }
    // Columns have the name of their table: SQLite takes a quoted name that is no column for a text.
    Ok(format!(
        "UPDATE {table} SET {set}, {fence} = {new} WHERE {table}.{key} = {key_is} AND \
         ({table}.{fence} IS NULL OR {table}.{fence} <= {new})"
    ))
}

/// Returns a fence as the signed number that the databases have.
///
/// # Errors
/// [`InvalidValue`] when it is larger than 2⁶³ − 1. No store gives such a fence.
pub fn parameter(fence: Fence) -> Result<i64, InvalidValue> {
    i64::try_from(fence.get()).map_err(|_| InvalidValue::new("fence", fence, "0 to 9223372036854775807"))
}

/// Reads the number of rows that a statement of this module has affected, in SQLite and PostgreSQL.
///
/// # Errors
/// [`StaleFenceError`] when it is zero: a larger fence is known, or [`update`] found no such row. Roll the transaction back.
pub const fn check(fence: Fence, affected: u64) -> Result<(), StaleFenceError> {
    match affected {
        0 => Err(StaleFenceError::new(fence, None)),
        _ => Ok(()),
    }
}

/// Returns the identifier in quotes, each part of it by itself. PostgreSQL cuts off what is longer than 63 bytes. MySQL takes
/// backquotes in every SQL mode.
fn quoted(dialect: Dialect, field: &str, identifier: &str) -> Result<String, InvalidValue> {
    let is_identifier = |part: &str| {
        let starts_well = part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        starts_well
            && part.len() <= 63
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let parts: Vec<_> = identifier.split('.').collect();
    let allowed = if field == "table" { 2 } else { 1 };
    let is_known = parts.len() <= allowed && parts.iter().all(|part| is_identifier(part));
    let allowed = "1 to 63 letters, digits and _, not starting with a digit";
    ensure(is_known, field, format_args!("{identifier:?}"), allowed)?;
    let quote = if dialect == Dialect::MySql { '`' } else { '"' };
    Ok(parts.iter().map(|part| format!("{quote}{part}{quote}")).collect::<Vec<_>>().join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_quoted_and_nothing_else_is_let_in() {
        assert_eq!(quoted(Dialect::Sqlite, "table", "shop.orders").unwrap(), r#""shop"."orders""#);
        assert_eq!(quoted(Dialect::MySql, "table", "shop.orders").unwrap(), "`shop`.`orders`");
        for wrong in ["", "a b", "a\"b", "a;b", "7a", "a.b.c", "a.", "é", &"a".repeat(64)] {
            let error = quoted(Dialect::Postgres, "table", wrong).unwrap_err();
            assert_eq!((error.field.as_str(), error.value), ("table", format!("{wrong:?}")));
        }
        assert!(quoted(Dialect::Sqlite, "key", "a.b").is_err());
    }

    #[test]
    fn parameters_are_numbered_in_the_order_of_the_columns() {
        let statement = update(Dialect::Sqlite, "orders", &["state", "paid"], "id", "fence").unwrap();
        let set = r#"UPDATE "orders" SET "state" = ?1, "paid" = ?2, "fence" = ?3"#;
        let compared = r#"WHERE "orders"."id" = ?4 AND ("orders"."fence" IS NULL OR "orders"."fence" <= ?3)"#;
        assert_eq!(statement, format!("{set} {compared}"));
        for wrong in [&[][..], &["state", "Fence"]] {
            assert_eq!(update(Dialect::Sqlite, "orders", wrong, "id", "fence").unwrap_err().field, "columns");
        }
    }

    #[test]
    fn a_fence_is_a_signed_number_or_refused() {
        assert_eq!(parameter(Fence::new(i64::MAX as u64)), Ok(i64::MAX));
        assert_eq!(parameter(Fence::new(1 << 63)).unwrap_err().field, "fence");
        assert_eq!(check(Fence::new(7), 0), Err(StaleFenceError::new(Fence::new(7), None)));
        assert_eq!(check(Fence::new(7), 1), Ok(()));
    }
}
