//! The project itself: its layers and its documents.

mod docs_hygiene;
mod layers;
