//! `plumb baseline`: named sets of runs to check against.

use std::path::Path;
use std::time::{Duration, Instant};

use plumb_model::{Id, RunStatus};
use plumb_store::{Baseline, Store, short};
use plumb_text::{Column, Line, Style, Table, clean, counted, time};

use crate::cli::{BaselineCommand, GoalArgs};
use crate::error::{CommandError, Exit, Result};
use crate::measuring::measure::{Bench, Job, Place, carry_out};
use crate::planning::plan;
use crate::quantity::time_ns;
use crate::ui::Ui;
use crate::{interrupt, locate};

/// Runs that began within this time are too close together to tell how much runs differ, in nanoseconds.
const HASTE_NS: i64 = 3_600_000_000_000;
/// How long to sleep between two looks at the clock and at signals.
const PAUSE: Duration = Duration::from_millis(200);

/// Carries out what is asked of baselines.
pub fn baseline(command: &BaselineCommand, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    match command {
        BaselineCommand::List => list(&crate::commands::show::command::open(store)?, ui),
        BaselineCommand::Remove { name } => {
            crate::commands::show::command::open(store)?;
            let store = Store::open(locate::store(store)?)?;
            known(&store, name)?;
            change(&store, name, &[])?;
            ui.say(&format!("forgot {name}; its runs stay"));
            Ok(Exit::Fine)
        }
        BaselineCommand::Set { name, runs, fresh, every, of, dir, goal } => {
            refuse_ambiguous(name)?;
            let members = if runs.is_empty() {
                let series =
                    Fresh { count: *fresh, every: every.as_deref(), of, dir: dir.as_deref() };
                series.measure(goal, store, ui)?
            } else {
                stored(runs, &crate::commands::show::command::open(store)?, ui)?
            };
            let store = Store::open(locate::store(store)?)?;
            change(&store, name, &members)?;
            warn_of_haste(&store, &members, ui)?;
            let runs = counted(members.len(), "run", "runs");
            ui.say(&format!("baseline {name}: {runs}; plumb check --baseline {name}"));
            Ok(Exit::Fine)
        }
    }
}

/// Runs that follow each other at once have not seen what differs between hours, days and boots.
fn warn_of_haste(store: &Store, members: &[Id], ui: &Ui) -> Result<()> {
    let starts = store.summaries()?;
    let starts = starts.iter().filter(|it| members.contains(&it.run)).map(|it| it.started_unix_ns);
    let (first, last) = starts.fold((i64::MAX, i64::MIN), |(a, b), at| (a.min(at), b.max(at)));
    let span = last.saturating_sub(first);
    if members.len() > 1 && span < HASTE_NS {
        #[expect(clippy::cast_precision_loss, reason = "a length of time for people")]
        let span = time::length(span.max(0) as f64 * 1e-9);
        ui.warn(&format!(
            "the runs began within {span}: what differs between hours and boots is not in them, and a \
             check may take it for a change (--every 1h spreads fresh runs)"
        ));
    }
    Ok(())
}

/// The baseline of this name.
///
/// # Errors
/// When there is none; the hint names those that there are.
pub fn known(store: &Store, name: &str) -> Result<Baseline> {
    store.baseline(name)?.ok_or_else(|| {
        let error = CommandError::usage(format!("there is no baseline `{name}`"));
        let names: Vec<String> = match store.baselines() {
            Ok(all) => all.into_iter().map(|it| it.name).collect(),
            Err(_) => Vec::new(),
        };
        match names.len() {
            0 => error.hint(format!("plumb baseline set {name}    measures one")),
            _ => error.hint(format!("there are: {}", names.join(", "))),
        }
    })
}

/// A name must not be what a run could be called by.
fn refuse_ambiguous(name: &str) -> Result<()> {
    let id_like = name.len() >= 4 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let taken = name.is_empty() || name.contains(['=', ':', '~']) || name == "last" || id_like;
    if taken {
        return Err(CommandError::usage(format!("`{name}` could be taken for a run"))
            .hint("a baseline's name has letters beyond f, and no `=`, `:` or `~`"));
    }
    Ok(())
}

