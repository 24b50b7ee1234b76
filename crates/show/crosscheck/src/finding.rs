//! What a run says about a row.

use plumb_analysis::{Estimate, NoVerdict, PointComparison, RunFinding, VerdictRemark};
use plumb_model::{Id, Verdict};

use crate::rows::PairedPoints;

/// Whether the two agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreement {
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
        /// The missing part of this machine.
        why: String,
        /// The thing to install or change.
        fix: String,
    },
    /// One of the two failed.
    Failed(String),
}

impl Agreement {
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

    /// The text next to the word; empty if the figures are enough.
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
    /// The row of the table that was measured.
    pub row: PairedPoints,
    /// The run that measured it.
    pub run: Id,
    /// The classic's figure, and ours.
    pub figures: [Option<Estimate>; 2],
    /// The unit of both figures; empty if neither was measured.
    pub unit: String,
    /// Cost measured by plumb over that measured by the classic: over 1, plumb's is higher.
    pub ratio: Option<Estimate>,
    /// Pairs that were compared.
    pub pairs: usize,
    /// The classic tool with its version.
    pub tool: String,
    /// Whether they agree.
    pub outcome: Agreement,
}

impl Crosschecked {
    /// Judges the run of a row: its first point is the classic's, its second ours.
    #[must_use]
    pub fn of(row: &PairedPoints, found: &RunFinding) -> Self {
        // Each point has several metrics; the row compares the one that both tools print.
        let [classic, ours] = [0, 1].map(|index: usize| {
            found
                .results
                .iter()
                .find(|result| result.point.index == index && result.metric == row.metric)
        });
        let compared = found.against_first.first();
        let versions = classic
            .map(|result| result.versions.iter())
            .into_iter()
            .flatten()
            .map(|(name, version)| format!("{name} {version}"));
        Self {
            row: *row,
            run: found.run.id,
            figures: [classic, ours].map(|result| result.map(|result| result.estimate.clone())),
            unit: classic.or(ours).map_or_else(String::new, |result| result.unit.clone()),
            ratio: compared.and_then(|comparison| comparison.found.ratio.clone()),
            pairs: compared
                .and_then(|comparison| comparison.found.by_pairs())
                .map_or(0, |pairs| pairs.pairs),
            tool: versions.collect::<Vec<_>>().join(", "),
            outcome: outcome(row, found, compared),
        }
    }
}

fn outcome(
    row: &PairedPoints,
    found: &RunFinding,
    compared: Option<&PointComparison>,
) -> Agreement {
    if let Some(unsupported) = found.unsupported.first() {
        return Agreement::Unsupported {
            why: unsupported.why.clone(),
            fix: unsupported.fix.clone(),
        };
    }
    if let Some(failure) = found.failed.first() {
        return Agreement::Failed(format!("{}: {}", failure.point.name, failure.why));
    }
    let Some(compared) = compared else {
        return Agreement::Inconclusive("time ran out before both were measured".to_owned());
    };
    if row.band.is_none() {
        return Agreement::Shown;
    }
    // A verdict says which side of 1 the interval lies on. Disagreement needs all of it outside the band.
    let beyond = compared.found.remarks.contains(&VerdictRemark::BeyondMargin);
    match &compared.found.verdict {
        // Here the figures of two clients are compared, not their servers.
        Ok(Verdict::Equivalent) | Err(NoVerdict::GeneratorBusy) => Agreement::Agrees,
        Ok(Verdict::Slower | Verdict::Faster) if beyond => Agreement::Disagrees,
        Ok(_) => Agreement::Inconclusive("the interval extends beyond the band".to_owned()),
        Err(NoVerdict::FewPairs) => {
            Agreement::Inconclusive("too few pairs: use a larger --budget".to_owned())
        }
        Err(why) => Agreement::Inconclusive(why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::Agreement;

    #[test]
    fn what_is_missing_says_what_to_install() {
        let missing = Agreement::Unsupported {
            why: "mbw is not installed".into(),
            fix: "apt install mbw".into(),
        };
        assert_eq!(missing.reason(), "mbw is not installed; try: apt install mbw");
    }
}
