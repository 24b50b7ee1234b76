//! `plumb.run/1`: the document for machines. Fields may be added, never changed.

use std::collections::BTreeMap;

use plumb_analysis::{
    AcceptedFailures, BaselineSource, ExpectationVerdict, FailedInvocations, Finding, GateFinding,
    Pauses, ResultEnergy, RightAnswers, ShareOfBaseline, Unsupported,
};
use plumb_model::{Flag, PreparationRecord, Prepared, SampleIs};
use plumb_text::time::rfc3339;
use serde::Serialize;

use crate::comparison::verdict::{VerdictPart, point_verdict_part};
use crate::comparison::{GatePart, gate_part};
use crate::json_parts::ended::{EndedPart, ended};
use crate::json_parts::estimate::{EstimatePart, estimate as estimate_part};
use crate::json_parts::text::pretty;

use crate::json_parts::point::{PointPart, ValuePart, place, settings};
use crate::json_parts::target::{TargetPart, target};
use crate::run::bottleneck_text::BottleneckPart;
use crate::run::burst::{BurstPart, burst_part};
use crate::run::interference::InterferencePart;
use crate::run::json_curves::{CurvePart, curve};
use crate::run::json_links::{LinkPart, link};
use crate::run::ladder_text::LadderPart;
use crate::run::levels::{LevelsPart, levels_part};
use crate::run::ranking::RankingPart;
use crate::run::since_last::{SinceLastPart, since_last_part};
use crate::run::start_ups::StartUpPart;
use crate::run::view::{ResultRow, View, no_baseline_text};

/// Name of the document's form.
pub const RUN_SCHEMA: &str = "plumb.run/1";

/// A run as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.run/1"))]
pub struct RunDocument {
    /// The name of this form, always `plumb.run/1`.
    #[cfg_attr(test, schemars(extend("const" = RUN_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// Identity, times, command line and labels of the run.
    pub run: RunPart,
    /// Where it was measured.
    pub targets: Vec<TargetPart>,
    /// A result for every point, metric and target.
    pub results: Vec<ResultPart>,
    /// The curves over a parameter.
    pub curves: Vec<CurvePart>,
    /// Rankings of points that differ in one parameter whose values have no order.
    pub rankings: Vec<RankingPart>,
    /// Shares of bandwidth and round trips in the time of points behind a link.
    pub links: Vec<LinkPart>,
    /// What limits points of which the parts were measured, too (`--ceilings`).
    pub bottlenecks: Vec<BottleneckPart>,
    /// Results next to parts of their work that were measured, too (`--ceilings`).
    pub ladders: Vec<LadderPart>,
    /// Whether the comparison works here, with its control sides (`ab --prove`); null without control sides.
    pub proof: Option<ProofPart>,
    /// What the starts of commands load (`exec --libraries`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub start_ups: Vec<StartUpPart>,
    /// The series that stand out since the last comparable run; null if there is none, or it was not looked for.
    pub since_last: Option<SinceLastPart>,
    /// The preparations, in order.
    pub preparations: Vec<PreparationPart>,
    /// Points that cannot be measured here.
    pub unsupported: Vec<UnsupportedPart>,
    /// The failures of the run.
    pub failed: Vec<FailedPart>,
    /// Points whose figures include runs that failed (`--ignore-failure`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_failures: Vec<AcceptedPart>,
    /// Points that were planned but not reached.
    pub not_reached: Vec<PointPart>,
    /// How often something else disturbed the run.
    pub interference: InterferencePart,
    /// Known answers that were checked, if none was wrong (`cpu.answers`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right_answers: Option<RightAnswersPart>,
    /// Reasons to distrust the whole run; each result carries them too.
    pub flags: Vec<FlagPart>,
}

/// Known answers that were all right.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RightAnswersPart {
    /// How many were checked.
    pub answers: f64,
    /// On how many CPUs.
    pub cpus: f64,
    /// The share of wrong answers of each CPU, to the inputs of this run, is below this (95 %, rule of three).
    pub largest_share_wrong: f64,
}

