//! The seam for a listener: what it hears of.

use std::{sync::Arc, time::Duration};

use super::{
    event::{About, LockEvent},
    statistics::Summary,
};

/// A listener to all events of a manager, such as the metrics.
pub(super) trait Ear: Send {
    /// Hears an event, with the name of the class that it is about.
    fn hear(&mut self, about: About, class: Option<&Arc<str>>, event: &LockEvent<'_>);

    /// Hears of the time that the store took for a call, and whether it answered well.
    fn store_answered(&mut self, _verb: &'static str, _well: bool, _took: Duration) {}

    /// Hears about once a second of what is true of the last minute.
    fn tick(&mut self, _last_minute: &dyn Fn() -> Summary) {}
}
