//! `plumb why`: what makes a workload or a command slow, found by removing one suspected cause at a time.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use plumb_analysis::{
    CandidateExperiment, CandidateFinding, CandidateOutcome, Estimate, Finding, LEAST_EFFECT,
    METHOD_VERSION, PointComparison, RunFinding, WhyFinding,
};
use plumb_causes::{CAUSES, Removal, Suspect, Suspicion};
use plumb_launch::may_have;
use plumb_model::{Confidence, Goal, Id, PlannedPoint, Sampling, VerdictGoal};
use plumb_report::{why_card, why_json};
use plumb_suite::{nearest, time_ns};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::measuring::execute::{StoredRun, complete, execute};
use crate::measuring::job::MeasuringJob;
use crate::measuring::setup::Setup;
use crate::measuring::target::{FilesPlace, TargetArgs, folders};
use crate::planning::arguments::ExecutionArgs;
use crate::planning::command::{self, TypedCommand};
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::{catalogue, knobs, points, prepare, shell_syntax};
use crate::ui::Ui;

/// Why is it slow? Remove suspected causes one at a time, and measure
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb why cpu.sieve                              a workload
  plumb why datastore.batch:engine=sqlite --dir /srv
  plumb why './report --all' --budget 5m           a command
  plumb why --json cpu.sieve
  plumb explain cause.cpu-quota                    what a cause is, and how it is removed

plumb inspects cgroup limits, priority, CPU affinity, frequency settings, huge pages, the environment and workload \
parameters for suspects. It removes them one at a time, and alternates modified with unmodified runs. A suspect is a \
cause if removing it makes the work more than 5 % faster (the whole confidence interval), confirmed on fresh pairs at \
99 %. Everything is restored afterwards. Without root, plumb tests what it can and lists the rest. A search takes at \
most three minutes unless you set --budget.

Exit codes: 0 if plumb found causes, or ruled out all suspects; 5 if it is undecided.")]
pub struct WhyArgs {
    /// A workload (`memory.copy:method=nt`), or a command as one argument
    #[arg(value_name = "WORKLOAD|COMMAND")]
    subject: String,
    /// Run the command with /bin/sh -c
    #[arg(long)]
    shell: bool,
    /// Accept a command that exits with a non-zero status
    #[arg(short, long)]
    ignore_failure: bool,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    execution: ExecutionArgs,
}

/// The time of all runs together if the user states none, in nanoseconds.
const DEFAULT_BUDGET_NS: u64 = 180_000_000_000;
/// The share of it for fresh pairs.
const SHARE_OF_FRESH_PAIRS: f64 = 0.4;
/// Why something was not tried that could have been.
const OUT_OF_TIME: &str = "out of time";
/// In less time nothing is measured.
const SHORTEST: Duration = Duration::from_secs(2);
/// Under a quota, a sample covers five of its periods, in nanoseconds. More of them would not fit the time.
const QUOTA_SAMPLE_NS: u64 = 500_000_000;

impl Subcommand for WhyArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        if !self.shell {
            shell_syntax::warn_of_text(&self.subject, shell_syntax::OPTION, context.ui);
        }
        let finding = why(self, context.store, context.ui)?;
        let ui = context.ui;
        if ui.wants_json() {
            ui.out(&why_json(&finding).map_err(|error| CommandError::bug(error.to_string()))?);
        } else {
            ui.out(&why_card(&finding, &ui.terminal()));
        }
        let is_answered = !finding.causes().is_empty() || !finding.is_undecided();
        Ok(if is_answered { Exit::Fine } else { Exit::Inconclusive })
    }
}

/// Something that may be the cause, and the point without it.
struct SuspectedCause {
    finding: CandidateFinding,
    /// Whether many healthy machines look the same.
    is_common: bool,
    /// None if plumb cannot remove it.
    without: Option<PlannedPoint>,
}

impl SuspectedCause {
    /// Whether it is, or looks like, a cause.
    fn is_cause(&self) -> bool {
        matches!(
            self.finding.experiment,
            CandidateExperiment::Measured { outcome: CandidateOutcome::Cause, .. }
        )
    }
}

