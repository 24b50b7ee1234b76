//! `plumb ab`: is B slower than A?

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, value_parser};
use plumb_agent::MachineAddress;
use plumb_analysis::{
    BUILDS_LABEL, CONFIRMS_LABEL, GateOutcome, SESSIONS_LABEL, SessionsFinding, over_builds,
    over_sessions,
};
use plumb_model::{
    Better, CPU, Confidence, ExtraWork, Goal, Metric, PEAK_MEMORY, PlannedPoint, Preparation,
    PreparationSlot, QuantityKind, VerdictGoal,
};
use plumb_report::{View, brief_scorecard, gate_json, sessions_card, sessions_json};
use plumb_store::short;
use plumb_suite::{margin, nearest, pause_ns, share, time_ns};
use plumb_units::percent;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::agent_command::AgentCommand;
use crate::fleet::arguments::{MachineArgs, has_fleet_label, refuse_options};
use crate::fleet::measure_on::{FleetRequest, FleetWork, measure_on};
use crate::locate;
use crate::measuring::execute::{StoredRun, complete, execute};
use crate::measuring::job::{FailOn, FailPolicy, MeasuringJob};
use crate::measuring::live::LiveArgs;
use crate::measuring::measure::measure;
use crate::measuring::setup::Setup;
use crate::measuring::side_by_side::{self, copy_side_by_side, is_noexec};
use crate::measuring::target::{FilesPlace, Folders, TargetArgs, folders};
use crate::measuring::waiting::wait_until;
use crate::planning::arguments::{ExecutionArgs, PrepareArgs};
use crate::planning::builds::{self, BuildFamily};
use crate::planning::command::{self, TypedCommand};
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::{catalogue, knobs, points, prepare, proof, shell_syntax};
use crate::reading::audits;
use crate::reading::output::closing;
use crate::ui::Ui;

/// Is B slower than A? Measure pairs of commands or points until there is a verdict
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb ab ./old ./new                             is ./new slower than ./old by 1 % or more?
  plumb ab --margin 3% 'gzip -1 f' 'gzip -2 f'     commands with arguments
  plumb ab --metric peak_memory ./old ./new        a metric other than wall time
  plumb ab crypto.aead:cipher=aes-128-gcm crypto.aead:cipher=aes-256-gcm
  plumb ab --budget 5m ./old ./new                 more time, smaller differences
  plumb ab --fail-on slower ./old ./new            exit with 1 if ./new is slower
  plumb ab --sessions 6 --apart 10m ./old ./new    in six sessions
  plumb ab --prove ./old ./new                     a CI gate that proves it can find 2 %
  plumb ab --build 'cc -O2 -DPAD={seed} old.c -o {out}' --build 'cc -O2 -DPAD={seed} new.c -o {out}'
                                                   eight builds of each
  plumb ab --set thp=always --set thp=never memory.latency    two values of a knob
  plumb ab --on web1,web2 './old' './new'          on two other machines, over ssh

plumb runs the sides back to back in random order. It checks the interval of the cost ratio after 8, 12, 18, 27, \
40, … pairs until there is a verdict or time is up (a minute, plus one for each side after the second). At most 1 in 20 \
runs of equal sides reports a difference, for any number of sides. Equivalent means that the whole interval is within the \
margin. If the verdict is inconclusive, plumb prints the command that would settle it.

--sessions counts each session as one value. With fewer than six, a verdict needs earlier sessions on this host.

--build compares several builds of each side, because builds of the same source differ in speed. {seed} is 0, 1, …, and \
{out} a new file; a SIDE such as '{out} input.txt' adds arguments. A verdict needs six builds.

