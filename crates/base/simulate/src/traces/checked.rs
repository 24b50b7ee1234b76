//! Checks replayed on recordings of machines that did not change: windows that do not overlap, each with the runs of a
//! baseline, a screening run, and after a pause a session of runs that confirm.

use super::trace::ChunkTrace;
use super::{Pieces, TRACES};
use crate::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::audit::share_interval;
use plumb_stats::describe::{mean_of, median};
use plumb_stats::regression_gate::{CONFIRM_ALPHA, CONFIRM_RUNS, RegressionGate};

/// Runs of a baseline.
const RUNS: usize = 8;
/// Chunks of the command that is measured: 30 ms.
const COMMAND: usize = 30;
/// Promised: no more checks confirm anything.
const FALSE_CONFIRMATIONS: f64 = 0.01;
/// A change that no noise between times of the recorded hosts reaches, and how often it must be found.
const LARGE: f64 = 0.5;
const FOUND: f64 = 0.9;

/// How long runs are, and the pause before the session.
#[derive(Debug, Clone, Copy)]
struct Replay {
    commands: usize,
    pause_s: f64,
    /// What the later runs cost more, relative.
    effect: f64,
    /// Whether the check allows for time.
    allows_for_time: bool,
}

const SHORT: Replay = Replay { commands: 33, pause_s: 10.0, effect: 0.0, allows_for_time: true };
const LONG: Replay = Replay { commands: 133, pause_s: 60.0, ..SHORT };

/// Runs the bars of this file.
pub(crate) fn run(report: &mut dyn FnMut(ValidationRow)) {
    for replay in [SHORT, LONG] {
        for beside in [false, true] {
            report(replay.row(beside, Bar::AtMost(FALSE_CONFIRMATIONS)));
            let not_allowed_for = Replay { allows_for_time: false, ..replay };
            report(not_allowed_for.row(beside, Bar::Exempt("shows why time must be allowed for")));
        }
    }
    for replay in [SHORT, LONG] {
        for beside in [false, true] {
            // The bar was .9 here, too; the other work makes runs differ by as much as the change.
            let bar = match beside {
                true => Bar::Exempt("missed 0.9: other work hides half of such changes"),
                false => Bar::AtLeast(FOUND),
            };
            report(Replay { effect: LARGE, ..replay }.row(beside, bar));
        }
    }
}

impl Replay {
    /// All windows of the recordings of machines alone, or next to other work.
    fn row(self, beside: bool, bar: Bar) -> ValidationRow {
        let mut hits = 0;
        let mut trials = 0;
        for (_, is_beside, bytes) in TRACES {
            if is_beside != beside {
                continue;
            }
            let trace = ChunkTrace::of(bytes, beside);
            let pieces = Pieces::of(&trace, COMMAND);
            let mut from = 0;
            while let Some((has_confirmed, next)) = self.window(&pieces, from) {
                trials += 1;
                hits += u64::from(has_confirmed);
                from = next;
            }
        }
        let exact = share_interval(hits, trials, 0.95);
        let note = exact.map_or_else(
            |why| why.to_string(),
            |exact| {
                format!("{hits} of {trials}, exact interval {:.3} to {:.3}", exact.low, exact.high)
            },
        );
        ValidationRow {
            promise: match self.effect > 0.0 {
                true => "Recorded traces: a change that a check confirms",
                false => "Recorded traces: changes that a check confirms although nothing changed",
            },
            setting: self.name(beside),
            bar,
            measured: BarSeries::Share { hits, trials },
            note,
        }
    }

    fn name(self, beside: bool) -> String {
        let where_to = if beside { "next to other work" } else { "alone" };
        let length = if self.commands == SHORT.commands { "1 s" } else { "4 s" };
        let change =
            if self.effect > 0.0 { format!("{} %, ", 100.0 * self.effect) } else { String::new() };
        let time = if self.allows_for_time { "" } else { ", time not allowed for" };
        let pause = self.pause_s;
        format!("{change}runs of {length}, confirmed {pause} s later, {where_to}{time}")
    }

    /// Whether a check whose baseline begins with this piece confirms a change, and the piece after its last; None if the
    /// recording ends before.
    fn window(self, pieces: &Pieces, from: usize) -> Option<(bool, usize)> {
        let began_s = |run: usize| pieces.trace.sums[(from + run * self.commands) * COMMAND];
        let screened = from + RUNS * self.commands;
        let paused = screened + self.commands;
        if paused >= pieces.times.len() {
            return None;
        }
        let resumed_s = pieces.trace.sums[paused * COMMAND] + self.pause_s;
        let session = pieces.trace.chunk_at(resumed_s).div_ceil(COMMAND);
        let end = session + CONFIRM_RUNS * self.commands;
        if end > pieces.times.len() {
            return None;
        }
        let cost = |begin: usize| -> Option<f64> {
            Some(median(&pieces.times[begin..begin + self.commands])?.ln())
        };
        let baseline: Vec<f64> =
            (0..RUNS).map(|run| cost(from + run * self.commands)).collect::<Option<_>>()?;
        let gate = RegressionGate::new(&[&baseline]).ok()?;
        let span_s = began_s(RUNS - 1) - began_s(0);
        let age_s = began_s(RUNS) - began_s(0) - 0.5 * span_s;
        let gate = if self.allows_for_time { gate.after(span_s, age_s) } else { gate };
        let slower = self.effect.ln_1p();
        let screen = gate.shift(0, &[cost(screened)? + slower]).ok()?;
        let runs: Vec<f64> = (0..CONFIRM_RUNS)
            .map(|run| cost(session + run * self.commands))
            .collect::<Option<_>>()?;
        let again = gate.shift_of_sessions(0, &[mean_of(&runs) + slower], self.pause_s).ok()?;
        let is_undecided = gate.could_be_the_time(0, &screen) || gate.could_be_the_time(0, &again);
        let has_confirmed = screen.is_flagged()
            && !is_undecided
            && !gate.confirm(&[(0, again)], CONFIRM_ALPHA).is_empty();
        Some((has_confirmed, end))
    }
}

#[cfg(test)]
mod tests {
    use super::{Pieces, SHORT};
    use crate::traces::trace::ChunkTrace;

    #[test]
    fn windows_do_not_overlap_and_end_with_the_trace() {
        // Chunks of a millisecond, for 60 s.
        let sums = (0..=60_000).map(|chunk| f64::from(chunk) * 1e-3).collect();
        let trace = ChunkTrace { sums, beside: false };
        let pieces = Pieces::of(&trace, 30);
        let mut from = 0;
        let mut ends = Vec::new();
        while let Some((has_confirmed, next)) = SHORT.window(&pieces, from) {
            assert!(!has_confirmed && next > from);
            ends.push(next);
            from = next;
        }
        // Twelve runs of 0.99 s and the pause of 10 s.
        assert_eq!(ends, [730, 1460]);
    }
}
