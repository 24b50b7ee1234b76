//! Recorded noise of real hosts (the files in `traces/`): how often the interval of a session holds the median of minutes.
//!
//! Programs are sums of consecutive chunks of fixed work. Sessions begin anywhere in a trace; what they should hold is
//! the median, of the same program, of the ten minutes around them, or of the whole of a shorter trace.

pub(crate) mod checked;
mod longer;
mod trace;

use trace::{ChunkTrace, PROCESS, SAMPLE};

use std::f64::consts::FRAC_PI_2;

use crate::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::Interval;
use plumb_stats::describe::{mean_of, median, variance_of};
use plumb_stats::flicker::{HORIZON_S, Taken, default_length_s, interval_over};
use plumb_stats::precision::{
    CONFIDENCE, DEFAULT_PRECISION, FIRST_LOOK, FIRST_LOOK_SINGLE, PER_LOOK_LEVEL, clustered, looks,
    serial_quantile,
};
use plumb_stats::rng::Rng;

/// The traces by name, and whether they are of a machine next to other work.
const TRACES: [(&str, bool, &[u8]); 8] = [
    ("alone", false, include_bytes!("traces/host-a-quiet.trace")),
    ("next to other work", true, include_bytes!("traces/host-a-busy.trace")),
    ("host b alone", false, include_bytes!("traces/host-b-quiet.trace")),
    ("host b next to builds", true, include_bytes!("traces/host-b-busy.trace")),
    ("host c alone", false, include_bytes!("traces/host-c-quiet.trace")),
    ("host c next to tests", true, include_bytes!("traces/host-c-tests.trace")),
    ("host c next to builds and guests", true, include_bytes!("traces/host-c-busy.trace")),
    ("host c alone, later", false, include_bytes!("traces/host-c-later.trace")),
];
/// Sessions of a mode on a trace, at most: more would only be the same seconds again.
const SESSIONS: u64 = 400;
/// The longest session, in chunks.
const LONGEST: usize = 60_000;
/// Promised of the machine's interval.
const COVERAGE: f64 = 0.9;

/// Promised of sessions of default length on a machine that does nothing else: this share gets an interval of the machine,
/// and half of them end within so many seconds.
const WITH_INTERVAL: f64 = 0.8;
const LONGEST_MEDIAN_S: f64 = 20.0;

/// On a machine that does nothing else, this share of sessions may be called too noisy for an interval.
const TOO_NOISY_ALONE: f64 = 0.01;
/// If slow noise spans a factor of ten, this share must be.
const TOO_NOISY_WIDE: f64 = 0.9;
const TOO_NOISY: &str = "Recorded traces: sessions too noisy for an interval of the machine";

/// What is run, as a user would.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    /// Runs of a command of so many chunks, one after the other, for at least so many chunks.
    Command { chunks: usize, at_least: usize },
    /// The same, for as long as plumb takes if nobody says otherwise.
    DefaultCommand { chunks: usize },
    /// Processes of one point, one after the other.
    Point,
    /// The same, for as long as plumb takes if nobody says otherwise.
    DefaultPoint,
    /// So many processes of a point among many, one every 4.6 s.
    Interleaved { processes: usize },
    /// One process, a sample a second.
    Stream { seconds: usize },
}

/// Modes by name.
const MODES: [(&str, Mode); 12] = [
    ("exec, 3 ms, by default", Mode::DefaultCommand { chunks: 3 }),
    ("exec, 30 ms, by default", Mode::DefaultCommand { chunks: 30 }),
    ("exec, 100 ms, by default", Mode::DefaultCommand { chunks: 100 }),
    ("run of one point, by default", Mode::DefaultPoint),
    ("exec, 30 ms, to 1 %", Mode::Command { chunks: 30, at_least: 0 }),
    ("exec, 30 ms, to 1 %, at least 4 s", Mode::Command { chunks: 30, at_least: 4_000 }),
    ("exec, 30 ms, to 1 %, at least 20 s", Mode::Command { chunks: 30, at_least: 20_000 }),
    ("exec, 3 ms, to 1 %", Mode::Command { chunks: 3, at_least: 0 }),
    ("exec, 100 ms, to 1 %", Mode::Command { chunks: 100, at_least: 0 }),
    ("run of one point, to 1 %", Mode::Point),
    ("run of many points, 12 processes each", Mode::Interleaved { processes: 12 }),
    ("stream of 6 min", Mode::Stream { seconds: 360 }),
];