fn right_answers(right: RightAnswers) -> RightAnswersPart {
    RightAnswersPart {
        answers: right.answers,
        cpus: right.cpus,
        largest_share_wrong: right.largest_share_wrong(),
    }
}

/// The run itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunPart {
    /// The run's identity, a UUIDv7.
    pub id: String,
    /// Wall-clock start (RFC 3339, UTC).
    pub started: String,
    /// RFC 3339, UTC; null while it has no end.
    pub ended: Option<String>,
    /// `complete`, `interrupted` or `running`.
    #[cfg_attr(test, schemars(extend("enum" = ["complete", "interrupted", "running"])))]
    pub status: &'static str,
    /// The suite's name.
    pub suite: Option<String>,
    /// Labels that were given to the run, by name.
    pub labels: BTreeMap<String, String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Version of plumb that measured.
    pub plumb: String,
    /// The command line.
    pub command: Vec<String>,
    /// The target directory.
    pub dir: String,
    /// Loads that ran next to on purpose.
    pub loads: Vec<String>,
}

/// One metric of one point on one target.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ResultPart {
    /// Name of the series.
    pub series: String,
    /// The name of the point for people.
    pub name: String,
    /// The workload's id.
    pub workload: String,
    /// The workload's version.
    pub version: u32,
    /// Every parameter with its value.
    pub point: BTreeMap<String, ValuePart>,
    /// Labels of the point, which the run does not have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The metric's name, as the workload declares it.
    pub metric: String,
    /// Whether it is the metric that precision is about.
    pub primary: bool,
    /// Whether precision and scorecards are about it: the first metric, and those that are marked.
    pub headline: bool,
    /// Of a limit: what holds up to it (`p99 under 1 ms`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// An SI base unit.
    pub unit: String,
    /// `higher`, `lower` or `neither`.
    #[cfg_attr(test, schemars(extend("enum" = ["higher", "lower", "neither"])))]
    pub better: &'static str,
    /// The statistic that the estimate is of.
    pub statistic: String,
    /// The estimate, in `unit`.
    pub estimate: f64,
    /// Lower end of the interval of the session: of the seconds that were measured.
    pub low: Option<f64>,
    /// Upper end of the interval of the session.
    pub high: Option<f64>,
    /// Why no interval is shown. With `low` and `high`, the session has one, and is too noisy to describe the machine
    /// (`too noisy to say: …`).
    pub no_interval: Option<String>,
    /// Level of the interval.
    pub confidence: f64,
    /// Independent processes that count.
    pub invocations: usize,
    /// Steady samples of all these processes.
    pub samples: usize,
    /// Independent samples that they are worth.
    pub n_eff: Option<f64>,
    /// `iteration` or `process`.
    #[cfg_attr(test, schemars(extend("enum" = ["iteration", "process"])))]
    pub sample_is: &'static str,
    /// Class of most invocations' warm-up.
    pub warmup: String,
    /// Samples left out as warm-up.
    pub discarded: usize,
    /// Why sampling stopped.
    pub stop: Option<String>,
    /// Lower end of the interval that every other output shows: the machine's if the session says anything of that, else the
    /// session's; null without one, see `no_interval`.
    pub shown_low: Option<f64>,
    /// Upper end of the interval that every other output shows.
    pub shown_high: Option<f64>,
    /// Relative half-width of that interval, which is shown as ±.
    pub shown_half_width: Option<f64>,
    /// The subject of the shown interval: `machine` (over ten minutes) or `session` (the seconds that were measured).
    #[cfg_attr(test, schemars(extend("enum" = ["machine", "session"])))]
    pub shown_of: &'static str,
    /// Lower end of the interval of this machine over ten minutes; null if the session does not say, or is too noisy.
    pub machine_low: Option<f64>,
    /// Upper end of it.
    pub machine_high: Option<f64>,
    /// What the best quarter of the processes reaches (the lower quartile of costs), in `unit`; null for fewer than 13
    /// processes and for other metrics than the workload's first. Verdicts never use it.
    pub best_quarter: Option<EstimatePart>,
    /// CPU time of other processes in each run of a command, or each invocation of others, in seconds, if it is a cost next to that of the work itself: work
    /// that it may cause elsewhere; null if it is not, or not known.
    pub other_cpu: Option<EstimatePart>,
    /// Share of one CPU that the servers of plumb's own media used during the invocations; null if it is below a tenth or
    /// not known.
    pub media_cpu: Option<EstimatePart>,
    /// The energy that the CPU packages used; null if it was not asked for (`--energy`), and for other metrics than the
    /// workload's first.
    pub energy: Option<EnergyPart>,
    /// The two levels on which processes or samples lie; null where there is one, and for other metrics than the
    /// workload's first.
    pub levels: Option<LevelsPart>,
    /// The burst that ended; null if none did.
    pub burst: Option<BurstPart>,
    /// How long the session was that `low` and `high` speak of, in seconds.
    pub session_s: Option<f64>,
    /// Neighbours in time that make one independent unit.
    pub stretch: Option<usize>,
    /// The effect of pauses; null if the run has none (`exec --spread`).
    pub pauses: Option<PausesPart>,
    /// Seconds that the wanted precision would still have taken if the time was over first.
    pub needs_s: Option<f64>,
    /// Relative half-width of the session's interval.
    pub reached: Option<f64>,
    /// Relative half-width wanted.
    pub wanted: Option<f64>,
    /// Index into `targets`.
    pub target: usize,
    /// Shares of wall time.
    pub cpu: Option<CpuPart>,
    /// Peak of resident memory of a worker.
    pub peak_memory_bytes: Option<u64>,
    /// The clock; null is CLOCK_MONOTONIC.
    pub clock: Option<String>,
    /// Performance relative to the baseline, under 1 is worse; null without a baseline.
    pub of_baseline: Option<f64>,
    /// The subject of `of_baseline`; null without a baseline.
    pub baseline: Option<BaselinePart>,
    /// Why there is no baseline; null with one.
    pub no_baseline: Option<String>,
    /// Whether nobody asked for the point: it was measured to show the ceiling, or a part, of another.
    pub is_ceiling: bool,
    /// Comparison with the run's first point, if the plan asks for it.
    pub against_first: Vec<VerdictPart>,
    /// Comparison with the point above, from the third point on, if the plan asks for it.
    pub against_above: Vec<VerdictPart>,
    /// Median of every process, in order.
    pub process_medians: Vec<f64>,
    /// Versions of the components that do the work.
    pub versions: BTreeMap<String, String>,
    /// The workload's remarks.
    pub notes: Vec<String>,
    /// Reasons to distrust it.
    pub flags: Vec<FlagPart>,
}

