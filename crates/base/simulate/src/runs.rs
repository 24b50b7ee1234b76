//! Stored runs of two sides: how often equal programs are called different, in turns or at different times, next to slow
//! noise; and how often a difference is found.

use super::bars::{Bar, BarSeries, ValidationRow};
use super::baselines::{DAY_S, HOUR_S, RUN_S, SeriesLevel};
use plumb_stats::describe::median_of;
use plumb_stats::precision::CONFIDENCE;
use plumb_stats::regression_gate::PER_DOUBLING;
use plumb_stats::rng::Rng;
use plumb_stats::stored_runs::{DatedRun, NoiseHistory, RunsCompared, StoredSide, compare_runs};
use plumb_stats::verdict::{MARGIN, Verdict};

/// Processes of a run, and the standard deviation of their log costs.
const PROCESSES: usize = 10;
const PROCESS_SD: f64 = 0.01;
/// Runs cost little to simulate: so many times more of them.
const RUNS_CHEAPER: u64 = 5;
/// The slow-down that is to be found.
const EFFECT: f64 = 0.05;
/// A drift, a share a day; and the standard deviation of what a day is slower than another.
const DRIFT_PER_DAY: f64 = 0.01;
const DAY_SD: f64 = 0.02;

/// How the level of a machine changes with time.
#[derive(Debug, Clone, Copy)]
struct SlowNoise {
    name: &'static str,
    /// What a doubling of time adds to the variance of neighbours.
    per_doubling: f64,
    /// A share a day.
    drift_per_day: f64,
    /// The standard deviation between days; within a day it stays.
    day_sd: f64,
}

const NO_SLOW_NOISE: SlowNoise =
    SlowNoise { name: "independent runs", per_doubling: 0.0, drift_per_day: 0.0, day_sd: 0.0 };

const SLOW_NOISES: [SlowNoise; 6] = [
    NO_SLOW_NOISE,
    SlowNoise { name: "slow noise as recorded", per_doubling: PER_DOUBLING, ..NO_SLOW_NOISE },
    SlowNoise { name: "1/f noise", per_doubling: 3.0 * PER_DOUBLING, ..NO_SLOW_NOISE },
    SlowNoise { name: "a drift of 1 % a day", drift_per_day: DRIFT_PER_DAY, ..NO_SLOW_NOISE },
    SlowNoise { name: "days differ by 2 %", day_sd: DAY_SD, ..NO_SLOW_NOISE },
    SlowNoise {
        name: "all of them",
        per_doubling: PER_DOUBLING,
        drift_per_day: DRIFT_PER_DAY,
        day_sd: DAY_SD,
    },
];

/// When the runs of two sides are measured, and those of the history before them.
#[derive(Debug, Clone, Copy)]
struct Arrangement {
    name: &'static str,
    /// The sides, in the order of time.
    order: &'static str,
    /// From one run of a side to the next of the same side, in seconds, and to one of the other side.
    same_side_s: f64,
    other_side_s: f64,
    /// Earlier runs, and how far they are apart, in seconds.
    earlier: usize,
    earlier_s: f64,
}

const IN_TURNS: Arrangement = Arrangement {
    name: "in turns within an hour",
    order: "ABABABABABABABABA",
    same_side_s: RUN_S,
    other_side_s: RUN_S,
    earlier: 0,
    earlier_s: 0.0,
};

/// Arrangements in which a verdict is due.
const ARRANGEMENTS: [Arrangement; 8] = [
    IN_TURNS,
    Arrangement {
        name: "in turns, a run a day",
        same_side_s: DAY_S,
        other_side_s: DAY_S,
        ..IN_TURNS
    },
    Arrangement {
        name: "in turns of two, a run an hour",
        order: "AABBAABBAABBAABBAABBAABBAABBAABBA",
        same_side_s: HOUR_S,
        other_side_s: HOUR_S,
        ..IN_TURNS
    },
    Arrangement {
        name: "in turns of four, a day each",
        order: "AAAABBBBAAAABBBBAAAABBBBAAAABBBBAAAABBBBAAAABBBBAAAABBBBAAAABBBBAAAA",
        other_side_s: DAY_S,
        ..IN_TURNS
    },
    Arrangement {
        name: "one run each in 5 min, 7 before them",
        order: "AB",
        earlier: 7,
        earlier_s: RUN_S,
        ..IN_TURNS
    },
    Arrangement {
        name: "one run each a day apart, one a day for 20 days before",
        order: "AB",
        other_side_s: DAY_S,
        earlier: 20,
        earlier_s: DAY_S,
        ..IN_TURNS
    },
    Arrangement {
        name: "four runs each a day apart, one a day for 20 days before",
        order: "AAAABBBB",
        other_side_s: DAY_S,
        earlier: 20,
        earlier_s: DAY_S,
        ..IN_TURNS
    },
    Arrangement {
        name: "four runs each a week apart, one a day for 60 days before",
        order: "AAAABBBB",
        other_side_s: 7.0 * DAY_S,
        earlier: 60,
        earlier_s: DAY_S,
        ..IN_TURNS
    },
];

