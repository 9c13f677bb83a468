//! The seam for whatever hears of the events beside the counters.

use std::{sync::Arc, time::Duration};

use super::{classes::Class, event::CountedEvent, tally::Summary};

/// A listener to all events of a manager, such as the metrics.
pub(super) trait Ear: Send {
    /// Hears an event, which is of a request or a lease of this class.
    fn hear(&mut self, class: Option<(Class, &Arc<str>)>, event: &CountedEvent);

    /// Hears of the time that the store took for a call, and whether it answered well.
    fn store_answered(&mut self, verb: &'static str, well: bool, took: Duration);

    /// Hears about once a second of what is true of the last minute.
    fn tick(&mut self, last_minute: &dyn Fn() -> Summary);
}
