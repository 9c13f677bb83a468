//! The project itself: its layers, its documents, and that planted bugs are found.

mod docs_hygiene;
mod layers;
mod planted_bugs;
