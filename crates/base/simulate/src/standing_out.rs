//! Two runs of many series: false ones among those that are said to stand out, those that are found, and how often
//! half of the series having moved is noticed.

use super::bars::{Bar, BarSeries, ValidationRow, decided};
use plumb_stats::rng::Rng;
use plumb_stats::standing_out::{CannotTell, EarlierNoise, FALSE_SHARE, SeriesPair, stand_out};

/// Series of a first look.
const SERIES: usize = 23;
/// Two runs cost little to simulate: so many times more of them.
const TIMES: u64 = 5;
/// Standard deviation of the common shift of all series of a run.
const COMMON_SD: f64 = 0.05;

/// How series differ between two runs in which nothing changed.
#[derive(Debug, Clone, Copy)]
struct RunDifferences {
    name: &'static str,
    /// The standard deviation of the difference of a typical series.
    sd: f64,
    /// The spread of those of the others: lognormal with this sigma.
    unequal: f64,
    /// Degrees of freedom of its tails; 0 if it is normal.
    tails: u32,
    /// The standard error that intervals show, as a share of the series' own noise, or of the typical one.
    shown: ShownDifference,
    bar: Bar,
}

#[derive(Debug, Clone, Copy)]
enum ShownDifference {
    OfOwn(f64),
    OfTypical(f64),
}

const PLAIN: RunDifferences = RunDifferences {
    name: "equal noise between runs, twice the noise of the intervals",
    sd: 0.03,
    unequal: 0.0,
    tails: 0,
    shown: ShownDifference::OfOwn(0.5),
    bar: Bar::AtMost(FALSE_SHARE),
};
const NOISES: [RunDifferences; 7] = [
    RunDifferences {
        name: "no noise beyond the intervals",
        shown: ShownDifference::OfOwn(1.0),
        ..PLAIN
    },
    PLAIN,
    RunDifferences { name: "heavy tails (t of 3)", tails: 3, ..PLAIN },
    RunDifferences { name: "unequal noise, included in intervals", unequal: 0.7, ..PLAIN },
    RunDifferences { name: "unequal noise, missing from intervals", unequal: 0.5, ..UNSEEN },
    RunDifferences {
        name: "unequal noise with heavy tails (t of 4)",
        unequal: 0.5,
        tails: 4,
        ..PLAIN
    },
    RunDifferences {
        name: "very unequal noise, missing from intervals",
        unequal: 0.7,
        bar: Bar::Exempt("plumb can't know that one series is four times noisier"),
        ..UNSEEN
    },
];
const UNSEEN: RunDifferences = RunDifferences { shown: ShownDifference::OfTypical(0.3), ..PLAIN };

/// What moved besides.
#[derive(Debug, Clone, Copy, PartialEq)]
enum OtherChange {
    Nothing,
    /// So many series, each by so many standard deviations of the typical one, up or down.
    Some(usize, f64),
    /// Half of them, up, by 20 to 120 %.
    Half,
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let trials = TIMES * replications;
    for noise in NOISES {
        for series in [12, SERIES, 45] {
            report(decided(replications, trials, |trials| {
                false_ones(noise, (series, 0), OtherChange::Nothing, trials)
            }));
        }
    }
    for earlier in [1, 4, 12] {
        for noise in [PLAIN, NOISES[2], NOISES[4]] {
            report(decided(replications, trials, |trials| {
                false_ones(noise, (SERIES, earlier), OtherChange::Nothing, trials)
            }));
        }
    }
    for noise in NOISES {
        report(decided(replications, trials, |trials| {
            false_ones(noise, (SERIES, 0), OtherChange::Some(5, 10.0), trials)
        }));
    }
    let not_promised = Bar::Exempt("two runs are too few");
    for (noise, change, earlier, bar) in [
        (PLAIN, OtherChange::Some(1, 26.0), 0, Bar::AtLeast(0.95)),
        (PLAIN, OtherChange::Some(5, 26.0), 0, Bar::AtLeast(0.9)),
        (PLAIN, OtherChange::Some(2, 10.0), 0, not_promised),
        (PLAIN, OtherChange::Some(2, 10.0), 4, Bar::AtLeast(0.9)),
        (NOISES[5], OtherChange::Some(1, 26.0), 0, Bar::AtLeast(0.85)),
        (NOISES[5], OtherChange::Some(2, 10.0), 0, not_promised),
        (NOISES[5], OtherChange::Some(2, 10.0), 4, not_promised),
    ] {
        report(found(noise, change, earlier, (bar, trials)));
    }
    for noise in [PLAIN, NOISES[3], NOISES[4], NOISES[5]] {
        report(noticed(noise, trials));
    }
    for series in [8, 12, SERIES] {
        report(declined(series, trials));
    }
}

