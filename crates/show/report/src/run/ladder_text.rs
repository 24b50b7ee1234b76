//! A result and parts of its work, in words and as a part of the document.

use plumb_analysis::{Estimate, Finding, Ladder, LadderRung};
use serde::Serialize;

use crate::figure::in_brackets;
use crate::json_parts::estimate::{EstimatePart, estimate};
use crate::run::curves::CurveText;
use crate::run::levels::share_text;

/// The parts of a point, the shortest first, and between which of them most of the time goes.
pub(crate) fn ladder_text(ladder: &Ladder, results: &[Finding]) -> CurveText {
    let finding = results.get(ladder.result);
    let unit = finding.map_or("", |finding| finding.unit.as_str());
    let last = ladder.rungs.len().saturating_sub(1);
    let rungs = ladder.rungs.iter().enumerate().map(|(index, rung)| {
        let result = in_brackets(&rung.result, unit);
        let of_whole = share_text(&rung.of_whole);
        let step = share_text(&rung.step);
        match index {
            0 => format!("{}: {result}, {of_whole} of the time", rung.name),
            index if index == last => format!("{}: {result}; this step takes {step}", rung.name),
            _ => format!("{}: {result}, {of_whole} of the time; this step takes {step}", rung.name),
        }
    });
    CurveText {
        name: format!("{}: parts", finding.map_or("", |finding| &finding.point.name)),
        workload: finding.map(|finding| finding.point.workload.clone()).unwrap_or_default(),
        lines: largest_step(ladder, unit).into_iter().chain(rungs).collect(),
        is_ladder: true,
    }
}

/// The step that takes most of the time, in a sentence; None if no step above the lowest part takes more than that part.
pub(crate) fn largest_step(ladder: &Ladder, unit: &str) -> Option<String> {
    let (rung, below) = ladder.largest_step()?;
    let whole = ladder.rungs.last()?;
    let step = share_text(&rung.step);
    let part = format!("{} ({})", below.name, in_brackets(&below.result, unit));
    if !std::ptr::eq(rung, whole) {
        let longer = format!("{} ({})", rung.name, in_brackets(&rung.result, unit));
        return Some(format!("{step} of the time is what {longer} takes longer than {part}."));
    }
    let without = share_text(&one_minus(&rung.step));
    Some(format!(
        "{step} of the time is what the work takes longer than {part}. Without it, the work would take {without} of the time."
    ))
}

/// What is left of the whole without a share of it.
fn one_minus(share: &Estimate) -> Estimate {
    let interval = share
        .interval
        .clone()
        .map(|ends| plumb_analysis::Ends { low: (1.0 - ends.high).max(0.0), high: 1.0 - ends.low });
    Estimate { value: 1.0 - share.value, interval }
}

/// A result and the parts of its work that were measured in the same run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LadderPart {
    /// The series of the result.
    pub series: String,
    /// Index into `targets`.
    pub target: usize,
    /// The unit of the results.
    pub unit: String,
    /// The parts, the shortest first; the last is the whole.
    pub rungs: Vec<LadderRungPart>,
}

/// A part of a result's work, or the whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LadderRungPart {
    /// What it is called.
    pub name: String,
    /// What it gives.
    pub result: EstimatePart,
    /// Its time as a share of the time of the whole.
    pub of_whole: EstimatePart,
    /// The time that it takes longer than the part before it, as a share of the time of the whole.
    pub step: EstimatePart,
}

impl LadderPart {
    pub(crate) fn of(ladder: &Ladder, results: &[Finding]) -> Self {
        let finding = results.get(ladder.result);
        Self {
            series: finding.map(|finding| finding.series.clone()).unwrap_or_default(),
            target: finding.map(|finding| finding.target).unwrap_or_default(),
            unit: finding.map(|finding| finding.unit.clone()).unwrap_or_default(),
            rungs: ladder.rungs.iter().map(LadderRungPart::of).collect(),
        }
    }
}

impl LadderRungPart {
    pub(crate) fn of(rung: &LadderRung) -> Self {
        Self {
            name: rung.name.clone(),
            result: estimate(&rung.result),
            of_whole: estimate(&rung.of_whole),
            step: estimate(&rung.step),
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_analysis::{Ends, Estimate, Ladder, LadderRung};

    use super::{largest_step, one_minus};

    fn estimate(value: f64) -> Estimate {
        Estimate { value, interval: Ok(Ends { low: value * 0.9, high: value * 1.1 }) }
    }

    /// Rungs that take these shares of the time of the whole, which gives 100 B/s.
    fn ladder(shares: &[(&str, f64)]) -> Ladder {
        let mut below = 0.0;
        let mut rungs = Vec::new();
        for (name, share) in shares {
            rungs.push(LadderRung {
                name: (*name).to_owned(),
                result: estimate(100.0 / share),
                of_whole: estimate(*share),
                step: estimate(share - below),
            });
            below = *share;
        }
        Ladder { result: 0, rungs }
    }

    #[test]
    fn the_sentence_names_the_step_that_takes_most_of_the_time() {
        let of_whole = ladder(&[("in memory", 0.2), ("the whole", 1.0)]);
        assert_eq!(
            largest_step(&of_whole, "B/s").unwrap(),
            "80 % [72, 88] of the time is what the work takes longer than in memory (500 [450, 550] B/s). Without it, the work would take 20 % [12, 28] of the time."
        );
        let between = ladder(&[("in memory", 0.1), ("the link", 0.8), ("the whole", 1.0)]);
        assert_eq!(
            largest_step(&between, "B/s").unwrap(),
            "70 % [63, 77] of the time is what the link (125 [112, 138] B/s) takes longer than in memory (1.00 [0.90, 1.10] kB/s)."
        );
        let mut unsure = of_whole.clone();
        unsure.rungs[1].step.interval = Ok(Ends { low: -0.1, high: 0.9 });
        assert_eq!(largest_step(&unsure, "B/s"), None);
        // Most of the time is in the part that is not divided further.
        assert_eq!(largest_step(&ladder(&[("a copy", 0.9), ("the whole", 1.0)]), "B/s"), None);
    }

    #[test]
    fn what_is_left_is_never_less_than_nothing() {
        let left = one_minus(&estimate(0.95));
        assert_eq!(left.low(), Some(0.0));
    }
}
