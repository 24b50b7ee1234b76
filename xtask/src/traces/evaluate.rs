//! How long each way of comparing takes to find a change on recorded machines, and how often it finds one that is not
//! there.
//!
//! Sessions begin anywhere in a recording, with coins of their own, and look when `ab` looks, at its levels; they end with
//! the first look that tells the programs apart, or after a minute. What is not found has taken the minute.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use plumb_simulate::bars::{Bar, Measured, Row};
use plumb_simulate::environment::ENVIRONMENTS;
use plumb_simulate::recording::{Pattern, Recording};
use plumb_stats::describe::median;
use plumb_stats::pairs::signed_rank_p;
use plumb_stats::rng::Rng;
use plumb_stats::verdict::{Confidence, Schedule};

use super::designs::{LOOP, OFF_CPU, STEAL, SWITCHES, Statistic, Turns, Unit, Values};
use super::source::{Program, Session, Source};

/// The time of a comparison, in seconds.
pub const LIMIT_S: f64 = 60.0;
/// By how much the second program is slower.
pub const EFFECTS: [f64; 3] = [0.01, 0.02, 0.05];
/// Equal programs are told apart by chance at most so often.
pub const MISLED: f64 = 0.05;
/// A pattern that was recorded for less says nothing, in seconds.
const LEAST_S: f64 = 20.0;
/// A/A costs much and needs many: so many times the sessions of an effect.
pub const EQUALS: u64 = 2;

/// The programs, and what reports call them.
pub const PROGRAMS: [(&str, Program); 3] = [
    ("a program of 30 ms", Program::Chunks(30.0)),
    ("a program of 3 ms", Program::Chunks(3.0)),
    ("a command of about 4 ms, started anew each time", Program::Command),
];

/// What runs between chunks or between commands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Between {
    /// Nothing, in one long stretch.
    Nothing,
    /// Nothing, in turns with the others.
    InTurn,
    /// The CPU changes.
    Move,
    /// The CPU sleeps.
    Sleep,
    /// The CPU is kept busy.
    Spin,
}

/// A way to compare.
pub struct Design {
    /// What reports call it.
    pub name: &'static str,
    turns: Turns,
    values: Values,
    between: Between,
    /// The design that it is to be better than, by its place in the list.
    pub beside: usize,
}

const fn design(name: &'static str, turns: Turns, values: Values) -> Design {
    Design { name, turns, values, between: Between::Nothing, beside: 0 }
}

const fn pairs(name: &'static str, between: Between, beside: usize) -> Design {
    Design { name, turns: Turns::Pair, values: Values::Plain, between, beside }
}

/// A pair with so many runs in each invocation.
const fn several(name: &'static str, runs: usize, statistic: Statistic) -> Design {
    design(name, Turns::Several(runs, statistic), Values::Plain)
}

/// All of them, beginning with what `ab` does.
pub const DESIGNS: [Design; 21] = [
    design("pairs of one run each", Turns::Pair, Values::Plain),
    design("quads: ABBA or BAAB", Turns::Quad, Values::Plain),
    design("one run against both neighbours: ABA or BAB", Turns::Triple, Values::Plain),
    design("pairs, less the trend of the pairs around", Turns::Pair, Values::Detrended),
    several("pairs of the medians of 3 runs in a row", 3, Statistic::Median),
    several("pairs of the medians of 5 runs in a row", 5, Statistic::Median),
    several("pairs of the medians of 10 runs in a row", 10, Statistic::Median),
    several("pairs of the means of the middle half of 10", 10, Statistic::Trimmed),
    several("pairs of the first quartiles of 10", 10, Statistic::Quartile),
    design("18 pairs of one run, then of the medians of 5", Turns::Growing(5), Values::Plain),
    design("pairs without steal only", Turns::Pair, Values::WithoutSteal),
    design("pairs with the least time off the CPU", Turns::Pair, Values::LeastOff),
    design("pairs, less what steal explains", Turns::Pair, Values::Controlled(STEAL)),
    design(
        "pairs, less what involuntary switches explain",
        Turns::Pair,
        Values::Controlled(SWITCHES),
    ),
    design("pairs, less what time off the CPU explains", Turns::Pair, Values::Controlled(OFF_CPU)),
    design(
        "pairs, less what a loop of 1 ms around explains",
        Turns::Loops,
        Values::Controlled(LOOP),
    ),
    design("pairs of the time on a CPU", Turns::Pair, Values::OnCpu),
    pairs("pairs, nothing between", Between::InTurn, FREE),
    pairs("pairs, the other CPU each time", Between::Move, FREE),
    pairs("pairs, the CPU idle between", Between::Sleep, IDLE),
    pairs("pairs, the CPU busy between", Between::Spin, IDLE),
];
/// The way that compares another quantity, and those that others are beside, by their places in the list.
pub const ON_CPU: usize = 16;
const FREE: usize = 17;
const IDLE: usize = 19;