fn change(store: &Store, name: &str, runs: &[Id]) -> Result<()> {
    let now = plumb_machine::now().unix_ns;
    Ok(store.set_baseline(name, runs, now, &mut plumb_machine::fresh_id)?)
}

fn stored(names: &[String], store: &Store, ui: &Ui) -> Result<Vec<Id>> {
    let summaries = store.summaries()?;
    let mut members = Vec::new();
    for name in names {
        let run = store.resolve(name)?;
        let complete =
            |it: &&plumb_store::RunSummary| it.run == run && it.status == RunStatus::Complete;
        if !summaries.iter().any(|it| complete(&it)) {
            ui.warn(&format!("run {} is not complete", short(run)));
        }
        if !members.contains(&run) {
            members.push(run);
        }
    }
    Ok(members)
}

/// Fresh runs, one after the other or at an interval.
struct Fresh<'a> {
    count: usize,
    every: Option<&'a str>,
    of: &'a [String],
    dir: Option<&'a Path>,
}

impl Fresh<'_> {
    fn measure(&self, goal: &GoalArgs, store: Option<&Path>, ui: &Ui) -> Result<Vec<Id>> {
        let every = self.every.map(time_ns).transpose()?.map(Duration::from_nanos);
        let mut members = Vec::new();
        for number in 0..self.count {
            let began = Instant::now();
            ui.say(&format!("run {} of {}", number + 1, self.count));
            members.push(self.one(goal, store, ui)?);
            if number + 1 < self.count {
                wait_until(began + every.unwrap_or_default())?;
            }
        }
        Ok(members)
    }

    fn one(&self, goal: &GoalArgs, store: Option<&Path>, ui: &Ui) -> Result<Id> {
        let mut bench = Bench::set_up()?;
        let all = bench.all_threads();
        let named = plan::resolve(&mut bench.keeper, self.of, &[], all, ui)?;
        let prepare = named.prepare(&mut bench.keeper, goal, all)?;
        let plan = plan::plan(named, Vec::new(), goal, prepare)?;
        let lock = !goal.way.no_lock;
        let job = Job { lock, explicit: false, ..Job::new(plan, Place::Under(self.dir), store) };
        let measured = carry_out(bench, job, ui)?;
        if measured.ended.interrupted {
            return Err(CommandError::interrupted("interrupted; the baseline is as it was")
                .hint("the runs so far are stored: plumb baseline set NAME RUN…"));
        }
        Ok(measured.record.run)
    }
}

fn wait_until(when: Instant) -> Result<()> {
    while Instant::now() < when {
        if interrupt::is_interrupted() {
            return Err(CommandError::interrupted("interrupted while waiting for the next run"));
        }
        std::thread::sleep(PAUSE.min(when.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

fn list(store: &Store, ui: &Ui) -> Result<Exit> {
    let all = store.baselines()?;
    if ui.wants_json() {
        let one = |it: &Baseline| {
            let runs: Vec<String> = it.runs.iter().map(ToString::to_string).collect();
            serde_json::json!({"name": it.name, "runs": runs})
        };
        let document: Vec<_> = all.iter().map(one).collect();
        ui.out(
            &serde_json::json!({"schema": "plumb.baselines/1", "baselines": document}).to_string(),
        );
        return Ok(Exit::Fine);
    }
    if all.is_empty() {
        ui.say("there is no baseline yet; plumb baseline set NAME measures one");
    }
    let titles = ["baseline", "runs", "changed", "newest run"];
    let mut table = Table::new(titles.iter().map(|title| Column::left(title)).collect());
    for it in &all {
        let newest = it.runs.last().map_or(String::new(), |run| short(*run));
        let cells =
            [it.name.clone(), it.runs.len().to_string(), time::date(it.changed_unix_ns), newest];
        let cell = |text: &String| Line::new(Style::Plain, &clean(text));
        table.row(cells.iter().map(cell).collect());
    }
    if !all.is_empty() {
        ui.out(&table.render(ui.width(), ui.terminal().colour));
    }
    Ok(Exit::Fine)
}
