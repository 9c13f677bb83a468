//! Writes that an overtaken holder cannot make: values, keys of Redis, rows of SQLite and PostgreSQL.

#[path = "../support/mod.rs"]
mod support;

mod postgres;
mod redis;
mod sqlite;
mod value;