/// Arrangements of which nobody knows how much time alone changes.
const UNKNOWN: [Arrangement; 2] = [
    Arrangement {
        name: "four runs each a day apart, nothing before",
        order: "AAAABBBB",
        other_side_s: DAY_S,
        ..IN_TURNS
    },
    Arrangement {
        name: "four runs each a day apart, 20 within an hour before",
        order: "AAAABBBB",
        other_side_s: DAY_S,
        earlier: 20,
        earlier_s: RUN_S,
        ..IN_TURNS
    },
];

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let trials = RUNS_CHEAPER * replications;
    for arrangement in ARRANGEMENTS {
        for noise in SLOW_NOISES {
            report(equal(arrangement, noise, trials));
        }
    }
    for arrangement in UNKNOWN {
        report(without_verdict(arrangement, trials));
    }
    for noise in SLOW_NOISES {
        report(without_time(UNKNOWN[0], noise, trials));
    }
    for arrangement in &ARRANGEMENTS[..4] {
        report(slower(*arrangement, Bar::AtLeast(0.9), trials));
    }
    let not_promised = Bar::Exempt("depends on what is known of the noise");
    for arrangement in &ARRANGEMENTS[4..] {
        report(slower(*arrangement, not_promised, trials));
    }
}

fn equal(arrangement: Arrangement, noise: SlowNoise, trials: u64) -> ValidationRow {
    let ends = ends(arrangement, noise, 0.0, trials);
    ValidationRow {
        promise: "stored runs of a program called different",
        setting: format!("{}: {}", arrangement.name, noise.name),
        bar: Bar::AtMost(0.05),
        measured: share(&ends, is_different),
        note: format!("no verdict in {:.2}", share(&ends, Option::is_none).value()),
    }
}

fn without_verdict(arrangement: Arrangement, trials: u64) -> ValidationRow {
    let ends = ends(arrangement, NO_SLOW_NOISE, EFFECT, trials);
    ValidationRow {
        promise: "no verdict on stored runs if nothing shows how much time alone changes",
        setting: arrangement.name.to_owned(),
        bar: Bar::AtLeast(1.0),
        measured: share(&ends, Option::is_none),
        note: String::new(),
    }
}

/// What the interval alone says, without the noise between times.
fn without_time(arrangement: Arrangement, noise: SlowNoise, trials: u64) -> ValidationRow {
    let mut hits = 0;
    for seed in 0..trials {
        let found = compared(arrangement, noise, 0.0, &mut Rng::new(seed));
        hits += u64::from(found.is_some_and(|found| !found.interval.contains(0.0)));
    }
    ValidationRow {
        promise: "stored runs of a program called different if the noise between times did not count",
        setting: format!("{}: {}", arrangement.name, noise.name),
        bar: Bar::Exempt("shows why there is no verdict"),
        measured: BarSeries::Share { hits, trials },
        note: String::new(),
    }
}

fn slower(arrangement: Arrangement, bar: Bar, trials: u64) -> ValidationRow {
    let ends = ends(arrangement, NO_SLOW_NOISE, EFFECT, trials);
    ValidationRow {
        promise: "a 5 % slow-down between stored runs found if runs differ by 1 %",
        setting: arrangement.name.to_owned(),
        bar,
        measured: share(&ends, |end| *end == Some(Verdict::Slower)),
        note: String::new(),
    }
}

