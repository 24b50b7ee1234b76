//! `plumb reference`: figures of other machines, published or measured.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand as Commands};
use plumb_model::{Machine, SeriesInRun};
use plumb_query::Selection;
use plumb_reference::{Reference, SCHEMA, compare, merge, of_runs};
use plumb_report::{
    reference_card, reference_comparison_card, reference_comparison_json, reference_json,
    references_card, references_json,
};
use plumb_text::{counted, time};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::reading::{output, references, runs};
use crate::ui::Ui;

/// Characters of the day in a date by RFC 3339.
const DAY: usize = "2026-11-29".len();

/// Manage references: figures of other machines to compare with
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb reference list                                published figures, and those that you added
  plumb reference show linode-360-2010
  plumb compare reference:linode-360-2010 last        the last run next to a reference
  plumb run bonnie --expect reference:linode-360-2010
  plumb reference export web last~2 last~1 last > web.toml    make a reference of three runs
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
    /// Make a reference of stored runs and print it
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
  plumb reference export web label=healthy > web.toml          all runs with this label
  plumb reference export web last --merge web.toml > all.toml  add a host

All runs must be of one kind of machine. The file has the median of each run, and no names of hosts.")]
struct ExportReferenceArgs {
    /// The name of the new reference
    name: String,
    /// Stored runs: ids, `last`, `last~2`, or labels `k=v`, which select all matching runs
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,
    /// Add the hosts of this reference, which must not be among these runs
    #[arg(long, value_name = "FILE")]
    merge: Vec<PathBuf>,
    /// One line that describes the machines [default: the model of the CPU]
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
    for error in &broken {
        ui.warn(&error.to_string());
    }
    ui.out(&if ui.wants_json() {
        references_json(&known).map_err(|error| CommandError::bug(error.to_string()))?
    } else {
        references_card(&known, &ui.terminal())
    });
    Ok(Exit::Fine)
}

fn show(name: &str, ui: &Ui) -> Result<Exit> {
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
    let kept = references::file_of(&reference.name)?;
    if kept.exists() && !replace {
        return Err(CommandError::usage(format!(
            "there is a reference {} already",
            reference.name
        ))
        .hint("--replace replaces it")
        .hint(format!(
            "plumb reference export NAME RUN --merge {}    merges both",
            kept.display()
        )));
    }
    let text = reference.to_toml().map_err(|error| CommandError::bug(error.to_string()))?;
    write_whole(&kept, &text)?;
    let figures = counted(reference.figures.len(), "figure", "figures");
    ui.say(&format!(
        "added the reference {} with {figures}; plumb compare reference:{} last    compares with it",
        reference.name, reference.name
    ));
    Ok(Exit::Fine)
}

/// Writes a file under another name first, so that a full disk or a kill leaves the old one.
fn write_whole(file: &Path, text: &str) -> Result<()> {
    let trouble = |error: std::io::Error| {
        CommandError::file(format!("can't write {}: {error}", file.display()))
    };
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(trouble)?;
    }
    let fresh = file.with_extension("new");
    output::write_file(&fresh, text.as_bytes())?;
    fs::rename(&fresh, file).map_err(trouble)
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
    let others: Vec<Reference> =
        args.merge.iter().map(|file| references::read(file)).collect::<Result<_>>()?;
    let store = runs::open(store)?;
    let ids: Vec<_> =
        runs::of_labels(&store, &args.runs)?.into_iter().flat_map(|named| named.runs).collect();
    let series = plumb_query::read(&store, Selection::Runs(&ids))?;
    let figures = of_runs(&series);
    if figures.is_empty() {
        return Err(CommandError::nothing("these runs have no results"));
    }
    let machine = one_kind(&series)?;
    let mut reference = Reference {
        schema: SCHEMA.to_owned(),
        name: args.name.clone(),
        summary: args.summary.clone().unwrap_or_else(|| model(&machine)),
        date: newest_date(&series),
        source: format!("plumb {}", env!("CARGO_PKG_VERSION")),
        machine: model(&machine),
        kind: Some(machine.fingerprint.clone()),
        method: String::new(),
        remarks: Vec::new(),
        figures,
    };
    for other in &others {
        if other.kind.is_some() && other.kind != reference.kind {
            return Err(CommandError::usage(format!(
                "the reference {} is of another kind of machine ({})",
                other.name, other.machine
            )));
        }
        reference = merge(reference, other);
    }
    if reference.figures.iter().any(|figure| figure.range().is_none()) {
        ui.warn(
            "some figures are of one run: without a range, results that differ from them by chance count as below. Export \
             three runs or more",
        );
    }
    ui.out(&if ui.wants_json() {
        reference_json(&reference).map_err(|error| CommandError::bug(error.to_string()))?
    } else {
        reference.to_toml().map_err(|error| CommandError::bug(error.to_string()))?
    });
    Ok(Exit::Fine)
}

/// The kind of machine of all these series.
fn one_kind(series: &[SeriesInRun]) -> Result<Machine> {
    let mut machines = series.iter().filter_map(|one| Some(&one.run.place.as_ref()?.machine));
    let Some(first) = machines.next() else {
        return Err(CommandError::nothing("the machine of these runs is not known"));
    };
    if let Some(other) = machines.find(|machine| machine.fingerprint != first.fingerprint) {
        return Err(CommandError::usage(format!(
            "these runs are of several kinds of machines ({}; {})",
            model(first),
            model(other)
        ))
        .hint("name runs of one kind, and export a reference for each"));
    }
    Ok((**first).clone())
}

/// `AMD EPYC, 2 CPUs`, as far as it is known.
fn model(machine: &Machine) -> String {
    let fact = |name: &str| machine.facts.get(name);
    let cpu = fact("cpu").map_or("unknown CPU", String::as_str);
    match fact("cpus").map(String::as_str) {
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
    let (of_references, of_runs): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| references::named(name).is_some());
    let [reference] = of_references.as_slice() else {
        return Err(CommandError::usage("compare runs with one reference at a time"));
    };
    let reference = references::find(references::named(reference).unwrap_or_default())?;
    let store = runs::open(store)?;
    let mut compared = Vec::new();
    for name in of_runs {
        for run in runs::of_labels(&store, std::slice::from_ref(name))?
            .into_iter()
            .flat_map(|named| named.runs)
        {
            let series = plumb_query::read(&store, Selection::Runs(&[run]))?;
            compared.push((name.clone(), compare(&reference, &series, &references::settings)));
        }
    }
    ui.out(&if ui.wants_json() {
        reference_comparison_json(&reference, &compared)
            .map_err(|error| CommandError::bug(error.to_string()))?
    } else {
        reference_comparison_card(&reference, &compared, &ui.terminal())
    });
    Ok(Exit::Fine)
}
