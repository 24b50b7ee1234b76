//! `plumb.history/1`: the document for machines. Fields may be added, never changed.

use std::collections::BTreeMap;

use plumb_analysis::{CONFIDENCE, CycleFinding, HistoryFinding, HistoryStep, RecordedChange};
use plumb_model::SeriesInRun;
use plumb_text::time::rfc3339;
use serde::Serialize;

use crate::json_parts::text::pretty;

use crate::json_parts::estimate::{EstimatePart, estimate};

/// Name of the document's form.
pub const HISTORY_SCHEMA: &str = "plumb.history/1";

/// A history as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.history/1"))]
pub struct HistoryDocument {
    /// Name of the schema: `plumb.history/1`.
    #[cfg_attr(test, schemars(extend("const" = HISTORY_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// Name of the series.
    pub series: String,
    /// A name that a person gave the point.
    pub title: Option<String>,
    /// Unit of its values, an SI base unit.
    pub unit: String,
    /// Which direction is good.
    #[cfg_attr(test, schemars(extend("enum" = ["higher", "lower", "neither"])))]
    pub better: &'static str,
    /// The machines' fingerprints, in order of their first run.
    pub machines: Vec<String>,
    /// The host that it is of, with runs of unknown hosts; null if hosts are mixed.
    pub host: Option<String>,
    /// Runs of other hosts of this kind, which are left out.
    pub other_hosts: OtherHostsPart,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Level of the intervals.
    pub confidence: f64,
    /// The runs, oldest first.
    pub runs: Vec<HistoryRunPart>,
    /// Where something is recorded to have changed; nothing is compared across.
    pub splits: Vec<SplitPart>,
    /// Where costs changed; null if that is unknown.
    pub steps: Option<Vec<StepPart>>,
    /// Why steps is unknown.
    pub no_steps: Option<String>,
    /// Whether the time of measuring matters, if there are enough runs to ask.
    pub cycles: Vec<CyclePart>,
    /// Runs whose values are in another unit, which are left out.
    pub other_units: usize,
}

/// Runs of other hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OtherHostsPart {
    /// How many hosts.
    pub hosts: usize,
    /// How many runs.
    pub runs: usize,
}

/// One run of a history.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HistoryRunPart {
    /// Identity of the run, a UUIDv7.
    pub run: String,
    /// Its start, RFC 3339 in UTC.
    pub started: String,
    /// Labels that the user gave the run, value by name.
    pub labels: BTreeMap<String, String>,
    /// Which one of the machines of its kind measured it; null when that is unknown.
    pub host: Option<String>,
    /// The estimate with its interval.
    #[serde(flatten)]
    pub value: EstimatePart,
    /// Processes that it rests on.
    pub processes: usize,
    /// Steady samples that it rests on.
    pub samples: usize,
    /// By how much all series of the run moved together, relative in cost, which is taken out before steps are looked
    /// for; 0 if they did not, or that is not known.
    pub common_shift: f64,
}

/// Something that is recorded to have changed before a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SplitPart {
    /// Index of the first run after it.
    pub at: usize,
    /// The fields that changed.
    pub changes: Vec<ChangePart>,
}

/// A field with its values before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangePart {
    /// Name of the field.
    pub field: String,
    /// Its value before; `none` if it had none.
    pub from: String,
    /// Its value after; `none` if it has none.
    pub to: String,
}

/// A step of the costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepPart {
    /// Index of the first run after it.
    pub at: usize,
    /// Cost over the cost before: over 1 is slower.
    #[serde(flatten)]
    pub ratio: EstimatePart,
    /// Found by chance less than 1 time in 1000 and no smaller than the margin; else 1 time in 100.
    pub certain: bool,
}

/// Whether the time of measuring matters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CyclePart {
    /// The period of the cycle, in UTC.
    #[cfg_attr(test, schemars(extend("enum" = ["time of day", "weekday"])))]
    pub cycle: &'static str,
    /// The part that differs most from the others.
    pub part: &'static str,
    /// Its cost over that of the others; the interval allows for every part being asked.
    #[serde(flatten)]
    pub ratio: EstimatePart,
    /// Whether the interval excludes 1.
    pub differs: bool,
    /// Moments in that part; runs of six hours, or of a day, are one moment.
    pub moments: usize,
    /// Moments in the others.
    pub others: usize,
}

/// The history as a document.
#[must_use]
pub fn history_document(finding: &HistoryFinding) -> HistoryDocument {
    let common = finding.common.iter().chain(std::iter::repeat(&0.0));
    HistoryDocument {
        schema: HISTORY_SCHEMA,
        method: finding.method,
        series: finding.series.clone(),
        title: finding.title.clone(),
        unit: finding.unit.clone(),
        better: finding.better.word(),
        machines: finding.machines.clone(),
        host: finding.host.known().map(str::to_owned),
        other_hosts: OtherHostsPart {
            hosts: finding.other_hosts.hosts,
            runs: finding.other_hosts.runs,
        },
        margin: finding.margin,
        confidence: CONFIDENCE,
        runs: finding.runs.iter().zip(common).map(|(shown, common)| run(shown, *common)).collect(),
        splits: finding.splits.iter().map(split).collect(),
        steps: finding.steps.as_ref().ok().map(|steps| steps.iter().map(step).collect()),
        no_steps: finding.steps.as_ref().err().cloned(),
        cycles: finding.cycles.iter().map(cycle).collect(),
        other_units: finding.other_units,
    }
}

/// The document as text.
///
/// # Errors
/// When it can't be written as JSON.
pub fn history_json(finding: &HistoryFinding) -> serde_json::Result<String> {
    pretty(&history_document(finding))
}

fn run(run: &SeriesInRun, common_shift: f64) -> HistoryRunPart {
    HistoryRunPart {
        run: run.run.run.to_string(),
        started: rfc3339(run.run.started_unix_ns),
        labels: run.labels(),
        host: run.run.host().known().map(str::to_owned),
        value: estimate(&run.estimate),
        processes: run.process_medians.len(),
        samples: run.samples,
        common_shift,
    }
}

fn split(split: &RecordedChange) -> SplitPart {
    let change = |(field, from, to): &(String, String, String)| ChangePart {
        field: field.clone(),
        from: from.clone(),
        to: to.clone(),
    };
    SplitPart { at: split.at, changes: split.changes.iter().map(change).collect() }
}

fn step(step: &HistoryStep) -> StepPart {
    StepPart { at: step.at, ratio: estimate(&step.ratio), certain: step.certain }
}

fn cycle(cycle: &CycleFinding) -> CyclePart {
    CyclePart {
        cycle: cycle.cycle.words(),
        part: cycle.part,
        ratio: estimate(&cycle.ratio),
        differs: cycle.differs,
        moments: cycle.moments,
        others: cycle.others,
    }
}
