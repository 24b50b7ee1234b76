//! Mode P: fresh processes are the unit.
//!
//! # The interval
//! A value x is too low for the q-quantile if too many samples lie above it, judged between processes: with r_p the
//! number of samples of process p up to x, less q times their number, x is refused if
//! (sum r)^2 > t^2 sum r^2, t of Student with P - 1 degrees of freedom. The interval is all values that are not
//! refused. The sum of squares is taken around 0, which is where r would be centred if x were the quantile, and not
//! around its mean: at 10 processes, of which none or one happened to fall into a slow mode, that is the difference
//! between .915 and .95 coverage of the stopped interval, and it costs nothing if processes are many.
//!
//! # Stretches
//! Processes that were taken one right after the other share the noise of those seconds. The unit is therefore a
//! stretch of neighbours in time, whose length is found from the data by [`super::stretches`], and the sum of squares
//! runs over stretches. Where neighbours are no more alike than chance makes them, a stretch is one process and the
//! interval stays as it is. Processes come in the order in which they were taken.
//!
//! # Weights
//! Processes may give different numbers of samples, as after a pilot of 40 where 5 turn out to be enough. A process
//! then counts for no more samples than the median process has, for its additional ones are worth little where
//! processes differ: else three long processes of the pilot would outweigh the next twenty (155 instead of 100
//! processes where modes go by process).

use std::cmp::Ordering;

use crate::describe::{finite, sum_of_squares};
use crate::distribution::{two_sided_t, two_sided_z};
use crate::{Interval, NoInterval};

use super::looks::{CONFIDENCE, FEWEST_BEYOND, interior};
use super::stretches::Stretches;

/// Quantiles nearer to an end than this are tails.
const TAIL: f64 = 0.25;
/// Sums of weights this close, relatively, are equal.
const ROUNDING: f64 = 1e-9;

/// The fewest processes that can give an interval of `level`: 7 for .95, 8 for .97.
pub fn fewest_processes(level: f64) -> usize {
    // All samples on one side is the most extreme that processes can show: (sum r)² = P sum r² then.
    (2..100)
        .find(|&processes: &usize| {
            two_sided_t(level, processes as f64 - 1.0).powi(2) < processes as f64
        })
        .unwrap_or(100)
}

/// A quantile over processes, with what their order in time says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clustered {
    /// The quantile and its interval, of the session.
    pub interval: Interval,
    /// How many neighbours in time make one independent unit: 1 if they are no more alike than by chance.
    pub stretch: usize,
    /// Whether the session is long enough to know its own memory; if not, the interval speaks of these seconds.
    pub resolved: bool,
}

/// The interval of [`clustered`] alone.
///
/// # Errors
/// Those of [`clustered`].
pub fn clustered_quantile(
    processes: &[&[f64]],
    q: f64,
    level: f64,
) -> Result<Interval, NoInterval> {
    clustered(processes, q, level).map(|found| found.interval)
}

/// Mode P: the `q`-quantile over processes in the order in which they were taken, each a slice of steady samples, with
/// its interval at `level`.
///
/// Empty processes are ignored. Processes of one sample each are fine: the interval then is that of a binomial.
/// Ties are kept together, so that rounded times only widen the interval.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below [`fewest_processes`]; [`NoInterval::TooFewSamples`] if fewer than ten
/// effective samples lie beyond a tail quantile; [`NoInterval::OutOfRange`] if a bound of another quantile than the
/// median would lie outside the sample, or `q` or `level` outside (0, 1); [`NoInterval::NotFinite`].
pub fn clustered(processes: &[&[f64]], q: f64, level: f64) -> Result<Clustered, NoInterval> {
    interior(q, level)?;
    let processes = filled(processes, level)?;
    let pool = WeightedSamples::of(&processes);
    let estimate = pool.quantile(q);
    let stretches = Stretches::of(&pool.excess(&processes, estimate, q));
    let stretch = stretches.length;
    let resolved = stretches.resolved;
    match not_refused(&processes, &pool, &stretches, (q, estimate), level) {
        Ok(interval) => {
            let interval = stretches.narrowed(interval, &processes, (q, level));
            Ok(Clustered { interval, stretch, resolved })
        }
        // So unequal or so alike are these processes that no sample is refused: they bound the median by what they
        // show. All of seven lie on one side of it once in 64 times, whatever their noise is.
        Err(NoInterval::OutOfRange) if q == 0.5 => {
            let all = Interval { estimate, low: pool.least(), high: pool.greatest() };
            let interval = stretches.narrowed(all, &processes, (q, level));
            Ok(Clustered { interval, stretch, resolved: resolved && stretches.are_alone() })
        }
        Err(why) => Err(why),
    }
}

