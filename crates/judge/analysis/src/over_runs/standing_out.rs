//! Which series of a comparison stand out from the others: docs/method.md, *Two runs, or few*.

use plumb_stats::distribution::two_sided_z;
use plumb_stats::precision::PER_LOOK_LEVEL;
use plumb_stats::standing_out::{CannotTell, EarlierNoise, SeriesPair, Stood, stand_out};

use crate::comparison::verdict::{Comparison, VerdictRemark};
use crate::estimate::Estimate;
use crate::method::CONFIDENCE;

/// Which series of one arm stand out from the others, compared with the first arm.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingOut {
    /// Series that were asked: first metrics with an interval.
    pub of: usize,
    /// The most runs, the first arm's included, that a series' own noise is known from; 0 where it is not.
    pub earlier_runs: usize,
    /// What is usual, with the places of those that stand out, the farthest first; or why that can't be told.
    pub found: Result<Stood, CannotTell>,
}

impl StandingOut {
    /// The places of those that stand out, the farthest first; none where that can't be told.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        self.found.as_ref().map_or(&[], |found| &found.series)
    }

    /// Whether the result in this place stands out.
    #[must_use]
    pub fn has(&self, place: usize) -> bool {
        self.places().contains(&place)
    }
}

/// A series of the first arm and a later one.
pub(crate) struct Candidate<'c> {
    /// Its place among the results.
    pub(crate) place: usize,
    /// The later arm against the first.
    pub(crate) against: &'c Comparison,
    /// The estimates of the first arm and of the later one.
    pub(crate) estimates: (&'c Estimate, &'c Estimate),
    /// What earlier runs tell of its noise.
    pub(crate) earlier: Option<EarlierNoise>,
}

impl Candidate<'_> {
    fn moved(&self) -> Option<SeriesPair> {
        let log_ratio = self.against.ratio.as_ref()?.value.ln();
        let both = log_error(self.estimates.0).zip(log_error(self.estimates.1));
        let error = both.map(|(first, later)| first.hypot(later)).or_else(|| self.of_ratio())?;
        let moved = SeriesPair { log_ratio, error, earlier: self.earlier };
        (log_ratio.is_finite() && error.is_finite()).then_some(moved)
    }

    /// The standard error of the log ratio by few processes, from its own interval where that is of these two runs
    /// alone.
    fn of_ratio(&self) -> Option<f64> {
        self.against.by_runs()?.break_even?;
        let ends = self.against.ratio.as_ref()?.interval.as_ref().ok()?;
        Some(0.5 * (ends.high.ln() - ends.low.ln()) / two_sided_z(CONFIDENCE))
    }
}

/// The standard error of the log of an estimate, from its interval.
fn log_error(estimate: &Estimate) -> Option<f64> {
    let ends = estimate.interval.as_ref().ok()?;
    Some(0.5 * (ends.high.ln() - ends.low.ln()) / two_sided_z(PER_LOOK_LEVEL))
}

/// Which of them stand out.
pub(crate) fn standing_out<'c>(candidates: impl Iterator<Item = Candidate<'c>>) -> StandingOut {
    let moved = candidates.filter_map(|candidate| Some((candidate.place, candidate.moved()?)));
    let (places, series): (Vec<usize>, Vec<SeriesPair>) = moved.unzip();
    let runs = series.iter().filter_map(|series| series.earlier).map(|series| series.runs);
    let place = |at: &usize| places[*at];
    let placed = |found: Stood| Stood { series: found.series.iter().map(place).collect(), ..found };
    StandingOut {
        of: series.len(),
        earlier_runs: runs.max().unwrap_or(0),
        found: stand_out(&series).map(placed),
    }
}

impl Comparison {
    /// Says that its series stands out.
    pub(crate) fn mark_standing_out(&mut self) {
        self.remarks.push(VerdictRemark::StandsOut);
    }
}