/// Chunks from one process of a point to the next where many points take turns.
const ROUND: usize = 4_600;

/// All pieces of a trace of one size, one after the other.
struct Pieces<'a> {
    trace: &'a ChunkTrace,
    size: usize,
    times: Vec<f64>,
}

impl<'a> Pieces<'a> {
    fn of(trace: &'a ChunkTrace, size: usize) -> Self {
        let times = (0..trace.len() / size).map(|at| trace.time(at * size, size)).collect();
        Self { trace, size, times }
    }

    /// The median of those of the minutes around this chunk.
    fn truth(&self, chunk: usize) -> f64 {
        let (from, to) = self.trace.around(self.trace.sums[chunk]);
        median(&self.times[from / self.size..to / self.size]).unwrap_or(f64::NAN)
    }
}

/// The result of a session.
struct TraceSession {
    interval: Interval,
    units: Vec<f64>,
    seconds: f64,
}

impl TraceSession {
    /// The chunk in its middle, where it began at this one.
    fn middle(&self, trace: &ChunkTrace, from: usize) -> usize {
        let moment = trace.sums[from] + 0.5 * self.seconds;
        trace.chunk_at(moment)
    }
}

/// An interval and what it should hold.
struct IntervalClaim {
    interval: Interval,
    truth: f64,
}

impl Mode {
    /// Chunks of one value.
    fn value(self) -> usize {
        match self {
            Self::Command { chunks, .. } | Self::DefaultCommand { chunks } => chunks,
            Self::Point | Self::DefaultPoint | Self::Interleaved { .. } => SAMPLE,
            Self::Stream { .. } => 1000,
        }
    }

    /// The most chunks that a session takes.
    fn longest(self) -> usize {
        match self {
            Self::Command { .. } | Self::DefaultCommand { .. } => LONGEST,
            Self::Point | Self::DefaultPoint => LONGEST,
            Self::Interleaved { processes } => processes * ROUND,
            Self::Stream { seconds } => seconds * 1000,
        }
    }

    fn session(self, trace: &ChunkTrace, from: usize) -> Option<TraceSession> {
        match self {
            Self::Command { chunks, at_least } => {
                command(trace, from, chunks, SessionEnd::Narrow { at_least })
            }
            Self::DefaultCommand { chunks } => command(trace, from, chunks, SessionEnd::Default),
            Self::Point | Self::DefaultPoint => {
                let counts = looks(FIRST_LOOK).take_while(|look| look * PROCESS <= LONGEST);
                let end = match self {
                    Self::DefaultPoint => SessionEnd::Default,
                    _ => SessionEnd::Narrow { at_least: 0 },
                };
                processes(trace, from, PROCESS, (counts, end))
            }
            Self::Interleaved { processes: count } => {
                let end = SessionEnd::Narrow { at_least: 0 };
                processes(trace, from, ROUND, (std::iter::once(count), end))
            }
            Self::Stream { seconds } => {
                let units: Vec<f64> =
                    (0..seconds).map(|at| trace.time(from + at * 1000, 1000)).collect();
                let interval = serial_quantile(&units, 0.5, CONFIDENCE).ok()?.interval;
                Some(TraceSession { interval, units, seconds: trace.time(from, seconds * 1000) })
            }
        }
    }
}

/// When a session ends.
#[derive(Debug, Clone, Copy)]
enum SessionEnd {
    /// Once the interval is narrow enough, after at least so many chunks.
    Narrow { at_least: usize },
    /// As if nobody says how long or how precise.
    Default,
}