/// Two runs with so many earlier ones next to the first, and whether each series moved.
fn runs(
    noise: RunDifferences,
    (series, earlier): (usize, usize),
    change: OtherChange,
    rng: &mut Rng,
) -> (Vec<SeriesPair>, Vec<bool>) {
    let common = COMMON_SD * rng.normal();
    let mut order: Vec<usize> = (0..series).collect();
    // Which series move is left to chance.
    rng.shuffle(&mut order);
    let mut all = Vec::new();
    let mut has_moved = Vec::new();
    for place in order {
        let sd = noise.sd * (noise.unequal * rng.normal()).exp();
        let shown = match noise.shown {
            ShownDifference::OfOwn(share) => share * sd,
            ShownDifference::OfTypical(share) => share * noise.sd,
        };
        // The interval of few processes knows its own width to about 15 %.
        let error = shown * (0.15 * rng.normal()).exp();
        let mut run = || sd * std::f64::consts::FRAC_1_SQRT_2 * drawn(noise.tails, rng);
        let before: Vec<f64> = (0..=earlier).map(|_| run()).collect();
        let after = run();
        let moved = match change {
            OtherChange::Some(count, sds) if place < count => sds * noise.sd * sign(rng),
            OtherChange::Half if place < series / 2 => (1.2 + rng.uniform()).ln(),
            _ => 0.0,
        };
        let log_ratio = common + moved + after - before[0];
        let variance = plumb_stats::describe::variance(&before);
        let earlier = variance.map(|variance| EarlierNoise { variance, runs: before.len() });
        all.push(SeriesPair { log_ratio, error, earlier });
        has_moved.push(moved != 0.0);
    }
    (all, has_moved)
}

fn drawn(tails: u32, rng: &mut Rng) -> f64 {
    let normal = rng.normal();
    if tails == 0 {
        return normal;
    }
    let squares: f64 = (0..tails).map(|_| rng.normal().powi(2)).sum();
    normal / (squares / f64::from(tails)).sqrt()
}

fn sign(rng: &mut Rng) -> f64 {
    if rng.coin() { 1.0 } else { -1.0 }
}

fn setting(noise: RunDifferences, (series, earlier): (usize, usize)) -> String {
    match earlier {
        0 => format!("{series} series, {}", noise.name),
        earlier => format!("{series} series, {}, {earlier} earlier runs", noise.name),
    }
}

fn false_ones(
    noise: RunDifferences,
    size: (usize, usize),
    change: OtherChange,
    trials: u64,
) -> ValidationRow {
    let mut shares = Vec::new();
    for seed in 0..trials {
        let (series, moved) = runs(noise, size, change, &mut Rng::new(seed));
        let found = stand_out(&series).map_or(Vec::new(), |found| found.series);
        let wrong = found.iter().filter(|&&at| !moved[at]).count();
        shares.push(wrong as f64 / found.len().max(1) as f64);
    }
    let changed = match change {
        OtherChange::Some(count, _) => format!(", {count} moved"),
        _ => String::new(),
    };
    ValidationRow {
        promise: "share of false positives among series that stand out between two runs",
        setting: setting(noise, size) + &changed,
        bar: noise.bar,
        measured: BarSeries::mean(&shares),
        note: String::new(),
    }
}

fn found(
    noise: RunDifferences,
    change: OtherChange,
    earlier: usize,
    (bar, trials): (Bar, u64),
) -> ValidationRow {
    let mut shares = Vec::new();
    for seed in 0..trials {
        let (series, moved) = runs(noise, (SERIES, earlier), change, &mut Rng::new(seed));
        let found = stand_out(&series).map_or(Vec::new(), |found| found.series);
        let right = found.iter().filter(|&&at| moved[at]).count();
        shares.push(right as f64 / moved.iter().filter(|moved| **moved).count().max(1) as f64);
    }
    let what = match change {
        OtherChange::Some(count, sds) => format!("{count} moved by {sds} sd"),
        _ => String::new(),
    };
    ValidationRow {
        promise: "changed series that stand out between two runs",
        setting: format!("{}: {what}", setting(noise, (SERIES, earlier))),
        bar,
        measured: BarSeries::mean(&shares),
        note: String::new(),
    }
}

/// How often it is said that too many series moved.
fn declines(series: usize, noise: RunDifferences, change: OtherChange, trials: u64) -> BarSeries {
    let mut hits = 0;
    for seed in 0..trials {
        let (series, _) = runs(noise, (series, 0), change, &mut Rng::new(seed));
        hits += u64::from(stand_out(&series) == Err(CannotTell::TooManyMoved));
    }
    BarSeries::Share { hits, trials }
}

fn noticed(noise: RunDifferences, trials: u64) -> ValidationRow {
    ValidationRow {
        promise: "two runs in which half of the series changed, reported as too many changes",
        setting: setting(noise, (SERIES, 0)),
        bar: Bar::AtLeast(0.85),
        measured: declines(SERIES, noise, OtherChange::Half, trials),
        note: "otherwise nothing stands out".to_owned(),
    }
}

fn declined(series: usize, trials: u64) -> ValidationRow {
    let bar = if series > 8 { Bar::AtMost(0.05) } else { Bar::Exempt("eight series are too few") };
    ValidationRow {
        promise: "two runs without a change, reported as too many changes",
        setting: setting(PLAIN, (series, 0)),
        bar,
        measured: declines(series, PLAIN, OtherChange::Nothing, trials),
        note: String::new(),
    }
}
