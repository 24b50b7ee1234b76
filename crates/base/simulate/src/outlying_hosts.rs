//! Fleets of equal hosts: false ones among the hosts that are called slow for their kind, and slow ones that are found.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::outlying_hosts::{HostCost, outlying_hosts};
use plumb_stats::rng::Rng;

/// Promised: the share of false ones among the flags, on average.
const FALSE_FLAGS: f64 = 0.06;
/// Promised: so many of the hosts that are 7 % slow are found.
const FOUND: f64 = 0.95;
/// Series of a first look at a fleet.
const SERIES: usize = 20;
/// The standard deviation between hosts.
const SPREAD: f64 = 0.01;
/// The standard error of each host's own value.
const OWN_ERROR: f64 = 0.001;
/// Correlation of two series of a host.
const CORRELATION: f64 = 0.5;
/// Degrees of freedom of heavy tails.
const TAIL_DF: u32 = 5;
/// The squared mean of sqrt(5 / chi²) over its mean square: what independent tails leave of a correlation.
const KEPT_BY_TAILS: f64 = 0.848_826_363_156_775;
/// Replications are divided by this for fleets of up to 200 hosts, and of more.
const OF_200: u64 = 5;
const OF_MORE: u64 = 20;
/// A mean of fewer has no standard error worth the name.
const FEWEST_TRIALS: u64 = 4;

/// How usual hosts differ.
#[derive(Debug, Clone, Copy, PartialEq)]
enum HostNoise {
    Normal,
    /// Student's t, each value by itself.
    HeavyValues,
    /// Student's t: all series of a host are far out together.
    HeavyHosts,
    /// Every second series is normal; the others are [`HostNoise::HeavyValues`].
    HalfHeavy,
    /// One host in 20 has three times the spread.
    FewWide,
    /// Normal, but a tenth of the hosts has an own error of three spreads.
    NoisyHosts,
    /// Normal, but every third series states own errors of two spreads, which it does not have.
    OverstatedErrors,
    /// Normal; series have spreads that differ (lognormal, sigma .7), and a fifth of the values is missing.
    UnequalSeries,
}

impl HostNoise {
    fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::HeavyValues => "t of 5",
            Self::HeavyHosts => "t of 5, all series of a host together",
            Self::HalfHeavy => "every second series t of 5, the others normal",
            Self::FewWide => "one host in 20 with three times the spread",
            Self::NoisyHosts => "a tenth of the hosts with errors of three spreads",
            Self::OverstatedErrors => "every third series with overstated errors",
            Self::UnequalSeries => "unequal spreads, a fifth of the values missing",
        }
    }
}

/// The hosts that are slower than usual.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SlowHosts {
    count: usize,
    /// The first so many series are slow.
    series: usize,
    /// By how much, as a share.
    by: f64,
}

const NO_SLOW_HOSTS: SlowHosts = SlowHosts { count: 0, series: 0, by: 0.0 };
/// Of 200 hosts; more would not be unusual.
const TENTH_SLOW: SlowHosts = SlowHosts { count: 20, series: SERIES, by: 0.07 };

impl SlowHosts {
    fn name(&self) -> String {
        let hosts = match self.count {
            0 => return "none slow".to_owned(),
            1 => "1 host".to_owned(),
            count => format!("{count} hosts"),
        };
        let series = if self.series == 1 { "one series" } else { "all series" };
        format!("{hosts} {:.0} % slow in {series}", 100.0 * self.by)
    }

    fn include(&self, host: usize, series: usize) -> bool {
        host < self.count && series < self.series
    }
}

/// A fleet of hosts, each of which measured all series.
#[derive(Debug, Clone, Copy)]
struct SimulatedFleet {
    hosts: usize,
    noise: HostNoise,
    slow: SlowHosts,
}