impl SessionEnd {
    /// Whether it is now, after so many chunks and seconds.
    fn is_now(self, narrow: bool, chunks: usize, seconds: f64, beside: bool) -> bool {
        match self {
            Self::Narrow { at_least } => narrow && chunks >= at_least,
            Self::Default => {
                let (least_s, most_s) = default_length_s(beside);
                (narrow && seconds >= least_s) || most_s.is_some_and(|most_s| seconds >= most_s)
            }
        }
    }
}

/// Runs of a command until the session ends, or a minute is over.
fn command(
    trace: &ChunkTrace,
    from: usize,
    chunks: usize,
    end: SessionEnd,
) -> Option<TraceSession> {
    let mut last = None;
    for look in looks(FIRST_LOOK_SINGLE).take_while(|look| look * chunks <= LONGEST) {
        let units: Vec<f64> = (0..look).map(|at| trace.time(from + at * chunks, chunks)).collect();
        let views: Vec<&[f64]> = units.chunks(1).collect();
        let Ok(found) = clustered(&views, 0.5, PER_LOOK_LEVEL) else { continue };
        let narrow = found.resolved && found.interval.relative_half_width() <= DEFAULT_PRECISION;
        let seconds = trace.time(from, look * chunks);
        // A session that runs out of time shows its last interval, however wide.
        last = Some(TraceSession { interval: found.interval, units, seconds });
        if end.is_now(narrow, look * chunks, seconds, trace.beside) {
            break;
        }
    }
    last
}

/// Processes until the session ends, or no more are asked for.
fn processes(
    trace: &ChunkTrace,
    from: usize,
    apart: usize,
    (counts, end): (impl Iterator<Item = usize>, SessionEnd),
) -> Option<TraceSession> {
    let mut last = None;
    for count in counts {
        let all: Vec<Vec<f64>> =
            (0..count).map(|process| trace.samples(from + process * apart)).collect();
        let views: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
        let Ok(found) = clustered(&views, 0.5, PER_LOOK_LEVEL) else { continue };
        let narrow = found.resolved && found.interval.relative_half_width() <= DEFAULT_PRECISION;
        let units = views.iter().filter_map(|samples| median(samples)).collect();
        let seconds = trace.time(from, (count - 1) * apart + PROCESS.min(apart));
        last = Some(TraceSession { interval: found.interval, units, seconds });
        if end.is_now(narrow, count * apart, seconds, trace.beside) {
            break;
        }
    }
    last
}

/// How often intervals of sessions hold the median of the whole trace.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let sessions = replications.min(SESSIONS);
    let mut rows = Vec::new();
    for (name, beside, bytes) in TRACES {
        let trace = ChunkTrace::of(bytes, beside);
        let mut keep = |row| rows.push(row);
        for (words, mode) in MODES {
            measure(&trace, mode, sessions, &format!("{words}, {name}"), &mut keep);
        }
        longer::measure(&trace, replications, name, &mut keep);
        hyperfine(&trace, sessions, name, &mut keep);
    }
    wide_noise(replications, &mut |row| rows.push(row));
    // The report has a section for each promise.
    rows.sort_by_key(|row| row.promise);
    rows.into_iter().for_each(report);
}

/// Where sessions begin.
fn beginnings(trace: &ChunkTrace, longest: usize, sessions: u64) -> Vec<usize> {
    let mut rng = Rng::new(41);
    let room = trace.len().saturating_sub(longest + PROCESS) as f64;
    (0..sessions).map(|_| (rng.uniform() * room) as usize).collect()
}

