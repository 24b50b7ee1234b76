//! `plumb check`: did this machine become slower than its baseline?

use std::path::{Path, PathBuf};

use clap::Args;
use plumb_analysis::{Caveats, CheckFinding, Checker, FreshRun, canary_shift};
use plumb_export::check_junit;
use plumb_model::{
    By, Goal, Host, Id, Impact, OnInterference, Plan, Preparation, RunOfSeries, SampleIs,
    StoppingRules, Value, Verdict, VerdictGoal,
};
use plumb_query::StoredRuns;
use plumb_report::{check_card, check_json, check_markdown};
use plumb_stats::regression_gate::CONFIRM_RUNS;
use plumb_store::{Baseline, Store};
use plumb_suite::margin;
use plumb_text::counted;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::measuring::execute::{StoredRun, execute};
use crate::measuring::job::MeasuringJob;
use crate::measuring::setup::Setup;
use crate::measuring::target::{TargetArgs, folders};
use crate::planning::arguments::{PrepareArgs, by, on_interference, presets};
use crate::planning::prepare::{self, Prepare};
use crate::planning::{catalogue, plan, points};
use crate::reading::output::write_file;
use crate::reading::runs;
use crate::ui::Ui;

/// The longest time that the machine is compared with itself, in nanoseconds.
const NULL_NS: u64 = 30_000_000_000;

/// Work that nothing changes: what the CPU computes, and what the memory gives.
const CANARIES: [(&str, &str, &str); 2] =
    [("cpu.sieve", "limit", "100000"), ("memory.latency", "size", "1MiB")];
/// Fresh processes of each canary.
const CANARY_RUNS: usize = 3;

/// Did this machine become slower than its baseline?
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb check                                  against the most recently changed baseline
  plumb check --baseline good --margin 3%
  plumb check --junit check.xml --markdown check.md
  plumb check --by kind                        against runs of any host of this kind of machine

plumb first repeats the baseline's measurements once. If some series look different, it measures them in three more \
runs, and only these runs decide. Counting all series, at most 1 in 16 checks of an unchanged machine fails. plumb \
also compares the machine with itself. If that shows a difference, plumb ignores the alerts. It also ignores alerts \
smaller than the drift of an unchanged control workload. Exit codes: 0 no regression, 1 a confirmed regression, 3 a \
series could not be measured, 4 a workload failed, 5 no verdict (--strict).")]
pub struct CheckArgs {
    /// The baseline [default: the most recently changed one]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// The smallest relative change that matters
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    margin: String,
    /// Name this host, as in `plumb run`
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    host: Option<Host>,
    /// Check against the baseline's runs on this host, or on all hosts with the same kind of machine
    #[arg(long, value_name = "WHAT", value_parser = by(), default_value = "host")]
    by: By,
    /// Check even if the runs are not comparable, for example because one is incomplete
    #[arg(long)]
    force: bool,
    /// Exit with 5 if there is no verdict
    #[arg(long)]
    strict: bool,
    /// Also write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write Markdown to this file, for a pull request
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    target: TargetArgs,
    /// Label the fresh runs
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Prepare the machine with a preset [default: as for the newest run of the baseline]
    #[arg(long, value_name = "PRESET", value_parser = presets())]
    prepare: Option<String>,
    /// Set a knob, as in `plumb run`
    #[arg(long, value_name = "KNOB[=VALUE][@SLOT]")]
    set: Vec<String>,
    /// Keep or repeat invocations that other activity disturbed
    #[arg(long, value_name = "WHAT", value_parser = on_interference(), default_value = "keep")]
    on_interference: OnInterference,
    /// Do not wait for another plumb that is measuring on this machine
    #[arg(long)]
    no_lock: bool,
}

impl Subcommand for CheckArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        check(self, context.store, context.ui)
    }
}

/// Checks the machine against a baseline.
fn check(args: &CheckArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let margin = margin(&args.margin)?;
    let stored = read(store, args, ui)?;
    let baseline = &stored.name;
    let now = plumb_machine::now().unix_ns;
    let StoredRuns { runs, series } = &stored.members;
    let checker = Checker::new(baseline, runs, series, margin, now).map_err(|why| {
        CommandError::nothing(why).hint(format!("plumb baseline set {baseline} --runs 8"))
    })?;
    let again = Again { args, store, ui };
    let newest = stored.plan.ok_or_else(|| CommandError::nothing("the baseline has no runs"))?;
    let plan = prepared(newest, args)?;
    let canaries = again.canaries(&plan)?;
    let points = counted(plan.points.len(), "point", "points");
    let screen = again.measure(&plan, &format!("screening {points}"))?;
    let screened = FreshRun::of(&screen.record);
    let flagged = checker.screen(&screened);
    let mut confirming = Vec::new();
    let mut doubts = Caveats::default();
    // After a clean screening this is not needed: controls can only take back alerts.
    if !flagged.is_empty() {
        let points = flagged.iter().map(|&point| screen.record.plan.points[point].clone());
        let plan = Plan { points: points.collect(), ..plan };
        let points = counted(flagged.len(), "point", "points");
        for number in 1..=CONFIRM_RUNS {
            let what = format!("confirming {points}: run {number} of {CONFIRM_RUNS}");
            confirming.push(FreshRun::of(&again.measure(&plan, &what)?.record));
        }
        doubts.vetoes.extend(again.null_control(&plan)?);
        doubts.canary_shift = canary_shift(&canaries.series, &again.canaries(&plan)?.series);
    }
    let finding =
        plumb_query::of_check(&screen.store, &checker, &screened, &confirming, doubts, args.by)?;
    refuse_fatal(&finding, args.force)?;
    write(&finding, args, ui)?;
    Ok(exit(&finding, args.strict))
}

