//! The views of resources, holders, waiters and runs, as the console and the command line show them.
//!
//! `Serialize` is the shape of the JSON, with values as they are. `Display` is for people: whoever holds a lock chooses its
//! metadata, so what a terminal or a browser obeys is escaped.

mod mode;
mod party;
mod resource;
mod run;
mod text;
mod time;

pub use self::{
    mode::{ModeKind, ModeView},
    party::{HolderView, Standing, WaiterView, Who},
    resource::ResourceView,
    run::RunView,
    text::{printable, printable_json, shown},
    time::{seconds, seconds_if_known, stamp},
};