/// All values that are not refused.
fn not_refused(
    processes: &[&[f64]],
    pool: &WeightedSamples,
    stretches: &Stretches,
    (q, estimate): (f64, f64),
    level: f64,
) -> Result<Interval, NoInterval> {
    let mut below = Below::nothing(processes, pool, stretches, q, level);
    let lowest_refused = below.too_few();
    let mut low = None;
    let mut high = None;
    for ties in pool.sorted.chunk_by(|one, next| one.0 == next.0) {
        // The upper end is tested without a value's ties, the lower one with them: ties only widen the interval.
        if !below.too_many() {
            high = Some(ties[0].0);
        }
        let was_short = below.sum < 0.0;
        ties.iter().for_each(|&(_, process)| below.count(process, pool.weights[process]));
        if was_short && below.sum >= 0.0 {
            enough_beyond(q, below.effective())?;
        }
        if !below.too_few() {
            low = low.or(Some(ties[0].0));
        }
    }
    match (low, high) {
        (Some(low), Some(high)) if lowest_refused && below.too_many() => {
            Ok(Interval { estimate, low: low.min(estimate), high: high.max(estimate) })
        }
        _ => Err(NoInterval::OutOfRange),
    }
}

/// The estimate of [`clustered_quantile`] alone, from any number of processes.
///
/// `None` without samples, for one that is not finite, or `q` outside (0, 1).
pub fn clustered_estimate(processes: &[&[f64]], q: f64) -> Option<f64> {
    let filled = with_samples(processes);
    let describable = !filled.is_empty() && filled.iter().all(|samples| finite(samples).is_ok());
    (describable && interior(q, 0.5).is_ok()).then(|| WeightedSamples::of(&filled).quantile(q))
}

fn with_samples<'a>(processes: &[&'a [f64]]) -> Vec<&'a [f64]> {
    processes.iter().copied().filter(|samples| !samples.is_empty()).collect()
}

/// The processes that have samples, if they are enough.
fn filled<'a>(processes: &[&'a [f64]], level: f64) -> Result<Vec<&'a [f64]>, NoInterval> {
    let filled = with_samples(processes);
    filled.iter().try_for_each(|samples| finite(samples))?;
    let have = filled.len();
    let need = fewest_processes(level);
    if have < need { Err(NoInterval::TooFewProcesses { have, need }) } else { Ok(filled) }
}

/// Refuses a tail quantile with too few effective samples beyond it.
fn enough_beyond(q: f64, effective: f64) -> Result<(), NoInterval> {
    let beyond = q.min(1.0 - q);
    let enough = beyond >= TAIL || effective * beyond >= FEWEST_BEYOND;
    if enough { Ok(()) } else { Err(NoInterval::TooFewSamples) }
}

/// All samples, from the smallest, with what they count.
struct WeightedSamples {
    /// Values with the index of their process.
    sorted: Vec<(f64, usize)>,
    /// The weight of a sample of each process: 1, or less in a process with more samples than the median one.
    weights: Vec<f64>,
    /// The sum over all samples.
    weight: f64,
}

impl WeightedSamples {
    fn of(processes: &[&[f64]]) -> Self {
        let mut sorted: Vec<(f64, usize)> = Vec::new();
        for (process, samples) in processes.iter().enumerate() {
            sorted.extend(samples.iter().map(|&sample| (sample, process)));
        }
        sorted.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let mut sizes: Vec<usize> = processes.iter().map(|samples| samples.len()).collect();
        let most = *sizes.select_nth_unstable(processes.len() / 2).1 as f64;
        let weights: Vec<f64> =
            processes.iter().map(|samples| (most / samples.len() as f64).min(1.0)).collect();
        let weight = sorted.iter().map(|&(_, process)| weights[process]).sum();
        Self { sorted, weights, weight }
    }

    fn least(&self) -> f64 {
        self.sorted[0].0
    }

    fn greatest(&self) -> f64 {
        self.sorted[self.sorted.len() - 1].0
    }

    /// For each process the weight that lies below a value, less what should; samples that equal it count half.
    fn excess(&self, processes: &[&[f64]], value: f64, q: f64) -> Vec<f64> {
        let mut excess = Vec::new();
        for (samples, weight) in processes.iter().zip(&self.weights) {
            let below = samples.iter().map(|sample| match sample.total_cmp(&value) {
                Ordering::Less => 1.0 - q,
                Ordering::Equal => 0.5 - q,
                Ordering::Greater => -q,
            });
            excess.push(weight * below.sum::<f64>());
        }
        excess
    }

    /// The value below which a share `q` of the weight lies; the middle of two where the share falls between them.
    fn quantile(&self, q: f64) -> f64 {
        let wanted = q * self.weight;
        let mut before = 0.0;
        for (index, &(value, process)) in self.sorted.iter().enumerate() {
            before += self.weights[process];
            if (before - wanted).abs() <= ROUNDING * self.weight {
                return self
                    .sorted
                    .get(index + 1)
                    .map_or(value, |next| f64::midpoint(value, next.0));
            }
            if before > wanted {
                return value;
            }
        }
        self.sorted[self.sorted.len() - 1].0
    }
}