/// The energy of a result, or why it has none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EnergyPart {
    /// Mean power during the invocations, in watts.
    pub power_w: Option<EstimatePart>,
    /// Power of the idle machine, in watts.
    pub idle_w: Option<f64>,
    /// Energy of a unit of work, in `unit`.
    pub per_work: Option<EstimatePart>,
    /// The same without the energy of the idle machine, in `unit`.
    pub net_per_work: Option<EstimatePart>,
    /// `J/op`, `J/B`, or `J` for one iteration or one run of a command.
    pub unit: Option<String>,
    /// Why there is no figure.
    pub missing: Option<String>,
}

/// The energy of a result, or why it has none.
fn energy(energy: &Result<ResultEnergy, String>) -> EnergyPart {
    let found = energy.as_ref().ok();
    EnergyPart {
        power_w: found.map(|found| estimate_part(&found.power)),
        idle_w: found.map(|found| found.idle_w),
        per_work: found.map(|found| estimate_part(&found.per_work)),
        net_per_work: found.map(|found| estimate_part(&found.net_per_work)),
        unit: found.map(|found| found.unit.clone()),
        missing: energy.as_ref().err().cloned(),
    }
}

/// Invocations right after a pause next to those right after them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PausesPart {
    /// Median length of a pause, in seconds.
    pub length_s: f64,
    /// The metric's value right after a pause over the next invocation's.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Whether the two are equivalent, within the wanted precision or 1 %.
    pub equivalent: bool,
    /// Pauses that it rests on.
    pub pairs: usize,
    /// Invocations right after a pause that do not count, because they are not like the others.
    pub left_out: usize,
}

