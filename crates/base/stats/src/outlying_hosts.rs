//! Which hosts of a fleet are slow for their kind: docs/method.md, *Slow for its kind*.
//!
//! Hosts of one kind differ a little in every series. A host is slow if it lies too far out for one of them. What is
//! usual has to come from the same values, so it must not depend on the slow hosts:
//!
//! - The centre of a series is its median. The spread between hosts is an M-estimate of scale with Tukey's biweight
//!   (Huber, *Robust Statistics*, 1981), with each host's own error added to it. Its breakdown point of a quarter suffices,
//!   and of 20 hosts it has twice the precision of a median absolute deviation, and about that of Rousseeuw and Croux's
//!   Q (*Alternatives to the median absolute deviation*, JASA 88, 1993), which knows no errors.
//! - The first flag among 40,000 values needs a p of one in a million, which a normal law gives for hosts that are merely
//!   unusual. How heavy the tails are comes from the fast side of all series: `tails.rs`.
//! - A host must also exceed its own error, by Student's t with few degrees of freedom.
//! - Benjamini and Hochberg's rule over all hosts and series keeps the share of false flags. The values of one host are
//!   positively dependent, which the rule allows (Benjamini & Yekutieli 2001).
//!
//! A host beyond all reaches (three spreads) moves neither the spread nor the tails, so one that becomes slower still
//! stays flagged.

mod tails;

use std::fmt;

use crate::Interval;
use crate::describe::median_of;
use crate::distribution::{t_cdf, two_sided_z};
use crate::multiple::{MEDIAN_OVER_MEAN, benjamini_hochberg};
use tails::{SeriesTails, TailLaws};

/// With values of fewer hosts there is no telling what is usual.
pub const FEWEST_HOSTS: usize = 8;
/// The share of false ones among the flags, on average.
pub const FALSE_SHARE: f64 = 0.05;
/// The level of the interval of each deviation.
pub const LEVEL: f64 = 0.95;

/// Where the biweight ends, in spreads, and its mean for normal values: a breakdown point of a quarter.
const BIWEIGHT_REACH: f64 = 2.937;
const BIWEIGHT_MEAN: f64 = 0.25;
/// The spread of few hosts comes out too small, by this over their number (simulated on normal values).
const FEW_HOSTS: f64 = 0.6;
/// Steps that halve the logarithm of the spread's range.
const BISECTIONS: usize = 50;
/// Degrees of freedom of a host's own error: of few processes.
const OWN_DF: f64 = 8.0;
/// No cost has a logarithm as large as this.
const LARGEST_LOG: f64 = 1e3;

/// What one host measured in one series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostCost {
    /// The natural logarithm of its cost; larger is slower.
    pub log_cost: f64,
    /// The standard error of that, by the host's own interval. If it is unknown, it counts as a part of the spread.
    pub standard_error: Option<f64>,
}

impl HostCost {
    fn is_sound(&self) -> bool {
        self.log_cost.abs() < LARGEST_LOG && (0.0..LARGEST_LOG).contains(&self.own_error())
    }

    fn own_error(&self) -> f64 {
        self.standard_error.unwrap_or(0.0)
    }
}

/// What is usual in a series, and how far each host lies from it.
#[derive(Debug, Clone, PartialEq)]
pub struct UsualCost {
    /// The median of the logarithms of the costs.
    pub centre: f64,
    /// The standard error of the centre.
    pub centre_error: f64,
    /// The robust standard deviation between hosts, beyond their own errors, in log units.
    pub spread: f64,
    /// In the order of the hosts; `None` for a host without a value.
    pub hosts: Vec<Option<HostDeviation>>,
}

/// How far a host lies from the centre of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostDeviation {
    /// The log ratio of its cost to the centre, with an interval at [`LEVEL`] from the errors of both. It is too narrow
    /// if the host's own error is unknown.
    pub log_ratio: Interval,
    /// How likely a usual host would be this slow or slower.
    pub p_value: f64,
    /// Whether it is slow for its kind.
    pub is_slow: bool,
}

