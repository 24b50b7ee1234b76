//! How likely usual hosts lie far out: an empirical null (Efron, *Large-scale simultaneous hypothesis testing*, JASA 99,
//! 2004) whose tails are fitted.
//!
//! The standardised deviations of a series follow Student's t. Its inverse degrees of freedom are the tail index between
//! hosts, plus those of the estimated spread, which alone makes the tails of few hosts heavier. The index comes from the
//! fast side and the core, by the likelihood of values cut off at [`CUT`]: slow hosts lie beyond.
//!
//! Extrapolation to one in a million is sensitive to the index, so no single one is used: p-values are averaged over
//! what the data allow. Each series has its own index, drawn from a distribution that all series share (empirical Bayes,
//! Efron 2010, *Large-Scale Inference*, chapter 1). One common index would be simpler, but if half of the series are normal
//! and half have t of 5, it gives a false flag in 28 of 100 fleets of 200 hosts; this gives one in 6 of 100. The series
//! of a host are correlated, so they count as fewer series, by the variance of the hosts' sums of scores (as in composite
//! likelihoods: Varin, Reid & Firth 2011). An even distribution is mixed in, so that few hosts say little and their
//! p-values are large.

use crate::distribution::{log_t_density, t_cdf};

/// Standardised deviations above this do not count: some may be slow.
const CUT: f64 = 1.5;
/// The largest tail index, of t with 2.5 degrees of freedom.
const LARGEST_INDEX: f64 = 0.4;
/// Tail indices that are considered, evenly spaced from 0 to the largest.
const INDICES: usize = 33;
/// Precision of the spread between hosts, as a share of that of a standard deviation (simulated on normal values).
const SPREAD_EFFICIENCY: f64 = 0.8;
/// How many hosts the even distribution of indices counts for: with fewer, 20 hosts with t of 5 have too many false
/// flags; with more, one slow host in 200 normal ones is found less often (simulated).
const EVEN_HOSTS: f64 = 4.0;
/// Steps of the fits, which need a tenth of them.
const SCALE_STEPS: usize = 30;
const MIXING_STEPS: usize = 200;
/// Relative precision of the scales.
const SCALE_PRECISION: f64 = 2e-4;
/// The spread is right up to these factors.
const LEAST_SCALE: f64 = 0.2;
const LARGEST_SCALE: f64 = 5.0;
/// Indices that are less likely change no p-value that matters.
const NEGLIGIBLE: f64 = 1e-10;

/// What a series says of its tails.
#[derive(Debug)]
pub(super) struct SeriesTails {
    /// The hosts that its spread is of.
    pub(super) hosts: usize,
    /// The index of each host with its standardised deviation; none if they say nothing.
    pub(super) standardised: Vec<(usize, f64)>,
    /// The share of the variance that is between hosts. Their own errors are nearly normal and dilute the tails.
    pub(super) between_hosts: f64,
}

/// The law of the standardised deviations of usual hosts, per series.
#[derive(Debug)]
pub(super) struct TailLaws {
    series: Vec<TailLaw>,
}

/// Student's laws with their weights, which add up to 1.
#[derive(Debug)]
struct TailLaw {
    members: Vec<WeightedTail>,
}

#[derive(Debug, Clone, Copy)]
struct WeightedTail {
    weight: f64,
    degrees: f64,
    scale: f64,
}

impl TailLaws {
    pub(super) fn fit(series: &[SeriesTails]) -> Self {
        let cores: Vec<CoreValues> = series.iter().map(CoreValues::of).collect();
        let scales = scales(&cores);
        let likelihoods: Vec<Vec<f64>> =
            cores.iter().map(|core| core.likelihoods(&scales)).collect();
        let repeated = series_per_independent_one(&cores, &likelihoods, &scales);
        let weights = index_weights(&cores, &likelihoods, repeated);
        let laws = cores.iter().zip(&weights).map(|(core, weights)| core.law(weights, &scales));
        Self { series: laws.collect() }
    }

    /// How likely a usual host lies so far out, or farther, in the `at`-th series.
    pub(super) fn p_beyond(&self, at: usize, standardised: f64) -> f64 {
        let members = self.series[at].members.iter();
        members.map(|tail| tail.weight * t_cdf(-standardised / tail.scale, tail.degrees)).sum()
    }
}

/// The `place`-th tail index.
fn index(place: usize) -> f64 {
    LARGEST_INDEX * place as f64 / (INDICES - 1) as f64
}

/// The values of a series that cannot be of slow hosts.
#[derive(Debug)]
struct CoreValues {
    /// Host and standardised deviation.
    values: Vec<(usize, f64)>,
    /// Inverse degrees of freedom of the spread that values were divided by.
    of_spread: f64,
    /// By what the own errors of hosts reduce the excess kurtosis, and thus, nearly, the tail index.
    dilution: f64,
}

impl CoreValues {
    fn of(series: &SeriesTails) -> Self {
        let values = series.standardised.iter().copied().filter(|(_, value)| *value < CUT);
        Self {
            values: values.collect(),
            of_spread: 1.0 / (SPREAD_EFFICIENCY * (series.hosts as f64 - 1.0)),
            dilution: series.between_hosts.powi(2),
        }
    }

