//! A search among changes that may make work faster: each is tried next to the work as it is, and what helps is confirmed on
//! fresh pairs.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use plumb_analysis::{
    AfterCauses, CandidateExperiment, CandidateFinding, CandidateOutcome, Estimate, Finding,
    LEAST_EFFECT, Ladder, METHOD_VERSION, PointComparison, RunFinding, WhyFinding,
};
use plumb_causes::Removal;
use plumb_keeper::MeasuringLock;
use plumb_launch::may_have;
use plumb_model::{
    Confidence, Description, Expectation, Goal, Id, PlannedPoint, Preparation, Sampling,
    StoppingRules, VerdictGoal,
};
use plumb_suite::{nearest, time_ns};

use crate::error::{CommandError, Result};
use crate::locate;
use crate::measuring::execute::{StoredRun, complete, execute, take_lock};
use crate::measuring::job::MeasuringJob;
use crate::measuring::setup::Setup;
use crate::measuring::target::{FilesPlace, TargetArgs, folders};
use crate::planning::arguments::ExecutionArgs;
use crate::planning::command::{self, TypedCommand};
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::{catalogue, knobs, points, prepare};
use crate::reading::hardware;
use crate::ui::Ui;

/// How the work of a search is found and measured.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Run each command with /bin/sh -c
    #[arg(long)]
    pub shell: bool,
    /// Accept commands that exit with a non-zero status
    #[arg(short, long)]
    pub ignore_failure: bool,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
}

impl SearchArgs {
    /// Refuses all of these options.
    ///
    /// # Errors
    /// When one was typed, because each needs the option `needed`.
    pub fn refuse_any(&self, needed: &str) -> Result<()> {
        let execution = &self.execution;
        let typed = [
            ("--shell", self.shell),
            ("--ignore-failure", self.ignore_failure),
            ("--budget", execution.budget.is_some()),
            ("--label", !execution.labels.is_empty()),
            ("--seed", execution.seed.is_some()),
            ("--set", !execution.prepare.set.is_empty()),
            ("--prepare", execution.prepare.prepare.is_some()),
        ];
        match typed.into_iter().find(|(_, is_typed)| *is_typed) {
            Some((option, _)) => Err(CommandError::usage(format!("{option} needs {needed}"))
                .hint("plumb run --set KNOB=VALUE    sets a knob for a run")),
            None => Ok(()),
        }
    }
}

/// The time of all runs together if the user states none, in nanoseconds.
const DEFAULT_BUDGET_NS: u64 = 180_000_000_000;
/// The share of it for fresh pairs.
const SHARE_OF_FRESH_PAIRS: f64 = 0.4;
/// The samples of an invocation last so long together, or are one that takes longer: for effects of 5 % or more, more pairs tell more
/// than more samples.
const INVOCATION_NS: u64 = 100_000_000;
/// Once one change helps, others get so many pairs: one that helps about as much is found in them, and the time is not spent on
/// showing that the rest has no effect.
const PAIRS_AFTER_A_CAUSE: usize = 27;
/// Once causes are removed, a run that looks for others takes no longer than this, and begins only if so much time is left.
const LONGEST_AFTER_CAUSES: Duration = Duration::from_secs(15);
const SHORTEST_AFTER_CAUSES: Duration = Duration::from_secs(10);
/// Why something was not tried that could have been.
const OUT_OF_TIME: &str = "out of time";
/// In less time nothing is measured.
const SHORTEST: Duration = Duration::from_secs(2);
/// The parts of the work are measured until their intervals are this tight, at most for so long, and not at all in less time.
const PRECISION_OF_PARTS: f64 = 0.03;
const SHORTEST_OF_PARTS: Duration = Duration::from_secs(10);
const LONGEST_OF_PARTS: Duration = Duration::from_secs(30);
/// Fewer processes have no interval.
const FEWEST_OF_PARTS: usize = 6;

/// When a change is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrialStage {
    /// Before all others.
    First,
    /// Only if no change of the first stage helps.
    Later,
    /// Before all others if the work takes at least this long, in seconds. Otherwise it cannot help.
    LongWork(f64),
}

/// What pairs are measured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairsPurpose {
    /// Which changes seem to help.
    Trial,
    /// Whether they help on fresh pairs, too.
    Confirmation,
}