--prove adds the first side twice, once with a known share of extra work. If the equal sides differ, or plumb misses the \
extra work, it abstains and exits with 5. If fresh pairs confirm at 99 % that the second side is slower, it exits with 1. \
--budget limits each of these runs.")]
pub struct AbArgs {
    /// Two or more commands (each quoted as one argument) or points (`memory.copy:method=nt`)
    ///
    /// To compare two values of a knob, give a single side.
    #[arg(required_unless_present = "build", value_name = "SIDE")]
    sides: Vec<String>,
    /// The smallest relative change that matters
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    margin: String,
    /// Compare this metric (`cpu`, `peak_memory`, `latency p99`) [default: the first]
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Repeat the comparison in this many fresh sessions
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=100))]
    sessions: u16,
    /// Start sessions at this interval
    #[arg(long, value_name = "TIME", default_value = "10m", requires = "sessions")]
    apart: String,
    /// Build a side with this shell command ({seed}, {out}); give it twice
    #[arg(long = "build", value_name = "CMD", conflicts_with_all = ["sessions", "prove"])]
    build: Vec<String>,
    /// Make and compare this many builds of each side
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = value_parser!(u16).range(2..=100),
        requires = "build", hide_short_help = true)]
    builds: u16,
    /// Verify that a slow-down of SHARE [default: 2%] would be found, or abstain
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, default_missing_value = "2%",
        conflicts_with_all = ["sessions", "quad", "fail_on"])]
    prove: Option<String>,
    /// Measure ABBA or BAAB blocks, which cancel linear drift at twice the cost
    #[arg(long, hide_short_help = true)]
    quad: bool,
    /// Take at most this many pairs (8 to 10000); without --budget, time is unlimited
    #[arg(long, value_name = "N", value_parser = max_pairs(), hide_short_help = true)]
    max_pairs: Option<usize>,
    /// Confidence of the verdict in percent; 99 needs about a third more pairs
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence(), hide_short_help = true)]
    confidence: Confidence,
    /// Exit with 1 if a side is slower
    ///
    /// With --ignore-failure, the exit code is 4 if the sides do not fail equally often.
    #[arg(long, value_enum, value_name = "WHEN")]
    fail_on: Option<FailOn>,
    /// Exit with 5 if there is no clear verdict
    #[arg(long)]
    strict: bool,
    /// Do not copy your own executables into one folder first
    #[arg(long, hide_short_help = true)]
    no_copy: bool,
    /// Run each command with /bin/sh -c
    #[arg(long)]
    shell: bool,
    /// Accept commands that exit with a non-zero status
    #[arg(short, long)]
    ignore_failure: bool,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    live: LiveArgs,
    #[command(flatten)]
    machines: MachineArgs,
    #[command(flatten)]
    execution: ExecutionArgs,
}

/// Time of a comparison when the user limits neither time nor pairs, in nanoseconds.
const COMPARISON_NS: u64 = 60_000_000_000;

/// The control sides of a comparison that proves itself.
const CONTROL_SIDES: u64 = 2;

/// Numbers of pairs that may give a verdict.
fn max_pairs() -> impl TypedValueParser<Value = usize> {
    let most = VerdictGoal::MOST_PAIRS as u64;
    RangedU64ValueParser::<usize>::new().range(VerdictGoal::FEWEST_PAIRS as u64..=most)
}

/// The confidences that looks are planned for.
fn confidence() -> impl TypedValueParser<Value = Confidence> {
    PossibleValuesParser::new(["95", "99"]).map(|text| match text.as_str() {
        "99" => Confidence::NinetyNine,
        _ => Confidence::NinetyFive,
    })
}

impl Subcommand for AbArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        if self.quad && self.sides.len().max(self.execution.prepare.set.len()) > 2 {
            return Err(CommandError::usage("--quad compares two sides")
                .hint("without --quad, plumb compares more than two sides in Latin squares"));
        }
        if !self.shell {
            for side in &self.sides {
                shell_syntax::warn_of_text(side, shell_syntax::OPTION, context.ui);
            }
        }
        if let Some(machines) = self.machines.named()? {
            return on_machines(self, machines, context.store, context.ui);
        }
        if self.sessions > 1 {
            return in_sessions(self, context.store, context.ui);
        }
        if !self.build.is_empty() {
            return of_builds(self, context.store, context.ui);
        }
        if let Some(planted) = &self.prove {
            return proved(self, share(planted)?, context.store, context.ui);
        }
        let mut setup = Setup::start()?;
        let job = prepared(&mut setup, self, AbRun::Comparison, context.store, context.ui)?;
        measure(setup, job, context.ui)
    }
}