/// The cells of one fleet that were flagged.
#[derive(Debug, Clone, Copy, Default)]
struct FlagCounts {
    right: usize,
    wrong: usize,
    slow: usize,
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let promised = Bar::AtMost(FALSE_FLAGS);
    for hosts in [20_usize, 200, 2000] {
        // 2 % of the hosts, at least one.
        let count = hosts.div_ceil(50);
        let in_one = SlowHosts { count, series: 1, by: 0.07 };
        let in_all = SlowHosts { series: SERIES, ..in_one };
        for noise in [HostNoise::Normal, HostNoise::HeavyValues, HostNoise::HeavyHosts] {
            for slow in [NO_SLOW_HOSTS, in_one, in_all] {
                let fleet = SimulatedFleet { hosts, noise, slow };
                report(false_flags(fleet, promised, trials(hosts, replications)));
            }
        }
    }
    for noise in [HostNoise::Normal, HostNoise::HeavyValues] {
        let fleet = SimulatedFleet { hosts: 200, noise, slow: TENTH_SLOW };
        report(false_flags(fleet, promised, trials(200, replications)));
    }
    // Many slow results let values with larger p-values through, so that wrong tails show.
    for hosts in [200, 2000] {
        let slow = SlowHosts { count: hosts / 50, series: SERIES, by: 0.14 };
        let fleet = SimulatedFleet { hosts, noise: HostNoise::OverstatedErrors, slow };
        report(false_flags(fleet, promised, trials(hosts, replications)));
    }
    let mixed = Bar::Exempt("tails that differ from series to series");
    let wide = Bar::Exempt("a wide host lies far out");
    for hosts in [20, 200] {
        for (noise, bar) in [
            (HostNoise::NoisyHosts, promised),
            (HostNoise::UnequalSeries, promised),
            (HostNoise::HalfHeavy, mixed),
            (HostNoise::FewWide, wide),
        ] {
            let fleet = SimulatedFleet { hosts, noise, slow: NO_SLOW_HOSTS };
            report(false_flags(fleet, bar, trials(hosts, replications)));
        }
    }
    found_ones(replications, report);
}

fn found_ones(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let one = SlowHosts { count: 1, series: 1, by: 0.07 };
    let less = SlowHosts { by: 0.05, ..one };
    let everywhere = SlowHosts { series: SERIES, ..one };
    let few = Bar::Exempt("20 hosts show too little of the tails");
    let small = Bar::Exempt("too small to promise it");
    let heavy = Bar::Exempt("usual hosts lie as far out");
    for (hosts, noise, slow, bar) in [
        (200, HostNoise::Normal, one, Bar::AtLeast(FOUND)),
        (200, HostNoise::Normal, TENTH_SLOW, Bar::AtLeast(FOUND)),
        (2000, HostNoise::Normal, one, Bar::AtLeast(FOUND)),
        (20, HostNoise::Normal, one, few),
        (20, HostNoise::Normal, everywhere, few),
        (20, HostNoise::Normal, less, few),
        (200, HostNoise::Normal, less, small),
        (2000, HostNoise::Normal, less, small),
        (200, HostNoise::HeavyValues, one, heavy),
        (200, HostNoise::HeavyValues, everywhere, heavy),
    ] {
        let fleet = SimulatedFleet { hosts, noise, slow };
        report(found(fleet, bar, trials(hosts, replications)));
    }
}

/// Large fleets take longer, and get fewer trials.
fn trials(hosts: usize, replications: u64) -> u64 {
    let fewer = match hosts {
        ..200 => replications,
        200 => replications / OF_200,
        _ => replications / OF_MORE,
    };
    fewer.max(FEWEST_TRIALS)
}

impl SimulatedFleet {
    fn setting(&self) -> String {
        let Self { hosts, noise, slow } = self;
        format!("{hosts} hosts, {}, {}", noise.name(), slow.name())
    }

