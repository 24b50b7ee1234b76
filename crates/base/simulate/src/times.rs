//! Comparisons whose limit is a time: how often the longest of them mislead, whatever the noise, and what is found of
//! pairs that differ by so much in so many seconds.

use super::bars::{Bar, BarSeries, ValidationRow, decided};
use super::fixed::{PAIRS, PairNoise};
use super::verdicts::{count, drawn, pairs_of};
use plumb_stats::outlook::{pair_scale, told_apart};
use plumb_stats::pairs::signed_rank_p;
use plumb_stats::rng::Rng;
use plumb_stats::verdict::MARGIN;
use plumb_stats::verdict::{Confidence, LookSchedule, Verdict};

/// The longest comparisons cost much to simulate.
const LONG_DEARER: u64 = 5;
/// So do those that take intervals.
const TIMES_DEARER: u64 = 5;
/// Pairs by which the scale of a kind of noise is known.
const KNOWN_BY: usize = 20_000;
/// Seconds of a pair and of the comparison.
const TIMES: [(f64, f64); 3] = [(0.06, 10.0), (0.06, 60.0), (1.0, 60.0)];
/// Of comparisons that can tell a change of the margin, the share that proves equal programs equivalent: the estimate
/// may err on two sides.
const PROVES: f64 = 0.6;
/// The share of changes found that can be distinguished.
const FINDS: f64 = 0.8;

/// Draws log ratios of pairs one after the other.
type PairSource = Box<dyn FnMut(&mut Rng) -> f64>;

/// Kinds of noise, each with the standard deviation of a pair.
const SPREADS: [(&str, PairNoise); 4] = [
    ("1 %", |rng| 0.01 * rng.normal()),
    ("2 %", |rng| 0.02 * rng.normal()),
    ("6 %", |rng| 0.06 * rng.normal()),
    ("6 %, most by 1.3 %", |rng| {
        if rng.uniform() < 0.2 { 0.13 * rng.normal() } else { 0.012 * rng.normal() }
    }),
];

/// The noise of the pairs of a long comparison.
#[derive(Debug, Clone, Copy)]
enum LongNoise {
    /// Pairs are independent and symmetric.
    Independent(&'static str, PairNoise),
    /// Differences are whole hundredths, so that many are equal.
    Ties,
    /// The two processes of a pair have a skewed distribution.
    Skewed,
    /// Pairs share the levels of the machine.
    Blocks,
}

impl LongNoise {
    fn all() -> impl Iterator<Item = Self> {
        let independent = PAIRS.into_iter().map(|(name, noise)| Self::Independent(name, noise));
        independent.chain([Self::Ties, Self::Skewed, Self::Blocks])
    }

    fn name(self) -> &'static str {
        match self {
            Self::Independent(name, _) => name,
            Self::Ties => "ties: whole hundredths",
            Self::Skewed => "processes with a skewed distribution",
            Self::Blocks => "AR(.4) of blocks of 300 ms, pairs of 60 ms",
        }
    }

    fn source(self) -> PairSource {
        match self {
            Self::Independent(_, noise) => Box::new(noise),
            Self::Ties => Box::new(|rng| (2.0 * rng.normal()).round() / 100.0),
            Self::Skewed => {
                Box::new(|rng| tossed((rng.normal().exp() - rng.normal().exp() - 0.1) / 20.0, rng))
            }
            Self::Blocks => {
                let mut blocks = LevelBlocks::default();
                Box::new(move |rng| blocks.pair(rng))
            }
        }
    }
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let long = replications.div_ceil(LONG_DEARER);
    for noise in LongNoise::all() {
        report(decided(replications, long, |trials| misled(noise, trials)));
    }
    for (pair_s, limit_s) in TIMES {
        for (name, noise) in SPREADS {
            for effect in [0.0, MARGIN, 2.0 * MARGIN] {
                report(found_in_time(
                    name,
                    noise,
                    (pair_s, limit_s),
                    effect,
                    replications.div_ceil(TIMES_DEARER),
                ));
            }
        }
    }
    report(false_equivalent(replications.div_ceil(TIMES_DEARER)));
}

/// The sign that the coin of a pair gives.
fn tossed(difference: f64, rng: &mut Rng) -> f64 {
    if rng.coin() { difference } else { -difference }
}