/// A change that may make the work faster.
pub struct SearchCandidate {
    /// What is known of it.
    pub finding: CandidateFinding,
    /// When it is tried.
    pub stage: TrialStage,
    /// None if plumb cannot make the change.
    pub changed: Option<ChangedPoint>,
}

/// The work with a change.
#[derive(Clone)]
pub struct ChangedPoint {
    /// What is changed.
    pub way: Removal,
    /// The point with the change.
    pub point: PlannedPoint,
}

impl SearchCandidate {
    /// Whether it is tried before all others.
    fn is_first(&self) -> bool {
        match self.stage {
            TrialStage::First => true,
            TrialStage::Later => false,
            TrialStage::LongWork(_) => {
                !matches!(self.finding.experiment, CandidateExperiment::Excluded(_))
            }
        }
    }

    /// Whether it makes, or seems to make, the work faster.
    fn helps(&self) -> bool {
        self.has_outcome(CandidateOutcome::Cause)
    }

    fn is_undecided(&self) -> bool {
        self.has_outcome(CandidateOutcome::Undecided)
    }

    fn is_not_confirmed(&self) -> bool {
        self.has_outcome(CandidateOutcome::NotConfirmed)
    }

    /// By the last experiment, which may be one without other causes.
    fn has_outcome(&self, wanted: CandidateOutcome) -> bool {
        match self.finding.latest() {
            CandidateExperiment::Measured { outcome, .. } => *outcome == wanted,
            _ => false,
        }
    }

    /// Whether it was measured and is no cause so far.
    fn is_no_cause_so_far(&self) -> bool {
        matches!(self.finding.latest(), CandidateExperiment::Measured { .. }) && !self.helps()
    }
}

/// A run of pairs.
struct PairedRun {
    measured: StoredRun,
    /// The candidates whose sides follow the first one, in this order.
    tried: Vec<usize>,
}

/// A search among changes.
pub struct ChangeSearch<'s> {
    args: &'s SearchArgs,
    store: Option<&'s Path>,
    ui: &'s Ui,
    /// Held until the search ends; None with `--no-lock`.
    _lock: Option<MeasuringLock>,
    begun: Instant,
    /// The time of all runs together.
    budget: Duration,
    /// The work as it is.
    subject: PlannedPoint,
    candidates: Vec<SearchCandidate>,
    /// The causes that are removed on all sides.
    removed: Vec<usize>,
    /// The runs so far.
    runs: Vec<Id>,
    /// The result of the work as it is.
    result: Option<Estimate>,
    /// Cost with all changes that help, if there are several.
    together: Option<Estimate>,
    /// The parts of the work.
    ladder: Option<Ladder>,
    /// The most pairs of other changes once one helps; None if each change matters.
    pairs_after_a_cause: Option<usize>,
}

impl<'s> ChangeSearch<'s> {
    /// A search that has not begun.
    ///
    /// # Errors
    /// When the budget is no time, or the measuring lock cannot be taken.
    pub fn new(
        args: &'s SearchArgs,
        mut subject: PlannedPoint,
        mut candidates: Vec<SearchCandidate>,
        store: Option<&'s Path>,
        ui: &'s Ui,
    ) -> Result<Self> {
        let changed = candidates.iter_mut().filter_map(|candidate| candidate.changed.as_mut());
        for point in changed.map(|changed| &mut changed.point).chain([&mut subject]) {
            point.sampling.get_or_insert(Sampling::Short { length_ns: INVOCATION_NS });
        }
        let budget_ns = match &args.execution.budget {
            Some(budget) => time_ns(budget)?,
            None => DEFAULT_BUDGET_NS,
        };
        // One lock for all runs: the time that another plumb takes is not of this search, and nothing is measured between them.
        let lock = if args.execution.no_lock { None } else { Some(take_lock(ui)?) };
        Ok(Self {
            _lock: lock,
            args,
            store,
            ui,
            begun: Instant::now(),
            budget: Duration::from_nanos(budget_ns),
            subject,
            candidates,
            removed: Vec::new(),
            runs: Vec::new(),
            result: None,
            together: None,
            ladder: None,
            pairs_after_a_cause: None,
        })
    }

    /// This search for what makes the work slow, which is usually a single change.
    pub fn for_causes(self) -> Self {
        Self { pairs_after_a_cause: Some(PAIRS_AFTER_A_CAUSE), ..self }
    }