/// How much of each process lies below a value that moves up, against how much should.
struct Below<'s> {
    /// For each process, the weight below less q times its weight.
    excess: Vec<f64>,
    sum: f64,
    squares: f64,
    stretches: &'s Stretches,
    /// The same for each stretch.
    of_stretches: Vec<f64>,
    squares_of_stretches: f64,
    /// The variance of `sum` if samples were independent.
    independent: f64,
    /// The variance of `sum` if there were one independent sample.
    of_one: f64,
    t_squared: f64,
    floor: f64,
}

impl<'s> Below<'s> {
    fn nothing(
        processes: &[&[f64]],
        pool: &WeightedSamples,
        stretches: &'s Stretches,
        q: f64,
        level: f64,
    ) -> Self {
        let mut excess = Vec::new();
        let mut squared_weights = Vec::new();
        for (samples, weight) in processes.iter().zip(&pool.weights) {
            let count = samples.len() as f64;
            excess.push(-q * count * weight);
            squared_weights.push(count * weight * weight);
        }
        let independent = q * (1.0 - q) * squared_weights.iter().sum::<f64>();
        let of_stretches = stretches.sums(&excess);
        Self {
            sum: excess.iter().sum(),
            squares: sum_of_squares(&excess),
            squares_of_stretches: sum_of_squares(&of_stretches),
            independent,
            of_one: q * (1.0 - q) * pool.weight * pool.weight,
            t_squared: two_sided_t(level, of_stretches.len() as f64 - 1.0).powi(2),
            // Processes may look more alike than independent samples by chance; no interval is narrower than theirs.
            floor: two_sided_z(level.min(CONFIDENCE)) * independent.sqrt(),
            excess,
            of_stretches,
            stretches,
        }
    }

    /// Counts one more sample of a process as below.
    fn count(&mut self, process: usize, weight: f64) {
        let stretch = self.stretches.holding(process);
        self.squares += (2.0 * self.excess[process] + weight) * weight;
        self.squares_of_stretches += (2.0 * self.of_stretches[stretch] + weight) * weight;
        self.excess[process] += weight;
        self.of_stretches[stretch] += weight;
        self.sum += weight;
    }

    /// The variance of `sum`; neighbours that take turns do not narrow an interval.
    fn variance(&self) -> f64 {
        self.squares.max(self.stretches.widening * self.squares_of_stretches)
    }

    fn significant(&self) -> bool {
        self.sum.abs() > self.floor && self.sum * self.sum > self.t_squared * self.variance()
    }

    fn too_few(&self) -> bool {
        self.sum < 0.0 && self.significant()
    }

    fn too_many(&self) -> bool {
        self.sum > 0.0 && self.significant()
    }

    /// How many independent samples these are worth.
    fn effective(&self) -> f64 {
        // Away from the estimate the sum is not 0; its square would count as differences between processes.
        let clustered = self.variance() - self.sum * self.sum / self.of_stretches.len() as f64;
        self.of_one / clustered.max(self.independent)
    }
}

#[cfg(test)]
mod tests {
    use super::{clustered, clustered_estimate, clustered_quantile, fewest_processes};
    use crate::describe::median;
    use crate::distribution::binomial_cdf;
    use crate::rng::Rng;
    use crate::{Interval, NoInterval};

    fn views(processes: &[Vec<f64>]) -> Vec<&[f64]> {
        processes.iter().map(Vec::as_slice).collect()
    }

    /// The numbers up to a count, a process each, in an order in which neighbours are not alike.
    fn singles(count: usize) -> Vec<Vec<f64>> {
        let mut values: Vec<f64> = (1..=count).map(|value| value as f64).collect();
        values.sort_by(|one, other| (one * 0.618).fract().total_cmp(&(other * 0.618).fract()));
        values.into_iter().map(|value| vec![value]).collect()
    }