fn is_different(end: &Option<Verdict>) -> bool {
    matches!(end, Some(Verdict::Slower | Verdict::Faster))
}

fn share(ends: &[Option<Verdict>], is: fn(&Option<Verdict>) -> bool) -> BarSeries {
    let hits = ends.iter().filter(|end| is(end)).count() as u64;
    BarSeries::Share { hits, trials: ends.len() as u64 }
}

/// The verdicts of so many comparisons in which B is slower by `effect`.
fn ends(
    arrangement: Arrangement,
    noise: SlowNoise,
    effect: f64,
    trials: u64,
) -> Vec<Option<Verdict>> {
    let mut ends = Vec::new();
    for seed in 0..trials {
        let found = compared(arrangement, noise, effect, &mut Rng::new(seed));
        ends.push(found.and_then(|found| Some(found.judge(MARGIN)?.verdict)));
    }
    ends
}

/// A machine of which one program is measured.
struct TimedMachine {
    noise: SlowNoise,
    level: SeriesLevel,
    day: f64,
    day_level: f64,
    at_s: f64,
}

impl TimedMachine {
    fn new(noise: SlowNoise, rng: &mut Rng) -> Self {
        let level = SeriesLevel::new(noise.per_doubling, rng);
        Self { noise, level, day: 0.0, day_level: noise.day_sd * rng.normal(), at_s: 0.0 }
    }

    /// The processes of a run that begins so long after the one before it.
    fn run(&mut self, after_s: f64, rng: &mut Rng) -> Vec<f64> {
        self.at_s += after_s;
        let day = (self.at_s / DAY_S).floor();
        if day > self.day {
            self.day = day;
            self.day_level = self.noise.day_sd * rng.normal();
        }
        let drift = self.noise.drift_per_day * self.at_s / DAY_S;
        let level = self.level.run(after_s, rng) + drift + self.day_level;
        (0..PROCESSES).map(|_| level + PROCESS_SD * rng.normal()).collect()
    }
}

fn compared(
    arrangement: Arrangement,
    noise: SlowNoise,
    effect: f64,
    rng: &mut Rng,
) -> Option<RunsCompared> {
    let mut machine = TimedMachine::new(noise, rng);
    // Not at the beginning of a day.
    machine.run(DAY_S * rng.uniform(), rng);
    let mut earlier = Vec::new();
    for _ in 0..arrangement.earlier {
        let cost = median_of(&machine.run(arrangement.earlier_s, rng));
        earlier.push(DatedRun { began_s: Some(machine.at_s), cost });
    }
    let mut runs = [Vec::new(), Vec::new()];
    let mut processes = [Vec::new(), Vec::new()];
    let mut before = None;
    for side in arrangement.order.bytes() {
        let after_s = match before {
            Some(before) if before == side => arrangement.same_side_s,
            _ => arrangement.other_side_s,
        };
        before = Some(side);
        let is_of_b = side == b'B';
        let mut costs = machine.run(after_s, rng);
        if is_of_b {
            costs.iter_mut().for_each(|cost| *cost += effect.ln_1p());
        }
        let run = DatedRun { began_s: Some(machine.at_s), cost: median_of(&costs) };
        runs[usize::from(is_of_b)].push(run);
        processes[usize::from(is_of_b)].extend(costs);
    }
    compare_runs(
        StoredSide { runs: &runs[0], processes: &processes[0] },
        StoredSide { runs: &runs[1], processes: &processes[1] },
        NoiseHistory::OneMachine(&earlier),
        CONFIDENCE,
    )
    .ok()
}

#[cfg(test)]
mod tests {
    use super::{ARRANGEMENTS, NO_SLOW_NOISE, compared};
    use plumb_stats::rng::Rng;
    use plumb_stats::stored_runs::RunNoise;

    #[test]
    fn four_arrangements_are_in_turns_and_four_have_a_history() {
        for (place, arrangement) in ARRANGEMENTS.into_iter().enumerate() {
            let found = compared(arrangement, NO_SLOW_NOISE, 0.0, &mut Rng::new(1)).unwrap();
            let in_turns = matches!(found.run_noise, RunNoise::InTurns { blocks: 8 });
            assert_eq!(in_turns, place < 4, "{arrangement:?}: {found:?}");
        }
    }
}
