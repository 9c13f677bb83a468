//! The views of the console as plain values: the bodies of the API, and what the pages show.
//!
//! Spans are counted back from the answer, so that no clock of another machine is shown. The names of fields, and their units,
//! are those of the command line. What is not known is `null`.

mod managers;
mod partitions;
mod resources;
mod schedules;
mod timeline;
mod tuning;

pub(crate) use self::{
    managers::{ElectionView, ManagersView, OwnLeaseView, ProcessView},
    partitions::{FleetView, MemberView, PartitionView, PartitionsView, SharesView},
    resources::{ChangeView, Page, ResourceAnswer, Row, Watch},
    schedules::{ScheduleView, SchedulesView, UnknownView},
    timeline::{SpanView, TimelineView, WaitView},
    tuning::{SettingsView, TunerView, TuningView},
};
