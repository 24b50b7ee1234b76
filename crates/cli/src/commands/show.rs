//! `plumb show`: a run as a scorecard, in sentences, as Markdown or JSON; its machine, its monitors, or the list of runs.

use std::path::Path;

use clap::Args;
use plumb_analysis::rates_by_point;
use plumb_model::{RunRecord, Target};
use plumb_query::SinceLastRun;
use plumb_report::{
    MachineSnapshot, View, brief_scorecard, counters_card, counters_document, in_words, json,
    machine_card, machine_document, markdown, scorecard,
};
use plumb_store::{Store, short};
use plumb_text::Terminal;

use crate::commands::reference;
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::reading::output::{OutputFormat, closing, pretty};
use crate::reading::{references, runs};
use crate::ui::Ui;

mod list;

use self::list::list;

/// Show the scorecard of a run
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb show                          the scorecard of the last run, on one screen
  plumb show --full                   every column, and every flag with its evidence
  plumb show --all                    every metric, too
  plumb show last~1 --in-words        describe the second-to-last run in sentences
  plumb show --machine                this machine now: its hardware and settings
  plumb show --machine last           the machine at the time of the last run
  plumb show --machine last~1 last    what changed on the machine between two runs

RUN is an id or its first characters, `last`, `last~2`, a label `k=v`, or `reference:NAME`.")]
pub struct ShowArgs {
    /// The run [default: the last one]; with --machine, none, one or two runs
    #[arg(num_args = 0..=2, value_name = "RUN")]
    run: Vec<String>,
    /// Show the machine and its environment
    #[arg(long, conflicts_with_all = ["in_words", "all", "runs", "format"])]
    machine: bool,
    /// Show the rates of the monitors' counters; --all shows every counter
    #[arg(long, conflicts_with_all = ["in_words", "runs", "format", "machine"])]
    monitors: bool,
    /// Describe the run in sentences
    #[arg(long, conflicts_with = "format")]
    in_words: bool,
    /// The output format; --json prints the JSON document
    #[arg(long, value_enum, default_value = "terminal")]
    format: OutputFormat,
    /// Show every column, and every flag with its evidence
    #[arg(long)]
    full: bool,
    /// Show every metric, not only the first of each workload; implies --full
    #[arg(long)]
    all: bool,
    /// List the runs
    #[arg(long, conflicts_with_all = ["run", "in_words"])]
    runs: bool,
}

impl Subcommand for ShowArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        show(self, context.store, context.ui)
    }
}

/// Shows one run, or the list of runs.
fn show(args: &ShowArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if args.machine {
        return machine(&args.run, store, ui);
    }
    if ui.wants_json() && (args.in_words || args.runs) {
        let option = if args.runs { "--runs" } else { "--in-words" };
        return Err(CommandError::usage(format!(
            "{option} prints text; it can't be combined with --json"
        ))
        .hint("plumb show --json prints the results of a run")
        .hint("plumb export A B prints the documents of several runs"));
    }
    if let [_, _, ..] = args.run.as_slice() {
        return Err(CommandError::usage("plumb shows one run at a time")
            .hint("plumb compare RUN RUN          their results side by side")
            .hint("plumb show --machine RUN RUN   the differences between their machines"));
    }
    if let Some(name) = args.run.first().and_then(|run| references::named(run)) {
        if args.in_words || args.monitors || args.format == OutputFormat::Markdown {
            return Err(CommandError::usage("a reference is shown as a table or as JSON only")
                .hint(format!("plumb reference show {name}")));
        }
        return reference::show(name, ui);
    }
    let store = runs::open(store)?;
    if args.runs {
        ui.out(&list(&store.summaries()?, ui));
        return Ok(Exit::Fine);
    }
    let run = store.resolve(args.run.first().map_or("last", String::as_str))?;
    let record = store.record(run)?;
    if args.monitors {
        counted(&record, &store, args.all, ui)?;
        return Ok(Exit::Fine);
    }
    let finding = plumb_query::of_run(&store, &record, SinceLastRun::IfItTells)?;
    let view = View::new(&finding);
    let format = if ui.wants_json() { OutputFormat::Json } else { args.format };
    let text = match format {
        _ if args.in_words => in_words(&view).join("\n"),
        OutputFormat::Markdown => markdown(&view),
        OutputFormat::Json => json(&view).map_err(|error| CommandError::bug(error.to_string()))?,
        OutputFormat::Terminal => {
            let terminal = Terminal { every_metric: args.all, ..ui.terminal() };
            let show = if args.full || args.all { scorecard } else { brief_scorecard };
            show(&view, &terminal, &closing(&record, &finding, &store))
        }
    };
    ui.out(&text);
    Ok(Exit::Fine)
}

/// Shows machine and environment by themes.
fn machine(names: &[String], store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let snapshots = if names.is_empty() {
        vec![here()?]
    } else {
        let store = runs::open(store)?;
        names.iter().map(|name| of_run(name, &store)).collect::<Result<Vec<_>>>()?
    };
    if ui.wants_json() {
        ui.out(&pretty(&machine_document(&snapshots))?);
    } else {
        ui.out(&machine_card(&snapshots, &ui.terminal()));
    }
    Ok(Exit::Fine)
}

/// This machine now, with the current directory as its target.
fn here() -> Result<MachineSnapshot> {
    let root = locate::root();
    let dir = locate::directory(None)?;
    let machine = plumb_machine::machine(&root);
    let environment = plumb_machine::environment(&root, &dir);
    let host = locate::host(None)?;
    let target = Target { name: "local".into(), host, machine, environment };
    Ok(MachineSnapshot { run: None, target })
}

fn of_run(name: &str, store: &Store) -> Result<MachineSnapshot> {
    let run = store.resolve(name)?;
    let Some(target) = store.record(run)?.targets.into_iter().next() else {
        return Err(CommandError::nothing(format!(
            "run {name} contains no data about its machine"
        )));
    };
    Ok(MachineSnapshot { run: Some(short(run)), target })
}

/// Shows what monitors counted per second during a run.
fn counted(record: &RunRecord, store: &Store, all: bool, ui: &Ui) -> Result<()> {
    let points = rates_by_point(record, &plumb_query::counters(store, [record])?);
    if points.is_empty() {
        return Err(CommandError::nothing("no monitor ran during this run")
            .hint("plumb run …      reads the default monitors, unless you give --monitor none"));
    }
    if ui.wants_json() {
        ui.out(&pretty(&counters_document(&record.run.to_string(), &points))?);
    } else {
        ui.out(&counters_card(&points, &Terminal { every_metric: all, ..ui.terminal() }));
    }
    Ok(())
}