impl AgentCommand for AbArgs {
    fn job<'j>(
        &'j self,
        setup: &mut Setup,
        store: Option<&'j Path>,
        ui: &Ui,
    ) -> Result<Option<MeasuringJob<'j>>> {
        prepared(setup, self, AbRun::Comparison, store, ui).map(Some)
    }
}

/// Compares the sides on each of these machines.
fn on_machines(
    args: &AbArgs,
    machines: Vec<MachineAddress>,
    store: Option<&Path>,
    ui: &Ui,
) -> Result<Exit> {
    let execution = &args.execution;
    refuse_options(&[
        ("--sessions", args.sessions > 1),
        ("--build", !args.build.is_empty()),
        ("--prove", args.prove.is_some()),
        ("--live", args.live.live),
        ("--to", execution.to.is_some()),
        ("--host", execution.host.is_some()),
        ("--label fleet=…", has_fleet_label(&execution.labels)),
    ])?;
    let request = FleetRequest {
        machines,
        at_once: args.machines.at_once(),
        work: FleetWork::Command { suites: BTreeMap::new() },
        keeps_secrets: execution.keep_secrets,
        confirming: None,
        fail_on: FailPolicy { fail_on: args.fail_on, strict: args.strict },
        together: false,
    };
    measure_on(&request, store, ui)
}

/// What a run is for.
enum AbRun<'r> {
    /// The comparison that the user asked for.
    Comparison,
    /// One of several sessions, with their label.
    Session(&'r str),
    /// One build of each side.
    Build {
        /// The label of the runs of all builds.
        label: &'r str,
        /// Which build, from 0 on.
        number: u16,
        /// How builds are made.
        families: &'r mut [BuildFamily; 2],
    },
    /// The size of extra work.
    Pilot,
    /// The comparison with control sides.
    Proof(ExtraWork),
    /// Fresh pairs of the comparison with this id, which found a slow-down.
    Confirmation(&'r str),
}

impl AbRun<'_> {
    fn is_of_builds(&self) -> bool {
        matches!(self, Self::Build { .. })
    }

    /// The label that it has in common with the runs that are judged with it, by name.
    fn label(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Session(label) => Some((SESSIONS_LABEL, label)),
            Self::Build { label, .. } => Some((BUILDS_LABEL, label)),
            Self::Confirmation(of) => Some((CONFIRMS_LABEL, of)),
            Self::Comparison | Self::Pilot | Self::Proof(_) => None,
        }
    }
}

/// Compares two sides and proves that a slow-down of this share would be found.
fn proved(args: &AbArgs, planted: f64, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if args.sides.len() != 2 {
        return Err(CommandError::usage("--prove compares two sides")
            .hint("plumb ab --prove './old' './new'"));
    }
    let builtin = args.sides.iter().filter(|side| is_builtin_point(side)).count();
    let extra = if builtin == args.sides.len() {
        ExtraWork { share: planted, loops: 0 }
    } else {
        ui.say("sizing the extra work");
        proof::sized_work(&all_sides(args, AbRun::Pilot, store, ui)?.record, planted)?
    };
    let StoredRun { record, mut finding, store: opened, .. } =
        all_sides(args, AbRun::Proof(extra), store, ui)?;
    let mut gate = finding
        .proof
        .take()
        .ok_or_else(|| CommandError::bug("a comparison with control sides has no proof"))?;
    if gate.needs_confirmation() {
        ui.say("looks slower; confirming on fresh pairs");
        let run = record.run.to_string();
        let fresh = all_sides(args, AbRun::Confirmation(&run), store, ui)?;
        gate.confirm(&fresh.finding.against_first);
    }
    let gate = finding.proof.insert(gate).clone();
    if ui.wants_json() {
        let comparison = plumb_analysis::compare_sides(&record, &finding);
        let document = gate_json(&gate, &comparison);
        ui.out(&document.map_err(|error| CommandError::bug(error.to_string()))?);
    } else {
        let next = closing(&record, &finding, &opened);
        ui.out(&brief_scorecard(&View::new(&finding), &ui.terminal(), &next));
    }
    Ok(match gate.outcome() {
        GateOutcome::Regression => Exit::Regression,
        GateOutcome::NoRegression => Exit::Fine,
        GateOutcome::Inconclusive if !args.strict => Exit::Fine,
        GateOutcome::Inconclusive | GateOutcome::NotConfirmed | GateOutcome::Abstained => {
            Exit::Inconclusive
        }
    })
}