/// Why a series has no usual cost. Its `Display` is the sentence to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Uncalibrated {
    /// Fewer hosts than [`FEWEST_HOSTS`] have a value.
    TooFewHosts {
        /// The hosts with a value.
        have: usize,
    },
    /// A value is not the logarithm of a cost, or its error is negative or not a number.
    NotFinite {
        /// The index of the first such host.
        host: usize,
    },
}

impl fmt::Display for Uncalibrated {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewHosts { have } => {
                write!(out, "{have} hosts have a value: a usual cost needs {FEWEST_HOSTS}")
            }
            Self::NotFinite { host } => write!(out, "host {host} has a value that is not finite"),
        }
    }
}

impl std::error::Error for Uncalibrated {}

/// Which hosts are slow for their kind: `series[s][h]` is the cost of host `h` in series `s`, if it has one. All series
/// must be of the same hosts in the same order. The answer has one element per series.
///
/// # Errors
/// [`Uncalibrated`], per series; the other series are not affected.
pub fn outlying_hosts(series: &[Vec<Option<HostCost>>]) -> Vec<Result<UsualCost, Uncalibrated>> {
    let populations: Vec<Result<Population, Uncalibrated>> =
        series.iter().map(|costs| Population::of(costs)).collect();
    let calibrated: Vec<&Population> =
        populations.iter().filter_map(|population| population.as_ref().ok()).collect();
    let tails: Vec<SeriesTails> = calibrated.iter().map(|population| population.tails()).collect();
    let laws = TailLaws::fit(&tails);
    let p_values: Vec<f64> = calibrated
        .iter()
        .enumerate()
        .flat_map(|(at, population)| population.p_values(&laws, at))
        .collect();
    let rejected = benjamini_hochberg(&p_values, FALSE_SHARE);
    let mut judged = p_values.into_iter().zip(rejected);
    populations
        .iter()
        .zip(series)
        .map(|(population, costs)| {
            population
                .as_ref()
                .map(|known| known.usual(costs.len(), &mut judged))
                .map_err(|why| *why)
        })
        .collect()
}

/// One value of a series.
#[derive(Debug, Clone, Copy)]
struct Deviation {
    host: usize,
    /// From the centre, in log units; positive is slow.
    distance: f64,
    /// The host's own standard error; 0 if it is unknown.
    own_error: f64,
}

/// A series whose hosts show what is usual.
#[derive(Debug)]
struct Population {
    centre: f64,
    centre_error: f64,
    spread: f64,
    deviations: Vec<Deviation>,
    /// Whether the standardised deviations say how heavy the tails are.
    shows_tails: bool,
}

impl Population {
    fn of(costs: &[Option<HostCost>]) -> Result<Self, Uncalibrated> {
        let present: Vec<(usize, HostCost)> = costs
            .iter()
            .enumerate()
            .filter_map(|(host, cost)| cost.map(|cost| (host, cost)))
            .collect();
        if let Some((host, _)) = present.iter().find(|(_, cost)| !cost.is_sound()) {
            return Err(Uncalibrated::NotFinite { host: *host });
        }
        if present.len() < FEWEST_HOSTS {
            return Err(Uncalibrated::TooFewHosts { have: present.len() });
        }
        let logs: Vec<f64> = present.iter().map(|(_, cost)| cost.log_cost).collect();
        let centre = median_of(&logs);
        let deviations: Vec<Deviation> = present
            .iter()
            .map(|(host, cost)| Deviation {
                host: *host,
                distance: cost.log_cost - centre,
                own_error: cost.own_error(),
            })
            .collect();
        let robust = robust_spread(&deviations);
        // Most hosts are exactly equal, as with counters. The standard deviation keeps the few that differ by chance from
        // being infinitely far out; one alone among many still is far out.
        let is_flat = robust == 0.0
            && deviations.iter().any(|host| host.distance != 0.0 && host.own_error == 0.0);
        let spread = if is_flat { root_mean_square(&deviations) } else { robust };
        let all_equal = deviations.iter().all(|host| host.distance == 0.0);
        Ok(Self {
            centre,
            centre_error: median_error(&deviations, spread),
            spread,
            deviations,
            // If the hosts' own errors explain more than all, the standardised deviations are too small to show anything.
            shows_tails: !is_flat && !all_equal && spread > 0.0,
        })
    }

