//! Comparisons that prove themselves.

use plumb_model::{ExtraWork, ProofPoint, ProofRole, RunRecord};

use crate::testing::{Builder, COPY, Spec};
use crate::{GateDoubt, GateFinding, GateOutcome, series_in_run, summarise};

const SHARE: f64 = 0.05;

/// A comparison of a side that costs so many times as much, with the first side again and with extra work, which cost
/// so many times as much.
fn proved(side: f64, again: f64, planted: f64) -> RunRecord {
    let sides = [
        (1.0, ProofRole::Side),
        (side, ProofRole::Side),
        (again, ProofRole::Again),
        (planted, ProofRole::Planted),
    ];
    let mut builder = Builder::new(None);
    for (cost, role) in sides {
        let share = if role == ProofRole::Planted { SHARE } else { 0.0 };
        let spec = Spec { value: 1e10 / cost, processes: 20, ..COPY };
        builder = builder.measured(&spec).last_point(|planned| {
            let extra_work = ExtraWork { share, loops: 0 };
            planned.proof = Some(ProofPoint { role, extra_work });
        });
    }
    builder.with(|record| record.plan.against_first = true).build()
}

fn found(record: &RunRecord) -> GateFinding {
    summarise(record).proof.unwrap()
}

#[test]
fn a_gate_whose_controls_are_right_decides() {
    let clean = found(&proved(1.0, 1.0, 1.0 + SHARE));
    assert_eq!((clean.doubt, clean.needs_confirmation()), (None, false));
    assert!(clean.power.unwrap().probability > 0.9, "{clean:?}");
    let slower = found(&proved(1.2, 1.0, 1.0 + SHARE));
    assert!(slower.needs_confirmation());
    // Nothing fails before fresh pairs say so, too.
    assert_eq!(slower.outcome(), GateOutcome::NotConfirmed);
    let record = proved(1.2, 1.0, 1.0 + SHARE);
    let finding = summarise(&record);
    let mut confirmed = found(&record);
    confirmed.confirm(&finding.against_first);
    assert_eq!(confirmed.outcome(), GateOutcome::Regression);
    let calm = summarise(&proved(1.0, 1.0, 1.0 + SHARE));
    let mut refuted = found(&record);
    refuted.confirm(&calm.against_first);
    assert_eq!(refuted.outcome(), GateOutcome::NotConfirmed);
}

#[test]
fn a_gate_whose_controls_are_wrong_abstains_whatever_it_found() {
    for side in [1.0, 1.2] {
        let doubt = |again: f64, planted: f64| {
            let gate = found(&proved(side, again, planted));
            assert_eq!(gate.outcome(), GateOutcome::Abstained);
            gate.doubt.unwrap()
        };
        assert_eq!(doubt(1.1, 1.0 + SHARE), GateDoubt::NullFound);
        assert_eq!(doubt(1.0, 1.0), GateDoubt::PlantNotFound);
        assert_eq!(doubt(1.0, 1.3), GateDoubt::PlantMissed);
    }
    let mut record = proved(1.0, 1.0, 1.0 + SHARE);
    record.invocations.retain(|invocation| invocation.point != 3);
    assert_eq!(found(&record).doubt, Some(GateDoubt::NotMeasured));
}

#[test]
fn control_sides_are_no_part_of_a_history() {
    let series = series_in_run(&proved(1.0, 1.0, 1.0 + SHARE));
    assert!(!series.is_empty() && series.iter().all(|series| series.is_side_of_knob));
    assert_eq!(summarise(&crate::testing::exec()).proof, None);
}