/// The plan as the user wants it prepared; else as it was for the baseline.
fn prepared(plan: Plan, args: &CheckArgs) -> Result<Plan> {
    if args.prepare.is_none() && args.set.is_empty() {
        return Ok(plan);
    }
    let mut setup = Setup::start()?;
    let all = setup.all_threads();
    let none = || Some("none".to_owned());
    let typed = PrepareArgs { prepare: args.prepare.clone().or_else(none), set: args.set.clone() };
    let Prepare { mut knobs, plugins } = prepare::wanted(&mut setup.keeper, &typed, None, all)?;
    if args.prepare.is_none() {
        let named = |old: &&Preparation| knobs.iter().any(|new| new.knob == old.knob);
        let kept: Vec<_> = plan.preparation.iter().filter(|old| !named(old)).cloned().collect();
        knobs.extend(kept);
    }
    let companions = plan.companions.iter().cloned().chain(plugins).collect();
    Ok(Plan { preparation: knobs, companions, ..plan })
}

/// The baseline that is named, or the one that was changed last.
fn chosen(store: &Store, name: Option<&str>) -> Result<Baseline> {
    if let Some(name) = name {
        return runs::baseline(store, name);
    }
    let newest = store.baselines()?.into_iter().max_by_key(|baseline| baseline.changed_unix_ns);
    newest.ok_or_else(|| {
        CommandError::usage("there is no baseline to check against")
            .hint("plumb baseline set good    measures one: eight runs of first-look")
    })
}

/// What is stored of a baseline.
struct StoredBaseline {
    name: String,
    /// Its runs that count here.
    members: StoredRuns,
    /// The plan of the newest of them, which is carried out again.
    plan: Option<Plan>,
}

/// The baseline that is meant, as far as its runs are in this store and count here. The store is closed before anything
/// is measured.
fn read(store: Option<&Path>, args: &CheckArgs, ui: &Ui) -> Result<StoredBaseline> {
    let store = runs::open(store)?;
    let baseline = chosen(&store, args.baseline.as_deref())?;
    let here = store.runs()?;
    let members: Vec<Id> = baseline.runs.iter().filter(|run| here.contains(run)).copied().collect();
    let all = StoredRuns::read(&store, &members)?;
    let members = on_this_machine(&baseline.name, all, args, ui)?;
    let plan = match members.runs.last() {
        Some(newest) => Some(store.record(newest.run)?.plan),
        None => None,
    };
    Ok(StoredBaseline { name: baseline.name, members, plan })
}

/// Measures what the baseline measured.
struct Again<'a> {
    args: &'a CheckArgs,
    store: Option<&'a Path>,
    ui: &'a Ui,
}

impl Again<'_> {
    fn measure(&self, plan: &Plan, what: &str) -> Result<StoredRun> {
        self.ui.say(what);
        let mut setup = Setup::start()?;
        let labels = plan::pairs(&self.args.labels)?;
        // With the seed of the baseline's plan all runs would draw the same orders and layouts, and not be independent.
        let seed = plumb_machine::now().monotonic_ns & 0xffff_ffff;
        let on_interference = self.args.on_interference;
        let folders = folders(&mut setup.keeper, &self.args.target.place())?;
        let dir = folders.dir.to_string_lossy().into_owned();
        let plan = Plan { seed, labels, on_interference, dir, ..plan.clone() };
        let lock = !self.args.no_lock;
        let host = self.args.host.clone();
        let job = MeasuringJob {
            lock,
            host,
            explicit: false,
            ..MeasuringJob::new(plan, folders, self.store)
        };
        let measured = execute(setup, job, self.ui)?;
        if measured.ended.interrupted {
            return Err(CommandError::interrupted("interrupted; a check needs all its runs"));
        }
        Ok(measured)
    }

    /// Measures work that nothing has changed; how far it moves says what the machine does meanwhile.
    fn canaries(&self, plan: &Plan) -> Result<FreshRun> {
        let mut points = Vec::new();
        for (id, parameter, value) in CANARIES {
            let Some(entry) = catalogue::builtin(id)? else { continue };
            let settings = [(parameter.to_owned(), Value::Text(value.to_owned()))].into();
            points.push(points::planned(&entry, &settings, 1)?);
        }
        let rules = StoppingRules::fixed(CANARY_RUNS);
        let goal = Goal::Rules(StoppingRules { max_time_ns: Some(NULL_NS), ..rules });
        let canaries = Plan { points, goal, budget_ns: Some(NULL_NS), suite: None, ..plan.clone() };
        let measured = self.measure(&canaries, "measuring an unchanged control workload")?;
        Ok(FreshRun::of(&measured.record))
    }

    /// Compares the first point with itself: a verdict other than equal says that this machine, now,
    /// makes differences where there are none.
    fn null_control(&self, plan: &Plan) -> Result<Option<String>> {
        let in_process = |planned: &&plumb_model::PlannedPoint| {
            planned.description.sample_is == SampleIs::Iteration
        };
        let Some(point) = plan.points.iter().find(in_process).or(plan.points.first()) else {
            return Ok(None);
        };
        let Some(metric) = point.description.primary() else { return Ok(None) };
        let goal = Goal::Verdict(VerdictGoal::new(&metric.name, plumb_model::MARGIN, 40));
        let name = point.name();
        let points = vec![point.clone(), point.clone()];
        let budget_ns = Some(NULL_NS);
        let control_plan = Plan { points, goal, budget_ns, suite: None, ..plan.clone() };
        let control = self.measure(&control_plan, &format!("comparing {name} with itself"))?;
        let finding = plumb_analysis::summarise(&control.record);
        let verdict =
            finding.against_first.first().and_then(|comparison| comparison.found.verdict.ok());
        Ok(match verdict {
            Some(verdict @ (Verdict::Faster | Verdict::Slower)) => {
                Some(format!("{name} appeared {} than itself", verdict.word()))
            }
            _ => None,
        })
    }
}

