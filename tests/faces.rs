//! What operators and clients see: configuration, logs, metrics, spans, the console, and an application on the web.

mod config;
mod console;
mod logs;
mod metrics;
mod spans;
mod web;