/// Shares of wall time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CpuPart {
    /// CPU time in user mode.
    pub user: f64,
    /// CPU time in kernel mode.
    pub system: f64,
    /// Time that CPUs idled with I/O under way.
    pub iowait: f64,
}

/// A reason to distrust.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FlagPart {
    /// The flag's word: `noisy`.
    pub flag: String,
    /// The evidence: what was seen, with its figures.
    pub why: String,
}

/// The expected value of a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BaselinePart {
    /// Who says so.
    #[cfg_attr(test, schemars(extend("enum" = ["expectation", "reference", "ceiling", "limit", "hardware", "earlier-runs"])))]
    pub source: &'static str,
    /// The point that gives the ceiling.
    pub point: Option<String>,
    /// The name of the reference, of the microarchitecture, or of the part of the hardware that limits it.
    pub reference: Option<String>,
    /// The number of earlier runs on this machine.
    pub runs: Option<usize>,
    /// The figure, in the metric's unit; of earlier runs their median.
    pub value: f64,
    /// The worst value that is as expected: `value`, or the worst run of the reference or of this machine.
    pub worst: f64,
    /// Lower end of the interval of `of_baseline`.
    pub low: Option<f64>,
    /// Upper end of the interval of `of_baseline`.
    pub high: Option<f64>,
    /// Whether the whole interval is as good as expected, or worse; null for a ceiling and for earlier runs.
    #[cfg_attr(test, schemars(extend("enum" = ["reached", "below", "undecided", null])))]
    pub verdict: Option<&'static str>,
}

/// A point that can't be measured here.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnsupportedPart {
    /// The point, with its workload and parameters.
    #[serde(flatten)]
    pub place: PointPart,
    /// The missing thing.
    pub why: String,
    /// The fix of the problem.
    pub fix: String,
}

/// A preparation that was made.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PreparationPart {
    /// The knob, or the plug-in.
    pub setting: String,
    /// The value before; empty if there was none.
    pub was: String,
    /// The value after, or what came of it.
    pub became: String,
    /// The stretch of the run, from 0.
    pub segment: u32,
    /// When, since the start of the stretch, in nanoseconds.
    pub at_ns: u64,
    /// When it was undone; null if there was nothing to undo, or if plumb's keeper did it after the
    /// run was cut off.
    pub restored_ns: Option<u64>,
}

fn preparation(record: &PreparationRecord) -> PreparationPart {
    let Prepared { setting, was, became } = record.prepared.clone();
    PreparationPart {
        setting,
        was,
        became,
        segment: record.segment,
        at_ns: record.at_ns,
        restored_ns: record.restored_at_ns,
    }
}

/// Invocations that failed for one reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FailedPart {
    /// The point, with its workload and parameters.
    #[serde(flatten)]
    pub place: PointPart,
    /// The failures of the run.
    pub why: String,
    /// How many invocations failed so.
    pub times: usize,
    /// How many invocations of the point were started.
    pub of: usize,
    /// The last lines that the last of them wrote to stderr.
    pub log: String,
}

/// The proof of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProofPart {
    /// What the gate decides.
    #[cfg_attr(test, schemars(extend("enum" = ["regression", "not confirmed", "no regression", "inconclusive", "abstained"])))]
    pub outcome: &'static str,
    /// What was measured of the control sides.
    #[serde(flatten)]
    pub controls: GatePart,
    /// The later side on fresh pairs; null if it did not look slower.
    pub confirmation: Option<VerdictPart>,
}

fn proof_part(gate: &GateFinding) -> ProofPart {
    ProofPart {
        outcome: gate.outcome().word(),
        controls: gate_part(gate),
        confirmation: gate.confirmation.as_ref().map(point_verdict_part),
    }
}

