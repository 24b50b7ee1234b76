//! `plumb reference`: figures of other machines, published or measured.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand as Commands};
use plumb_model::{Id, Machine, RunStatus, SeriesInRun};
use plumb_query::{Selection, SinceLastRun};
use plumb_reference::{Reference, ReferenceFigure, SCHEMA, compare, merge, of_runs, shipped};
use plumb_report::{
    reference_card, reference_comparison_card, reference_comparison_json, reference_json,
    references_card, references_json,
};
use plumb_store::{Store, short};
use plumb_text::command_line::quoted;
use plumb_text::{counted, time};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::reading::{references, runs};
use crate::ui::Ui;

/// Characters of the day in a date by RFC 3339.
const DAY: usize = "2026-11-29".len();

/// Runs of a figure below which its range says little.
const FEWEST_RUNS: usize = 3;

/// Manage references: figures of other machines to compare with
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb reference list                                published figures, and those that you added
  plumb reference show linode-360-2010
  plumb compare reference:linode-360-2010 last        the last run next to a reference
  plumb run bonnie --expect reference:linode-360-2010
  plumb reference export web last~2 last~1 last > web.toml    of three runs of a healthy machine
  plumb reference add web.toml                        on other machines of this kind, for plumb run

`plumb run` compares its results with every added reference of the same kind of machine.")]
pub struct ReferenceArgs {
    #[command(subcommand)]
    command: ReferenceCommand,
}

#[derive(Debug, Commands)]
enum ReferenceCommand {
    /// List all references
    List,
    /// Show a reference with all of its figures
    Show {
        /// The reference's name
        name: String,
    },
    /// Make a reference from stored runs and print it
    Export(ExportReferenceArgs),
    /// Add a reference from a file
    Add {
        /// A file that `plumb reference export` wrote
        file: PathBuf,
        /// Replace a reference of the same name
        #[arg(long)]
        replace: bool,
    },
    /// Remove a reference that you added
    Remove {
        /// The reference's name
        name: String,
    },
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb reference export web last~2 last~1 last > web.toml
  plumb reference export web state=healthy > web.toml          all runs with this label
  plumb reference export web fleet=0193f2a4c1d8 > web.toml         all machines of a fleet
  plumb reference export web --merge a.toml --merge b.toml > web.toml   hosts of two files

All runs must be complete, from one kind of machine, and prepared identically. For each run, the file has the median \
of each point's first metric. It names no hosts, but includes measured command lines. docs/references.md describes it and \
lists the points that are left out.")]
struct ExportReferenceArgs {
    /// The name of the new reference
    name: String,
    /// Ids, `last`, `last~2`, or labels `k=v` (all matching runs)
    #[arg(required_unless_present = "merge", value_name = "RUN")]
    runs: Vec<String>,
    /// Add the hosts of this reference
    #[arg(long, value_name = "FILE")]
    merge: Vec<PathBuf>,
    /// Use only runs of this kind of machine (start of its fingerprint)
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// One line that describes the machines [default: the CPU model]
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
}

impl Subcommand for ReferenceArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let ui = context.ui;
        match &self.command {
            ReferenceCommand::List => list(ui),
            ReferenceCommand::Show { name } => show(name, ui),
            ReferenceCommand::Export(args) => export(args, context.store, ui),
            ReferenceCommand::Add { file, replace } => add(file, *replace, ui),
            ReferenceCommand::Remove { name } => remove(name, ui),
        }
    }
}

fn list(ui: &Ui) -> Result<Exit> {
    let (known, broken) = references::all();
    references::warn_of(&broken, ui);
    ui.out(&if ui.wants_json() {
        references_json(&known).map_err(|error| CommandError::bug(error.to_string()))?
    } else {
        references_card(&known, &ui.terminal())
    });
    Ok(Exit::Fine)
}

/// Shows a reference with all of its figures.
///
/// # Errors
/// When there is none of this name.
pub fn show(name: &str, ui: &Ui) -> Result<Exit> {
    let reference = references::find(name)?;
    ui.out(&if ui.wants_json() {
        reference_json(&reference).map_err(|error| CommandError::bug(error.to_string()))?
    } else {
        reference_card(&reference, &ui.terminal())
    });
    Ok(Exit::Fine)
}