/// Carries out one of several runs. All of its sides must be measured: without one of them, neither a proof nor sessions
/// together say anything.
fn all_sides(args: &AbArgs, run: AbRun<'_>, store: Option<&Path>, ui: &Ui) -> Result<StoredRun> {
    let mut setup = Setup::start()?;
    let job = prepared(&mut setup, args, run, store, ui)?;
    complete(execute(setup, job, ui)?)
}

/// Whether a side is a point of a built-in workload, which adds extra work to its own samples.
fn is_builtin_point(side: &str) -> bool {
    let id = side.split(':').next().unwrap_or_default();
    catalogue::builtin_names().iter().any(|name| name == id)
}

/// Repeats the comparison in sessions and judges them together.
fn in_sessions(args: &AbArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let apart = Duration::from_nanos(pause_ns(&args.apart)?);
    let label = short(plumb_machine::fresh_id());
    let mut findings = Vec::with_capacity(args.sessions.into());
    let mut last = None;
    for number in 1..=args.sessions {
        let began = Instant::now();
        ui.say(&format!("session {number} of {}", args.sessions));
        let measured = all_sides(args, AbRun::Session(&label), store, ui)?;
        findings.push(measured.finding);
        last = Some(measured.store);
        if number < args.sessions {
            let before = format!("before session {} of {}", number + 1, args.sessions);
            wait_until(began + apart, &before, ui)?;
        }
    }
    let host = locate::host(args.execution.host.as_ref())?;
    let earlier = match &last {
        Some(store) => plumb_query::earlier_sessions(store, &host, &label)?,
        None => Vec::new(),
    };
    repeated(args, &over_sessions(&findings, &earlier), ui)
}

/// Compares builds of both sides, one of each at a time, and judges them together.
fn of_builds(args: &AbArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let mut families = BuildFamily::both(&args.build, &args.sides, ui)?;
    let label = short(plumb_machine::fresh_id());
    let mut findings = Vec::with_capacity(args.builds.into());
    for number in 0..args.builds {
        ui.say(&format!("build {} of {}", number + 1, args.builds));
        let run = AbRun::Build { label: &label, number, families: &mut families };
        findings.push(all_sides(args, run, store, ui)?.finding);
    }
    families.iter().filter_map(BuildFamily::remark).for_each(|remark| ui.warn(&remark));
    repeated(args, &over_builds(&findings), ui)
}

/// Shows a comparison that was repeated, and what its verdict means for the exit code.
fn repeated(args: &AbArgs, finding: &SessionsFinding, ui: &Ui) -> Result<Exit> {
    if ui.wants_json() {
        ui.out(&sessions_json(finding).map_err(|error| CommandError::bug(error.to_string()))?);
    } else {
        ui.out(&sessions_card(finding, &ui.terminal()));
    }
    let policy = FailPolicy { fail_on: args.fail_on, strict: args.strict };
    Ok(policy.exits_of_sessions(finding).into_iter().min().unwrap_or(Exit::Nothing))
}

