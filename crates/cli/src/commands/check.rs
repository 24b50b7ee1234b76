//! `plumb check`: did this machine become slower than its baseline?

mod cause;
mod machines;
mod proof;
mod quick;
mod quick_machines;
mod steps;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, value_parser};
use plumb_analysis::{
    BaselineRuns, CheckFinding, CheckedAgainst, Checker, FirstBaseline, OtherRuns, WhichBaseline,
};
use plumb_export::check_junit;
use plumb_model::{
    By, Goal, Host, Id, Impact, OnInterference, Plan, Preparation, RunOfSeries, RunRecord,
    SeriesInRun,
};
use plumb_query::{Selection, StoredRuns};
use plumb_report::{check_card, check_json, check_markdown};
use plumb_store::{Baseline, RunSummary, Store};
use plumb_suite::{margin, pause_ns, share};

use self::steps::{CheckSteps, MachineCheck, MachinePlan, StepRunner};
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::arguments::MachineArgs;
use crate::locate;
use crate::measuring::execute::{StoredRun, execute};
use crate::measuring::job::MeasuringJob;
use crate::measuring::setup::Setup;
use crate::measuring::target::{TargetArgs, folders};
use crate::planning::arguments::{PrepareArgs, by, on_interference, presets};
use crate::planning::plan;
use crate::planning::prepare::{self, Prepare};
use crate::reading::output::write_file;
use crate::reading::runs;
use crate::ui::Ui;

/// Has this machine become slower than its baseline?
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb check                                  against the most recently changed baseline
  plumb check --baseline good --margin 3%
  plumb check --apart 0s                       confirm at once: faster, but more false alarms
  plumb check --sessions 3 --apart 1h          three sessions, an hour apart
  plumb check --quick                          before a job: is this machine healthy?
  plumb check --quick --on web1,web2           ask that of other machines
  plumb check --prove                          a CI gate that proves it can find 5 %
  plumb check --on web1,web2                   each machine with its own baseline runs
  plumb check --junit check.xml --markdown check.md
  plumb check --by kind                        against all hosts of this kind

plumb repeats the baseline's measurements once. If some series look different, it measures them again in three runs \
ten minutes later, and only these runs decide. Across all series, at most 1 in 100 checks of an unchanged machine \
fails (with --on, per machine). plumb also checks against the first baseline of this name, to detect gradual slow-downs. \
It ignores alerts if a program differs from itself, and alerts smaller than the control workload's drift. Small changes are \
undecided if all runs of the baseline began within an hour and there are no earlier runs to compare with.

If the baseline stores the measured files (`plumb baseline set --keep`), plumb measures them again after a regression, and \
shows whether the code or the machine changed.

--quick compares this machine with the healthy runs of a baseline, the most informative measurements first, and ends once all \
results are healthy or one is confirmed slow. At most 1 in 100 healthy machines is called slow.

--prove also measures one point with and without a known share of extra work. If that control fails, or the check would \
probably miss such a slow-down, it abstains.

Exit codes: 0 no regression, 1 a confirmed regression, 3 a series could not be measured, 4 a workload failed or (with --on) \
a machine could not be checked, even if others are slower, 5 no verdict (--strict, --quick), or the check abstains (--prove).")]
pub struct CheckArgs {
    /// The baseline [default: the most recently changed one]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// The smallest relative change that matters [default: 1%, with --quick 5%]
    #[arg(long, value_name = "SHARE")]
    margin: Option<String>,
    /// Only ask whether this machine is as fast as healthy ones, within TIME [default: 2m]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "2m",
        conflicts_with_all = ["sessions", "apart", "prove", "strict", "junit", "markdown"])]
    quick: Option<String>,
    /// Confirm in this many sessions of three runs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(1..=100))]
    sessions: u16,
    /// Wait this long before each session
    #[arg(long, value_name = "TIME", default_value = "10m")]
    apart: String,
    /// Name this host [default: $PLUMB_HOST, or a hash of its machine id]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    host: Option<Host>,
    /// Use the stored runs of one host, or of all hosts of its kind
    #[arg(long, value_name = "WHAT", value_parser = by(), default_value = "host")]
    by: By,
    /// Continue even if the runs are not comparable
    #[arg(long)]
    force: bool,
    /// Exit with 5 if there is no clear verdict
    #[arg(long)]
    strict: bool,
    /// Verify that a slow-down of SHARE [default: 5%] would be found, or abstain
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, default_missing_value = "5%")]
    prove: Option<String>,
    /// Also write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    target: TargetArgs,
    /// Label each run
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Prepare the machine with a preset [default: that of the baseline's newest run]
    #[arg(long, value_name = "PRESET", value_parser = presets())]
    prepare: Option<String>,
    /// Set a knob for the run (`thp=never`, `drop-caches@round`)
    ///
    /// `plumb tune` lists the knobs. Plug-ins that prepare the machine work too.
    #[arg(long, value_name = "KNOB[=VALUE][@SLOT]")]
    set: Vec<String>,
    /// Keep or retry disturbed invocations [default: keep, with --quick retry]
    #[arg(long, value_name = "WHAT", value_parser = on_interference())]
    on_interference: Option<OnInterference>,
    /// Do not wait for another plumb that is measuring on this machine
    #[arg(long)]
    no_lock: bool,
    // Last, because help lists what follows a heading under it.
    #[command(flatten)]
    machines: MachineArgs,
}