fn add(file: &Path, replace: bool, ui: &Ui) -> Result<Exit> {
    let reference = references::read(file)?;
    let name = &reference.name;
    if shipped(name).is_some() {
        return Err(CommandError::usage(format!("plumb ships a reference named `{name}`"))
            .hint(format!("change `name` in {}", file.display())));
    }
    let kept = references::file_of(name)?;
    let text = reference.to_toml().map_err(|error| CommandError::bug(error.to_string()))?;
    if !write_whole(&kept, &text, replace)? {
        return Err(CommandError::usage(format!("a reference named `{name}` already exists"))
            .hint("--replace replaces it")
            .hint(format!(
                "plumb reference export {name} --merge {} --merge {}    merges both",
                quoted(&kept.display().to_string()),
                quoted(&file.display().to_string())
            )));
    }
    let figures = counted(reference.figures.len(), "figure", "figures");
    ui.say(&format!(
        "added the reference {name} with {figures}; plumb compare reference:{name} last    compares with it"
    ));
    Ok(Exit::Fine)
}

/// Writes a file under another name first, so that a full disk, a kill or a power cut leaves the old one. False if there is one
/// that is not to be replaced.
fn write_whole(file: &Path, text: &str, replace: bool) -> Result<bool> {
    match try_to_write_whole(file, text, replace) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(CommandError::file(format!("can't write {}: {error}", file.display()))),
    }
}

fn try_to_write_whole(file: &Path, text: &str, replace: bool) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    fresh.as_file().sync_all()?;
    match replace {
        true => fresh.persist(file)?,
        false => fresh.persist_noclobber(file)?,
    };
    Ok(())
}

fn remove(name: &str, ui: &Ui) -> Result<Exit> {
    let file = references::file_of(name)?;
    if !file.exists() {
        references::find(name)?;
        return Err(CommandError::usage(format!("plumb ships the reference {name}"))
            .hint("only references that you added can be removed"));
    }
    fs::remove_file(&file)
        .map_err(|error| CommandError::file(format!("can't remove {}: {error}", file.display())))?;
    ui.say(&format!("removed the reference {name}"));
    Ok(Exit::Fine)
}

fn export(args: &ExportReferenceArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    // Refuses what could not be added.
    references::file_of(&args.name)?;
    let mut parts: Vec<Reference> = Vec::new();
    if !args.runs.is_empty() {
        parts.push(measured(args, store)?);
    }
    for file in &args.merge {
        parts.push(references::read(file)?);
    }
    let mut parts = parts.into_iter();
    // clap asks for a run or a file.
    let Some(first) = parts.next() else { return Err(CommandError::bug("nothing to export")) };
    let mut reference = Reference {
        name: args.name.clone(),
        summary: args.summary.clone().unwrap_or_else(|| first.summary.clone()),
        ..first
    };
    for other in parts {
        reference = merge(reference, &other).map_err(|error| {
            CommandError::usage(error.to_string()).hint(
                "plumb reference export NAME RUN    makes a reference of each kind of machine",
            )
        })?;
    }
    let few = reference.figures.iter().filter(|figure| runs_of(figure) < FEWEST_RUNS).count();
    if few > 0 {
        ui.warn(&format!(
            "{few} of {} are of fewer than {FEWEST_RUNS} runs: their ranges are too narrow, so that healthy machines may count \
             as below",
            counted(reference.figures.len(), "figure", "figures")
        ));
    }
    ui.out(&if ui.wants_json() {
        reference_json(&reference).map_err(|error| CommandError::bug(error.to_string()))?
    } else {
        reference.to_toml().map_err(|error| CommandError::bug(error.to_string()))?
    });
    Ok(Exit::Fine)
}

fn runs_of(figure: &ReferenceFigure) -> usize {
    figure.hosts.iter().map(Vec::len).sum()
}

/// A reference of stored runs.
fn measured(args: &ExportReferenceArgs, store: Option<&Path>) -> Result<Reference> {
    let store = runs::open(store)?;
    let mut ids: Vec<Id> =
        runs::of_labels(&store, &args.runs)?.into_iter().flat_map(|named| named.runs).collect();
    let mut series = plumb_query::read(&store, Selection::Runs(&ids))?;
    if let Some(kind) = &args.machine {
        series.retain(|one| one.run.machine().starts_with(kind.as_str()));
        ids.retain(|id| series.iter().any(|one| one.run.run == *id));
        if ids.is_empty() {
            return Err(CommandError::nothing(format!(
                "none of these runs is of a machine of the kind {kind}"
            ))
            .hint("plumb compare --by kind RUN…    names the kinds of these runs"));
        }
    }
    let prepared = one_preparation(&store, &ids)?;
    let figures = of_runs(&series);
    if figures.is_empty() {
        return Err(CommandError::nothing("these runs have no results that a reference can have")
            .hint("results that were measured next to a load, with a knob or with another machine are left out"));
    }
    let machine = one_kind(&series)?;
    Ok(Reference {
        schema: SCHEMA.to_owned(),
        name: args.name.clone(),
        summary: model(&machine),
        date: newest_date(&series),
        source: format!("plumb {}", env!("CARGO_PKG_VERSION")),
        machine: model(&machine),
        kind: Some(machine.fingerprint.clone()),
        prepared: Some(prepared),
        method: String::new(),
        remarks: Vec::new(),
        figures,
    })
}