    /// Tries all changes, stage by stage.
    ///
    /// # Errors
    /// When the work itself fails, or the user interrupts.
    pub fn run(&mut self) -> Result<()> {
        self.exclude_candidates_for_long_work()?;
        self.try_all(SearchCandidate::is_first)?;
        self.try_all(|candidate| candidate.stage == TrialStage::Later)
    }

    /// Tries again what is no cause so far, with all causes removed on both sides, until no further cause shows: a small buffer hides a
    /// slow link.
    ///
    /// # Errors
    /// When the work fails without all of the causes, or the user interrupts.
    pub fn find_hidden_causes(&mut self) -> Result<()> {
        while self.finds_causes_without_those_so_far()? {}
        Ok(())
    }

    /// Whether there is one more cause once those so far are removed.
    fn finds_causes_without_those_so_far(&mut self) -> Result<bool> {
        self.removed = self.indices(SearchCandidate::helps);
        let tried = self.indices(SearchCandidate::is_no_cause_so_far);
        if self.removed.is_empty() || tried.is_empty() || self.rest() < SHORTEST_AFTER_CAUSES {
            return Ok(false);
        }
        let removed: Vec<String> = self
            .removed
            .iter()
            .map(|&index| self.candidates[index].finding.cause.clone())
            .collect();
        self.ui.say(&format!("looking for more causes without {}", removed.join(", ")));
        for &index in &tried {
            let experiment = CandidateExperiment::NotTried("the search ended before".to_owned());
            self.candidates[index].finding.after_causes =
                Some(AfterCauses { removed: removed.clone(), experiment });
        }
        self.compare_and_retry(&tried)?;
        Ok(tried.iter().any(|&index| self.candidates[index].helps()))
    }

    /// Measures parts of the work next to the whole, if no change helps and the workload declares any. The link of the disk that
    /// `folder` is on counts as one.
    ///
    /// # Errors
    /// When the work itself fails, or the user interrupts.
    pub fn measure_parts(&mut self, folder: Option<&Path>) -> Result<()> {
        let description = &self.subject.description;
        let has_parts = description.ceiling.is_some() || !description.rungs.is_empty();
        let helps = self.candidates.iter().any(SearchCandidate::helps);
        if !has_parts || helps || self.rest() < SHORTEST_OF_PARTS {
            return Ok(());
        }
        let mut setup = self.setup()?;
        let all = setup.all_threads();
        // Bottlenecks work at the same time, and are not compared here.
        let description =
            Description { bottlenecks: Vec::new(), ..self.subject.description.clone() };
        let whole = PlannedPoint { title: None, description, ..self.subject.clone() };
        let points = points::with_ceilings(&mut setup.keeper, vec![whole], false, all)?;
        // Parts may be declared for other values of the parameters only.
        if points.len() < 2 {
            return Ok(());
        }
        self.ui.say("measuring parts of the work");
        let expectations = hardware::limits(&points, folder);
        let rules = StoppingRules {
            min_invocations: FEWEST_OF_PARTS,
            ..StoppingRules::precision(PRECISION_OF_PARTS)
        };
        let time = self.rest().min(LONGEST_OF_PARTS);
        let measured = self.measured(setup, points, Goal::Rules(rules), time, expectations)?;
        let RunFinding { results, ladders, .. } = measured.finding;
        let is_whole = |result: &Finding| result.primary && result.point.index == 0;
        let whole = results.iter().find(|result| is_whole(result));
        self.result = self.result.take().or_else(|| whole.map(Finding::shown));
        self.ladder =
            ladders.into_iter().find(|ladder| results.get(ladder.result).is_some_and(is_whole));
        Ok(())
    }