/// What is to be measured for this purpose: commands or points, pair by pair, until there is a verdict.
fn prepared<'s>(
    setup: &mut Setup,
    args: &AbArgs,
    mut run: AbRun<'_>,
    store: Option<&'s Path>,
    ui: &Ui,
) -> Result<MeasuringJob<'s>> {
    setup.keep_to(&args.execution.prepare);
    let all = setup.all_threads();
    let (of_knob, sets) = knob_sides(args)?;
    let of_all = PrepareArgs { set: sets, ..args.execution.prepare.clone() };
    let prepare = prepare::wanted(&mut setup.keeper, &of_all, None, all)?;
    let built = match &mut run {
        AbRun::Build { number, families, .. } => {
            Some(built_sides(setup, args, *number, families, ui)?)
        }
        _ => None,
    };
    let (mut points, folders_of_builds) = match built {
        Some(BuiltSides { points, folders }) => (points, Some(folders)),
        None => (sides(setup, args)?, None),
    };
    if !of_knob.is_empty() {
        points = at_values(&points, &of_knob);
    }
    let goal = verdict_goal(args, &run, &points, store, ui)?;
    let commands = points.iter().all(|planned| planned.point.workload == command::COMMAND);
    let place = if commands { FilesPlace::Scratch } else { args.target.place() };
    let folders = match folders_of_builds {
        Some(folders) => folders,
        None => folders(&mut setup.keeper, &place)?,
    };
    // Values of a knob are compared on one and the same file: a second copy would be a second difference.
    let may_copy = !args.no_copy && of_knob.is_empty();
    if may_copy && is_noexec(&folders.scratch) {
        ui.warn(&format!(
            "programs run where they are: {} is mounted noexec, so copies could not run there (TMPDIR=FOLDER puts them elsewhere)",
            folders.scratch.display()
        ));
    } else if may_copy {
        points = copy_side_by_side(points, &folders.scratch)?;
    }
    let mut goal = Goal::Verdict(goal);
    match run {
        AbRun::Comparison | AbRun::Session(_) | AbRun::Build { .. } => {}
        AbRun::Pilot => {
            if !commands {
                return Err(CommandError::usage("plumb can't add extra work to a plug-in")
                    .hint("prove the gate with commands or built-in workloads"));
            }
            points = proof::pilot_points(&points[0])?;
            goal = proof::pilot_goal();
        }
        AbRun::Proof(extra) => points = proof::proof_points(&points, extra),
        AbRun::Confirmation(_) => points = proof::confirming_points(&points),
    }
    let mut request = PlanRequest::new(points, goal, prepare);
    if run.is_of_builds()
        && let Some(budget) = &args.execution.budget
    {
        request.budget_ns = Some(time_ns(budget)? / u64::from(args.builds));
    }
    let mut plan = plan(request, &args.execution, &folders.dir)?;
    if let Some((name, label)) = run.label() {
        plan.labels.insert(name.to_owned(), label.to_owned());
    }
    Ok(MeasuringJob {
        lock: !args.execution.no_lock,
        host: args.execution.host.clone(),
        fail_on: FailPolicy { fail_on: args.fail_on, strict: args.strict },
        live: args.live.live,
        ..MeasuringJob::new(plan, folders, store)
    })
}