impl Design {
    /// Where it is replayed; None where nobody recorded that, or a unit would make no sense.
    fn source(&self, recording: &Recording, program: Program) -> Option<Source> {
        let commands = program == Program::Command;
        let in_turn = self.between == Between::InTurn;
        let pattern = match (self.between, commands) {
            (Between::Nothing | Between::InTurn, false) => Pattern::Stay,
            (Between::Move, false) => Pattern::Move,
            (Between::Sleep, false) => Pattern::Sleep,
            (Between::Spin, false) => Pattern::Spin,
            (Between::Nothing | Between::InTurn, true) => Pattern::Commands,
            (Between::Sleep, true) => Pattern::CommandsSleep,
            (Between::Spin, true) => Pattern::CommandsSpin,
            (Between::Move, true) => return None,
        };
        if commands && self.turns == Turns::Loops {
            return None;
        }
        let source = Source::of(recording, pattern, in_turn, program, LEAST_S)?;
        (source.knows_the_cpu() || !self.values.look_at_the_cpu()).then_some(source)
    }
}

/// How sessions of one design ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cell {
    /// Sessions that called equal programs different, and all of them.
    pub misled: (u64, u64),
    /// For each effect the share that was found.
    pub found: [f64; 3],
    /// And the mean time, in seconds.
    pub seconds: [f64; 3],
}

impl Cell {
    /// The geometric mean over effects of the time, as a share of another's.
    pub fn of(&self, other: &Self) -> f64 {
        let logs = self.seconds.iter().zip(other.seconds).map(|(mine, its)| (mine / its).ln());
        (logs.sum::<f64>() / EFFECTS.len() as f64).exp()
    }

    /// Whether equal programs are told apart no more often than chance allows.
    pub fn is_honest(&self) -> bool {
        is_honest(self.misled)
    }
}

/// Whether so many of so many is no more than is promised, by the rule of the bars.
pub fn is_honest((hits, trials): (u64, u64)) -> bool {
    let row = Row {
        promise: "",
        setting: String::new(),
        bar: Bar::AtMost(MISLED),
        measured: Measured::Share { hits, trials },
        note: String::new(),
    };
    row.passes()
}

/// Every design on one recording with one program; None where it has no source.
pub fn on_recording(recording: &Recording, program: Program, sessions: u64) -> Vec<Option<Cell>> {
    in_parallel(DESIGNS.len(), |at| {
        let design = &DESIGNS[at];
        let source = design.source(recording, program)?;
        Some(cell(design, &source, sessions))
    })
}

/// How often each design calls equal programs different, under the worst of the simulated noises.
pub fn simulated(sessions: u64) -> Vec<(u64, u64)> {
    let sources: Vec<Source> = ENVIRONMENTS
        .into_iter()
        .filter(|it| !it.tires)
        .map(|it| Source::simulated(it, Program::Chunks(30.0)))
        .collect();
    in_parallel(DESIGNS.len(), |at| {
        let misled = |source| misled(&DESIGNS[at], source, EQUALS * sessions);
        sources.iter().map(misled).max().unwrap_or_default()
    })
}

/// Calls for each number, on as many threads as there are CPUs.
fn in_parallel<T: Send>(count: usize, call: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                break;
            }
            let result = call(at);
            if let Ok(mut done) = done.lock() {
                done.push((at, result));
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn cell(design: &Design, source: &Source, sessions: u64) -> Cell {
    let mut cell = Cell { misled: misled(design, source, EQUALS * sessions), ..Cell::default() };
    for (at, effect) in EFFECTS.into_iter().enumerate() {
        let ends: Vec<End> =
            (0..sessions).map(|seed| session(design, source, effect, seed)).collect();
        let found = ends.iter().filter(|it| it.told == Some(true)).count();
        cell.found[at] = found as f64 / sessions as f64;
        cell.seconds[at] = ends.iter().map(|it| it.seconds).sum::<f64>() / sessions as f64;
    }
    cell
}

fn misled(design: &Design, source: &Source, sessions: u64) -> (u64, u64) {
    let is_told = |seed: &u64| session(design, source, 0.0, *seed).told.is_some();
    ((0..sessions).filter(is_told).count() as u64, sessions)
}

/// How a session ended.
struct End {
    /// Whether the second side was called slower, where the sides were told apart.
    told: Option<bool>,
    /// When they were, or the limit.
    seconds: f64,
}

fn session(design: &Design, source: &Source, effect: f64, seed: u64) -> End {
    let mut session = Session::new(source, effect, Rng::new(seed));
    let mut units: Vec<Unit> = Vec::new();
    let schedule = Schedule::Long;
    for look in schedule.looks() {
        while design.values.count(&units) < look && session.seconds < LIMIT_S {
            units.push(design.turns.unit(&mut session, units.len()));
        }
        let values = design.values.of(&units);
        let alpha = 1.0 - schedule.level(Confidence::NinetyFive, values.len().max(1));
        if signed_rank_p(&values).is_ok_and(|p| p <= alpha) {
            let told = Some(median(&values).is_some_and(|it| it > 0.0));
            let wrong = effect > 0.0 && told == Some(false);
            return End { told, seconds: if wrong { LIMIT_S } else { session.seconds } };
        }
        if session.seconds >= LIMIT_S {
            break;
        }
    }
    End { told: None, seconds: LIMIT_S }
}
