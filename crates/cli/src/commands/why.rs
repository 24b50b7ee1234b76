//! `plumb why`: what makes a workload or a command slow, found by removing one suspected cause at a time.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use plumb_analysis::{CandidateExperiment, CandidateFinding, Estimate, WhyFinding};
use plumb_causes::{CAUSES, Removal, Suspect, Suspicion, knob_of_fact};
use plumb_machine::chosen;
use plumb_model::{FACTS, FactKind, Id, Impact, PlannedPoint, Theme};
use plumb_query::Selection;
use plumb_report::{why_card, why_json};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::measuring::search::{
    self, ChangeSearch, ChangedPoint, SearchArgs, SearchCandidate, TrialStage,
};
use crate::measuring::setup::Setup;
use crate::planning::setting_commands::SettingCommands;
use crate::planning::{knobs, shell_syntax};
use crate::reading::runs;
use crate::ui::Ui;

/// Why is it slow? Remove suspected causes one at a time, and measure
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb why cpu.sieve                              a workload
  plumb why datastore.batch:engine=sqlite --dir /srv
  plumb why './report --all' --budget 5m           a command
  plumb why network.tcp:path=veth,rtt=40ms,buffer=64KiB
  plumb why cpu.sieve --since 'last~5'             what changed since that run?
  plumb why --json cpu.sieve
  plumb explain cause.cpu-quota                    what a cause is, and how it is removed

plumb removes suspects one at a time, and alternates modified with unmodified runs. A suspect is a cause if the work \
is over 5 % faster without it across the whole interval, confirmed on fresh pairs. plumb restores everything afterwards. \
Without root, it tests what it can and lists the rest. docs/why.md lists the causes.

Exit codes: 0 if plumb found causes, or ruled out all suspects; 5 if it is undecided.")]
pub struct WhyArgs {
    /// A workload (`memory.copy:method=nt`), or a command as one argument
    #[arg(value_name = "WORKLOAD|COMMAND")]
    subject: String,
    /// Also try what changed on this machine since a run that was faster
    #[arg(long, value_name = "RUN", visible_alias = "against")]
    since: Option<String>,
    #[command(flatten)]
    search: SearchArgs,
}

/// Under a quota, a sample covers six of its periods, in nanoseconds. It is so long that it is an invocation by itself.
const QUOTA_SAMPLE_NS: u64 = 650_000_000;
/// A lookup without an answer takes at least this long, in seconds: the shortest time-out of resolv.conf(5).
const UNANSWERED_LOOKUP_S: f64 = 1.0;

impl Subcommand for WhyArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        if !self.search.shell {
            shell_syntax::warn_of_text(&self.subject, shell_syntax::OPTION, context.ui);
        }
        let finding = why(self, context.store, context.ui)?;
        let ui = context.ui;
        if ui.wants_json() {
            ui.out(&why_json(&finding).map_err(|error| CommandError::bug(error.to_string()))?);
        } else {
            let store_option = context.store.map(locate::store_option).unwrap_or_default();
            ui.out(&why_card(&finding, &ui.terminal(), &store_option));
        }
        let is_answered = !finding.causes().is_empty() || !finding.is_undecided();
        Ok(if is_answered { Exit::Fine } else { Exit::Inconclusive })
    }
}

/// Looks for causes, removes them, and confirms those that have an effect.
fn why(args: &WhyArgs, store: Option<&Path>, ui: &Ui) -> Result<WhyFinding> {
    let mut setup = Setup::start()?;
    setup.keep_to(&args.search.execution.prepare);
    let mut subject = search::subject(&mut setup, &args.subject, &args.search)?;
    let is_on_medium =
        args.search.execution.prepare.set.iter().any(|text| text.starts_with("medium="));
    let folder = (!is_on_medium).then(|| args.search.target.place().path());
    let since = match &args.since {
        Some(run) => Some(FasterRun::read(store, run, &subject)?),
        None => None,
    };
    let mut candidates = match &since {
        Some(since) => since.candidates(&mut setup, &subject, folder.as_deref())?,
        None => Vec::new(),
    };
    for candidate in suspected(&mut setup, &subject, folder.as_deref())? {
        let is_known = candidates.iter().any(|known| {
            !known.finding.way.is_empty() && known.finding.way == candidate.finding.way
        });
        if !is_known {
            candidates.push(candidate);
        }
    }
    if candidates.iter().any(sets_cpu_quota) {
        // Within one period of a quota, a process first runs at full speed, and then not at all.
        let changed = candidates.iter_mut().filter_map(|candidate| candidate.changed.as_mut());
        for point in changed.map(|changed| &mut changed.point).chain([&mut subject]) {
            point.sample_ns = point.sample_ns.max(Some(QUOTA_SAMPLE_NS));
        }
    }
    drop(setup);
    let mut search = ChangeSearch::new(&args.search, subject, candidates, store, ui)?.for_causes();
    search.run()?;
    // What was found so far is the answer, whether or not the rest can be measured.
    if let Err(error) = search.find_hidden_causes() {
        ui.say(&format!("the search for further causes ended: {error}"));
    }
    if let Err(error) = search.measure_parts(folder.as_deref()) {
        ui.say(&format!("the parts of the work were not measured: {error}"));
    }
    let since = since.map(|since| (since.run, since.result));
    Ok(WhyFinding { since, ..search.finding() })
}

/// Whether another CPU quota removes it.
fn sets_cpu_quota(candidate: &SearchCandidate) -> bool {
    candidate.finding.way.iter().any(|setting| setting.starts_with("cpu-quota"))
}

/// A stored run in which the work was faster.
struct FasterRun {
    run: Id,
    result: Estimate,
    /// The facts of its environment.
    facts: BTreeMap<String, String>,
}

