//! The keys of the tables, which name nothing once their entry was removed.

slotmap::new_key_type! {
    /// The key of an acquisition.
    pub(crate) struct RecordKey;

    /// The key of a cohort.
    pub(crate) struct CohortKey;
}
