//! The counters and the cost of monitors next to a run.

mod json;
mod terminal;
mod view;

pub use json::{
    COUNTERS_SCHEMA, CountersDocument, EffectPart, MONITORS_SCHEMA, MonitorPart, MonitorsDocument,
    counters_document,
};
pub use terminal::{counters_card, monitors_card};
pub use view::{matters, place};
