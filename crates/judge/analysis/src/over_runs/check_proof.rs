//! A check that proves that it works: docs/method.md, *A gate that proves itself*.
//!
//! A point of the check was measured again in turns with itself and with a known share of extra work. The former must not
//! be found different, the latter must be found slower by that share. And the check must be likely to report such a
//! slow-down, given how much the runs of its baseline vary.

use plumb_stats::gate_power::GatePower;
use plumb_stats::regression_gate::SlowDown;
use plumb_stats::rng::Rng;

use crate::estimate::Estimate;
use crate::one_run::gate::{Controls, GateDoubt, PointControls};
use crate::over_runs::baseline_gate::BaselineGate;

/// A check that more likely misses the slow-down than reports it does not work.
const LEAST_POWER: f64 = 0.5;

/// The proof of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckProof {
    /// The point that was measured for it, by its name for people.
    pub point: String,
    /// The extra work, as a share.
    pub planted: f64,
    /// The point compared with itself.
    pub again: Option<Estimate>,
    /// The point with the extra work, compared with itself.
    pub slower: Option<Estimate>,
    /// The probability that the check reports a slow-down of this point by the share; None if the baseline has not
    /// enough runs of it.
    pub power: Option<GatePower>,
    /// Why the check does not count; None if it does.
    pub doubt: Option<CheckDoubt>,
}

/// Why a check does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckDoubt {
    /// The controls are not as they must be.
    Controls(GateDoubt),
    /// The check would more likely miss such a slow-down than report it.
    TooWeak,
}

impl CheckDoubt {
    /// The reason in words.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::Controls(doubt) => match doubt {
                GateDoubt::NullFound => "the same work differs from itself",
                GateDoubt::PlantNotFound => "the extra work was not found",
                GateDoubt::PlantMissed | GateDoubt::NotMeasured => doubt.why(),
            },
            Self::TooWeak => {
                "it would probably miss such a slow-down: more runs of the baseline, spread with --every, or a larger share (--prove=SHARE)"
            }
        }
    }
}

/// The proof by these controls, if the chance of any false alarm is at most `alpha` and effects below `margin` do not count.
pub(crate) fn check_proof(
    gate: &BaselineGate<'_>,
    measured: &PointControls,
    alpha: f64,
    margin: f64,
) -> CheckProof {
    let Controls { planted, again, slower, doubt } = &measured.controls;
    let slow_down = SlowDown { effect: planted.ln_1p(), alpha, margin };
    let mut rng = Rng::new(measured.seed);
    let index = gate.index(&measured.series);
    let power = index.map(|index| gate.power(index, slow_down, &mut rng));
    let is_too_weak = power.is_none_or(|power| power.probability < LEAST_POWER);
    let doubt = doubt.map(CheckDoubt::Controls);
    CheckProof {
        point: measured.point.clone(),
        planted: *planted,
        again: again.clone(),
        slower: slower.clone(),
        power,
        doubt: doubt.or(is_too_weak.then_some(CheckDoubt::TooWeak)),
    }
}
