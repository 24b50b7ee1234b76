//! From a finding to what people and machines read.
//!
//! [`View`] is made once of a finding; terminal, JSON, Markdown, CSV and sentences all read it, so
//! that they cannot disagree. Nothing is printed: every function gives text back or writes into what it
//! is handed. Units are converted and text from elsewhere is cleaned by `plumb-text`, charts are drawn by
//! `plumb-chart`.

mod advice;
pub mod charts;
pub mod check;
pub mod comparison;
mod figure;
mod fleet;
mod fleet_status;
pub mod history;
mod json_parts;
pub mod machine;
pub mod monitors;
mod rank_text;
mod reference;
pub mod run;
#[cfg(test)]
mod schemas;
pub mod sessions;
mod standing_out;
mod why;

pub use advice::{AdviceDocument, advice_card, advice_json};
pub use check::{
    CheckDocument, CheckOfMachine, ChecksDocument, QuickBaseline, QuickCheckDocument,
    QuickCheckOfMachine, QuickChecksDocument, check_card, check_document, check_json,
    check_markdown, machine_checks_card, machine_checks_json, machine_checks_markdown,
    quick_check_card, quick_check_json, quick_checks_card, quick_checks_json,
};
pub use comparison::{
    ComparisonDocument, GateDocument, comparison_card, comparison_document, comparison_json,
    comparison_markdown, gate_json, proof_lines,
};
pub use figure::figure;
pub use fleet::{
    FleetDocument, FleetMachine, FleetPart, FleetView, FleetsDocument, KindPart, MachinePart,
    MachineStage, SeriesOfKindPart, SlowMachinePart, fastest_text, fleet_card, fleet_json,
    fleets_card, fleets_json, kind_title, slow_machines, slowest_text,
};
pub use fleet_status::{
    FLEET_STATUS_SCHEMA, FleetStatusDocument, FleetStatusMachine, fleet_status_card,
    fleet_status_json,
};
pub use history::{
    HistoryDocument, history_card, history_document, history_json, history_markdown,
};
pub use machine::{MachineDocument, MachineSnapshot, machine_card, machine_document};
pub use monitors::{
    CountersDocument, EffectPart, MONITORS_SCHEMA, MonitorPart, MonitorsDocument, counters_card,
    counters_document, monitors_card,
};
pub use reference::{
    KnownReference, ReferenceComparisonDocument, ReferencesDocument, reference_card,
    reference_comparison_card, reference_comparison_json, reference_json, references_card,
    references_json,
};
pub use run::{
    FlagWeight, NextSteps, RunDocument, View, again, brief_scorecard, document, in_words, json,
    markdown, rules_text, scorecard, since_last_text,
};
pub use sessions::{SessionsDocument, sessions_card, sessions_json};
pub use why::{WhyDocument, why_card, why_json};
