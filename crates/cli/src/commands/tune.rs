//! `plumb tune`: the knobs of this machine, and what is left set of runs that were killed.

mod advise;

use clap::Args;
use plumb_keeper::preparation::{
    KNOBS, Knob, Lasts, Suffix, Unusable, check, parse, preset, resolve,
};
use plumb_keeper::{HeldChange, Settled};
use plumb_machine::Root;
use plumb_report::{advice_card, advice_json};
use plumb_text::{Style, Table, TableColumn, TextLine};
use serde::Serialize;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::measuring::search::SearchArgs;
use crate::planning::shell_syntax;
use crate::reading::output::pretty;
use crate::ui::Ui;

/// Show the settings of this machine that plumb can change, or find those that help
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb tune                       every knob, its current value, and its value in each preset
  plumb tune --advise memory.latency           try settings, and show those that make it faster
  plumb tune --advise './report' --allow thp=always --allow sysctl.vm.swappiness=1
  plumb tune --restore             undo the changes of a killed run
  plumb run --set thp=never        set one knob for a run

--advise tries one setting at a time, alternating with unmodified runs, and keeps none. A setting helps if the work is \
over 5 % faster across the whole interval, confirmed on fresh pairs. plumb shows the commands to set and undo it. \
Exit codes: 0 if plumb found settings that help, or ruled them all out; 5 if undecided.

plumb changes settings only for the duration of a run. If it is killed, it restores them the next time it starts; a reboot \
also resets them. docs/preparations.md explains each knob and its risks.")]
pub struct TuneArgs {
    /// Restore settings left changed by killed runs
    #[arg(long, conflicts_with = "advise")]
    restore: bool,
    /// Find settings that make this workload or command (one argument) faster
    #[arg(long, value_name = "WORKLOAD|COMMAND")]
    advise: Option<String>,
    /// With --advise, try this setting instead of the usual ones
    #[arg(long, value_name = "KNOB=VALUE", requires = "advise")]
    allow: Vec<String>,
    #[command(flatten)]
    search: SearchArgs,
}

impl Subcommand for TuneArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        match &self.advise {
            Some(subject) => self.advise(subject, context),
            None => {
                self.search.refuse_any("--advise")?;
                tune(self, context.ui)
            }
        }
    }
}

impl TuneArgs {
    fn advise(&self, subject: &str, context: &Context<'_>) -> Result<Exit> {
        let ui = context.ui;
        if !self.search.shell {
            shell_syntax::warn_of_text(subject, shell_syntax::OPTION, ui);
        }
        let finding = advise::advise(subject, &self.allow, &self.search, context.store, ui)?;
        if ui.wants_json() {
            ui.out(&advice_json(&finding).map_err(|error| CommandError::bug(error.to_string()))?);
        } else {
            ui.out(&advice_card(&finding, &ui.terminal()));
        }
        let is_answered = !finding.causes().is_empty() || !finding.is_undecided();
        Ok(if is_answered { Exit::Fine } else { Exit::Inconclusive })
    }
}

/// A knob as it is shown.
#[derive(Debug, Serialize)]
struct KnobNow {
    name: &'static str,
    summary: &'static str,
    values: &'static str,
    example: &'static str,
    /// How it is undone.
    undo: &'static str,
    /// Its value now, where that can be read.
    now: Option<String>,
    /// What presets make of it.
    gentle: Option<String>,
    lab: Option<String>,
    /// Why it can't be set here.
    unsupported: Option<String>,
}

/// A change that a journal holds.
#[derive(Debug, Serialize)]
struct ChangedSetting {
    setting: String,
    was: String,
    became: String,
    now: Option<String>,
    /// The plumb that made it.
    plumb: u32,
    /// Whether that one still measures; if not, the next start of plumb restores it.
    alive: bool,
}

#[derive(Serialize)]
struct TuneDocument {
    schema: &'static str,
    knobs: Vec<KnobNow>,
    changes: Vec<ChangedSetting>,
}

