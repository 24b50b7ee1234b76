//! What monitors counted beside a run, and what they cost.

mod terminal;

pub use terminal::{
    COUNTERS_SCHEMA, CountersDocument, EffectPart, MONITORS_SCHEMA, MonitorPart, MonitorsDocument,
    counters_card, counters_document, monitors_card, place,
};