    /// Degrees of freedom of the values if the hosts have the `place`-th tail index.
    fn degrees(&self, place: usize) -> f64 {
        1.0 / (index(place) * self.dilution + self.of_spread)
    }

    /// The log likelihood of each value.
    fn log_likelihoods(&self, place: usize, scale: f64) -> impl Iterator<Item = (usize, f64)> {
        let degrees = self.degrees(place);
        let constant = log_t_density(0.0, degrees) - scale.ln() - t_cdf(CUT / scale, degrees).ln();
        self.values.iter().map(move |(host, value)| {
            let square = (value / scale).powi(2);
            (*host, constant - 0.5 * (degrees + 1.0) * (square / degrees).ln_1p())
        })
    }

    /// The log likelihood of the series for each index.
    fn likelihoods(&self, scales: &[f64]) -> Vec<f64> {
        (0..INDICES)
            .map(|place| self.log_likelihoods(place, scales[place]).map(|(_, log)| log).sum())
            .collect()
    }

    /// The law for new values. These have the whole tail index, because errors of their own may be smaller.
    fn law(&self, weights: &[f64], scales: &[f64]) -> TailLaw {
        let members = (0..INDICES).filter(|&place| weights[place] > NEGLIGIBLE);
        let members = members.map(|place| WeightedTail {
            weight: weights[place],
            degrees: 1.0 / (index(place) + self.of_spread),
            scale: scales[place],
        });
        TailLaw { members: members.collect() }
    }
}

/// The scale of the law with each index that fits all series best. It is common to them, because each value is already in
/// units of the spread of its series.
fn scales(cores: &[CoreValues]) -> Vec<f64> {
    let mut scale = 1.0;
    let mut found = Vec::new();
    for place in 0..INDICES {
        // The best scale of the previous index is near.
        for _ in 0..SCALE_STEPS {
            let previous = scale;
            scale = next_scale(cores, place, previous);
            if (scale / previous - 1.0).abs() < SCALE_PRECISION {
                break;
            }
        }
        found.push(scale);
    }
    found
}

/// A step of expectation maximisation for the scale of values cut off at [`CUT`].
fn next_scale(cores: &[CoreValues], place: usize, scale: f64) -> f64 {
    let cut = CUT / scale;
    let mut squares = 0.0;
    let mut count = 0.0;
    for core in cores {
        let degrees = core.degrees(place);
        let missing = cut * log_t_density(cut, degrees).exp() / t_cdf(cut, degrees);
        count += core.values.len() as f64 * (1.0 - missing);
        let weighted = core.values.iter().map(|(_, value)| {
            let square = value * value;
            (degrees + 1.0) * square / (degrees + square / (scale * scale))
        });
        squares += weighted.sum::<f64>();
    }
    // Without values, or if all lie in the centre, any scale will do.
    if squares > 0.0 && count > 0.0 {
        (squares / count).sqrt().clamp(LEAST_SCALE, LARGEST_SCALE)
    } else {
        scale
    }
}

/// How many of the series say no more of the tails than an independent one: the variance of the sums of scores over
/// the series of a host, as a multiple of what it would be if they were independent.
fn series_per_independent_one(
    cores: &[CoreValues],
    likelihoods: &[Vec<f64>],
    scales: &[f64],
) -> f64 {
    let pooled = (0..INDICES)
        .map(|place| likelihoods.iter().map(|series| series[place]).sum::<f64>())
        .enumerate()
        .max_by(|one, other| one.1.total_cmp(&other.1));
    let best = pooled.map_or(0, |(place, _)| place);
    let below = best.saturating_sub(1);
    let above = (best + 1).min(INDICES - 1);
    let hosts = cores.iter().flat_map(|core| &core.values).map(|(host, _)| host + 1).max();
    let mut sums = vec![0.0; hosts.unwrap_or(0)];
    let mut squares = 0.0;
    for core in cores.iter().filter(|core| !core.values.is_empty()) {
        let lower = core.log_likelihoods(below, scales[below]);
        let scores: Vec<(usize, f64)> = core
            .log_likelihoods(above, scales[above])
            .zip(lower)
            .map(|((host, high), (_, low))| (host, high - low))
            .collect();
        let mean = scores.iter().map(|(_, score)| score).sum::<f64>() / scores.len() as f64;
        for (host, score) in scores {
            sums[host] += score - mean;
            squares += (score - mean).powi(2);
        }
    }
    let of_sums = sums.iter().map(|sum| sum * sum).sum::<f64>();
    if squares > 0.0 { (of_sums / squares).max(1.0) } else { 1.0 }
}