impl CheckArgs {
    /// The smallest relative change that matters to a check that is not quick.
    fn margin(&self) -> Result<f64> {
        margin(self.margin.as_deref().unwrap_or("1%")).map_err(CommandError::from)
    }
}

impl Subcommand for CheckArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        check(self, context.store, context.ui)
    }
}

/// Checks this machine, or others, against a baseline.
fn check(args: &CheckArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if let Some(machines) = args.machines.named()? {
        return match &args.quick {
            Some(most) => args.quick_check_machines(most, machines, store, ui),
            None => args.check_machines(machines, store, ui),
        };
    }
    if let Some(most) = &args.quick {
        return Again { args, store, ui }.quick_check(most);
    }
    let margin = args.margin()?;
    let planted = args.prove.as_deref().map(share).transpose()?;
    let stored = read(store, args, ui)?;
    let checker = checker(&stored, args, margin)?;
    let again = Again { args, store, ui };
    let plan = prepared(stored.plan()?, args)?;
    let steps = steps(args, &again, ui)?;
    let mut checks = [MachineCheck::new(0, &checker, plan.clone())];
    steps.screen(&mut checks)?;
    if let Some(planted) = planted {
        checks[0].doubts.proof = Some(again.prove(&plan, &checker, planted)?);
    }
    steps.confirm(&mut checks)?;
    let finding = checks[0].finding(&Store::open(locate::store(store)?)?, args.by)?;
    refuse_fatal(&finding, args.force)?;
    let finding = again.explain(finding, &checker, &stored, &plan)?;
    write(&finding, args, ui)?;
    Ok(exit(&finding, args.strict))
}

/// The steps of a check, with the pauses and sessions that the user wants.
fn steps<'s>(args: &CheckArgs, runner: &'s dyn StepRunner, ui: &'s Ui) -> Result<CheckSteps<'s>> {
    Ok(CheckSteps {
        runner,
        sessions: args.sessions,
        apart: Duration::from_nanos(pause_ns(&args.apart)?),
        ui,
    })
}

/// The comparison with a baseline.
fn checker<'s>(stored: &'s StoredBaseline, args: &CheckArgs, margin: f64) -> Result<Checker<'s>> {
    let now = plumb_machine::now().unix_ns;
    Checker::new(stored.against(args.by), margin, now).map_err(|why| {
        CommandError::nothing(why).hint(format!("plumb baseline set {} --runs 8", stored.name))
    })
}

/// The plan as the user wants it prepared; else as it was for the baseline.
fn prepared(plan: Plan, args: &CheckArgs) -> Result<Plan> {
    if args.prepare.is_none() && args.set.is_empty() {
        return Ok(plan);
    }
    let mut setup = Setup::start()?;
    let all = setup.all_threads();
    let none = || Some("none".to_owned());
    let typed = PrepareArgs {
        prepare: args.prepare.clone().or_else(none),
        set: args.set.clone(),
        energy: false,
    };
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
    /// The runs that count here of the baseline as it was first set, and when that was, if these are others.
    first: Option<(i64, StoredRuns)>,
    /// The series of other runs, which show how much runs differ by themselves.
    earlier: Vec<SeriesInRun>,
    /// The plan of the newest of them, which is carried out again.
    plan: Option<Plan>,
}

impl StoredBaseline {
    /// The plan that is carried out again.
    fn plan(&self) -> Result<Plan> {
        self.plan.clone().ok_or_else(|| CommandError::nothing("the baseline has no runs"))
    }

    /// The runs that count here of the baseline that a series was compared with.
    fn members_of(&self, which: WhichBaseline) -> &StoredRuns {
        match (which, &self.first) {
            (WhichBaseline::First, Some((_, first))) => first,
            (WhichBaseline::Current | WhichBaseline::First, _) => &self.members,
        }
    }

    fn against(&self, by: By) -> CheckedAgainst<'_> {
        let first = self.first.as_ref().map(|(set_unix_ns, runs)| FirstBaseline {
            runs: baseline_runs(runs),
            set_unix_ns: *set_unix_ns,
        });
        CheckedAgainst {
            name: &self.name,
            current: baseline_runs(&self.members),
            first,
            earlier: OtherRuns { series: &self.earlier, by },
        }
    }
}

fn baseline_runs(stored: &StoredRuns) -> BaselineRuns<'_> {
    BaselineRuns { runs: &stored.runs, series: &stored.series }
}

