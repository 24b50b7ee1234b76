//! Which series of two runs moved unlike the others: docs/method.md, *Two runs, or few*.
//!
//! Two runs tell nothing of the noise between runs of one series. But they hold as many differences as they have
//! series, and most of these did not change: the common part and the spread of most are an empirical null (Efron 2004).
//! The centre and the scale are those of a core: the point from which a third of the series is nearest (after the least
//! median of squares, Rousseeuw 1984), then the series near it. Each series counts by what its own interval says. What
//! lies too far out for Student's t with few degrees of freedom, whose tails are those of noise that differs from series
//! to series, stands out, by Benjamini and Hochberg's rule. Earlier runs give each series its own variance, drawn
//! towards the common one (Smyth 2004); the weight of the common one is set, not estimated, because so few runs show
//! it badly.
//!
//! Where a third of the series lies outside the core, nobody can tell who moved and who stayed.

use crate::describe::median_of;
use crate::distribution::{normal_quantile, t_cdf};
use crate::multiple::{benjamini_hochberg, common_mode};

/// With fewer series there is no telling what is usual.
pub const FEWEST_SERIES: usize = 8;
/// The share of false ones among those that stand out, on average.
pub const FALSE_SHARE: f64 = 0.05;

/// The share of series that the core is looked for in.
const CORE: f64 = 0.36;
/// The scale of the nearest third is too small because the centre was chosen for it: by this over the number of series
/// (simulated on normal values).
const CORE_CHOSEN: f64 = 8.0;
/// The core reaches so many of its scales; the scale of normal values cut off there is too small by the factor.
const CORE_REACH: f64 = 2.5;
const CUT_OFF: f64 = 1.05;
/// Series beyond so many scales of the core have moved, or may have.
const MOVED: f64 = 2.0;
/// With a larger share of such series there is no telling.
const MOST_MOVED: f64 = 1.0 / 3.0;
/// Degrees of freedom of the common variance: for how much it counts next to a series' own.
const COMMON_DF: f64 = 3.0;
/// Tails are no lighter than of this many degrees of freedom, however many runs there are.
const MOST_DF: f64 = 4.0;

/// Degrees of freedom of a series' own interval: of few processes.
const OWN_DF: f64 = 8.0;

/// The noise of one series in earlier runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EarlierNoise {
    /// The variance of its log costs from run to run, what all series have in common taken out.
    pub variance: f64,
    /// The runs that it is of.
    pub runs: usize,
}

/// One series in two runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesPair {
    /// The log ratio of its costs.
    pub log_ratio: f64,
    /// The standard error of that, by what each run's own interval says.
    pub error: f64,
    /// The noise in earlier runs, if there are any.
    pub earlier: Option<EarlierNoise>,
}

impl SeriesPair {
    /// Whether its numbers are finite, and its error is not negative.
    fn is_sound(&self) -> bool {
        self.log_ratio.is_finite() && self.error.is_finite() && self.error >= 0.0
    }

    /// How likely a series that moved like the others lies so far from them, two-sided. `own` is its standard deviation
    /// where the core has a scale of 1.
    fn p(&self, core: &Core, own: f64) -> f64 {
        let usual = away(self.log_ratio, core.scale * own, core.centre);
        let shown = away(self.log_ratio, self.error, core.centre);
        // It must stand out both of what is usual and of its own interval.
        let p_usual = t_cdf(-usual, degrees(self.earlier));
        let p_shown = t_cdf(-shown, OWN_DF);
        2.0 * p_usual.max(p_shown)
    }
}

/// The usual shift, and the series that stand out from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stood {
    /// The log ratio that series have in common.
    pub common: f64,
    /// Whether that is beyond chance.
    pub moved_together: bool,
    /// The standard deviation of a typical series around it, in log units.
    pub spread: f64,
    /// The indices of those that stand out, the farthest first.
    pub series: Vec<usize>,
}

/// Why that is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CannotTell {
    /// There are too few series, or one is not a number.
    TooFewSeries,
    /// Too many moved to show which are usual.
    TooManyMoved,
}