    /// How far out a host is, in standard deviations of usual hosts that have its own error.
    fn standardised(&self, host: &Deviation) -> f64 {
        in_units_of(host.distance, self.spread.hypot(host.own_error))
    }

    fn tails(&self) -> SeriesTails {
        let own_errors: Vec<f64> = self.deviations.iter().map(|host| host.own_error).collect();
        let typical = self.spread.hypot(median_of(&own_errors));
        let standardised = self.deviations.iter().map(|host| (host.host, self.standardised(host)));
        SeriesTails {
            hosts: self.deviations.len(),
            standardised: if self.shows_tails { standardised.collect() } else { Vec::new() },
            between_hosts: in_units_of(self.spread, typical).powi(2),
        }
    }

    /// One for each deviation; the series is the `at`-th that has tails.
    fn p_values(&self, laws: &TailLaws, at: usize) -> impl Iterator<Item = f64> {
        self.deviations.iter().map(move |host| {
            if host.distance <= 0.0 {
                return 1.0;
            }
            let error = host.own_error.hypot(self.centre_error);
            let shown = t_cdf(-in_units_of(host.distance, error), OWN_DF);
            shown.max(laws.p_beyond(at, self.standardised(host)))
        })
    }

    /// The answer for so many hosts; takes the p-value and flag of each deviation from `judged`.
    fn usual(&self, hosts: usize, judged: &mut impl Iterator<Item = (f64, bool)>) -> UsualCost {
        let mut places = vec![None; hosts];
        for (deviation, (p_value, is_slow)) in self.deviations.iter().zip(judged) {
            let half = two_sided_z(LEVEL) * deviation.own_error.hypot(self.centre_error);
            let log_ratio = Interval {
                estimate: deviation.distance,
                low: deviation.distance - half,
                high: deviation.distance + half,
            };
            places[deviation.host] = Some(HostDeviation { log_ratio, p_value, is_slow });
        }
        UsualCost {
            centre: self.centre,
            centre_error: self.centre_error,
            spread: self.spread,
            hosts: places,
        }
    }
}

/// A distance over a standard deviation: 0 without a distance, infinite if only the deviation is 0.
fn in_units_of(distance: f64, sd: f64) -> f64 {
    if distance == 0.0 { 0.0 } else { distance / sd }
}

/// The spread for which the biweight of the standardised deviations has the mean that it has for normal values; 0 if the
/// hosts' own errors, or equal values, explain all.
fn robust_spread(deviations: &[Deviation]) -> f64 {
    let largest = deviations.iter().map(|host| host.distance.abs()).fold(0.0, f64::max);
    // Beyond these, a spread makes no difference.
    let mut low = 1e-9 * largest;
    let mut high = 10.0 * largest;
    if largest == 0.0 || mean_biweight(deviations, low) <= BIWEIGHT_MEAN {
        return 0.0;
    }
    for _ in 0..BISECTIONS {
        let middle = (low * high).sqrt();
        if mean_biweight(deviations, middle) > BIWEIGHT_MEAN {
            low = middle;
        } else {
            high = middle;
        }
        if high < low * (1.0 + 1e-7) {
            break;
        }
    }
    high * (1.0 + FEW_HOSTS / deviations.len() as f64)
}

fn mean_biweight(deviations: &[Deviation], spread: f64) -> f64 {
    let total: f64 = deviations
        .iter()
        .map(|host| biweight(in_units_of(host.distance, spread.hypot(host.own_error))))
        .sum();
    total / deviations.len() as f64
}

