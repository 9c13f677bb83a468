//! Writes that an overtaken holder cannot make: files, values, keys of Redis, rows of SQLite, PostgreSQL and MySQL.

mod file;
mod mysql;
mod postgres;
mod redis;
mod sqlite;
mod value;