/// The baseline that is meant, as far as its runs are in this store and count here. The store is closed before anything
/// is measured.
fn read(store: Option<&Path>, args: &CheckArgs, ui: &Ui) -> Result<StoredBaseline> {
    let store = runs::open(store)?;
    let baseline = chosen(&store, args.baseline.as_deref())?;
    let all = StoredRuns::read(&store, &in_store(&store, &baseline.runs)?)?;
    let members = on_this_machine(&baseline.name, all, args, ui)?;
    let first = first_set(&store, &baseline)?;
    with_members(&store, &baseline.name, members, first.as_ref(), &store.summaries()?, args.by)
}

/// A baseline with those of its runs that count; `first` is the whole baseline as it was first set, if that had other runs.
fn with_members(
    store: &Store,
    name: &str,
    members: StoredRuns,
    first: Option<&(i64, StoredRuns)>,
    summaries: &[RunSummary],
    by: By,
) -> Result<StoredBaseline> {
    let ids: Vec<Id> = members.runs.iter().map(|run| run.run).collect();
    let others = plumb_query::others(summaries, &ids, by);
    let earlier = plumb_query::read(store, Selection::Runs(&others))?;
    let plan = match members.runs.last() {
        Some(newest) => Some(store.record(newest.run)?.plan),
        None => None,
    };
    let first = first.and_then(|(set_unix_ns, runs)| {
        let is_here =
            |run: &RunOfSeries| members.runs.iter().any(|one| one.is_one_machine(run, By::Host));
        let runs = runs.only(is_here);
        (!runs.runs.is_empty()).then_some((*set_unix_ns, runs))
    });
    Ok(StoredBaseline { name: name.to_owned(), members, first, earlier, plan })
}

/// Those of the runs that the store has.
fn in_store(store: &Store, wanted: &[Id]) -> Result<Vec<Id>> {
    let here: BTreeSet<Id> = store.runs()?.into_iter().collect();
    Ok(wanted.iter().filter(|run| here.contains(run)).copied().collect())
}

/// The baseline as it was first set, and when, if its runs were others.
fn first_set(store: &Store, baseline: &Baseline) -> Result<Option<(i64, StoredRuns)>> {
    let Some(first) = store.first_baseline(&baseline.name)? else { return Ok(None) };
    if first.runs == baseline.runs {
        return Ok(None);
    }
    let runs = StoredRuns::read(store, &in_store(store, &first.runs)?)?;
    Ok(Some((first.changed_unix_ns, runs)))
}

/// A plan of the baseline for another run.
fn fresh(plan: &Plan, args: &CheckArgs) -> Result<Plan> {
    Ok(Plan {
        // With the seed of the baseline's plan all runs would draw the same orders and layouts, and not be independent.
        seed: plumb_machine::now().monotonic_ns & 0xffff_ffff,
        labels: plan::pairs(&args.labels)?,
        on_interference: args.on_interference.unwrap_or(match plan.goal {
            // Next to other work, healthy machines would look slow.
            Goal::Health(_) => OnInterference::Retry,
            _ => OnInterference::Keep,
        }),
        ..plan.clone()
    })
}

/// Measures what the baseline measured.
struct Again<'a> {
    args: &'a CheckArgs,
    store: Option<&'a Path>,
    ui: &'a Ui,
}

impl Again<'_> {
    fn measure_one(&self, plan: &Plan, what: &str) -> Result<StoredRun> {
        self.measure_made(plan, &|plan, _| Ok(plan.clone()), what)
    }

    /// Measures what `make` makes of the plan, with files of its own in the run's folder for such.
    fn measure_made(
        &self,
        plan: &Plan,
        make: &dyn Fn(&Plan, &Path) -> Result<Plan>,
        what: &str,
    ) -> Result<StoredRun> {
        self.ui.say(what);
        let mut setup = Setup::start()?;
        let folders = folders(&mut setup.keeper, &self.args.target.place())?;
        let dir = folders.dir.to_string_lossy().into_owned();
        let made = make(plan, &folders.scratch)?;
        let plan = Plan { dir, ..fresh(&made, self.args)? };
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
}

impl StepRunner for Again<'_> {
    fn measure(&self, plans: &[MachinePlan], what: &str) -> Result<Vec<Result<RunRecord>>> {
        let mut records = Vec::with_capacity(plans.len());
        for MachinePlan { plan, .. } in plans {
            records.push(Ok(self.measure_one(plan, what)?.record));
        }
        Ok(records)
    }

    fn name(&self, _machine: usize) -> Option<&str> {
        None
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
    } else if finding.abstains().is_some() {
        Exit::Inconclusive
    } else if finding.regressions().next().is_some() {
        Exit::Regression
    } else if strict && finding.is_inconclusive() {
        Exit::Inconclusive
    } else {
        Exit::Fine
    }
}
