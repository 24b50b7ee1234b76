//! Arms side by side: the sides of a paired run, or stored runs.

pub(crate) mod covariates;
pub(crate) mod gate;
pub(crate) mod json;
pub(crate) mod levels;
mod markdown;
mod ranks;
mod terminal;
pub(crate) mod verdict;
mod view;

pub use covariates::covariates_text;
pub use gate::{GateDocument, gate_json, proof_answer, proof_lines};
pub(crate) use gate::{GatePart, gate_part, proof};
pub use json::{COMPARISON_SCHEMA, ComparisonDocument, comparison_document, comparison_json};
pub use levels::levels_text;
pub use markdown::comparison_markdown;
pub use ranks::arm_ranks;
pub use terminal::comparison_card;
pub use view::{
    closing, for_price, heading, ratio, ratio_is_of, relative, remarks, series, verdict,
};
pub(crate) use view::{other_build, pairs_text, settling, side_effects};
