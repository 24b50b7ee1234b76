//! What is told of a run under way: documents for the page, whole or since a message.

use plumb_analysis::{Ends, Estimate};
use plumb_chart::Chart;
use plumb_model::{Flag, RunStatus};
use plumb_text::clean;
use plumb_text::time::rfc3339;
use plumb_units::length;
use serde::Serialize;

use crate::progress::{ProgressPoint, ProgressRatio, ProgressState};
use crate::terminal::{progress_line, standing};
use crate::view::{Live, LivePointState, Versioned};
use plumb_report::figure;

/// Name of the form of a message.
pub const LIVE_SCHEMA: &str = "plumb.live/1";

/// A message about a run under way: all of it, or all that changed since an earlier message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.live/1"))]
pub struct LiveDocument {
    /// The name of this form, always `plumb.live/1`.
    #[cfg_attr(test, schemars(extend("const" = LIVE_SCHEMA)))]
    pub schema: &'static str,
    /// The run's UUIDv7.
    pub run: String,
    /// Wall-clock start (RFC 3339).
    pub started: String,
    /// Rises from message to message.
    pub number: u64,
    /// Whether everything is in it. Else points, charts and lines of the log that have not changed since
    /// the message before are left out, and replace those of the same index or id.
    pub whole: bool,
    /// `running`, `complete` or `interrupted`; after the latter two nothing comes.
    #[cfg_attr(test, schemars(extend("enum" = ["running", "complete", "interrupted"])))]
    pub status: &'static str,
    /// Whether more may come.
    #[serde(skip)]
    pub is_running: bool,
    /// How far it is, in one line.
    pub says: String,
    /// Seconds since its start.
    pub elapsed: f64,
    /// Seconds that it is expected to need still; null if no prediction is sound.
    pub remaining: Option<f64>,
    /// Seconds that it has in all; null without a limit.
    pub budget: Option<f64>,
    /// Index of the point that is measured now.
    pub current: Option<usize>,
    /// Number of planned points.
    pub points_planned: usize,
    /// Number of those that still need data.
    pub points_open: usize,
    /// The points, by index.
    pub points: Vec<LivePoint>,
    /// The charts (`plumb.chart/1`), by id.
    pub charts: Vec<Chart>,
    /// Lines of the log, in order; to be added to those before.
    pub log: Vec<LiveLine>,
}

/// A point of a run under way.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LivePoint {
    /// Its index in the plan.
    pub index: usize,
    /// The name for people.
    pub name: String,
    /// The workload's id.
    pub workload: String,
    /// The estimate in the metric's unit; null before the first look, and if sides are compared.
    pub estimate: Option<f64>,
    /// Lower end of its interval; null when there is none.
    pub low: Option<f64>,
    /// Upper end of its interval; null when there is none.
    pub high: Option<f64>,
    /// Unit of the metric, without prefix.
    pub unit: String,
    /// The estimate with its interval, as people read it; empty when there is none.
    pub figure: String,
    /// Relative half-width of the interval; null when there is none.
    pub reached: Option<f64>,
    /// Relative half-width wanted; null when precision is not the goal.
    pub wanted: Option<f64>,
    /// How much of the way to that is behind it, from 0 to 1; null when unknown.
    pub share: Option<f64>,
    /// Both, or the comparison, as people read them.
    pub precision: String,
    /// How it compares with the first point; null if that is not the goal.
    pub compared: Option<LiveCompared>,
    /// Invocations that count.
    pub invocations: usize,
    /// Their steady samples.
    pub samples: usize,
    /// Invocations that something disturbed and that do not count.
    pub excluded: usize,
    /// Where it stands.
    #[cfg_attr(test, schemars(extend("enum" =
        ["open", "done", "time is up", "inconclusive", "failed", "not supported here"])))]
    pub state: &'static str,
    /// Whether it may still be measured.
    #[serde(skip)]
    pub is_open: bool,
    /// Why it ended, by the strategy's word, or why it can't be measured; null while it is open.
    pub stop: Option<String>,
    /// Reasons to distrust it, so far.
    pub flags: Vec<LiveFlag>,
}

/// A comparison with the first point under way.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LiveCompared {
    /// Cost over the first's cost: over 1 is slower.
    pub ratio: f64,
    /// Lower end; null when there is no interval yet.
    pub low: Option<f64>,
    /// Upper end; null when there is no interval yet.
    pub high: Option<f64>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Pairs so far.
    pub pairs: usize,
    /// The verdict's word; null without a verdict so far.
    pub verdict: Option<String>,
}

