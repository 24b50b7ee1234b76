//! Ways to compare two programs, each a unit with a value that a fair coin makes symmetric about 0 when both are equal.
//!
//! What a value is corrected by never looks at which run was whose: levels of neighbouring units, and products of value
//! and covariate, are the same whichever way the coins fell. So the signed-rank law stays exact for all of them.

use plumb_stats::describe::{MAD_TO_SD, mad, quantile};
use plumb_stats::order;

use super::source::{Run, Session};

/// A unit of a comparison.
pub struct Unit {
    /// The log ratio of the sides.
    log_ratio: f64,
    /// 1 where the second side came later, -1 where it came first.
    sign: f64,
    /// The mean log time of all its runs.
    level: f64,
    /// Differences of covariates, second side less first.
    covariates: [f64; 4],
    /// Ticks of steal meanwhile.
    steal: f64,
    /// The log ratio of the sides' time on a CPU.
    on_cpu: f64,
    /// Time off the CPU of both, as a share of theirs.
    off_cpu: f64,
}

/// How invocations take turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Turns {
    /// AB or BA.
    Pair,
    /// ABBA or BAAB.
    Quad,
    /// ABA or BAB: the one in the middle against both neighbours.
    Triple,
    /// A pair with so many runs in each invocation, and a statistic of them.
    Several(usize, Statistic),
    /// A pair with one run each, and with so many from the pairs of a look on, and their medians.
    Growing(usize),
    /// A pair with a fixed loop of 1 ms before, between and after.
    Loops,
}

/// Of several runs of an invocation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The one in the middle.
    Median,
    /// The mean of the middle half.
    Trimmed,
    /// The first quartile.
    Quartile,
}

/// What values are made of units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Values {
    /// Their log ratios.
    Plain,
    /// Less the trend between the units before and after.
    Detrended,
    /// Less a covariate, with the coefficient of the other half of the units.
    Controlled(usize),
    /// Of those without steal.
    WithoutSteal,
    /// Log ratios of the time on a CPU.
    OnCpu,
    /// Of the share of units with the least time off the CPU that has the least error.
    LeastOff,
}

/// Places of covariates.
pub const STEAL: usize = 0;
pub const SWITCHES: usize = 1;
pub const OFF_CPU: usize = 2;
pub const LOOP: usize = 3;

/// So many pairs find what is found at once.
const GROWS_AT: usize = 18;

/// Farther than this many robust standard deviations is cut off where coefficients are found.
const CUT: f64 = 3.0;

impl Turns {
    /// Takes one unit after so many.
    pub fn unit(self, session: &mut Session, after: usize) -> Unit {
        match self {
            Self::Pair => pair(session),
            Self::Quad => quad(session),
            Self::Triple => triple(session),
            Self::Several(runs, statistic) => several(session, runs, statistic),
            Self::Growing(_) if after < GROWS_AT => pair(session),
            Self::Growing(runs) => several(session, runs, Statistic::Median),
            Self::Loops => loops(session),
        }
    }
}

/// The sign of an order whose last run is of this side.
fn sign(later: usize) -> f64 {
    if later == 1 { 1.0 } else { -1.0 }
}

fn of_pair(runs: [Run; 2], later: usize, loops: f64) -> Unit {
    let sign = sign(later);
    let [one, next] = runs.map(|run| run.seconds.ln());
    let difference = |of: fn(&Run) -> f64| sign * (of(&runs[1]) - of(&runs[0]));
    Unit {
        log_ratio: sign * (next - one),
        sign,
        level: 0.5 * (one + next),
        covariates: [
            difference(|run| run.steal),
            difference(|run| run.switches),
            difference(|run| run.off_cpu / run.seconds),
            sign * loops,
        ],
        steal: runs[0].steal + runs[1].steal,
        on_cpu: sign * (runs[1].on_cpu() / runs[0].on_cpu()).ln(),
        off_cpu: (runs[0].off_cpu + runs[1].off_cpu) / (runs[0].seconds + runs[1].seconds),
    }
}

/// An invocation of one run.
fn once(session: &mut Session, side: usize) -> Run {
    session.invocation(side, 1).into_iter().next().unwrap_or_default()
}

fn pair(session: &mut Session) -> Unit {
    session.begin(2, 1, 0);
    let sides = order::pair(&mut session.rng);
    of_pair(sides.map(|side| once(session, side)), sides[1], 0.0)
}

fn loops(session: &mut Session) -> Unit {
    session.begin(2, 1, 3);
    let sides = order::pair(&mut session.rng);
    let before = session.fixed_loop();
    let one = once(session, sides[0]);
    let between = session.fixed_loop();
    let next = once(session, sides[1]);
    let after = session.fixed_loop();
    // It is the one before the next unit, too.
    session.seconds -= after;
    of_pair([one, next], sides[1], ((between + after) / (before + between)).ln())
}

/// A unit of logs by side and a contrast of them, later less earlier.
fn contrasted(logs: &[f64], contrast: f64, sign: f64) -> Unit {
    Unit {
        log_ratio: sign * contrast,
        sign,
        level: logs.iter().sum::<f64>() / logs.len() as f64,
        covariates: [0.0; 4],
        steal: 0.0,
        on_cpu: sign * contrast,
        off_cpu: 0.0,
    }
}

fn quad(session: &mut Session) -> Unit {
    session.begin(4, 1, 0);
    let sides = order::quad(&mut session.rng);
    let logs = sides.map(|side| once(session, side).seconds.ln());
    let inner = 0.5 * (logs[1] + logs[2] - logs[0] - logs[3]);
    contrasted(&logs, inner, sign(sides[1]))
}