fn measure(
    trace: &ChunkTrace,
    mode: Mode,
    sessions: u64,
    setting: &str,
    report: &mut dyn FnMut(ValidationRow),
) {
    if mode.longest() + PROCESS > trace.len() {
        return;
    }
    let pieces = Pieces::of(trace, mode.value());
    let mut session = Vec::new();
    let mut machine = Vec::new();
    let mut too_noisy = 0;
    let mut lengths = Vec::new();
    for from in beginnings(trace, mode.longest(), sessions) {
        let Some(found) = mode.session(trace, from) else { continue };
        let taken = Taken {
            units: &found.units,
            seconds: found.seconds,
            beside: trace.beside,
            is_series: matches!(mode, Mode::Stream { .. }),
        };
        let wider = interval_over(found.interval, taken, (CONFIDENCE, trace.horizon()));
        too_noisy += u64::from(matches!(wider, Some(Err(_))));
        let truth = pieces.truth(found.middle(trace, from));
        session.push(IntervalClaim { interval: found.interval, truth });
        let wider = wider.and_then(Result::ok);
        machine.extend(wider.map(|interval| IntervalClaim { interval, truth }));
        lengths.push(found.seconds);
    }
    if session.is_empty() {
        return;
    }
    let row = |promise, bar, found: &[IntervalClaim]| {
        let claimed = found.len() as f64 / session.len() as f64;
        let hits = found.iter().filter(|said| said.interval.contains(said.truth)).count() as u64;
        let widths: Vec<f64> = found
            .iter()
            .map(|said| (said.interval.high - said.interval.low) / 2.0 / said.truth)
            .collect();
        let width = median(&widths).unwrap_or(0.0);
        let length = median(&lengths).unwrap_or(0.0);
        ValidationRow {
            promise,
            setting: setting.to_owned(),
            bar,
            measured: BarSeries::Share { hits, trials: found.len() as u64 },
            note: format!(
                "±{:.1} % after {length:.1} s, reported share {claimed:.2}",
                100.0 * width
            ),
        }
    };
    report(row(
        "Recorded traces: the machine's interval contains the median over minutes",
        Bar::AtLeast(COVERAGE),
        &machine,
    ));
    report(row(
        "Recorded traces: the session's interval, which covers only the session",
        Bar::Exempt("it covers only the session"),
        &session,
    ));
    if matches!(mode, Mode::DefaultCommand { .. } | Mode::DefaultPoint) {
        default_sessions(trace, setting, (machine.len(), session.len()), &lengths, report);
    }
    let bar = match trace.beside {
        false => Bar::AtMost(TOO_NOISY_ALONE),
        true => Bar::Exempt("next to other work"),
    };
    report(ValidationRow {
        promise: TOO_NOISY,
        setting: setting.to_owned(),
        bar,
        measured: BarSeries::Share { hits: too_noisy, trials: session.len() as u64 },
        note: String::new(),
    });
}

/// How many of the sessions of default length got an interval of the machine, and how long they took.
fn default_sessions(
    trace: &ChunkTrace,
    setting: &str,
    (with, of): (usize, usize),
    lengths: &[f64],
    report: &mut dyn FnMut(ValidationRow),
) {
    let (share, length) = match trace.beside {
        true => (Bar::Exempt("next to other work"), Bar::Exempt("next to other work")),
        false => (Bar::AtLeast(WITH_INTERVAL), Bar::AtMost(LONGEST_MEDIAN_S)),
    };
    report(ValidationRow {
        promise: "Recorded traces: sessions of default length that get an interval of the machine",
        setting: setting.to_owned(),
        bar: share,
        measured: BarSeries::Share { hits: with as u64, trials: of as u64 },
        note: String::new(),
    });
    report(ValidationRow {
        promise: "Recorded traces: the median length of a session of default length, in seconds",
        setting: setting.to_owned(),
        bar: length,
        measured: BarSeries::Mean {
            mean: median(lengths).unwrap_or(f64::NAN),
            // Of a median of normal values.
            error: (FRAC_PI_2 * variance_of(lengths) / lengths.len() as f64).sqrt(),
        },
        note: String::new(),
    });
}