/// A reason to distrust a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LiveFlag {
    /// The flag's word: `noisy`.
    pub flag: String,
    /// Its meaning; empty for a plug-in's own word.
    pub meaning: &'static str,
    /// What was seen.
    pub why: String,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LiveLine {
    /// Seconds since the run's start.
    pub at: f64,
    /// The line's text, without its time.
    pub text: String,
}

impl Live {
    /// Changes after the message with this number; everything after 0.
    #[must_use]
    pub fn since(&self, seen: u64) -> LiveDocument {
        // Each piece knows when it last changed, so a reader who missed ten messages gets each change once.
        let points =
            self.points.iter().enumerate().filter(|(_, point)| point.number > seen).filter_map(
                |(index, Versioned { value, .. })| {
                    Some(point(index, value, self.progress.points.get(index)?))
                },
            );
        let charts = self.charts.iter().filter(|chart| chart.number > seen);
        let log = self.log.iter().filter(|line| line.number > seen);
        LiveDocument {
            schema: LIVE_SCHEMA,
            run: self.run.to_string(),
            started: rfc3339(self.started_unix_ns),
            number: self.number,
            whole: seen == 0,
            status: self.status.word(),
            is_running: self.status == RunStatus::Running,
            says: self.says(),
            elapsed: self.progress.elapsed.as_secs_f64(),
            remaining: self.progress.remaining.map(|time| time.as_secs_f64()),
            budget: self.progress.budget.map(|time| time.as_secs_f64()),
            current: self.progress.current,
            points_planned: self.points.len(),
            points_open: self.open(),
            points: points.collect(),
            charts: charts.map(|chart| chart.value.clone()).collect(),
            log: log.map(|Versioned { value: (at_ns, text), .. }| line(*at_ns, text)).collect(),
        }
    }

    /// How far it is, in one line.
    fn says(&self) -> String {
        if !self.is_over() {
            return progress_line(&self.progress);
        }
        let planned = self.points.len();
        let open = self.open();
        let took = length(self.progress.elapsed.as_secs_f64());
        let status = self.status.word();
        format!("{status} after {took}: {} of {planned} points finished", planned - open)
    }
}

#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53")]
fn line(at_ns: u64, text: &str) -> LiveLine {
    LiveLine { at: at_ns as f64 * 1e-9, text: clean(text) }
}

fn point(index: usize, known: &LivePointState, progress: &ProgressPoint) -> LivePoint {
    let (low, high) = known.ends.map_or((None, None), |(low, high)| (Some(low), Some(high)));
    LivePoint {
        index,
        name: clean(&progress.name),
        workload: clean(&known.workload),
        estimate: known.estimate,
        low,
        high,
        unit: clean(&known.unit),
        figure: known.estimate.map_or_else(String::new, |value| written(value, known)),
        reached: progress.reached.filter(|precision| precision.is_finite()),
        wanted: progress.wanted,
        share: progress.share(),
        // Without the state's word, which stands in its own column on the page.
        precision: standing(&ProgressPoint { state: Default::default(), ..progress.clone() }),
        compared: progress.compared.map(|ratio| compared(&ratio, known)),
        invocations: known.invocations,
        samples: known.samples,
        excluded: known.excluded,
        state: progress.state.name(),
        is_open: progress.state == ProgressState::Open,
        stop: known.stop.as_deref().map(clean),
        flags: known.flags.iter().map(flag).collect(),
    }
}

fn written(value: f64, known: &LivePointState) -> String {
    let interval = known.ends.map(|(low, high)| Ends { low, high }).ok_or_else(String::new);
    let shown = figure(&Estimate { value, interval }, &known.unit);
    match known.ends {
        Some(_) => clean(&shown.to_string()),
        None => clean(&format!("{} (no interval yet)", shown.quantity())),
    }
}

fn compared(ratio: &ProgressRatio, known: &LivePointState) -> LiveCompared {
    // JSON has no infinity: an open end is null.
    LiveCompared {
        ratio: ratio.ratio,
        low: ratio.ends.map(|(low, _)| low).filter(|low| low.is_finite()),
        high: ratio.ends.map(|(_, high)| high).filter(|high| high.is_finite()),
        margin: ratio.margin,
        pairs: ratio.pairs,
        verdict: known.verdict.map(|verdict| verdict.word().to_owned()),
    }
}

fn flag(flag: &Flag) -> LiveFlag {
    LiveFlag { flag: clean(flag.flag.word()), meaning: flag.flag.meaning(), why: clean(&flag.why) }
}