/// Which series moved unlike the others.
///
/// # Errors
/// [`CannotTell`].
pub fn stand_out(series: &[SeriesPair]) -> Result<Stood, CannotTell> {
    if series.len() < FEWEST_SERIES || !series.iter().all(SeriesPair::is_sound) {
        return Err(CannotTell::TooFewSeries);
    }
    let logs: Vec<f64> = series.iter().map(|moved| moved.log_ratio).collect();
    let typical = median_of(&series.iter().map(|moved| moved.error).collect::<Vec<_>>());
    // A counter's error is almost 0: without the typical error added, it would decide where the core is.
    let weights: Vec<f64> = series.iter().map(|moved| moved.error.hypot(typical)).collect();
    let common = Core::of(&logs, &weights);
    let own: Vec<f64> = series
        .iter()
        .zip(&weights)
        .map(|(moved, weight)| moderated(common.scale * weight, moved.earlier))
        .collect();
    let core = if series.iter().any(|moved| moved.earlier.is_some()) {
        let by_own = Core::of(&logs, &own);
        // A run of a noisier hour than the earlier ones is as noisy as it shows itself.
        Core { scale: by_own.scale.max(1.0), ..by_own }
    } else {
        Core { scale: 1.0, ..common }
    };
    if core.outside as f64 > MOST_MOVED * series.len() as f64 {
        return Err(CannotTell::TooManyMoved);
    }
    let p_values: Vec<f64> =
        series.iter().zip(&own).map(|(moved, own)| moved.p(&core, *own)).collect();
    let rejected = benjamini_hochberg(&p_values, FALSE_SHARE);
    let mut found: Vec<usize> = (0..series.len()).filter(|&at| rejected[at]).collect();
    let distances: Vec<f64> = logs.iter().map(|log| (log - core.centre).abs()).collect();
    found.sort_by(|&a, &b| distances[b].total_cmp(&distances[a]));
    Ok(Stood {
        common: core.centre,
        moved_together: common_mode(&logs).is_some_and(|common| common.moved()),
        spread: core.scale * median_of(&own),
        series: found,
    })
}

/// The standard deviation of a difference of two runs: the common one, and the series' own as far as it is known.
fn moderated(common: f64, earlier: Option<EarlierNoise>) -> f64 {
    let df = own_df(earlier);
    // Twice, because it is the variance of one run and the ratio has two.
    let own = earlier.map_or(0.0, |noise| 2.0 * noise.variance);
    ((COMMON_DF * common * common + df * own) / (COMMON_DF + df)).sqrt()
}

fn own_df(earlier: Option<EarlierNoise>) -> f64 {
    earlier.map_or(0.0, |noise| noise.runs.saturating_sub(1) as f64)
}

fn degrees(earlier: Option<EarlierNoise>) -> f64 {
    (COMMON_DF + own_df(earlier)).min(MOST_DF)
}

/// Where most values lie.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Core {
    centre: f64,
    /// Of a value with weight 1.
    scale: f64,
    /// Values that lie too far out to belong to it.
    outside: usize,
}

impl Core {
    /// Of values, each with a standard deviation that is right but for a common factor.
    fn of(values: &[f64], sds: &[f64]) -> Self {
        let (middle, nearest) = most_central(values, sds);
        let count = values.len() as f64;
        let within = core_count(values.len()) as f64;
        // How far the nearest share reaches in a normal law: turns the reach into a standard deviation.
        let usual = normal_quantile(0.5 + 0.5 * (within - 0.5) / count);
        let narrow = nearest / usual * (1.0 + CORE_CHOSEN / count);
        let inside: Vec<usize> = (0..values.len())
            .filter(|&at| away(values[at], sds[at], middle) <= CORE_REACH * narrow)
            .collect();
        let total: f64 = inside.iter().map(|&at| weight(sds[at])).sum();
        let centre = inside.iter().map(|&at| weight(sds[at]) * values[at]).sum::<f64>() / total;
        let squares = inside.iter().map(|&at| away(values[at], sds[at], centre).powi(2));
        let scale = CUT_OFF * (squares.sum::<f64>() / (inside.len() as f64 - 1.0)).sqrt();
        let outside = (0..values.len())
            .filter(|&at| away(values[at], sds[at], centre) > MOVED * narrow)
            .count();
        Self { centre, scale, outside }
    }
}

