//! What a ladder is: a result and parts of its work.

use crate::estimate::Estimate;

/// A result and parts of its work.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// The index of the whole among the results.
    pub result: usize,
    /// The parts that take less time than the whole, the shortest first; the last is the whole.
    pub rungs: Vec<LadderRung>,
}

/// A part of a result's work, or the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderRung {
    /// What it is called: `place=memory`, `one copy in memory`; the name of the point for the whole.
    pub name: String,
    /// What it gives, in the unit of the whole.
    pub result: Estimate,
    /// Its time as a share of the time of the whole: 1 for the whole.
    pub of_whole: Estimate,
    /// The time that it takes longer than the part below, as a share of the time of the whole.
    pub step: Estimate,
}

impl Ladder {
    /// The rung with the largest step, and the part below it; None if the lowest part takes more time than any step, or the step
    /// may be none.
    #[must_use]
    pub fn largest_step(&self) -> Option<(&LadderRung, &LadderRung)> {
        let mut largest: Option<(&LadderRung, &LadderRung)> = None;
        for (below, rung) in self.rungs.iter().zip(self.rungs.iter().skip(1)) {
            if largest.is_none_or(|(known, _)| rung.step.value > known.step.value) {
                largest = Some((rung, below));
            }
        }
        let lowest = self.rungs.first()?;
        largest.filter(|(rung, _)| {
            rung.step.value >= lowest.step.value && rung.step.low().is_some_and(|low| low > 0.0)
        })
    }
}
