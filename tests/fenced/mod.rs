//! Writes that an overtaken holder cannot make: files, values, keys of Redis, rows of SQLite and PostgreSQL.

mod file;
mod postgres;
mod redis;
mod sqlite;
mod value;