fn triple(session: &mut Session) -> Unit {
    session.begin(3, 1, 0);
    let [outer, middle] = order::pair(&mut session.rng);
    let logs = [outer, middle, outer].map(|side| once(session, side).seconds.ln());
    contrasted(&logs, logs[1] - 0.5 * (logs[0] + logs[2]), sign(middle))
}

fn several(session: &mut Session, runs: usize, statistic: Statistic) -> Unit {
    session.begin(2, runs, 0);
    let sides = order::pair(&mut session.rng);
    let logs = sides.map(|side| {
        let times = session.invocation(side, runs).into_iter().map(|run| run.seconds).collect();
        statistic.of(times).ln()
    });
    contrasted(&logs, logs[1] - logs[0], sign(sides[1]))
}

impl Statistic {
    fn of(self, mut times: Vec<f64>) -> f64 {
        match self {
            Self::Median => quantile(&times, 0.5).unwrap_or(f64::NAN),
            Self::Quartile => quantile(&times, 0.25).unwrap_or(f64::NAN),
            Self::Trimmed => {
                times.sort_unstable_by(f64::total_cmp);
                let middle = &times[times.len() / 4..times.len() - times.len() / 4];
                middle.iter().sum::<f64>() / middle.len() as f64
            }
        }
    }
}

impl Values {
    /// Whether they need what a recording may lack: time on a CPU, steal and switches.
    pub fn look_at_the_cpu(self) -> bool {
        match self {
            Self::Plain | Self::Detrended => false,
            Self::Controlled(which) => which != LOOP,
            Self::WithoutSteal | Self::OnCpu | Self::LeastOff => true,
        }
    }

    /// How many values so many units give.
    pub fn count(self, units: &[Unit]) -> usize {
        match self {
            Self::WithoutSteal => units.iter().filter(|it| it.steal == 0.0).count(),
            _ => units.len(),
        }
    }

    /// The values of these units.
    pub fn of(self, units: &[Unit]) -> Vec<f64> {
        match self {
            Self::Plain => units.iter().map(|it| it.log_ratio).collect(),
            Self::WithoutSteal => {
                units.iter().filter(|it| it.steal == 0.0).map(|it| it.log_ratio).collect()
            }
            Self::OnCpu => units.iter().map(|it| it.on_cpu).collect(),
            Self::LeastOff => least_off(units),
            Self::Detrended => controlled(units, &trends(units), true),
            Self::Controlled(which) => {
                let covariates: Vec<f64> = units.iter().map(|it| it.covariates[which]).collect();
                controlled(units, &covariates, which == LOOP)
            }
        }
    }
}

/// What the levels of both neighbours say that the later run of each pair has more than the earlier.
fn trends(units: &[Unit]) -> Vec<f64> {
    let inner = units.windows(3).map(|it| it[1].sign * 0.25 * (it[2].level - it[0].level));
    std::iter::once(0.0).chain(inner).chain(std::iter::once(0.0)).take(units.len()).collect()
}

/// Log ratios less the covariate; the coefficient of units with even numbers is of those with odd ones, and the other
/// way round. What is noisy itself is cut off; rare events are not.
fn controlled(units: &[Unit], covariates: &[f64], noisy: bool) -> Vec<f64> {
    let logs: Vec<f64> = units.iter().map(|it| it.log_ratio).collect();
    let [values, known] =
        [&logs[..], covariates].map(|it| if noisy { cut(it) } else { it.to_vec() });
    let coefficient = |half: usize| {
        let of_half = || values.iter().zip(&known).skip(half).step_by(2);
        let squares: f64 = of_half().map(|(_, known)| known * known).sum();
        let products: f64 = of_half().map(|(value, known)| value * known).sum();
        if squares > 0.0 { products / squares } else { 0.0 }
    };
    let coefficients = [coefficient(1), coefficient(0)];
    let corrected = logs.iter().zip(&known).enumerate();
    corrected.map(|(at, (log, known))| log - coefficients[at % 2] * known).collect()
}

/// Values cut off at [`CUT`] robust standard deviations from 0, where they have some.
fn cut(values: &[f64]) -> Vec<f64> {
    let reach = CUT * MAD_TO_SD * mad(values).unwrap_or(0.0);
    let within = |value: f64| if reach > 0.0 { value.clamp(-reach, reach) } else { value };
    values.iter().map(|&value| within(value)).collect()
}

/// Shares of units that may be left, and the fewest units.
const SHARES: [f64; 6] = [1.0, 0.8, 0.65, 0.5, 0.35, 0.25];
const FEWEST: usize = 8;

/// Log ratios of the units with the least time off the CPU: so many that their spread over the root of their number is
/// least, by sizes alone.
fn least_off(units: &[Unit]) -> Vec<f64> {
    let mut order: Vec<&Unit> = units.iter().collect();
    order.sort_by(|one, other| one.off_cpu.total_cmp(&other.off_cpu));
    let error = |count: usize| {
        let sizes: Vec<f64> = order[..count].iter().map(|it| it.log_ratio.abs()).collect();
        quantile(&sizes, 0.68).unwrap_or(f64::INFINITY) / (count as f64).sqrt()
    };
    let counts = SHARES.map(|share| (share * units.len() as f64).ceil() as usize);
    let possible = counts.into_iter().filter(|&it| it >= FEWEST.min(units.len()));
    let best = possible.min_by(|one, other| error(*one).total_cmp(&error(*other)));
    order[..best.unwrap_or(0)].iter().map(|it| it.log_ratio).collect()
}