/// When this run ends: at a verdict, or when its share of the time is over.
fn verdict_goal(
    args: &AbArgs,
    run: &AbRun<'_>,
    points: &[PlannedPoint],
    store: Option<&Path>,
    ui: &Ui,
) -> Result<VerdictGoal> {
    let wanted = margin(&args.margin)?;
    let here = locate::host(args.execution.host.as_ref())?;
    let class = points.first().and_then(|side| side.description.audit_class);
    let noise_floor =
        class.map(|class| audits::noise_floor(store, &here, class)).transpose()?.flatten();
    if let Some(floor) = noise_floor.filter(|floor| *floor > wanted) {
        ui.say(&format!(
            "margin {} instead of {}: the last audit found that this machine can't resolve smaller differences",
            percent(floor),
            percent(wanted)
        ));
    }
    let margin = noise_floor.map_or(wanted, |floor| floor.max(wanted));
    let metric = metric(args.metric.as_deref(), points)?;
    let most = args.max_pairs.unwrap_or(VerdictGoal::MOST_PAIRS);
    let is_limited = args.max_pairs.is_some() || args.execution.budget.is_some();
    // All builds share the time of a comparison.
    let builds = if run.is_of_builds() { u64::from(args.builds) } else { 1 };
    let comparisons = match run {
        AbRun::Proof(_) => points.len().saturating_sub(1) as u64 + CONTROL_SIDES,
        _ => points.len().saturating_sub(1) as u64,
    };
    // Memory does not depend on where code lies, and several builds show by themselves what does.
    let other_files = if metric == PEAK_MEMORY || run.is_of_builds() {
        Vec::new()
    } else {
        side_by_side::other_files(points)
    };
    let layout_effect =
        if other_files.is_empty() { None } else { audits::layout_effect(store, &here)? };
    Ok(VerdictGoal {
        noise_floor,
        other_files,
        layout_effect,
        quad: args.quad,
        confidence: match run {
            AbRun::Confirmation(_) => Confidence::NinetyNine,
            _ => args.confidence,
        },
        time_ns: (!is_limited).then(|| COMPARISON_NS.saturating_mul(comparisons) / builds),
        ..VerdictGoal::new(&metric, margin, most)
    })
}

/// One build of each side, as points.
struct BuiltSides {
    points: Vec<PlannedPoint>,
    /// The folders of the run; the builds are in its scratch folder, which the keeper removes.
    folders: Folders,
}

/// Makes one build of each side.
fn built_sides(
    setup: &mut Setup,
    args: &AbArgs,
    number: u16,
    families: &mut [BuildFamily; 2],
    ui: &Ui,
) -> Result<BuiltSides> {
    let folders = folders(&mut setup.keeper, &FilesPlace::Scratch)?;
    if is_noexec(&folders.scratch) {
        return Err(CommandError::usage(format!(
            "builds can't run in {}: it is mounted noexec",
            folders.scratch.display()
        ))
        .hint("TMPDIR=FOLDER plumb ab --build … puts them elsewhere"));
    }
    let mut points = Vec::with_capacity(families.len());
    for (family, file) in families.iter_mut().zip(builds::FILES) {
        ui.say(&format!("building: {}", family.name()));
        let text = family.make(number, file, &folders.scratch)?;
        let command = TypedCommand::new(&text, args.shell)?;
        let settings = [command::ignoring(args.ignore_failure)].into();
        let point = command::point(&command, args.shell, settings, &[])?;
        points.push(PlannedPoint { title: Some(family.name().to_owned()), ..point });
    }
    Ok(BuiltSides { points, folders })
}

/// The values of a knob that are compared, and what else is set: if one side is named, the sets of the
/// one knob that is set more than once are the sides.
fn knob_sides(args: &AbArgs) -> Result<(Vec<Preparation>, Vec<String>)> {
    let sets = &args.execution.prepare.set;
    if args.sides.len() > 1 || !args.build.is_empty() {
        return Ok((Vec::new(), sets.clone()));
    }
    let mut sides = Vec::new();
    let mut rest = Vec::new();
    for text in sets {
        let times = sets.iter().filter(|other| knobs::name(other) == knobs::name(text)).count();
        if times > 1 { sides.push(text) } else { rest.push(text.clone()) }
    }
    let knobs: BTreeSet<&str> = sides.iter().map(|text| knobs::name(text)).collect();
    if knobs.len() != 1 {
        return Err(CommandError::usage(
            "ab compares two sides, or one side at two values of a knob",
        )
        .hint("plumb ab './old' './new'")
        .hint("plumb ab --set thp=always --set thp=never WORKLOAD"));
    }
    let sides = sides.iter().map(|text| knobs::of_invocations(text)).collect::<Result<_>>()?;
    Ok((sides, rest))
}