/// Sessions whose noise is slow and spans a factor of ten: no interval of them means anything.
fn wide_noise(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let mut rng = Rng::new(43);
    let mut hits = 0;
    for _ in 0..replications {
        let units: Vec<f64> = (0..8)
            .flat_map(|_| {
                let level = 10_f64.powf(rng.uniform());
                let block: Vec<f64> =
                    (0..10).map(|_| level * (0.05 * rng.normal()).exp()).collect();
                block
            })
            .collect();
        let views: Vec<&[f64]> = units.chunks(1).collect();
        let Ok(found) = clustered(&views, 0.5, PER_LOOK_LEVEL) else { continue };
        let taken = Taken { units: &units, seconds: 40.0, beside: false, is_series: false };
        let wider = interval_over(found.interval, taken, (CONFIDENCE, HORIZON_S));
        hits += u64::from(matches!(wider, Some(Err(_))));
    }
    report(ValidationRow {
        promise: TOO_NOISY,
        setting: "simulated: eight levels within a factor of ten, 5 s each".to_owned(),
        bar: Bar::AtLeast(TOO_NOISY_WIDE),
        measured: BarSeries::Share { hits, trials: replications },
        note: String::new(),
    });
}

/// hyperfine's result for ten runs and at least three seconds: mean and standard deviation.
fn hyperfine(trace: &ChunkTrace, sessions: u64, name: &str, report: &mut dyn FnMut(ValidationRow)) {
    let chunks = 30;
    let runs = 100;
    let pieces = Pieces::of(trace, chunks);
    let mut spread = 0;
    let mut error = 0;
    let from = beginnings(trace, LONGEST, sessions);
    for &from in &from {
        let truth = pieces.truth(from + runs * chunks / 2);
        let values: Vec<f64> = (0..runs).map(|at| trace.time(from + at * chunks, chunks)).collect();
        let mean = mean_of(&values);
        let sd = variance_of(&values).sqrt();
        spread += u64::from((mean - truth).abs() <= sd);
        error += u64::from((mean - truth).abs() <= 1.96 * sd / (runs as f64).sqrt());
    }
    let trials = from.len() as u64;
    for (what, hits) in [("mean ± σ (hyperfine)", spread), ("mean ± 1.96 σ/√n", error)] {
        report(ValidationRow {
            promise: "Recorded traces: values printed by other tools",
            setting: format!("{what} of 100 runs of 30 ms, {name}"),
            bar: Bar::Exempt("for comparison"),
            measured: BarSeries::Share { hits, trials },
            note: String::new(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{ChunkTrace, Pieces, TRACES, run};
    use crate::bars::Bar;

    #[test]
    fn a_trace_is_milliseconds_of_minutes() {
        for ((name, beside, bytes), seconds) in
            TRACES.into_iter().zip([265.0, 130.0, 597.0, 560.0, 900.0, 560.0, 1300.0, 720.0])
        {
            let trace = ChunkTrace::of(bytes, beside);
            assert!((trace.seconds() / seconds - 1.0).abs() < 0.15, "{name}: {}", trace.seconds());
            let truth = Pieces::of(&trace, 30).truth(trace.len() / 2);
            assert!((0.02..0.05).contains(&truth), "{name}: {truth}");
        }
    }

    #[test]
    fn ten_minutes_lie_around_a_moment_as_far_as_the_trace_goes() {
        let trace = ChunkTrace { sums: (0..=1000).map(f64::from).collect(), beside: false };
        assert_eq!(trace.around(500.0), (200, 800));
        assert_eq!(trace.around(10.0), (0, 600));
        assert_eq!(trace.around(990.0), (400, 1000));
        let short = ChunkTrace { sums: (0..=100).map(f64::from).collect(), beside: false };
        assert_eq!(short.around(5.0), (0, 100));
    }

    #[test]
    fn the_machines_interval_holds_where_the_sessions_does_not() {
        let mut promised = 0;
        let mut low = 0;
        // Few replications: the quick run of all bars asks whether these are cleared.
        run(12, &mut |row| match row.bar {
            Bar::AtLeast(_) => promised += 1,
            _ => low += usize::from(row.measured.value() < 0.8),
        });
        assert!(promised > 56 && low > 4, "{promised}, {low}");
    }
}
