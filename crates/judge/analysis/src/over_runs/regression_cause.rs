//! Where a confirmed regression comes from: docs/method.md, *Code or environment*.

use plumb_stats::Interval;
use plumb_stats::code_or_environment::{RegressionCause, cause};

use crate::estimate::{Estimate, estimate};
use crate::one_run::both_programs::BothPrograms;
use crate::over_runs::baseline_gate::BaselineGate;

/// Where a regression comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseFinding {
    /// The answer, in one word.
    pub cause: RegressionCause,
    /// The present program's cost over that of the kept one, both now; None if one was not measured.
    pub code: Option<Estimate>,
    /// The kept program's cost now over the baseline's.
    pub environment: Option<Estimate>,
    /// Why there is no answer, if something is missing.
    pub why: Option<String>,
}

impl CauseFinding {
    /// No answer, for this reason.
    #[must_use]
    pub fn unknown(why: &str) -> Self {
        let why = Some(why.to_owned());
        Self { cause: RegressionCause::Undecided, code: None, environment: None, why }
    }
}

/// The cause of the regression of a series of the baseline.
pub(crate) fn cause_of(
    gate: &BaselineGate<'_>,
    series: &str,
    both: &BothPrograms,
    margin: f64,
) -> CauseFinding {
    let again = both.kept.zip(gate.index(series));
    let environment = again.and_then(|(cost, index)| gate.environment(index, cost).ok());
    let code = both.code.as_ref().and_then(log_interval);
    let answer =
        code.zip(environment).map(|(code, environment)| cause(&code, &environment, margin));
    let why = match (answer, &both.why) {
        (Some(_), _) => None,
        (None, Some(why)) => Some(why.clone()),
        (None, None) => Some("too little was measured".to_owned()),
    };
    CauseFinding {
        cause: answer.unwrap_or(RegressionCause::Undecided),
        code: both.code.clone(),
        environment: environment
            .map(|shift| estimate(shift.estimate.exp(), Ok(shift.map(f64::exp)))),
        why,
    }
}

fn log_interval(ratio: &Estimate) -> Option<Interval> {
    let low = ratio.low()?.ln();
    let high = ratio.high()?.ln();
    Some(Interval { estimate: ratio.value.ln(), low, high })
}