/// Looks for causes, removes them, and confirms those that have an effect.
fn why(args: &WhyArgs, store: Option<&Path>, ui: &Ui) -> Result<WhyFinding> {
    let mut setup = Setup::start()?;
    setup.keep_to(&args.execution.prepare);
    let mut subject = subject(&mut setup, args)?;
    let mut candidates = candidates(&mut setup, &subject)?;
    if candidates.iter().any(|candidate| candidate.finding.way.contains("cpu-quota")) {
        // Within one period of a quota, a process first runs at full speed, and then not at all.
        let without = candidates.iter_mut().filter_map(|candidate| candidate.without.as_mut());
        for point in without.chain([&mut subject]) {
            point.sample_ns = point.sample_ns.max(Some(QUOTA_SAMPLE_NS));
            point.sampling = Some(Sampling::Batch { length_ns: QUOTA_SAMPLE_NS });
        }
    }
    drop(setup);
    let budget_ns = match &args.execution.budget {
        Some(budget) => time_ns(budget)?,
        None => DEFAULT_BUDGET_NS,
    };
    let mut search = Search {
        args,
        store,
        ui,
        begun: Instant::now(),
        budget: Duration::from_nanos(budget_ns),
        subject,
        candidates,
        runs: Vec::new(),
        result: None,
        together: None,
    };
    // What many healthy machines have, too, is tried last.
    for is_common in [false, true] {
        search.try_all(is_common)?;
    }
    Ok(search.finding())
}

/// A search for causes.
struct Search<'s> {
    args: &'s WhyArgs,
    store: Option<&'s Path>,
    ui: &'s Ui,
    begun: Instant,
    /// The time of all runs together.
    budget: Duration,
    /// The work as it is.
    subject: PlannedPoint,
    candidates: Vec<SuspectedCause>,
    /// The runs so far.
    runs: Vec<Id>,
    /// The result of the work as it is.
    result: Option<Estimate>,
    /// Cost without all causes, if there are several.
    together: Option<Estimate>,
}

impl Search<'_> {
    /// Removes these suspected causes one at a time, and confirms those that have an effect on fresh pairs.
    fn try_all(&mut self, is_common: bool) -> Result<()> {
        let tried = self
            .indices(|candidate| candidate.is_common == is_common && candidate.without.is_some());
        if tried.is_empty() {
            return Ok(());
        }
        if !self.indices(SuspectedCause::is_cause).is_empty() {
            for index in tried {
                self.candidates[index].finding.experiment = CandidateExperiment::NotNeeded;
            }
            return Ok(());
        }
        if self.rest() < SHORTEST {
            for index in tried {
                let why = OUT_OF_TIME.to_owned();
                self.candidates[index].finding.experiment = CandidateExperiment::NotTried(why);
            }
            return Ok(());
        }
        for &index in &tried {
            let CandidateFinding { cause, evidence, .. } = &self.candidates[index].finding;
            self.ui.say(&format!("suspected: {cause} ({evidence})"));
        }
        let measured = self.compared(&tried, 1.0 - SHARE_OF_FRESH_PAIRS, Confidence::NinetyFive)?;
        let results = &measured.finding.results;
        let as_it_is = results.iter().find(|result| result.primary && result.point.index == 0);
        self.result = as_it_is.map(Finding::shown);
        for (side, &index) in tried.iter().enumerate() {
            let experiment = experiment(&measured.finding, side + 1);
            self.candidates[index].finding.experiment = experiment;
        }
        self.confirm()
    }

    /// Measures what looks like a cause again, on fresh pairs; several causes also removed together.
    fn confirm(&mut self) -> Result<()> {
        let likely = self.indices(SuspectedCause::is_cause);
        if likely.is_empty() {
            return Ok(());
        }
        if self.rest() < SHORTEST {
            for index in likely {
                if let CandidateExperiment::Measured { outcome, .. } =
                    &mut self.candidates[index].finding.experiment
                {
                    *outcome = CandidateOutcome::Undecided;
                }
            }
            return Ok(());
        }
        self.ui.say("confirming on fresh pairs");
        let measured = self.compared(&likely, 1.0, Confidence::NinetyNine)?;
        for (side, &index) in likely.iter().enumerate() {
            let found = of_side(&measured.finding, side + 1);
            self.candidates[index].finding.experiment = CandidateExperiment::Measured {
                ratio: found.and_then(|found| found.found.ratio.clone()),
                outcome: found.map_or(CandidateOutcome::NotConfirmed, CandidateOutcome::after),
            };
        }
        // All were removed together: if one of them is no cause after all, that figure is of something else.
        let are_confirmed = likely.iter().all(|&index| self.candidates[index].is_cause());
        if likely.len() > 1 && are_confirmed {
            let together = of_side(&measured.finding, likely.len() + 1);
            self.together = together.and_then(|found| found.found.ratio.clone());
        }
        Ok(())
    }

    /// The time that is left.
    fn rest(&self) -> Duration {
        self.budget.saturating_sub(self.begun.elapsed())
    }

    fn indices(&self, of: impl Fn(&SuspectedCause) -> bool) -> Vec<usize> {
        (0..self.candidates.len()).filter(|&index| of(&self.candidates[index])).collect()
    }

    /// Measures the work as it is and without each of these causes in turns, for at most this share of the time that is
    /// left. Several likely causes are also removed together.
    fn compared(
        &mut self,
        candidates: &[usize],
        share_of_rest: f64,
        confidence: Confidence,
    ) -> Result<StoredRun> {
        let without: Vec<PlannedPoint> =
            candidates.iter().filter_map(|&index| self.candidates[index].without.clone()).collect();
        let mut sides = vec![self.subject.clone()];
        sides.extend(without.iter().cloned());
        if confidence == Confidence::NinetyNine && without.len() > 1 {
            sides.push(without_all(&self.subject, &without));
        }
        let time = self.rest().mul_f64(share_of_rest);
        let budget_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // Fresh pairs need other random choices, also if the user states the seed.
        let seed = self.args.execution.seed.map(|seed| u64::from(seed) + self.runs.len() as u64);
        let limits = RunLimits { confidence, budget_ns, seed };
        let measured = measured(self.args, sides, &limits, self.store, self.ui)?;
        self.runs.push(measured.record.run);
        Ok(measured)
    }

    fn finding(self) -> WhyFinding {
        let metric = self.subject.description.primary();
        WhyFinding {
            method: METHOD_VERSION,
            subject: self.subject.title.clone().unwrap_or_else(|| self.subject.point.name()),
            metric: metric.map(|metric| metric.name.clone()).unwrap_or_default(),
            unit: metric.map(|metric| metric.unit.clone()).unwrap_or_default(),
            result: self.result,
            budget_s: self.budget.as_secs_f64(),
            runs: self.runs,
            candidates: self.candidates.into_iter().map(|candidate| candidate.finding).collect(),
            together: self.together,
        }
    }
}