/// The point once for each value.
fn at_values(points: &[PlannedPoint], values: &[Preparation]) -> Vec<PlannedPoint> {
    let mut sides = Vec::new();
    for point in points {
        for value in values {
            // That a value is set before each invocation is how sides are compared, and no part of its name.
            let title = Preparation { slot: PreparationSlot::Run, ..value.clone() }.name();
            sides.push(PlannedPoint {
                title: Some(title),
                preparation: vec![value.clone()],
                ..point.clone()
            });
        }
    }
    sides
}

/// The sides: points if every name is one, else commands.
fn sides(setup: &mut Setup, args: &AbArgs) -> Result<Vec<PlannedPoint>> {
    let points = args.sides.iter().filter(|side| points::is_point(&mut setup.keeper, side)).count();
    if points == 0 {
        let mut commands = Vec::new();
        for text in &args.sides {
            let command = TypedCommand::new(text, args.shell)?;
            let settings = [command::ignoring(args.ignore_failure)].into();
            commands.push(command::point(&command, args.shell, settings, &[])?);
        }
        return Ok(commands);
    }
    if points < args.sides.len() {
        let ids = args.sides.iter().map(|side| side.split(':').next().unwrap_or_default());
        let known = catalogue::builtin_names();
        let unknown = ids.filter(|id| !known.iter().any(|name| name == id));
        let meant = unknown.filter_map(|id| nearest(id, &known)).next();
        let mut error = CommandError::usage("one side is a workload, another is a command");
        if let Some(name) = meant {
            error = error.hint(format!("did you mean `{name}`?"));
        }
        return Err(
            error.hint("plumb ab 'CMD' 'CMD', or plumb ab WORKLOAD:NAME=VALUE WORKLOAD:NAME=VALUE")
        );
    }
    let all = setup.all_threads();
    let mut found = Vec::new();
    for side in &args.sides {
        let one = std::slice::from_ref(side);
        found.extend(points::resolve(&mut setup.keeper, one, &[], all)?.points);
    }
    Ok(found)
}

/// The metric that all sides have.
fn metric(named: Option<&str>, points: &[PlannedPoint]) -> Result<String> {
    let first = points.first().and_then(|point| point.description.primary());
    let Some(metric) = named.or(first.map(|metric| metric.name.as_str())) else {
        return Err(CommandError::usage("the workload has no metric to compare"));
    };
    let missing = points.iter().find(|side| side.description.compared(metric).is_none());
    match missing {
        Some(point) if metric != CPU && metric != PEAK_MEMORY => {
            let declared = point.description.metrics.iter().map(|metric| metric.name.as_str());
            let more = [CPU, PEAK_MEMORY]
                .into_iter()
                .filter(|name| point.description.metric(name).is_none());
            let known: Vec<&str> = declared.chain(more).collect();
            let error = CommandError::usage(format!("{} has no metric `{metric}`", point.name()));
            let error = error.hint(format!("its metrics: {}", known.join(", ")));
            let has_quantiles = |metric: &&Metric| metric.kind == QuantityKind::Histogram;
            Err(match point.description.metrics.iter().find(has_quantiles) {
                Some(distribution) => {
                    error.hint(format!("quantiles: --metric '{} p99'", distribution.name))
                }
                None => error,
            })
        }
        _ if has_no_direction(points, metric) => Err(CommandError::usage(format!(
            "neither more nor less of `{metric}` is better, so no side can be slower by it"
        ))
        .hint("plumb run shows the values of both points")),
        _ if is_distribution(points, metric) => Ok(format!("{metric} p50")),
        _ => Ok(metric.to_owned()),
    }
}

fn has_no_direction(points: &[PlannedPoint], metric: &str) -> bool {
    let first = points.first().and_then(|point| point.description.compared(metric));
    first.is_some_and(|declared| declared.better == Better::Neither)
}

/// Whether this is a distribution without a quantile behind its name.
fn is_distribution(points: &[PlannedPoint], metric: &str) -> bool {
    let first = points.first().and_then(|point| point.description.distribution(metric));
    first.is_some_and(|(distribution, _)| distribution.name == metric)
}