/// How likely each index is in each series: the distribution that all share by expectation maximisation, times the
/// likelihood of the series.
fn index_weights(cores: &[CoreValues], likelihoods: &[Vec<f64>], repeated: f64) -> Vec<Vec<f64>> {
    let relative: Vec<Vec<f64>> = likelihoods.iter().map(|logs| relative_to_best(logs)).collect();
    let with_values = cores.iter().filter(|core| !core.values.is_empty()).count();
    let values: usize = cores.iter().map(|core| core.values.len()).sum();
    let typical_hosts = values as f64 / with_values.max(1) as f64;
    // In series that are not independent, hosts that are alike by chance are alike in many of them.
    let even = EVEN_HOSTS * repeated * repeated / typical_hosts.max(1.0) / INDICES as f64;
    let mut shared = vec![1.0 / INDICES as f64; INDICES];
    let mut weights = Vec::new();
    for _ in 0..MIXING_STEPS {
        weights =
            relative.iter().map(|likelihood| normalised_product(likelihood, &shared)).collect();
        let mut counts = vec![even; INDICES];
        for (series, core) in weights.iter().zip(cores) {
            if core.values.is_empty() {
                continue;
            }
            for (count, weight) in counts.iter_mut().zip(series) {
                *count += weight;
            }
        }
        let total: f64 = counts.iter().sum();
        shared = counts.iter().map(|count| count / total).collect();
    }
    weights
}

/// Likelihoods over the largest one.
fn relative_to_best(logs: &[f64]) -> Vec<f64> {
    let best = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.iter().map(|log| (log - best).exp()).collect()
}

fn normalised_product(likelihood: &[f64], shared: &[f64]) -> Vec<f64> {
    let total: f64 = likelihood.iter().zip(shared).map(|(one, other)| one * other).sum();
    likelihood.iter().zip(shared).map(|(one, other)| one * other / total).collect()
}

#[cfg(test)]
mod tests {
    use super::{SeriesTails, TailLaws};
    use crate::distribution::{normal_cdf, t_cdf};
    use crate::rng::Rng;

    fn series(values: &[f64]) -> SeriesTails {
        SeriesTails {
            hosts: values.len(),
            standardised: values.iter().copied().enumerate().collect(),
            between_hosts: 1.0,
        }
    }

    fn student_t(degrees: u32, rng: &mut Rng) -> f64 {
        let squares: f64 = (0..degrees).map(|_| rng.normal().powi(2)).sum();
        rng.normal() / (squares / f64::from(degrees)).sqrt()
    }

    #[test]
    fn normal_tails_are_light_and_those_of_t_heavy() {
        let mut rng = Rng::new(1);
        let normal: Vec<SeriesTails> =
            (0..10).map(|_| series(&(0..500).map(|_| rng.normal()).collect::<Vec<_>>())).collect();
        let p = TailLaws::fit(&normal).p_beyond(0, 4.0);
        assert!((1.0..5.0).contains(&(p / normal_cdf(-4.0))), "{p}");
        let heavy: Vec<SeriesTails> = (0..10)
            .map(|_| series(&(0..500).map(|_| student_t(5, &mut rng)).collect::<Vec<_>>()))
            .collect();
        let p = TailLaws::fit(&heavy).p_beyond(0, 12.0);
        assert!((0.5..3.0).contains(&(p / t_cdf(-12.0, 5.0))), "{p}");
    }

    #[test]
    fn each_series_has_its_own_tails() {
        let mut rng = Rng::new(2);
        let mixed: Vec<SeriesTails> = (0..20)
            .map(|at| {
                let values =
                    (0..500).map(|_| if at < 10 { rng.normal() } else { student_t(5, &mut rng) });
                series(&values.collect::<Vec<_>>())
            })
            .collect();
        let laws = TailLaws::fit(&mixed);
        let light: f64 = (0..10).map(|place| laws.p_beyond(place, 5.0)).sum();
        let heavy: f64 = (10..20).map(|place| laws.p_beyond(place, 5.0)).sum();
        assert!(10.0 * light < heavy, "{light} {heavy}");
    }

    #[test]
    fn how_slow_the_slow_hosts_are_does_not_matter() {
        let mut rng = Rng::new(3);
        let mut values: Vec<f64> = (0..50).map(|_| rng.normal().min(1.0)).collect();
        values[7] = 2.0;
        let one = TailLaws::fit(&[series(&values)]);
        values[7] = 200.0;
        let other = TailLaws::fit(&[series(&values)]);
        assert_eq!(one.p_beyond(0, 6.0), other.p_beyond(0, 6.0));
    }

    #[test]
    fn without_values_any_tail_is_as_likely() {
        let nothing = SeriesTails { hosts: 20, standardised: Vec::new(), between_hosts: 0.0 };
        let laws = TailLaws::fit(&[nothing]);
        let p = laws.p_beyond(0, 6.0);
        assert!((1e-4..1e-2).contains(&p), "{p}");
        assert!(laws.p_beyond(0, 7.0) < p && laws.p_beyond(0, f64::INFINITY) == 0.0);
    }

    #[test]
    fn values_without_any_spread_leave_the_scale_finite() {
        let mut values = vec![0.0; 12];
        values[3] = 4.0;
        let p = TailLaws::fit(&[series(&values)]).p_beyond(0, 4.0);
        assert!(p > 0.0 && p < 1.0, "{p}");
    }
}