/// A point whose figures include runs that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AcceptedPart {
    /// The point, with its workload and parameters.
    #[serde(flatten)]
    pub place: PointPart,
    /// How its runs ended, those that succeeded included.
    pub ended: Vec<EndedPart>,
}

/// The document of a view.
#[must_use]
pub fn document(view: &View) -> RunDocument {
    let finding = view.finding;
    RunDocument {
        schema: RUN_SCHEMA,
        method: finding.method,
        run: run(view),
        targets: finding.targets.iter().map(target).collect(),
        results: view.rows.iter().map(result).collect(),
        curves: finding.curves.iter().map(|found| curve(found, &finding.results)).collect(),
        rankings: finding.rankings.iter().map(RankingPart::of).collect(),
        links: finding.links.iter().map(|found| link(found, &finding.results)).collect(),
        bottlenecks: finding
            .bottlenecks
            .iter()
            .map(|found| BottleneckPart::of(found, &finding.results))
            .collect(),
        ladders: finding
            .ladders
            .iter()
            .map(|ladder| LadderPart::of(ladder, &finding.results))
            .collect(),
        proof: finding.proof.as_ref().map(proof_part),
        start_ups: finding.start_ups.iter().map(StartUpPart::of).collect(),
        since_last: since_last_part(view.finding),
        preparations: finding.run.preparations.iter().map(preparation).collect(),
        unsupported: finding.unsupported.iter().map(unsupported).collect(),
        failed: finding.failed.iter().map(failed).collect(),
        accepted_failures: finding.accepted_failures.iter().map(accepted).collect(),
        not_reached: finding.not_reached.iter().map(place).collect(),
        interference: InterferencePart::of(&finding.interference),
        right_answers: finding.right_answers.map(right_answers),
        flags: finding.flags.iter().map(flag).collect(),
    }
}

/// The document of a view as text, indented, with a line break at its end.
///
/// # Errors
/// Never for a document of this form; the signature is that of the writer.
pub fn json(view: &View) -> serde_json::Result<String> {
    pretty(&document(view))
}

fn run(view: &View) -> RunPart {
    let run = &view.finding.run;
    RunPart {
        id: run.id.to_string(),
        started: rfc3339(run.started_unix_ns),
        ended: run.ended_unix_ns.map(rfc3339),
        status: run.status.word(),
        suite: run.suite.clone(),
        labels: run.labels.clone(),
        seed: run.seed,
        plumb: run.plumb.clone(),
        command: run.command.clone(),
        dir: run.dir.clone(),
        loads: run.loads.clone(),
    }
}

