//! `plumb report -o DIR`: the pages of runs as a folder.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use plumb_serve::folder::{self, Chosen, FolderError, WriteControl};
use plumb_text::counted;
use plumb_units::length;
use plumb_units::quantity;

use crate::error::{CommandError, Exit, Result};
use crate::interrupt;
use crate::reading::runs;
use crate::ui::{LINE_INTERVAL, Ui};

/// Least time between two drawings on a terminal.
const REDRAW: Duration = Duration::from_millis(100);

/// Which runs, as they were typed.
pub struct RunSelectionArgs<'n> {
    /// The runs, as they were typed; if empty, all runs of the store.
    pub runs: &'n [String],
    /// The label or fact by which they are compared.
    pub by: Option<&'n str>,
}

/// Writes the pages of these runs, or of all; `force` writes into a folder that holds something else.
///
/// # Errors
/// When a run is unknown, or the folder can't be written.
pub fn pages(
    named: &RunSelectionArgs<'_>,
    output: &Path,
    force: bool,
    store: Option<&Path>,
    ui: &Ui,
) -> Result<Exit> {
    refuse_file(output)?;
    let store = runs::open(store)?;
    // Runs that are compared by a label or fact: a label means all runs that have it.
    let ids = match named.by {
        Some(_) => {
            let all = runs::of_labels(&store, named.runs)?;
            all.into_iter().flat_map(|name| name.runs).collect()
        }
        None => runs::different_ids(&store, named.runs)?,
    };
    if store.runs()?.is_empty() {
        let path = store.path().display();
        return Err(CommandError::nothing(format!("there are no runs in {path} yet"))
            .hint("plumb run        measures this machine"));
    }
    interrupt::listen();
    let progress = PageProgress::new(ui);
    let chosen = Chosen { runs: (!ids.is_empty()).then_some(ids.as_slice()), by: named.by };
    let control = WriteControl {
        progress: &|done, of| progress.show(done, of),
        stop: &interrupt::is_interrupted,
    };
    let written = folder::write(store.path(), chosen, output, force, control);
    progress.finish();
    let written = written.map_err(trouble)?;
    let took = length(progress.began.elapsed().as_secs_f64());
    let runs = counted(written.runs, "run", "runs");
    let pages = counted(written.pages, "page", "pages");
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let size = quantity(written.bytes as f64, "B");
    let index = output.join("index.html");
    ui.say(&format!("{}: {pages} of {runs}, {size}, in {took}", output.display()));
    ui.say(&format!("xdg-open {}", index.display()));
    Ok(Exit::Fine)
}

/// Refuses the name of a chart file: whoever gives one has forgotten `--chart`.
fn refuse_file(output: &Path) -> Result<()> {
    let ending = output.extension().and_then(|ending| ending.to_str());
    match ending.filter(|ending| ["svg", "png", "csv", "json", "html"].contains(ending)) {
        Some(ending) => Err(CommandError::usage(format!(
            "{} looks like a file, but pages need a folder",
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
        FolderError::Unwritable { .. } => {
            CommandError::file(said).hint("the report is incomplete: it has no index.html")
        }
        FolderError::NotOurs { .. } => CommandError::usage(said)
            .hint("use -o to choose another folder")
            .hint("--force writes into it and overwrites files with the same names"),
        FolderError::NoFolder { .. } => CommandError::usage(said)
            .hint("use -o to choose another folder")
            .hint("plumb report --chart ID -o FILE writes one chart"),
        FolderError::OneGroup { .. } => CommandError::usage(said)
            .hint("--by takes a label, a fact (plumb show --machine lists them), or `host`, `kind`, `run`"),
        FolderError::Interrupted { .. } => CommandError::interrupted(said),
    }
}

/// How far it is, on stderr.
struct PageProgress<'u> {
    ui: &'u Ui,
    began: Instant,
    shown: Mutex<Option<Instant>>,
}

impl<'u> PageProgress<'u> {
    fn new(ui: &'u Ui) -> Self {
        Self { ui, began: Instant::now(), shown: Mutex::new(Some(Instant::now())) }
    }

    fn show(&self, done: usize, of: usize) {
        let Ok(mut shown) = self.shown.lock() else { return };
        let pause = if self.ui.is_live() { REDRAW } else { LINE_INTERVAL };
        if self.ui.is_quiet() || shown.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        *shown = Some(Instant::now());
        #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
        let left = self.began.elapsed().as_secs_f64() * (of - done) as f64 / done.max(1) as f64;
        let line =
            format!("wrote {done} of {}, about {} left", counted(of, "run", "runs"), length(left));
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