    /// Excludes what cannot slow down work that takes less time than it alone. One invocation shows how long the work takes.
    fn exclude_candidates_for_long_work(&mut self) -> Result<()> {
        let is_time = self.subject.description.primary().is_some_and(|metric| metric.unit == "s");
        let for_long_work = self.indices(|candidate| {
            matches!(candidate.stage, TrialStage::LongWork(_)) && candidate.changed.is_some()
        });
        if for_long_work.is_empty() {
            return Ok(());
        }
        if !is_time {
            for index in for_long_work {
                let why = "the result is not a time".to_owned();
                self.candidates[index].finding.experiment = CandidateExperiment::Excluded(why);
            }
            return Ok(());
        }
        let setup = self.setup()?;
        let points = vec![self.subject.clone()];
        let goal =
            Goal::Rules(StoppingRules { max_invocations: Some(1), ..StoppingRules::fixed(1) });
        let measured = self.measured(setup, points, goal, self.rest(), Vec::new())?;
        let Some(result) = measured.finding.results.iter().find(|result| result.primary) else {
            return Ok(());
        };
        for index in for_long_work {
            let candidate = &mut self.candidates[index];
            if let TrialStage::LongWork(seconds) = candidate.stage
                && result.estimate.value < seconds
            {
                let why = format!("the work takes less than {seconds} s");
                candidate.finding.experiment = CandidateExperiment::Excluded(why);
            }
        }
        Ok(())
    }

    /// Tries these changes one at a time, and confirms those that help on fresh pairs.
    fn try_all(&mut self, is_of_stage: fn(&SearchCandidate) -> bool) -> Result<()> {
        let tried = self.indices(|candidate| is_of_stage(candidate) && candidate.changed.is_some());
        if tried.is_empty() {
            return Ok(());
        }
        if !self.indices(SearchCandidate::helps).is_empty() {
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
            self.ui.say(&format!("to try: {cause} ({evidence})"));
        }
        self.compare_and_retry(&tried)
    }

    /// Tries these changes, and confirms what seems to help. What seemed to help ended the trial of the others early: if it does not
    /// help after all, they are tried in full.
    fn compare_and_retry(&mut self, tried: &[usize]) -> Result<()> {
        self.compare_and_confirm(tried)?;
        let of = |is: fn(&SearchCandidate) -> bool| -> Vec<usize> {
            tried.iter().copied().filter(|&index| is(&self.candidates[index])).collect()
        };
        let is_misled = !of(SearchCandidate::is_not_confirmed).is_empty()
            && of(SearchCandidate::helps).is_empty();
        let open = of(SearchCandidate::is_undecided);
        let cut_off = self.pairs_after_a_cause.take();
        if cut_off.is_some() && is_misled && !open.is_empty() && self.rest() >= SHORTEST {
            self.compare_and_confirm(&open)?;
        }
        self.pairs_after_a_cause = cut_off;
        Ok(())
    }

    /// Measures these changes next to the work as it is, and what seems to help again.
    fn compare_and_confirm(&mut self, tried: &[usize]) -> Result<()> {
        let Some(PairedRun { measured, tried }) = self.compared(tried, PairsPurpose::Trial)? else {
            return Ok(());
        };
        let results = &measured.finding.results;
        let as_it_is = results.iter().find(|result| result.primary && result.point.index == 0);
        // A later run is shorter.
        self.result = self.result.take().or_else(|| as_it_is.map(Finding::shown));
        for (side, &index) in tried.iter().enumerate() {
            *self.candidates[index].finding.latest_mut() = experiment(&measured.finding, side + 1);
        }
        self.confirm(&tried)
    }

    /// Measures those of these changes that seem to help again, on fresh pairs; several changes also together.
    fn confirm(&mut self, tried: &[usize]) -> Result<()> {
        let likely: Vec<usize> =
            tried.iter().copied().filter(|&index| self.candidates[index].helps()).collect();
        if likely.is_empty() {
            return Ok(());
        }
        if self.rest() < SHORTEST {
            for index in likely {
                if let CandidateExperiment::Measured { outcome, .. } =
                    self.candidates[index].finding.latest_mut()
                {
                    *outcome = CandidateOutcome::Undecided;
                }
            }
            return Ok(());
        }
        self.ui.say("confirming on fresh pairs");
        let Some(PairedRun { measured, tried: likely }) =
            self.compared(&likely, PairsPurpose::Confirmation)?
        else {
            return Ok(());
        };
        for (side, &index) in likely.iter().enumerate() {
            let found = of_side(&measured.finding, side + 1);
            *self.candidates[index].finding.latest_mut() = CandidateExperiment::Measured {
                ratio: found.and_then(|found| found.found.ratio.clone()),
                outcome: found.map_or(CandidateOutcome::NotConfirmed, CandidateOutcome::after),
            };
        }
        // All were made together: if one of them does not help after all, that figure is of something else.
        let are_confirmed = likely.iter().all(|&index| self.candidates[index].helps());
        if likely.len() > 1 && are_confirmed && self.removed.is_empty() {
            let together = of_side(&measured.finding, likely.len() + 1);
            self.together = together.and_then(|found| found.found.ratio.clone());
        }
        Ok(())
    }

