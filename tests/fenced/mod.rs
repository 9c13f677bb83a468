//! Writes that an overtaken holder cannot make: values, keys of Redis, rows of SQLite and PostgreSQL.

mod postgres;
mod redis;
mod sqlite;
mod value;