/// A level of the machine for every 300 ms, with a memory; a pair lies in a block or across two.
#[derive(Default)]
struct LevelBlocks {
    level: f64,
    next: f64,
    /// Seconds since the block began.
    at_s: f64,
}

impl LevelBlocks {
    /// The log time of a process of 30 ms.
    fn process(&mut self, rng: &mut Rng) -> f64 {
        self.at_s += 0.03;
        if self.at_s >= 0.3 {
            self.at_s -= 0.3;
            self.level = self.next;
            self.next = 0.4 * self.next + 0.05 * rng.normal();
        }
        let crossed = (self.at_s / 0.03).min(1.0);
        crossed * self.level + (1.0 - crossed) * self.next + 0.01 * rng.normal()
    }

    /// The log ratio of a pair of such processes.
    fn pair(&mut self, rng: &mut Rng) -> f64 {
        let first = self.process(rng);
        let second = self.process(rng);
        tossed(second - first, rng)
    }
}

/// The longest comparison of equal programs, which nothing ends but a difference.
fn misled(noise: LongNoise, replications: u64) -> ValidationRow {
    let schedule = LookSchedule::Long;
    let mut hits = 0;
    for seed in 0..replications {
        let mut rng = Rng::new(seed);
        let mut draw = noise.source();
        let mut logs = Vec::new();
        let is_misled = schedule.looks().into_iter().any(|look| {
            logs.extend((logs.len()..look).map(|_| draw(&mut rng)));
            let alpha = 1.0 - schedule.level(Confidence::NinetyFive, look);
            signed_rank_p(&logs).is_ok_and(|p| p <= alpha)
        });
        hits += u64::from(is_misled);
    }
    ValidationRow {
        promise: "a program called slower or faster than itself in up to 10,000 pairs",
        setting: noise.name().to_owned(),
        bar: Bar::AtMost(0.05),
        measured: BarSeries::Share { hits, trials: replications },
        note: String::new(),
    }
}

/// What is found of pairs that differ by `effect`, in so many seconds a pair and in all.
fn found_in_time(
    name: &str,
    noise: PairNoise,
    (pair_s, limit_s): (f64, f64),
    effect: f64,
    replications: u64,
) -> ValidationRow {
    let most = (limit_s / pair_s).round() as usize;
    let ends = drawn(LookSchedule::Long, most, |rng| effect.ln_1p() + noise(rng), replications);
    let right = if effect > 0.0 { Verdict::Slower } else { Verdict::Equivalent };
    let mut rng = Rng::new(3);
    // Whether a change can be distinguished depends on the true scale, known from many more pairs.
    let known: Vec<f64> = (0..KNOWN_BY).map(|_| noise(&mut rng)).collect();
    let level = LookSchedule::Long.level(Confidence::NinetyFive, most);
    let detectable =
        pair_scale(&known).map_or(f64::INFINITY, |scale| told_apart(scale, most, level));
    let wanted = if effect > 0.0 { (effect, FINDS) } else { (MARGIN, PROVES) };
    let bar = if detectable <= wanted.0.ln_1p() {
        Bar::AtLeast(wanted.1)
    } else {
        Bar::Exempt("too small to find in that time")
    };
    let what =
        if effect > 0.0 { format!("{} % slower", 100.0 * effect) } else { "equivalent".to_owned() };
    ValidationRow {
        promise: "correct verdict reached within a time limit",
        setting: format!("pairs take {pair_s} s and differ by {name}, limit {limit_s} s: {what}"),
        bar,
        measured: count(&ends, |end| end.verdict == right),
        note: format!(
            "{:.1} s, finds {:.1} %",
            pairs_of(&ends).value() * pair_s,
            100.0 * detectable.exp_m1()
        ),
    }
}

fn false_equivalent(replications: u64) -> ValidationRow {
    let ends = drawn(
        LookSchedule::Long,
        LookSchedule::MOST_PAIRS,
        |rng| MARGIN.ln_1p() + 0.02 * rng.normal(),
        replications,
    );
    ValidationRow {
        promise: "a program called equivalent within 1 % although it is not, in up to 10,000 pairs",
        setting: "1 % slower".to_owned(),
        bar: Bar::AtMost(0.025),
        measured: count(&ends, |end| end.verdict == Verdict::Equivalent),
        note: format!("{:.1} pairs", pairs_of(&ends).value()),
    }
}