    /// The costs, series by series.
    fn measure(&self, rng: &mut Rng) -> Vec<Vec<Option<HostCost>>> {
        let mut costs = vec![Vec::new(); SERIES];
        let unequal = if self.noise == HostNoise::UnequalSeries { 0.7 } else { 0.0 };
        let spreads: Vec<f64> =
            (0..SERIES).map(|_| SPREAD * (unequal * rng.normal()).exp()).collect();
        for host in 0..self.hosts {
            let common = rng.normal();
            let host_scale = self.host_scale(rng);
            let is_noisy = self.noise == HostNoise::NoisyHosts && rng.uniform() < 0.1;
            let own_error = if is_noisy { 3.0 * SPREAD } else { OWN_ERROR };
            for (series, costs) in costs.iter_mut().enumerate() {
                let usual = spreads[series] * self.standardised(series, common, host_scale, rng);
                let slow = if self.slow.include(host, series) { self.slow.by.ln_1p() } else { 0.0 };
                // The interval of few processes knows its own width to about 15 %.
                let overstated = self.noise == HostNoise::OverstatedErrors && series % 3 == 0;
                let stated = if overstated { 2.0 * SPREAD } else { own_error };
                let shown = stated * (0.15 * rng.normal()).exp();
                let cost = HostCost {
                    log_cost: usual + slow + own_error * rng.normal(),
                    standard_error: Some(shown),
                };
                let is_missing = self.noise == HostNoise::UnequalSeries && rng.uniform() < 0.2;
                costs.push((!is_missing).then_some(cost));
            }
        }
        costs
    }

    /// By what all deviations of a host are larger.
    fn host_scale(&self, rng: &mut Rng) -> f64 {
        match self.noise {
            HostNoise::HeavyHosts => tail_factor(rng),
            HostNoise::FewWide if rng.uniform() < 0.05 => 3.0,
            _ => 1.0,
        }
    }

    /// The deviation of a usual host with standard deviation 1.
    fn standardised(&self, series: usize, common: f64, host_scale: f64, rng: &mut Rng) -> f64 {
        let is_heavy = match self.noise {
            HostNoise::HeavyValues => true,
            HostNoise::HalfHeavy => series % 2 == 1,
            _ => false,
        };
        let shared: f64 = if is_heavy { CORRELATION / KEPT_BY_TAILS } else { CORRELATION };
        let normal = shared.sqrt() * common + (1.0 - shared).sqrt() * rng.normal();
        let own_scale = if is_heavy { tail_factor(rng) } else { 1.0 };
        normal * own_scale * host_scale
    }

    /// What the finding makes of the fleet of this seed.
    fn judge(&self, seed: u64) -> FlagCounts {
        let costs = self.measure(&mut Rng::new(seed));
        let mut counts = FlagCounts::default();
        for (series, usual) in outlying_hosts(&costs).iter().enumerate() {
            let Ok(usual) = usual else { continue };
            for (host, deviation) in usual.hosts.iter().enumerate() {
                let is_flagged = deviation.is_some_and(|deviation| deviation.is_slow);
                let is_slow = self.slow.include(host, series);
                counts.slow += usize::from(is_slow);
                counts.right += usize::from(is_flagged && is_slow);
                counts.wrong += usize::from(is_flagged && !is_slow);
            }
        }
        counts
    }
}

/// What turns a normal value into one of Student's t with standard deviation 1.
fn tail_factor(rng: &mut Rng) -> f64 {
    let squares: f64 = (0..TAIL_DF).map(|_| rng.normal().powi(2)).sum();
    (f64::from(TAIL_DF - 2) / squares).sqrt()
}

fn false_flags(fleet: SimulatedFleet, bar: Bar, trials: u64) -> ValidationRow {
    let shares: Vec<f64> = (0..trials)
        .map(|seed| {
            let counts = fleet.judge(seed);
            counts.wrong as f64 / (counts.right + counts.wrong).max(1) as f64
        })
        .collect();
    ValidationRow {
        promise: "share of false ones among the hosts called slow for their kind",
        setting: fleet.setting(),
        bar,
        measured: BarSeries::mean(&shares),
        note: String::new(),
    }
}

fn found(fleet: SimulatedFleet, bar: Bar, trials: u64) -> ValidationRow {
    let shares: Vec<f64> = (0..trials)
        .map(|seed| {
            let counts = fleet.judge(seed);
            counts.right as f64 / counts.slow.max(1) as f64
        })
        .collect();
    ValidationRow {
        promise: "slow hosts that are called slow for their kind, if hosts differ by 1 %",
        setting: fleet.setting(),
        bar,
        measured: BarSeries::mean(&shares),
        note: String::new(),
    }
}
