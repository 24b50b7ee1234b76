//! `plumb report -o DIR`: the pages of runs as a folder.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use plumb_model::Id;
use plumb_serve::folder::{self, FolderError, Watch};
use plumb_text::counted;
use plumb_text::time::length;
use plumb_text::units::quantity;

use crate::cli::ReportArgs;
use crate::error::{CommandError, Exit, Result};
use crate::interrupt;
use crate::ui::Ui;

/// On a terminal: no redrawing sooner than this after the last time.
const REDRAW: Duration = Duration::from_millis(100);
/// Elsewhere: a line no sooner than this after the last one.
const NEXT_LINE: Duration = Duration::from_secs(5);

/// Writes the pages.
pub fn site(args: &ReportArgs, output: &Path, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    refuse_file(output)?;
    let store = crate::commands::show::command::open(store)?;
    let runs: Vec<Id> =
        args.runs.iter().map(|name| store.resolve(name)).collect::<std::result::Result<_, _>>()?;
    crate::commands::compare::refuse_twice(&runs, &args.runs)?;
    if store.runs()?.is_empty() {
        let path = store.path().display();
        return Err(CommandError::nothing(format!("there is no run in {path} yet"))
            .hint("plumb run        measures this machine"));
    }
    interrupt::listen();
    let progress = Progress::new(ui);
    let named = (!runs.is_empty()).then_some(runs.as_slice());
    let watch =
        Watch { progress: &|done, of| progress.show(done, of), stop: &interrupt::is_interrupted };
    let written = folder::write(store.path(), named, output, args.force, watch);
    progress.finish();
    let written = written.map_err(trouble)?;
    let took = length(progress.began.elapsed().as_secs_f64());
    let (runs, pages) =
        (counted(written.runs, "run", "runs"), counted(written.pages, "page", "pages"));
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let size = quantity(written.bytes as f64, "B");
    let index = output.join("index.html");
    ui.say(&format!("{}: {pages} of {runs}, {size}, in {took}", output.display()));
    ui.say(&format!("xdg-open {}", index.display()));
    Ok(Exit::Fine)
}

/// A file's name where a folder is to be is a forgotten `--chart`.
fn refuse_file(output: &Path) -> Result<()> {
    let ending = output.extension().and_then(|ending| ending.to_str());
    match ending.filter(|it| ["svg", "png", "csv", "json", "html"].contains(it)) {
        Some(ending) => Err(CommandError::usage(format!(
            "{} is called as a file, and pages are written to a folder",
            output.display()
        ))
        .hint(format!("plumb report --chart ID -o chart.{ending}    writes one chart"))
        .hint("plumb report -o report                 writes all pages")),
        None => Ok(()),
    }
}

fn trouble(error: FolderError) -> CommandError {
    let said = error.to_string();
    match error {
        FolderError::Store(error) => error.into(),
        FolderError::Unwritable { .. } => CommandError::file(said)
            .hint("the report is not complete, which is seen by its missing index.html"),
        FolderError::NotOurs { .. } => CommandError::usage(said)
            .hint("-o another folder")
            .hint("--force writes into it, over files of the same names"),
        FolderError::NoFolder { .. } => CommandError::usage(said)
            .hint("-o another name")
            .hint("plumb report --chart ID -o FILE writes one chart"),
        FolderError::Interrupted { .. } => CommandError::interrupted(said),
    }
}

/// How far it is, on stderr.
struct Progress<'u> {
    ui: &'u Ui,
    began: Instant,
    shown: Mutex<Option<Instant>>,
}

impl<'u> Progress<'u> {
    fn new(ui: &'u Ui) -> Self {
        Self { ui, began: Instant::now(), shown: Mutex::new(Some(Instant::now())) }
    }

    fn show(&self, done: usize, of: usize) {
        let Ok(mut shown) = self.shown.lock() else { return };
        let pause = if self.ui.is_live() { REDRAW } else { NEXT_LINE };
        if self.ui.is_quiet() || shown.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        *shown = Some(Instant::now());
        #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
        let left = self.began.elapsed().as_secs_f64() * (of - done) as f64 / done.max(1) as f64;
        let line = format!(
            "{done} of {} written, about {} left",
            counted(of, "run", "runs"),
            length(left)
        );
        if self.ui.is_live() {
            self.ui.draw(&format!("\r\x1b[K{line}"));
        } else {
            self.ui.say(&line);
        }
    }

    /// Wipes what was drawn.
    fn finish(&self) {
        if self.ui.is_live() && !self.ui.is_quiet() {
            self.ui.draw("\r\x1b[K");
        }
    }
}
