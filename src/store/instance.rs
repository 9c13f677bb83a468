//! One life of a store, from its start to its restart.

use std::time::Duration;

/// One life of a store: a restart begins another one, which may have forgotten what was acknowledged before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Another one after each start.
    pub id: String,
    /// How long ago it was started; rather too little than too much.
    pub age: Duration,
    /// Whether it forgets nothing that it acknowledged, however it ends.
    pub durable: bool,
}