    /// The time that is left.
    fn rest(&self) -> Duration {
        self.budget.saturating_sub(self.begun.elapsed())
    }

    fn indices(&self, of: impl Fn(&SearchCandidate) -> bool) -> Vec<usize> {
        (0..self.candidates.len()).filter(|&index| of(&self.candidates[index])).collect()
    }

    /// Measures the work with each of these changes and without them in turns, on all sides without the causes that are removed.
    /// Several that seem to help are also made together. None if no change can be made together with these causes.
    ///
    /// Trial and confirmation have the usual level of 95 % each: a change without effect passes both in at most 1 of 400 cases.
    fn compared(&mut self, tried: &[usize], purpose: PairsPurpose) -> Result<Option<PairedRun>> {
        let mut setup = self.setup()?;
        let Some(first) = self.without(&mut setup, &[])? else {
            for &index in tried {
                let why = "the causes cannot all be removed at the same time".to_owned();
                *self.candidates[index].finding.latest_mut() = CandidateExperiment::NotTried(why);
            }
            return Ok(None);
        };
        let mut sides = vec![first];
        let mut made = Vec::new();
        for &index in tried {
            match self.without(&mut setup, &[index])? {
                Some(side) => {
                    sides.push(side);
                    made.push(index);
                }
                None => {
                    let why = "it cannot be removed together with the causes".to_owned();
                    *self.candidates[index].finding.latest_mut() =
                        CandidateExperiment::NotTried(why);
                }
            }
        }
        if made.is_empty() {
            return Ok(None);
        }
        if purpose == PairsPurpose::Confirmation && made.len() > 1 && self.removed.is_empty() {
            sides.extend(self.without(&mut setup, &made)?);
        }
        let Some(metric) = self.subject.description.primary() else {
            return Err(CommandError::usage("the workload has no metric to compare"));
        };
        let goal = Goal::Verdict(VerdictGoal {
            confidence: Confidence::NinetyFive,
            beyond: true,
            pairs_after_faster: match purpose {
                PairsPurpose::Trial => self.pairs_after_a_cause,
                PairsPurpose::Confirmation => None,
            },
            ..VerdictGoal::new(&metric.name, LEAST_EFFECT, VerdictGoal::MOST_PAIRS)
        });
        let share_of_rest = match purpose {
            PairsPurpose::Trial => 1.0 - SHARE_OF_FRESH_PAIRS,
            PairsPurpose::Confirmation => 1.0,
        };
        let mut time = self.rest().mul_f64(share_of_rest);
        if !self.removed.is_empty() {
            time = time.min(LONGEST_AFTER_CAUSES);
        }
        let measured = self.measured(setup, sides, goal, time, Vec::new())?;
        Ok(Some(PairedRun { measured, tried: made }))
    }

    /// The work without the causes that are removed and without these; None if this is not possible at the same time.
    fn without(&self, setup: &mut Setup, others: &[usize]) -> Result<Option<PlannedPoint>> {
        let changes: Vec<&ChangedPoint> = self
            .removed
            .iter()
            .chain(others)
            .filter_map(|&index| self.candidates[index].changed.as_ref())
            .collect();
        match changes.as_slice() {
            [] => Ok(Some(self.subject.clone())),
            [change] => Ok(Some(change.point.clone())),
            changes => with_all(setup, &self.subject, changes),
        }
    }

    fn setup(&self) -> Result<Setup> {
        let mut setup = Setup::start()?;
        setup.keep_to(&self.args.execution.prepare);
        Ok(setup)
    }