/// The runs of the baseline that count here. A series includes its machine: on another one everything
/// differs, and nothing has become slower.
fn on_this_machine(
    baseline: &str,
    mut stored: StoredRuns,
    args: &CheckArgs,
    ui: &Ui,
) -> Result<StoredRuns> {
    if args.force {
        return Ok(stored);
    }
    let kind = plumb_machine::machine(&locate::root()).fingerprint;
    let places = || stored.runs.iter().filter_map(|run| run.place.as_ref());
    if let Some(other) = places().find(|place| place.machine.fingerprint != kind) {
        let cpu = other.machine.facts.get("cpu").map_or("another CPU", String::as_str);
        return Err(CommandError::usage(format!(
            "the baseline was measured on another machine: {cpu}"
        ))
        .hint("plumb baseline set NAME    measures a baseline of this machine")
        .hint("plumb compare RUN RUN      compares machines; --force checks anyway"));
    }
    let here = locate::host(args.host.as_ref())?;
    let is_here = |run: &RunOfSeries| {
        run.place.as_ref().is_none_or(|place| args.by.mixes(&place.host, &here))
    };
    let mut others = stored.runs.iter().filter(|run| !is_here(run));
    let Some(host) = others.next().map(|run| run.host().clone()) else { return Ok(stored) };
    let left_out = 1 + others.count();
    let all = stored.runs.len();
    stored.retain(is_here);
    if stored.runs.is_empty() {
        let check = format!("plumb check --baseline {baseline}");
        return Err(CommandError::usage(format!(
            "the baseline {baseline} was measured on host {host}, but this is {here}"
        ))
        .hint(format!("{check} --by kind    uses the runs of all hosts of this kind of machine"))
        .hint(format!("{check} --host {host}    if this host replaces that one"))
        .hint("plumb baseline set NAME    measures a baseline of this host"));
    }
    ui.say(&format!(
        "ignored {left_out} of {all} baseline runs because they are from other hosts; --by kind includes them"
    ));
    Ok(stored)
}

fn refuse_fatal(finding: &CheckFinding, force: bool) -> Result<()> {
    match finding.differences.iter().find(|difference| difference.impact == Impact::Fatal) {
        Some(difference) if !force => {
            let field = &difference.field;
            let values = difference.values.join(", ");
            Err(CommandError::usage(format!(
                "the baseline and this check are not comparable: `{field}` differs ({values})"
            ))
            .hint("--force checks anyway"))
        }
        _ => Ok(()),
    }
}

fn write(finding: &CheckFinding, args: &CheckArgs, ui: &Ui) -> Result<()> {
    if ui.wants_json() {
        ui.out(&check_json(finding).map_err(|error| CommandError::bug(error.to_string()))?);
    } else {
        ui.out(&check_card(finding, &ui.terminal()));
    }
    if let Some(file) = &args.junit {
        write_file(file, check_junit(finding).as_bytes())?;
    }
    if let Some(file) = &args.markdown {
        write_file(file, check_markdown(finding).as_bytes())?;
    }
    Ok(())
}

fn exit(finding: &CheckFinding, strict: bool) -> Exit {
    let lost = &finding.not_measured;
    if lost.iter().any(|series| series.failed) {
        Exit::Failed
    } else if finding.series.is_empty() || !lost.is_empty() {
        Exit::Nothing
    } else if finding.regressions().next().is_some() {
        Exit::Regression
    } else if strict && finding.is_inconclusive() {
        Exit::Inconclusive
    } else {
        Exit::Fine
    }
}
