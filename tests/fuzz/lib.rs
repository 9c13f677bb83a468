//! Fuzz targets of leasehold: functions from bytes that never panic, and that panic where a property is broken.
//!
//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz/targets NAME` looks for inputs, and the test `inputs` gives each target its
//! corpus with mutations of it. An input is text where a person may want to write one.

mod answers;
mod config;
mod console;
mod cron;
mod input;
mod name;
mod reached;
mod records;
mod run_arguments;
mod secrets;
mod url;
mod verbs;

/// The name by which a file of the library that is compiled here knows it.
mod core {
    pub(crate) use leasehold::InvalidValue;
}

pub use self::{
    answers::answers,
    config::config,
    console::console,
    cron::cron,
    name::name,
    reached::{TOLD, reached},
    records::records,
    run_arguments::run_arguments,
    url::url,
};

/// A target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its program and of the folder of its corpus.
    pub name: &'static str,
    /// Its function.
    pub run: fn(&[u8]),
    /// The number of mutations that take a build without optimization a few seconds of a processor.
    pub usual: usize,
}

/// Returns all targets.
pub fn targets() -> [Target; 8] {
    let target = |name, run, usual| Target { name, run, usual };
    [
        target("answers", answers, 2_000),
        target("config", config, 500),
        target("console", console, 200),
        target("cron", cron, 2_000),
        target("name", name, 20_000),
        target("records", records, 2_000),
        target("run_arguments", run_arguments, 3_000),
        target("url", url, 2_000),
    ]
}