    /// Measures the work as it is, the first of these points, with the others, and stores the run.
    fn measured(
        &mut self,
        mut setup: Setup,
        points: Vec<PlannedPoint>,
        goal: Goal,
        time: Duration,
        expectations: Vec<Expectation>,
    ) -> Result<StoredRun> {
        let args = self.args;
        let all = setup.all_threads();
        let prepare = prepare::wanted(&mut setup.keeper, &args.execution.prepare, None, all)?;
        let is_command = points[0].point.workload == command::COMMAND;
        let place = if is_command { FilesPlace::Scratch } else { args.target.place() };
        let folders = folders(&mut setup.keeper, &place)?;
        let mut request = PlanRequest::new(points, goal, prepare);
        request.budget_ns = Some(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        // Fresh pairs need other random choices, also if the user states the seed.
        request.seed = args.execution.seed.map(|seed| u64::from(seed) + self.runs.len() as u64);
        request.expectations = expectations;
        let plan = plan(request, &args.execution, &folders.dir)?;
        let job = MeasuringJob {
            lock: false,
            host: args.execution.host.clone(),
            ..MeasuringJob::new(plan, folders, self.store)
        };
        let measured = execute(setup, job, self.ui)?;
        self.runs.push(measured.record.run);
        // Only the first side must succeed: what fails without a suspected cause is reported next to that cause.
        let has_result = measured.finding.results.iter().any(|result| result.point.index == 0);
        let is_broken =
            !measured.finding.failed.is_empty() || !measured.record.unsupported.is_empty();
        if measured.ended.interrupted || (!has_result && is_broken) {
            complete(measured)
        } else {
            Ok(measured)
        }
    }

    /// What was found.
    pub fn finding(self) -> WhyFinding {
        let metric = self.subject.description.primary();
        WhyFinding {
            method: METHOD_VERSION,
            subject: self.subject.name(),
            metric: metric.map(|metric| metric.name.clone()).unwrap_or_default(),
            unit: metric.map(|metric| metric.unit.clone()).unwrap_or_default(),
            result: self.result,
            since: None,
            budget_s: self.budget.as_secs_f64(),
            runs: self.runs,
            candidates: self.candidates.into_iter().map(|candidate| candidate.finding).collect(),
            together: self.together,
            ladder: self.ladder,
        }
    }
}

/// The point that this text names: a workload, or a command.
///
/// # Errors
/// When it is neither, or several points.
pub fn subject(setup: &mut Setup, text: &str, args: &SearchArgs) -> Result<PlannedPoint> {
    let all = setup.all_threads();
    if !points::is_point(&mut setup.keeper, text) {
        let command = TypedCommand::new(text, args.shell)?;
        // Without a candidate nothing is started, so that a mistyped name would look like one without causes.
        if !args.shell && !exists(command.program()) {
            return Err(no_subject(text));
        }
        let settings = [command::ignoring(args.ignore_failure)].into();
        return command::point(&command, args.shell, settings, &[]);
    }
    let names = [text.to_owned()];
    let mut found = points::resolve(&mut setup.keeper, &names, &[], all)?.points;
    match found.len() {
        1 => Ok(found.remove(0)),
        several => Err(CommandError::usage(format!("`{}` stands for {several} points", text))
            .hint("give one value for each parameter: memory.copy:method=nt")),
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

/// The point with this change, or why this machine or this user cannot have it.
///
/// # Errors
/// When the point is none with another value of a parameter, because of a fault in plumb.
pub fn changed(
    setup: &mut Setup,
    subject: &PlannedPoint,
    way: &Removal,
) -> Result<std::result::Result<PlannedPoint, String>> {
    match way {
        Removal::Knobs(texts) => {
            let mut point = subject.clone();
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
        Removal::Parameters(values) => {
            let all = setup.all_threads();
            Ok(Ok(points::changed(&mut setup.keeper, subject, values, all)?))
        }
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

/// The point with all of these changes; None if they cannot be made together.
fn with_all(
    setup: &mut Setup,
    subject: &PlannedPoint,
    changes: &[&ChangedPoint],
) -> Result<Option<PlannedPoint>> {
    let mut point = subject.clone();
    for change in changes {
        match changed(setup, &point, &change.way)? {
            Ok(with_change) => point = with_change,
            Err(_) => return Ok(None),
        }
    }
    let mut preparations: Vec<Preparation> = Vec::new();
    for preparation in point.preparation {
        // A knob that several of them need is set once, and has one value.
        match preparations.iter().find(|other| other.knob == preparation.knob) {
            Some(other) if other.value != preparation.value => return Ok(None),
            Some(_) => {}
            None => preparations.push(preparation),
        }
    }
    let titles: Vec<String> = changes.iter().map(|change| change.point.name()).collect();
    Ok(Some(PlannedPoint { title: Some(titles.join(", ")), preparation: preparations, ..point }))
}