fn result(row: &ResultRow) -> ResultPart {
    let Finding { point, estimate, .. } = row.finding;
    // Cloned once and taken apart: nearly every field goes into the document.
    let finding = row.finding.clone();
    let shown = finding.shown();
    let machine = finding.machine_ends();
    ResultPart {
        series: finding.series,
        name: point.name.clone(),
        workload: point.workload.clone(),
        version: point.version,
        point: settings(point),
        labels: point.labels.clone(),
        metric: finding.metric,
        primary: finding.primary,
        headline: finding.headline,
        goal: finding.goal,
        unit: finding.unit,
        better: finding.better.word(),
        statistic: finding.statistic,
        estimate: estimate.value,
        low: estimate.low(),
        high: estimate.high(),
        no_interval: shown.interval.clone().err(),
        confidence: finding.confidence,
        invocations: finding.invocations,
        samples: finding.samples,
        n_eff: finding.n_eff,
        sample_is: sample_is(finding.sample_is),
        warmup: finding.warmup,
        discarded: finding.discarded,
        stop: finding.stop.map(|stop| stop.word().to_owned()),
        shown_low: shown.low(),
        shown_high: shown.high(),
        shown_half_width: shown.relative_half_width(),
        shown_of: if finding.machine.is_some() { "machine" } else { "session" },
        machine_low: machine.map(|ends| ends.low),
        machine_high: machine.map(|ends| ends.high),
        best_quarter: finding.best_quarter.as_ref().map(estimate_part),
        other_cpu: finding.other_cpu.as_ref().map(estimate_part),
        media_cpu: finding.media_cpu.as_ref().map(estimate_part),
        energy: finding.energy.as_ref().map(energy),
        levels: finding.levels.as_ref().map(levels_part),
        burst: finding.burst.as_ref().map(burst_part),
        session_s: finding.session_s,
        stretch: finding.stretch,
        pauses: finding.pauses.as_ref().map(pauses),
        needs_s: finding.needs_s,
        reached: finding.reached,
        wanted: finding.wanted,
        target: finding.target,
        cpu: finding.cpu.map(|c| CpuPart { user: c.user, system: c.system, iowait: c.iowait }),
        peak_memory_bytes: finding.peak_memory_bytes,
        clock: finding.clock.map(|clock| clock.id),
        of_baseline: finding.of_baseline.as_ref().ok().map(|baseline| baseline.share.value),
        baseline: finding.of_baseline.as_ref().ok().map(baseline),
        no_baseline: finding.of_baseline.as_ref().err().map(no_baseline_text),
        is_ceiling: finding.point.is_ceiling,
        against_first: row.against_first.into_iter().map(point_verdict_part).collect(),
        against_above: row.against_above.into_iter().map(point_verdict_part).collect(),
        process_medians: finding.process_medians,
        versions: finding.versions,
        notes: finding.notes,
        flags: finding.flags.iter().map(flag).collect(),
    }
}

fn pauses(found: &Pauses) -> PausesPart {
    PausesPart {
        length_s: found.length_s,
        ratio: found.ratio.value,
        low: found.ratio.low(),
        high: found.ratio.high(),
        equivalent: found.equivalent,
        pairs: found.pairs,
        left_out: found.left_out,
    }
}

fn sample_is(sample_is: SampleIs) -> &'static str {
    match sample_is {
        SampleIs::Iteration => "iteration",
        SampleIs::Process => "process",
    }
}

fn flag(flag: &Flag) -> FlagPart {
    FlagPart { flag: flag.flag.word().to_owned(), why: flag.why.clone() }
}

fn baseline(of: &ShareOfBaseline) -> BaselinePart {
    let (point, reference) = match &of.source {
        BaselineSource::Expectation | BaselineSource::EarlierRuns { .. } => (None, None),
        BaselineSource::Reference(name)
        | BaselineSource::Limit { name }
        | BaselineSource::Hardware { core: name, .. } => (None, Some(name.clone())),
        BaselineSource::Ceiling { point, .. } | BaselineSource::Rung { point, .. } => {
            (Some(point.clone()), None)
        }
    };
    BaselinePart {
        source: of.source.word(),
        runs: match &of.source {
            BaselineSource::EarlierRuns { runs, .. } => Some(*runs),
            _ => None,
        },
        point,
        reference,
        value: of.value,
        worst: of.worst,
        low: of.share.low(),
        high: of.share.high(),
        verdict: of.verdict.map(expectation_verdict),
    }
}

fn expectation_verdict(verdict: ExpectationVerdict) -> &'static str {
    match verdict {
        ExpectationVerdict::Reached => "reached",
        ExpectationVerdict::Below => "below",
        ExpectationVerdict::Undecided => "undecided",
    }
}

fn unsupported(missing: &Unsupported) -> UnsupportedPart {
    let place = place(&missing.point);
    UnsupportedPart { place, why: missing.why.clone(), fix: missing.fix.clone() }
}

fn accepted(accepted: &AcceptedFailures) -> AcceptedPart {
    AcceptedPart { place: place(&accepted.point), ended: ended(&accepted.ends) }
}

fn failed(failure: &FailedInvocations) -> FailedPart {
    FailedPart {
        place: place(&failure.point),
        why: failure.why.clone(),
        times: failure.times,
        of: failure.of,
        log: failure.log.clone(),
    }
}
