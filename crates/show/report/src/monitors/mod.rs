//! What monitors counted next to a run, and what they cost.

mod json;
mod terminal;
mod view;

pub use json::{
    COUNTERS_SCHEMA, CountersDocument, EffectPart, MONITORS_SCHEMA, MonitorPart, MonitorsDocument,
    counters_document,
};
pub use terminal::{counters_card, monitors_card};
pub use view::{matters, place};
