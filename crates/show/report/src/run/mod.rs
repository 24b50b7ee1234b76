//! A run: one view, and everything that shows it.

mod again;
mod answer;
mod bottleneck_text;
mod brief;
mod burst;
pub(crate) mod curves;
pub(crate) mod header;
mod implementation_table;
mod importance;
mod interference;
pub(crate) mod json;
mod json_curves;
mod json_links;
pub(crate) mod labels;
pub(crate) mod ladder_text;
pub(crate) mod levels;
mod link_text;
mod markdown;
mod phrases;
mod ranking;
mod results_table;
mod right_answers;
mod sentences;
mod since_last;
mod start_ups;
mod terminal;
pub(crate) mod view;

pub use again::again;
pub use answer::expectation_answer;
pub use brief::brief_scorecard;
pub use burst::burst_text;
pub use curves::CurveText;
pub use header::{ACCEPTED_FAILURES, ReportHeader, TargetLines, not_reached_heading, rules_text};
pub use implementation_table::{ImplementationRow, ImplementationTable};
pub use importance::FlagWeight;
pub(crate) use importance::by_importance;
pub use json::{RunDocument, document, json};
pub use labels::metric;
pub use levels::LevelsText;
pub use markdown::markdown;
pub(crate) use results_table::interval;
pub use results_table::{
    best_quarter_text, bits_text, both_intervals, energy_text, other_cpu_text, pauses_text,
    scaled_text,
};
pub use right_answers::right_answers_text;
pub use sentences::in_words;
pub use since_last::since_last_text;
pub(crate) use terminal::end;
pub use terminal::{NextSteps, scorecard};
pub(crate) use view::shared_confidence;
pub use view::{
    Family, FlagNote, ResultRow, View, baseline_text, comparison_text, difference_text,
    encryption_text, looks_text, no_baseline_text, spread_text, unsupported_name, without_baseline,
};
