//! What a run says about a row.

use plumb_analysis::{Estimate, NoVerdict, PointComparison, Remark, RunFinding};
use plumb_model::{Id, Verdict};

use crate::rows::Row;

/// Whether the two agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The whole interval lies inside the band.
    Agrees,
    /// The whole interval lies outside of it.
    Disagrees,
    /// They do other work: both are shown, and nothing is judged.
    Shown,
    /// Neither is shown, for this reason.
    Inconclusive(String),
    /// One of the two can't run here: why, and what would mend it.
    Unsupported {
        /// Why.
        why: String,
        /// What to do.
        fix: String,
    },
    /// One of the two failed.
    Failed(String),
}

impl Outcome {
    /// The word that is shown and published.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Disagrees => "disagrees",
            Self::Shown => "shown",
            Self::Inconclusive(_) => "inconclusive",
            Self::Unsupported { .. } => "unsupported",
            Self::Failed(_) => "failed",
        }
    }

    /// What belongs beside the word; empty where the figures say it all.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Agrees | Self::Disagrees | Self::Shown => String::new(),
            Self::Inconclusive(why) | Self::Failed(why) => why.clone(),
            Self::Unsupported { why, fix } => format!("{why}; try: {fix}"),
        }
    }
}

/// A row that was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Crosschecked {
    /// The row.
    pub row: Row,
    /// The run that measured it.
    pub run: Id,
    /// The classic's figure, and ours.
    pub figures: [Option<Estimate>; 2],
    /// Their unit.
    pub unit: String,
    /// Our cost over the classic's: over 1, plumb reads it slower.
    pub ratio: Option<Estimate>,
    /// Pairs that were compared.
    pub pairs: usize,
    /// The classic tool with its version.
    pub tool: String,
    /// Whether they agree.
    pub outcome: Outcome,
}

impl Crosschecked {
    /// Judges the run of a row: its first point is the classic's, its second ours.
    #[must_use]
    pub fn of(row: &Row, found: &RunFinding) -> Self {
        let results = |index: usize| {
            let of = move |it: &&plumb_analysis::Finding| {
                it.point.index == index && it.metric == row.metric
            };
            found.results.iter().find(of)
        };
        let compared = found.against_first.first();
        let estimate = |index| results(index).map(|it| it.estimate.clone());
        let versions = results(0).map(|it| it.versions.iter());
        let versions = versions.into_iter().flatten().map(|(name, of)| format!("{name} {of}"));
        Self {
            row: *row,
            run: found.run.id,
            figures: [estimate(0), estimate(1)],
            unit: results(0).or(results(1)).map_or_else(String::new, |it| it.unit.clone()),
            ratio: compared.and_then(|it| it.found.ratio.clone()),
            pairs: compared.and_then(|it| it.found.by_pairs()).map_or(0, |pairs| pairs.pairs),
            tool: versions.collect::<Vec<_>>().join(", "),
            outcome: outcome(row, found, compared),
        }
    }
}

fn outcome(row: &Row, found: &RunFinding, compared: Option<&PointComparison>) -> Outcome {
    if let Some(it) = found.unsupported.first() {
        return Outcome::Unsupported { why: it.why.clone(), fix: it.fix.clone() };
    }
    if let Some(it) = found.failed.first() {
        return Outcome::Failed(format!("{}: {}", it.point.name, it.why));
    }
    let Some(compared) = compared else {
        return Outcome::Inconclusive("the time was over before both were measured".to_owned());
    };
    if row.band.is_none() {
        return Outcome::Shown;
    }
    let beyond = compared.found.remarks.contains(&Remark::BeyondMargin);
    match &compared.found.verdict {
        Ok(Verdict::Equivalent) => Outcome::Agrees,
        Ok(Verdict::Slower | Verdict::Faster) if beyond => Outcome::Disagrees,
        Ok(_) => Outcome::Inconclusive("the interval reaches over the band's end".to_owned()),
        Err(NoVerdict::FewPairs) => {
            Outcome::Inconclusive("too few pairs: give it a larger --budget".to_owned())
        }
        Err(why) => Outcome::Inconclusive(why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    #[test]
    fn what_is_missing_says_what_to_install() {
        let missing = Outcome::Unsupported {
            why: "mbw is not installed".into(),
            fix: "apt install mbw".into(),
        };
        assert_eq!(missing.reason(), "mbw is not installed; try: apt install mbw");
    }
}