/// How much a value with this standard deviation counts; one without any lies in the centre exactly, or outside.
fn weight(sd: f64) -> f64 {
    if sd > 0.0 { sd.powi(-2) } else { 1.0 }
}

/// How many values make the core, at least.
fn core_count(values: usize) -> usize {
    (CORE * values as f64).ceil() as usize
}

/// How many standard deviations from there; infinite if there is none and the value is elsewhere.
fn away(value: f64, sd: f64, from: f64) -> f64 {
    let away = (value - from).abs();
    if away == 0.0 { 0.0 } else { away / sd }
}

/// The value that a third of all is nearest to, and how near that is.
fn most_central(values: &[f64], sds: &[f64]) -> (f64, f64) {
    let place = core_count(values.len()) - 1;
    let reaches = values.iter().map(|&from| {
        let mut all: Vec<f64> =
            values.iter().zip(sds).map(|(value, sd)| away(*value, *sd, from)).collect();
        (from, *all.select_nth_unstable_by(place, f64::total_cmp).1)
    });
    reaches.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0.0, 0.0))
}

#[cfg(test)]
mod tests {
    use super::{CannotTell, EarlierNoise, SeriesPair, stand_out};
    use crate::rng::Rng;

    /// Series that moved by these and by noise of 2 %, 5 % together.
    fn series(moves: &[f64]) -> Vec<SeriesPair> {
        let mut rng = Rng::new(1);
        let one = |moved: &f64| SeriesPair {
            log_ratio: 0.05 + moved + 0.02 * rng.normal(),
            error: 0.01,
            earlier: None,
        };
        moves.iter().map(one).collect()
    }

    #[test]
    fn what_moved_unlike_the_others_stands_out_the_farthest_first() {
        let mut moves = [0.0; 20];
        (moves[3], moves[11]) = (-0.4, 0.8);
        let found = stand_out(&series(&moves)).unwrap();
        assert_eq!(found.series, [11, 3]);
        assert!((found.common - 0.05).abs() < 0.02 && found.moved_together, "{found:?}");
        assert!((0.01..0.04).contains(&found.spread), "{found:?}");
        assert_eq!(stand_out(&series(&[0.0; 20])).unwrap().series, [0usize; 0]);
    }

    #[test]
    fn where_half_moved_nobody_can_tell() {
        let moves: Vec<f64> = (0..20).map(|at| if at % 2 == 0 { 0.0 } else { 0.5 }).collect();
        assert_eq!(stand_out(&series(&moves)), Err(CannotTell::TooManyMoved));
    }

    #[test]
    fn few_series_and_what_is_no_number_are_refused() {
        assert_eq!(stand_out(&series(&[0.0; 7])), Err(CannotTell::TooFewSeries));
        let mut all = series(&[0.0; 20]);
        all[4].log_ratio = f64::NAN;
        assert_eq!(stand_out(&all), Err(CannotTell::TooFewSeries));
    }

    #[test]
    fn no_series_stands_out_inside_its_own_interval() {
        let mut all = series(&[0.0; 20]);
        (all[5].log_ratio, all[5].error) = (0.8, 0.5);
        assert_eq!(stand_out(&all).unwrap().series, [0usize; 0]);
    }

    #[test]
    fn a_series_known_to_be_noisy_needs_more_and_a_quiet_one_less() {
        let mut all = series(&[0.0; 20]);
        all[5].log_ratio += 0.3;
        assert_eq!(stand_out(&all).unwrap().series, [5]);
        let quiet = EarlierNoise { variance: 0.014f64.powi(2), runs: 5 };
        all.iter_mut().for_each(|series| series.earlier = Some(quiet));
        assert_eq!(stand_out(&all).unwrap().series, [5]);
        all[5].earlier = Some(EarlierNoise { variance: 0.04, runs: 5 });
        assert_eq!(stand_out(&all).unwrap().series, [0usize; 0]);
    }

    #[test]
    fn counters_that_do_not_vary_are_compared_exactly() {
        let mut all = vec![SeriesPair { log_ratio: 0.0, error: 0.0, earlier: None }; 12];
        assert_eq!(stand_out(&all).unwrap().series, [0usize; 0]);
        all[7].log_ratio = 0.01;
        assert_eq!(stand_out(&all).unwrap().series, [7]);
    }
}
