//! A run in which the program that a baseline kept and the present one took turns.

use plumb_model::{RunRecord, SeriesInRun};

use crate::estimate::Estimate;
use crate::one_run::series_in_run::series_in_run;
use crate::one_run::summarise::summarise;
use crate::over_runs::costs::run_cost;

/// The points of the run.
const KEPT: usize = 0;
const PRESENT: usize = 1;

/// The kept program and the present one, next to each other.
#[derive(Debug, Clone, PartialEq)]
pub struct BothPrograms {
    /// The present program's cost over that of the kept one.
    pub(crate) code: Option<Estimate>,
    /// The log cost of the kept one.
    pub(crate) kept: Option<f64>,
    /// Why one of these is missing.
    pub(crate) why: Option<String>,
}

impl BothPrograms {
    /// What a record says of them: its first point is the kept program, its second the present one.
    #[must_use]
    pub fn of(record: &RunRecord) -> Self {
        let finding = summarise(record);
        let compared = finding.against_first.iter().find(|side| side.point.index == PRESENT);
        let code = compared.and_then(|side| side.found.ratio.clone());
        let all = series_in_run(record);
        let kept = all.iter().find(|series| is_of(series, KEPT)).and_then(run_cost);
        let failed = finding.failed.first();
        let failed = failed.map(|failed| format!("{}: {}", failed.point.name, failed.why));
        let missing = finding.unsupported.first();
        let missing = missing.map(|missing| format!("{}: {}", missing.point.name, missing.why));
        let no_verdict = compared.and_then(|side| side.found.verdict.err());
        let why = failed.or(missing).or(no_verdict.map(|why| why.to_string()));
        Self { code, kept, why }
    }
}

fn is_of(series: &SeriesInRun, point: usize) -> bool {
    series.primary && series.points.iter().any(|measured| measured.point == point)
}