    fn normals(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..count).map(|_| 100.0 + rng.normal()).collect()
    }

    #[test]
    fn the_largest_and_the_smallest_number_are_their_own_medians() {
        for value in [1e308, 5e-324] {
            let sample = [value];
            let processes = [&sample[..]; 10];
            assert_eq!(super::clustered_estimate(&processes, 0.5), Some(value));
            let mean = crate::describe::mean(&[value; 10]).unwrap();
            assert!((mean / value - 1.0).abs() < 1e-12, "{mean:e}");
        }
    }

    #[test]
    fn ranks_of_single_samples_are_the_narrowest_that_a_binomial_allows() {
        for (count, low) in [(13, 3.0), (16, 4.0), (20, 5.0), (40, 13.0)] {
            let found = clustered_quantile(&views(&singles(count)), 0.5, 0.97).unwrap();
            assert_eq!(
                (found.low, found.high),
                (low, count as f64 + 1.0 - low),
                "{count} processes"
            );
            let miss = 2.0 * binomial_cdf(low as u64 - 1, count as u64, 0.5);
            assert!(miss <= 0.03, "{count} processes: {miss}");
        }
    }

    #[test]
    fn fewest_processes_of_a_level() {
        assert_eq!((fewest_processes(0.95), fewest_processes(0.97)), (7, 8));
        let too_few = NoInterval::TooFewProcesses { have: 7, need: 8 };
        assert_eq!(clustered_quantile(&views(&singles(7)), 0.5, 0.97), Err(too_few));
        assert!(clustered_quantile(&views(&singles(8)), 0.5, 0.97).is_ok());
    }

    #[test]
    fn enough_processes_bound_the_median_however_unequal_they_are() {
        let counts = [10, 10, 10, 10, 1, 1, 1];
        let unequal: Vec<Vec<f64>> =
            counts.into_iter().zip(0..).map(|(n, seed)| normals(n, seed)).collect();
        let found = clustered(&views(&unequal), 0.5, 0.95).unwrap();
        let all = unequal.concat();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!((found.interval.low, found.interval.high), (least, greatest));
        assert_eq!(clustered_quantile(&views(&unequal), 0.4, 0.95), Err(NoInterval::OutOfRange));
    }

    #[test]
    fn empty_processes_do_not_count() {
        let mut processes = singles(13);
        processes.push(Vec::new());
        let with = clustered_quantile(&views(&processes), 0.5, 0.97);
        assert_eq!(with, clustered_quantile(&views(&singles(13)), 0.5, 0.97));
    }

    #[test]
    fn equal_values_give_an_interval_of_no_width() {
        let processes = vec![vec![25.0; 10]; 10];
        let point = Interval { estimate: 25.0, low: 25.0, high: 25.0 };
        assert_eq!(clustered_quantile(&views(&processes), 0.5, 0.97), Ok(point));
    }

    #[test]
    fn one_slow_process_is_excluded_among_thirteen_but_not_among_ten() {
        let fast: Vec<f64> = (0..10).map(|value| 100.0 + f64::from(value) / 10.0).collect();
        let slow: Vec<f64> = fast.iter().map(|value| value + 8.0).collect();
        let high_among = |count: usize| {
            let mut processes = vec![fast.clone(); count - 1];
            processes.push(slow.clone());
            clustered_quantile(&views(&processes), 0.5, 0.97).unwrap().high
        };
        assert_eq!(high_among(10), 108.0);
        assert!(high_among(13) < 101.0);
    }

    #[test]
    fn tails_need_samples_beyond_them() {
        let short: Vec<Vec<f64>> = (0..10).map(|seed| normals(10, seed)).collect();
        assert_eq!(clustered_quantile(&views(&short), 0.99, 0.97), Err(NoInterval::TooFewSamples));
        let long: Vec<Vec<f64>> = (0..20).map(|seed| normals(100, seed)).collect();
        assert!(clustered_quantile(&views(&long), 0.99, 0.97).is_ok());
    }

    #[test]
    fn the_estimate_is_the_plain_median_where_processes_are_of_one_length() {
        for (count, each) in [(10, 10), (9, 11), (13, 1), (20, 1)] {
            let processes: Vec<Vec<f64>> = (0..count).map(|seed| normals(each, seed)).collect();
            let estimate = clustered_estimate(&views(&processes), 0.5);
            assert_eq!(estimate, median(&processes.concat()));
            let found = clustered_quantile(&views(&processes), 0.5, 0.97).unwrap();
            assert_eq!(Some(found.estimate), estimate);
        }
        assert_eq!(clustered_estimate(&[], 0.5), None);
        assert_eq!(clustered_estimate(&[&[f64::NAN]], 0.5), None);
    }

    #[test]
    fn long_processes_do_not_outvote_the_others() {
        let mut processes = vec![vec![2.0; 40]; 3];
        processes.extend(vec![vec![1.0; 5]; 10]);
        assert_eq!(clustered_estimate(&views(&processes), 0.5), Some(1.0));
    }

    #[test]
    fn nonsense_is_refused() {
        let mut processes = singles(13);
        assert_eq!(clustered_quantile(&views(&processes), 0.0, 0.97), Err(NoInterval::OutOfRange));
        assert_eq!(clustered_quantile(&views(&processes), 0.5, 1.0), Err(NoInterval::OutOfRange));
        processes[4][0] = f64::NAN;
        assert_eq!(clustered_quantile(&views(&processes), 0.5, 0.97), Err(NoInterval::NotFinite));
    }
}
