//! Does a regression come from the code or from the machine? docs/method.md, *Code or environment*.
//!
//! The old program is measured again next to the new one. New over old, both now, is the effect of the code; old now over
//! old then is the effect of the machine and its environment. Both together are the regression.

use crate::Interval;

/// Where a regression comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegressionCause {
    /// The new program is slower than the old one, next to each other.
    Code,
    /// The old program is slower than it was.
    Environment,
    /// Both of these changed.
    Both,
    /// Neither is shown, or one is and the other may be as large.
    Undecided,
}

/// What could be this share of a regression is not ruled out as its cause. If both causes contribute equally, a smaller share
/// names the wrong one less often, but leaves more undecided (docs/validation.md).
const MOST: f64 = 0.75;

/// Where a regression comes from, by the log ratios of new over old now (`code`) and of old now over old then
/// (`environment`). Effects below `margin` do not count.
#[must_use]
pub fn cause(code: &Interval, environment: &Interval, margin: f64) -> RegressionCause {
    let regression = code.estimate + environment.estimate;
    // What may be most of the regression is not ruled out because its interval also holds 0.
    let is_ruled_out = |effect: &Interval| effect.high < MOST * regression;
    match (slows_down(code, margin), slows_down(environment, margin)) {
        (true, true) => RegressionCause::Both,
        (true, false) if is_ruled_out(environment) => RegressionCause::Code,
        (false, true) if is_ruled_out(code) => RegressionCause::Environment,
        _ => RegressionCause::Undecided,
    }
}

fn slows_down(effect: &Interval, margin: f64) -> bool {
    effect.low > 0.0 && effect.estimate >= margin.ln_1p()
}

#[cfg(test)]
mod tests {
    use super::{RegressionCause, cause};
    use crate::Interval;

    fn around(estimate: f64, half: f64) -> Interval {
        Interval { estimate, low: estimate - half, high: estimate + half }
    }

    #[test]
    fn the_effect_that_is_there_is_the_cause() {
        let of = |code, environment| cause(&code, &environment, 0.01);
        let none = around(0.0, 0.02);
        let slower = around(0.05, 0.02);
        assert_eq!(of(slower, none), RegressionCause::Code);
        assert_eq!(of(none, slower), RegressionCause::Environment);
        assert_eq!(of(slower, slower), RegressionCause::Both);
        assert_eq!(of(none, none), RegressionCause::Undecided);
        // A machine that became faster does not explain a regression.
        assert_eq!(of(slower, around(-0.03, 0.02)), RegressionCause::Code);
    }

    #[test]
    fn an_effect_that_may_be_most_of_the_regression_is_not_ruled_out() {
        let slower = around(0.05, 0.02);
        let vague = around(0.0, 0.04);
        assert_eq!(cause(&slower, &vague, 0.01), RegressionCause::Undecided);
        assert_eq!(cause(&vague, &slower, 0.01), RegressionCause::Undecided);
        assert_eq!(cause(&around(f64::NAN, 0.01), &slower, 0.01), RegressionCause::Undecided);
    }

    #[test]
    fn an_effect_below_the_margin_does_not_count() {
        let tiny = around(0.004, 0.001);
        let slower = around(0.05, 0.02);
        assert_eq!(cause(&tiny, &slower, 0.01), RegressionCause::Environment);
        assert_eq!(cause(&tiny, &slower, 0.001), RegressionCause::Both);
    }
}
