//! Several runs: histories, checks and comparisons, computed from series without samples. What takes samples, too, asks a
//! [`crate::RunReader`]; no function here sees a record.

pub(crate) mod arms;
pub(crate) mod baseline_gate;
pub(crate) mod check;
pub(crate) mod check_proof;
pub(crate) mod common_movement;
pub(crate) mod compare;
pub(crate) mod costs;
pub(crate) mod environment_diff;
pub(crate) mod healthy_runs;
pub(crate) mod history;
pub(crate) mod kinds;
pub(crate) mod noise;
pub(crate) mod normalise;
pub(crate) mod rank_arms;
pub(crate) mod regression_cause;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod since;
pub(crate) mod standing_out;
pub(crate) mod usual;