/// How the machine was prepared in all these runs.
fn one_preparation(store: &Store, ids: &[Id]) -> Result<String> {
    let mut all: Vec<String> = Vec::new();
    for id in ids {
        let record = store.record(*id)?;
        if record.status != RunStatus::Complete {
            return Err(CommandError::usage(format!("the run {} is not complete", short(*id)))
                .hint(format!("plumb run --resume {}    completes it", short(*id))));
        }
        all.push(record.plan.prepared(None));
    }
    all.sort();
    all.dedup();
    match all.as_slice() {
        [one] => Ok(one.clone()),
        several => Err(CommandError::usage(format!(
            "the machine was prepared differently in these runs ({})",
            several.join("; ")
        ))
        .hint("name runs with the same --prepare and --set")),
    }
}

/// The kind of machine of all these series.
fn one_kind(series: &[SeriesInRun]) -> Result<Machine> {
    let mut machines = series.iter().filter_map(|one| Some(&one.run.place.as_ref()?.machine));
    let Some(first) = machines.next() else {
        return Err(CommandError::nothing("the machine of these runs is not known"));
    };
    if let Some(other) = machines.find(|machine| machine.fingerprint != first.fingerprint) {
        let mut error = CommandError::usage(format!(
            "these runs are of several kinds of machines ({}; {})",
            model(first),
            model(other)
        ));
        for kind in [first, other] {
            error = error.hint(format!("--machine {}    {}", kind.fingerprint, model(kind)));
        }
        return Err(error);
    }
    Ok((**first).clone())
}

/// `AMD EPYC, 2 CPUs`, as far as it is known.
fn model(machine: &Machine) -> String {
    let cpu = machine.facts.get("cpu").map_or("unknown CPU", String::as_str);
    match machine.facts.get("cpus").map(String::as_str) {
        Some("1") => format!("{cpu}, 1 CPU"),
        Some(cpus) => format!("{cpu}, {cpus} CPUs"),
        None => cpu.to_owned(),
    }
}

/// `2026-11-29`; empty if no run has a date.
fn newest_date(series: &[SeriesInRun]) -> String {
    let newest = series.iter().map(|one| one.run.started_unix_ns).max().unwrap_or(0);
    if newest == 0 { String::new() } else { time::rfc3339(newest).chars().take(DAY).collect() }
}

/// `plumb compare reference:NAME RUN…`: the runs next to the reference.
///
/// # Errors
/// When the reference or a run is unknown, or there are several references.
pub fn compare_with(names: &[String], store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let (of_references, of_runs): (Vec<String>, Vec<String>) =
        names.iter().cloned().partition(|name| references::named(name).is_some());
    let [reference] = of_references.as_slice() else {
        return Err(CommandError::usage("runs are compared with one reference at a time")
            .hint("plumb compare reference:NAME RUN"));
    };
    let reference = references::find(references::named(reference).unwrap_or_default())?;
    let store = runs::open(store)?;
    let mut compared = Vec::new();
    for run in runs::of_labels(&store, &of_runs)?.into_iter().flat_map(|named| named.runs) {
        let series = shown_series(&store, run, &reference, ui)?;
        compared.push((short(run), compare(&reference, &series, &references::settings)));
    }
    ui.out(&if ui.wants_json() {
        reference_comparison_json(&reference, &compared)
            .map_err(|error| CommandError::bug(error.to_string()))?
    } else {
        reference_comparison_card(&reference, &compared, &ui.terminal())
    });
    Ok(Exit::Fine)
}

/// The series of a run with the intervals that its scorecard shows.
fn shown_series(
    store: &Store,
    run: Id,
    reference: &Reference,
    ui: &Ui,
) -> Result<Vec<SeriesInRun>> {
    let record = store.record(run)?;
    let prepared = record.plan.prepared(None);
    if reference.prepared.as_ref().is_some_and(|of_reference| *of_reference != prepared) {
        ui.warn(&format!(
            "the machine was prepared differently: {} in the run {}, {} in the reference",
            prepared,
            short(run),
            reference.prepared.as_deref().unwrap_or_default()
        ));
    }
    let finding = plumb_query::of_run(store, &record, SinceLastRun::NotAsked)?;
    let mut series = plumb_query::read(store, Selection::Runs(&[run]))?;
    for one in &mut series {
        let result = finding.results.iter().find(|result| {
            result.metric == one.metric
                && one
                    .points
                    .iter()
                    .any(|point| point.point == result.point.index && point.target == result.target)
        });
        if let Some(result) = result {
            one.estimate = result.shown();
        }
    }
    Ok(series)
}