/// The point that is slow.
fn subject(setup: &mut Setup, args: &WhyArgs) -> Result<PlannedPoint> {
    let all = setup.all_threads();
    if !points::is_point(&mut setup.keeper, &args.subject) {
        let command = TypedCommand::new(&args.subject, args.shell)?;
        // Without a candidate nothing is started, so that a mistyped name would look like one without causes.
        if !args.shell && !exists(command.program()) {
            return Err(no_subject(&args.subject));
        }
        let settings = [command::ignoring(args.ignore_failure)].into();
        return command::point(&command, args.shell, settings, &[]);
    }
    let names = std::slice::from_ref(&args.subject);
    let mut found = points::resolve(&mut setup.keeper, names, &[], all)?.points;
    match found.len() {
        1 => Ok(found.remove(0)),
        several => {
            Err(CommandError::usage(format!("`{}` stands for {several} points", args.subject))
                .hint("give one value for each parameter: plumb why memory.copy:method=nt"))
        }
    }
}

/// Whether there is a program of this name or at this path.
fn exists(program: &str) -> bool {
    let path = Path::new(program);
    if program.contains('/') { path.is_file() } else { locate::on_path(path).is_some() }
}

/// What was typed is neither a workload nor a command.
fn no_subject(text: &str) -> CommandError {
    let id = text.split(':').next().unwrap_or(text);
    let error = CommandError::usage(format!("`{text}` is neither a workload nor a command"));
    match nearest(id, &catalogue::builtin_names()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`plumb list` shows the workloads; --shell runs a line of the shell"),
    }
}

/// What is suspicious, each with the point without it.
fn candidates(setup: &mut Setup, subject: &PlannedPoint) -> Result<Vec<SuspectedCause>> {
    let root = locate::root();
    let variables: BTreeSet<String> =
        std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let suspect = Suspect { root: &root, point: &subject.point, variables };
    let mut candidates = Vec::new();
    for cause in CAUSES {
        let Some(Suspicion { evidence, is_common, ways, remedy }) = (cause.suspect)(&suspect)
        else {
            continue;
        };
        let mut refused = "plumb has no way to remove it".to_owned();
        let mut possible = None;
        for way in &ways {
            match without(setup, subject, cause.name, way)? {
                Ok(point) => {
                    possible = Some((way_text(way), point));
                    break;
                }
                Err(why) => refused = why,
            }
        }
        let (way, point) =
            possible.map_or((String::new(), None), |(way, point)| (way, Some(point)));
        candidates.push(SuspectedCause {
            finding: CandidateFinding {
                cause: cause.name.to_owned(),
                summary: cause.summary.to_owned(),
                evidence,
                way,
                remedy: remedy.text,
                command: remedy.command,
                experiment: CandidateExperiment::NotTried(refused),
            },
            is_common,
            without: point,
        });
    }
    Ok(candidates)
}