/// Shows the knobs, or restores what is left.
fn tune(args: &TuneArgs, ui: &Ui) -> Result<Exit> {
    let root = locate::root();
    if args.restore {
        return restore(&root, ui);
    }
    let knobs = KNOBS.iter().map(|knob| shown(knob, &root)).collect();
    let held = plumb_keeper::held(&locate::journals());
    let changes = held.into_iter().map(|held| changed(held, &root)).collect();
    let document = TuneDocument { schema: "plumb.tune/1", knobs, changes };
    if ui.wants_json() {
        ui.out(&pretty(&document)?);
        return Ok(Exit::Fine);
    }
    ui.out(&table(&document.knobs).render(ui.width(), ui.terminal().colour));
    document.changes.iter().for_each(|change| ui.out(&sentence(change)));
    ui.out("\nplumb run --set KNOB=VALUE sets one for a run; --prepare lab applies the preset lab");
    Ok(Exit::Fine)
}

fn restore(root: &Root, ui: &Ui) -> Result<Exit> {
    let settled = plumb_keeper::recover(root, &locate::journals()).map_err(|shared| {
        CommandError::file(format!("others may have written the journals: {shared}")).hint(
            "check the journals there, then remove them, or give the folder back to its owner",
        )
    })?;
    let failed = settled.iter().any(|settled| matches!(settled, Settled::Failed { .. }));
    if settled.is_empty() {
        ui.out("nothing to restore");
    }
    for restored in &settled {
        ui.out(&restored.to_string());
    }
    Ok(if failed { Exit::Failed } else { Exit::Fine })
}

fn shown(knob: &Knob, root: &Root) -> KnobNow {
    let undo = match knob.lasts {
        Lasts::Undone => "restored after",
        Lasts::Done => "leaves nothing",
        Lasts::Process => "ends with the process",
        Lasts::Run => "ends with the run",
    };
    KnobNow {
        name: knob.name,
        summary: knob.summary,
        values: knob.values,
        example: knob.example,
        undo,
        now: (knob.now)(root),
        gentle: value_in("gentle", knob),
        lab: value_in("lab", knob),
        unsupported: unsupported(knob, root),
    }
}

/// The value that a preset gives to a knob; None if it leaves it alone.
fn value_in(name: &str, knob: &Knob) -> Option<String> {
    let preparations = preset(name).unwrap_or_default();
    let of_knob = preparations.into_iter().find(|preparation| preparation.knob == knob.name)?;
    Some(of_knob.value)
}

/// Why a knob can't be set here by this user.
fn unsupported(knob: &Knob, root: &Root) -> Option<String> {
    let preparation = parse(knob.example).ok()?;
    match resolve(root, &preparation) {
        Ok(step) => check(root, &step).err().map(|unsupported| unsupported.why),
        // This machine may lack what the example names, such as a disk, and have others.
        Err(Unusable::Unsupported(_)) if knob.suffix == Suffix::Name => None,
        Err(Unusable::Unsupported(unsupported)) => Some(unsupported.why),
        // It takes other values here than the example's.
        Err(Unusable::Usage(_)) => None,
    }
}

fn table(knobs: &[KnobNow]) -> Table {
    let columns = ["knob", "now", "gentle", "lab"].map(TableColumn::left).into_iter();
    let mut table = Table::new(columns.chain([TableColumn::left("").wrapping()]).collect());
    for knob in knobs {
        let what = match &knob.unsupported {
            Some(why) => TextLine::new(Style::Muted, &format!("unsupported: {why}")),
            None => TextLine::new(Style::Plain, knob.summary),
        };
        let name = TextLine::new(Style::Command, knob.name);
        table.row(vec![
            name,
            cell(knob.now.as_deref()),
            cell(knob.gentle.as_deref()),
            cell(knob.lab.as_deref()),
            what,
        ]);
    }
    table
}

/// A cell with a value; empty if there is none.
fn cell(text: Option<&str>) -> TextLine {
    TextLine::new(Style::Plain, text.unwrap_or(""))
}

fn changed(held: HeldChange, root: &Root) -> ChangedSetting {
    let now = held.setting.read(root).ok().map(|now| now.trim().to_owned());
    ChangedSetting {
        setting: held.setting.to_string(),
        was: held.was.trim().to_owned(),
        became: held.became.trim().to_owned(),
        now,
        plumb: held.plumb,
        alive: held.alive,
    }
}

fn sentence(change: &ChangedSetting) -> String {
    let ChangedSetting { setting, was, became, plumb, .. } = change;
    let owner = match change.alive {
        true => format!("by a plumb that is measuring (pid {plumb})"),
        false => format!("left by an earlier plumb (pid {plumb}): plumb tune --restore"),
    };
    let now = match &change.now {
        Some(now) if now != became => format!(", now {now}"),
        _ => String::new(),
    };
    format!("{setting} was {was}, set to {became}{now}, {owner}")
}