impl FasterRun {
    /// The run of this name, which must have a result of this point.
    fn read(store: Option<&Path>, name: &str, subject: &PlannedPoint) -> Result<Self> {
        let store = runs::open(store)?;
        let run = store.resolve(name)?;
        let metric = subject.description.primary().map_or("", |metric| metric.name.as_str());
        let wanted = subject.point.series(metric);
        let mut series = plumb_query::read(&store, Selection::Runs(&[run]))?;
        series.retain(|series| series.name == wanted);
        let Some(found) = series.pop() else {
            return Err(CommandError::usage(format!("run {name} has no result of {wanted}"))
                .hint(format!("plumb show {name} lists its results")));
        };
        if found.run.machine() != plumb_machine::machine(&locate::root()).fingerprint {
            return Err(CommandError::usage(format!("run {name} is from another machine"))
                .hint("plumb compare shows how two machines differ"));
        }
        let prepared = &found.run.prepared;
        if prepared != "nothing" {
            return Err(CommandError::usage(format!("run {name} was prepared: {prepared}"))
                .hint("its settings were not those of the machine: name a run without --prepare and --set"));
        }
        let facts = found.environment.facts.clone();
        Ok(Self { run, result: found.estimate, facts })
    }

    /// What changed since, each with the former value, if plumb can set it again.
    fn candidates(
        &self,
        setup: &mut Setup,
        subject: &PlannedPoint,
        folder: Option<&Path>,
    ) -> Result<Vec<SearchCandidate>> {
        let root = locate::root();
        let now = plumb_machine::environment(&root, folder.unwrap_or(Path::new(".")));
        let uses_files = plumb_causes::uses_files(&subject.point.workload);
        let mut candidates = Vec::new();
        for fact in FACTS.iter().filter(|fact| is_of_machine(fact)) {
            // The folder that another work uses says nothing of this one.
            if !uses_files && [Theme::Disks, Theme::Place].contains(&fact.theme) {
                continue;
            }
            let (Some(was), Some(is)) = (self.facts.get(fact.name), now.facts.get(fact.name))
            else {
                continue;
            };
            if was == is {
                continue;
            }
            let mut way = None;
            let mut refused = "plumb has no way to undo this change".to_owned();
            let mut command = String::new();
            if let Some(text) = knob_of_fact(fact.name, was) {
                let knob = Removal::Knobs(vec![text.clone()]);
                match search::changed(setup, subject, &knob)? {
                    Ok(point) => way = Some(changed_point(knob, point, fact.name)),
                    Err(why) => refused = why,
                }
                let preparation = knobs::knob(&text);
                command = preparation
                    .map_or_else(|_| String::new(), |knob| SettingCommands::of(&root, &knob).set);
            }
            candidates.push(SearchCandidate {
                finding: CandidateFinding {
                    cause: fact.name.to_owned(),
                    summary: format!("the change of {} since that run", fact.name),
                    evidence: format!("was {}, is {}: {}", chosen(was), chosen(is), fact.why),
                    way: way.as_ref().map_or_else(Vec::new, |way| settings(&way.way)),
                    remedy: "restore the former value".to_owned(),
                    command,
                    experiment: CandidateExperiment::NotTried(refused),
                    after_causes: None,
                },
                stage: TrialStage::First,
                changed: way,
            });
        }
        Ok(candidates)
    }
}

/// Whether a fact may make this machine slower than it was. Limits are causes of their own.
fn is_of_machine(fact: &FactKind) -> bool {
    fact.is_of_environment() && fact.impact == Impact::Relevant && fact.theme != Theme::Limits
}

fn changed_point(way: Removal, point: PlannedPoint, without: &str) -> ChangedPoint {
    let title = Some(format!("without {without}"));
    ChangedPoint { way, point: PlannedPoint { title, ..point } }
}

/// The variables of plumb's environment; those that are not UTF-8 are left out.
fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// What is suspicious, each with the point without it.
fn suspected(
    setup: &mut Setup,
    subject: &PlannedPoint,
    folder: Option<&Path>,
) -> Result<Vec<SearchCandidate>> {
    let root = locate::root();
    let suspect = Suspect {
        root: &root,
        point: &subject.point,
        description: &subject.description,
        variables: variables(),
        folder,
    };
    let mut candidates = Vec::new();
    for cause in CAUSES {
        let Some(Suspicion { evidence, is_common, ways, remedy }) = (cause.suspect)(&suspect)
        else {
            continue;
        };
        let mut refused = "plumb has no way to remove it".to_owned();
        let mut changed = None;
        for way in ways {
            match search::changed(setup, subject, &way)? {
                Ok(point) => {
                    changed = Some(changed_point(way, point, cause.name));
                    break;
                }
                Err(why) => refused = why,
            }
        }
        let way = changed.as_ref().map_or_else(Vec::new, |changed| settings(&changed.way));
        candidates.push(SearchCandidate {
            finding: CandidateFinding {
                cause: cause.name.to_owned(),
                summary: cause.summary.to_owned(),
                evidence,
                way,
                remedy: remedy.text,
                command: remedy.command,
                experiment: CandidateExperiment::NotTried(refused),
                after_causes: None,
            },
            stage: match (is_common, cause.name) {
                (true, plumb_causes::NAME_RESOLUTION) => TrialStage::LongWork(UNANSWERED_LOOKUP_S),
                (true, _) => TrialStage::Later,
                (false, _) => TrialStage::First,
            },
            changed,
        });
    }
    Ok(candidates)
}

/// The settings that remove a cause, as people type them.
fn settings(way: &Removal) -> Vec<String> {
    match way {
        Removal::Knobs(texts) => texts.clone(),
        Removal::Parameters(values) => {
            values.iter().map(|(name, value)| format!("{name}={value}")).collect()
        }
    }
}