/// Tukey's biweight loss: about square near 0, and 1 from its reach on.
fn biweight(standardised: f64) -> f64 {
    let share = (standardised / BIWEIGHT_REACH).powi(2);
    if share < 1.0 { 1.0 - (1.0 - share).powi(3) } else { 1.0 }
}

fn root_mean_square(deviations: &[Deviation]) -> f64 {
    let squares: f64 = deviations.iter().map(|host| host.distance.powi(2)).sum();
    (squares / deviations.len() as f64).sqrt()
}

/// The standard error of the median of normal values with unequal standard deviations: those of the noisy hosts hardly
/// count.
fn median_error(deviations: &[Deviation], spread: f64) -> f64 {
    let precision: f64 = deviations.iter().map(|host| 1.0 / spread.hypot(host.own_error)).sum();
    MEDIAN_OVER_MEAN * (deviations.len() as f64).sqrt() / precision
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{BIWEIGHT_MEAN, HostCost, Uncalibrated, UsualCost, biweight, outlying_hosts};
    use crate::distribution::normal_quantile;
    use crate::rng::Rng;

    type Costs = Vec<Vec<Option<HostCost>>>;

    fn cost(log_cost: f64) -> Option<HostCost> {
        Some(HostCost { log_cost, standard_error: Some(0.001) })
    }

    /// So many series of so many hosts that differ by 1 %.
    fn fleet(series: usize, hosts: usize, seed: u64) -> Costs {
        let mut rng = Rng::new(seed);
        let mut all = Vec::new();
        for at in 0..series {
            all.push((0..hosts).map(|_| cost(at as f64 + 0.01 * rng.normal())).collect());
        }
        all
    }

    fn slow_down(costs: &mut Costs, series: usize, host: usize, by: f64) {
        if let Some(cost) = &mut costs[series][host] {
            cost.log_cost += by;
        }
    }

    /// Series and host of every flag.
    fn flags(costs: &Costs) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (series, usual) in outlying_hosts(costs).iter().enumerate() {
            let hosts = usual.as_ref().map_or(&[][..], |usual| &usual.hosts);
            for (host, deviation) in hosts.iter().enumerate() {
                if deviation.is_some_and(|deviation| deviation.is_slow) {
                    found.push((series, host));
                }
            }
        }
        found
    }

    fn one_series(costs: Vec<Option<HostCost>>) -> UsualCost {
        outlying_hosts(&[costs]).remove(0).unwrap()
    }

    #[test]
    fn slow_hosts_are_found_with_how_slow_they_are() {
        let mut costs = fleet(10, 60, 1);
        assert_eq!(flags(&costs), []);
        slow_down(&mut costs, 3, 7, 0.15);
        slow_down(&mut costs, 8, 41, 0.3);
        assert_eq!(flags(&costs), [(3, 7), (8, 41)]);
        let usual = outlying_hosts(&costs)[3].clone().unwrap();
        assert!((usual.centre - 3.0).abs() < 0.005 && usual.centre_error < 0.002, "{usual:?}");
        assert!((0.008..0.012).contains(&usual.spread), "{}", usual.spread);
        let ratio = usual.hosts[7].unwrap().log_ratio;
        assert!(ratio.low > 0.1 && ratio.high < 0.2 && ratio.contains(ratio.estimate));
    }

    #[test]
    fn a_tenth_of_the_hosts_may_be_slow_in_everything() {
        let mut costs = fleet(10, 60, 2);
        for host in 0..6 {
            (0..10).for_each(|series| slow_down(&mut costs, series, host, 0.1));
        }
        let found = flags(&costs);
        let right = found.iter().filter(|(_, host)| *host < 6).count();
        // One of 20 flags may be false.
        assert!(right > 55 && found.len() - right <= 3, "{found:?}");
    }

    #[test]
    fn fast_hosts_are_not_slow() {
        let mut costs = fleet(10, 60, 3);
        slow_down(&mut costs, 3, 7, -0.3);
        assert_eq!(flags(&costs), []);
    }

    #[test]
    fn few_hosts_and_what_is_no_number_leave_one_series_uncalibrated() {
        let mut costs = fleet(4, 60, 4);
        slow_down(&mut costs, 3, 7, 0.2);
        costs[0][9..].fill(None);
        costs[0][2] = None;
        costs[1][0] = None;
        costs[1][5] = cost(f64::NAN);
        costs[2][6] = Some(HostCost { log_cost: 0.0, standard_error: Some(-1.0) });
        assert_eq!(flags(&costs), [(3, 7)]);
        let found = outlying_hosts(&costs);
        assert!(found[0].is_ok());
        assert_eq!(found[1], Err(Uncalibrated::NotFinite { host: 5 }));
        assert_eq!(found[2], Err(Uncalibrated::NotFinite { host: 6 }));
        costs[0][3] = None;
        let why = outlying_hosts(&costs)[0].clone().unwrap_err();
        assert_eq!(why, Uncalibrated::TooFewHosts { have: 7 });
        assert_eq!(why.to_string(), "7 hosts have a value: a usual cost needs 8");
        assert_eq!(outlying_hosts(&[]), []);
    }

    #[test]
    fn a_host_is_not_flagged_for_its_own_noise() {
        let mut costs = fleet(10, 60, 5);
        costs[3][7] = Some(HostCost { log_cost: 3.15, standard_error: Some(0.05) });
        assert_eq!(flags(&costs), []);
        costs[3][7] = cost(3.15);
        assert_eq!(flags(&costs), [(3, 7)]);
    }

    #[test]
    fn counters_that_hardly_vary_are_judged_by_their_standard_deviation() {
        let exact = |log_cost| Some(HostCost { log_cost, standard_error: None });
        let mut costs = vec![exact(1.0); 200];
        costs[9] = exact(1.0001);
        let usual = one_series(costs.clone());
        assert!(usual.hosts[9].unwrap().is_slow && usual.spread > 0.0, "{usual:?}");
        // If every seventh differs, none is unusual.
        costs.iter_mut().step_by(7).for_each(|cost| *cost = exact(1.0001));
        assert!(one_series(costs).hosts.iter().flatten().all(|host| !host.is_slow));
    }

    #[test]
    fn spread_that_own_errors_explain_is_none() {
        let mut rng = Rng::new(6);
        let mut value = || HostCost { log_cost: 0.01 * rng.normal(), standard_error: Some(0.02) };
        let usual = one_series((0..100).map(|_| Some(value())).collect());
        assert_eq!(usual.spread, 0.0);
        assert!(usual.centre_error > 0.001, "{usual:?}");
    }

    #[test]
    fn the_biweight_of_normal_values_has_the_given_mean() {
        let quantiles = (0..100_000).map(|at| normal_quantile((f64::from(at) + 0.5) / 1e5));
        let mean = quantiles.map(biweight).sum::<f64>() / 1e5;
        assert!((mean - BIWEIGHT_MEAN).abs() < 1e-5, "{mean}");
    }

    /// Costs of 3 series of 12 hosts; some are missing, some far out.
    fn any_costs() -> impl Strategy<Value = Costs> {
        let far = prop_oneof![8 => Just(1.0), 1 => Just(30.0)];
        let log_cost = (-100_i32..100, far).prop_map(|(log, far)| f64::from(log) * far / 1024.0);
        let error = prop_oneof![Just(None), Just(Some(0.0)), (0.0..0.1_f64).prop_map(Some)];
        let host = (log_cost, error)
            .prop_map(|(log_cost, standard_error)| HostCost { log_cost, standard_error });
        vec(vec(prop::option::weighted(0.9, host), 12), 3)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn every_number_is_one(costs in any_costs()) {
            for usual in outlying_hosts(&costs).iter().flatten() {
                prop_assert!(usual.centre.is_finite() && usual.centre_error.is_finite());
                prop_assert!(usual.spread.is_finite() && usual.spread >= 0.0);
                for host in usual.hosts.iter().flatten() {
                    prop_assert!((0.0..=1.0).contains(&host.p_value));
                    prop_assert!(host.log_ratio.low.is_finite() && host.log_ratio.high.is_finite());
                    prop_assert!(!host.is_slow || host.log_ratio.estimate > 0.0);
                }
            }
        }

        #[test]
        fn the_order_of_hosts_and_of_series_does_not_matter(costs in any_costs(), seed in any::<u64>()) {
            let mut order: Vec<usize> = (0..12).collect();
            Rng::new(seed).shuffle(&mut order);
            let shuffled: Costs = costs
                .iter()
                .rev()
                .map(|hosts| order.iter().map(|&host| hosts[host]).collect())
                .collect();
            let mut found: Vec<(usize, usize)> = flags(&shuffled)
                .into_iter()
                .map(|(series, place)| (2 - series, order[place]))
                .collect();
            found.sort_unstable();
            prop_assert_eq!(found, flags(&costs));
        }

        #[test]
        fn a_constant_added_to_a_series_changes_no_flag(costs in any_costs(), constant in -64_i32..64) {
            let mut moved = costs.clone();
            for cost in moved[1].iter_mut().flatten() {
                cost.log_cost += f64::from(constant) / 16.0;
            }
            prop_assert_eq!(flags(&moved), flags(&costs));
        }

        #[test]
        fn a_host_without_values_has_no_flag_and_does_not_matter(costs in any_costs()) {
            let mut with_one = costs.clone();
            with_one.iter_mut().for_each(|hosts| hosts.push(None));
            let found = outlying_hosts(&with_one);
            prop_assert!(found.iter().flatten().all(|usual| usual.hosts[12].is_none()));
            prop_assert_eq!(flags(&with_one), flags(&costs));
        }

        #[test]
        fn equal_hosts_have_no_flag(log_cost in -5.0..5.0_f64, error in prop::option::of(0.0..0.1_f64)) {
            let costs = vec![vec![Some(HostCost { log_cost, standard_error: error }); 12]; 3];
            prop_assert_eq!(flags(&costs), []);
            let usual = outlying_hosts(&costs)[0].clone().unwrap();
            prop_assert_eq!(usual.spread, 0.0);
        }

        #[test]
        fn a_slow_host_that_is_slower_still_is_slow(seed in any::<u64>(), at_first in 0.05..0.3_f64, more in 0.0..1.0_f64) {
            let mut costs = fleet(4, 30, seed);
            slow_down(&mut costs, 2, 5, at_first);
            let before = flags(&costs);
            slow_down(&mut costs, 2, 5, more);
            let after = flags(&costs);
            prop_assert!(before.iter().all(|flag| after.contains(flag)), "{before:?} {after:?}");
        }
    }

    #[test]
    fn series_with_overstated_errors_do_not_make_others_false() {
        let mut rng = Rng::new(9);
        let mut right = 0;
        let mut wrong = 0;
        for _ in 0..3 {
            let mut series: Costs = Vec::new();
            for number in 0..24 {
                // Hosts differ by 1 %, whatever the errors say; one in 50 is slow in the first four series.
                let standard_error = Some(if number % 3 == 0 { 0.02 } else { 0.005 });
                let mut costs = Vec::new();
                for host in 0..1000 {
                    let slow = if number < 4 && host % 50 == 49 { 0.14 } else { 0.0 };
                    costs.push(Some(HostCost {
                        log_cost: 0.01 * rng.normal() + slow,
                        standard_error,
                    }));
                }
                series.push(costs);
            }
            for (number, usual) in outlying_hosts(&series).iter().enumerate() {
                for (host, found) in usual.as_ref().unwrap().hosts.iter().enumerate() {
                    let is_planted = number < 4 && host % 50 == 49;
                    let is_slow = found.is_some_and(|found| found.is_slow);
                    right += usize::from(is_slow && is_planted);
                    wrong += usize::from(is_slow && !is_planted);
                }
            }
        }
        // Half of the planted ones have errors that hide them; of the others, about one flag in 20 is false.
        assert!(right >= 118 && wrong <= 14, "{right} right, {wrong} wrong");
    }
}