/// The point without a cause, or why this machine or this user cannot have it.
fn without(
    setup: &mut Setup,
    subject: &PlannedPoint,
    cause: &str,
    way: &Removal,
) -> Result<std::result::Result<PlannedPoint, String>> {
    let title = Some(format!("without {cause}"));
    match way {
        Removal::Knobs(texts) => {
            let mut point = PlannedPoint { title, ..subject.clone() };
            for text in texts {
                let preparation = match knobs::of_invocations(text) {
                    Ok(preparation) => preparation,
                    Err(error) => return Ok(Err(error.to_string())),
                };
                if let Err(why) = may_have(&locate::root(), &preparation) {
                    return Ok(Err(why));
                }
                point.preparation.push(preparation);
            }
            Ok(Ok(point))
        }
        Removal::Parameter(name, value) => {
            let all = setup.all_threads();
            let changed = points::changed(&mut setup.keeper, subject, name, value, all)?;
            Ok(Ok(PlannedPoint { title, ..changed }))
        }
    }
}

fn way_text(way: &Removal) -> String {
    match way {
        Removal::Knobs(texts) => texts.join(" "),
        Removal::Parameter(name, value) => format!("{name}={value}"),
    }
}

/// How one run of a search ends.
struct RunLimits {
    confidence: Confidence,
    budget_ns: u64,
    /// The seed of its random choices; None: the clock.
    seed: Option<u64>,
}

/// Measures sides in turns, each compared with the first, and stores the run.
fn measured(
    args: &WhyArgs,
    sides: Vec<PlannedPoint>,
    limits: &RunLimits,
    store: Option<&Path>,
    ui: &Ui,
) -> Result<StoredRun> {
    let mut setup = Setup::start()?;
    setup.keep_to(&args.execution.prepare);
    let all = setup.all_threads();
    let prepare = prepare::wanted(&mut setup.keeper, &args.execution.prepare, None, all)?;
    let Some(metric) = sides[0].description.primary().map(|metric| metric.name.clone()) else {
        return Err(CommandError::usage("the workload has no metric to compare"));
    };
    let goal = Goal::Verdict(VerdictGoal {
        confidence: limits.confidence,
        beyond: true,
        ..VerdictGoal::new(&metric, LEAST_EFFECT, VerdictGoal::MOST_PAIRS)
    });
    let is_command = sides[0].point.workload == command::COMMAND;
    let place = if is_command { FilesPlace::Scratch } else { args.target.place() };
    let folders = folders(&mut setup.keeper, &place)?;
    let mut request = PlanRequest::new(sides, goal, prepare);
    request.budget_ns = Some(limits.budget_ns);
    request.seed = limits.seed;
    let plan = plan(request, &args.execution, &folders.dir)?;
    let job = MeasuringJob {
        lock: !args.execution.no_lock,
        host: args.execution.host.clone(),
        ..MeasuringJob::new(plan, folders, store)
    };
    let measured = execute(setup, job, ui)?;
    // Only the work as it is must succeed: what fails without a suspected cause is reported next to that cause.
    let has_result = measured.finding.results.iter().any(|result| result.point.index == 0);
    let is_broken = !measured.finding.failed.is_empty() || !measured.record.unsupported.is_empty();
    if measured.ended.interrupted || (!has_result && is_broken) {
        complete(measured)
    } else {
        Ok(measured)
    }
}

/// What the comparison of a side with the first says.
fn experiment(finding: &RunFinding, side: usize) -> CandidateExperiment {
    let compared = of_side(finding, side).filter(|found| found.found.ratio.is_some());
    if let Some(found) = compared {
        return CandidateExperiment::Measured {
            ratio: found.found.ratio.clone(),
            outcome: CandidateOutcome::of(found),
        };
    }
    if let Some(failed) = finding.failed.iter().find(|failed| failed.point.index == side) {
        return CandidateExperiment::Failed(failed.why.clone());
    }
    match finding.unsupported.iter().find(|missing| missing.point.index == side) {
        Some(missing) => CandidateExperiment::NotTried(missing.why.clone()),
        None => CandidateExperiment::NotTried(OUT_OF_TIME.to_owned()),
    }
}

fn of_side(finding: &RunFinding, side: usize) -> Option<&PointComparison> {
    finding.against_first.iter().find(|found| found.point.index == side)
}

/// The point without any of the causes that knobs remove, and with the first other value of each parameter.
fn without_all(subject: &PlannedPoint, without: &[PlannedPoint]) -> PlannedPoint {
    let changed = without.iter().find(|point| point.point != subject.point).unwrap_or(subject);
    let mut preparation: Vec<_> =
        without.iter().flat_map(|point| point.preparation.iter().cloned()).collect();
    preparation.dedup();
    PlannedPoint { title: Some("without all of them".to_owned()), preparation, ..changed.clone() }
}
