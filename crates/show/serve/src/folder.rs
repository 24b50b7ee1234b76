//! The pages of a store as a folder that opens from disk: `plumb report -o DIR`.
//!
//! Runs are read once each, by as many readers as there are CPUs to spare, and written as they come; what the
//! pages of all runs need of one is small ([`SeriesByRun`]). The first page is written last, so that a
//! folder without one was interrupted.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use plumb_model::Id;
use plumb_query::SeriesByRun;
use plumb_report::View;
use plumb_site::{LinkedPages, Page, assets, names};
use plumb_store::{RunSummary, Store};
use thiserror::Error;

use crate::pages::StorePages;

/// The file that says that a folder is ours.
const MARK: &str = "plumb-report.txt";
/// What stands in it.
const MARKED: &str = "This folder was written by `plumb report`, which may replace its contents.\n";
/// Readers at once.
const MOST_READERS: usize = 8;
/// Where data lie.
const DATA: &str = "data";
/// How every page begins, and every file of data.
const PAGES_BEGIN: &str = "<!doctype html>\n<html lang=\"en\" data-page=\"";
const DATA_BEGINS: &str = "plumb.";

/// Trouble with a folder of pages.
#[derive(Debug, Error)]
pub enum FolderError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] plumb_store::StoreError),
    /// A file of the folder.
    #[error("{} can't be written: {why}", path.display())]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// The error of the system.
        why: io::Error,
    },
    /// The folder holds something else.
    #[error("{} is not empty and is not a plumb report", path.display())]
    NotOurs {
        /// Path of the folder.
        path: PathBuf,
    },
    /// The name is that of a file.
    #[error("{} is a file, not a folder", path.display())]
    NoFolder {
        /// Path of the file.
        path: PathBuf,
    },
    /// There is nothing to compare by a label or fact.
    #[error("all these runs have the same {by}, or none")]
    OneGroup {
        /// The label or fact.
        by: String,
    },
    /// Somebody wants it to end.
    #[error("interrupted: the report in {} is incomplete and has no index.html", path.display())]
    Interrupted {
        /// Path of the folder.
        path: PathBuf,
    },
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenPages {
    /// Runs that the pages show.
    pub runs: usize,
    /// Pages that were written.
    pub pages: usize,
    /// Bytes of all files.
    pub bytes: u64,
}

/// What is told meanwhile, and asked.
#[derive(Clone, Copy)]
pub struct WriteControl<'w> {
    /// Runs that are done, of how many.
    pub progress: &'w (dyn Fn(usize, usize) + Sync),
    /// Whether to end.
    pub stop: &'w (dyn Fn() -> bool + Sync),
}

/// What is written.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'c> {
    /// The runs; None: all.
    pub runs: Option<&'c [Id]>,
    /// The label or fact by which the newest of them are compared on their own page.
    pub by: Option<&'c str>,
}

/// Writes the pages of these runs of the store in this file, of all runs if none is named. `force` replaces
/// what a folder of something else holds by the same names.
///
/// # Errors
/// When the store can't be read, the folder can't be written or is something else's, or `stop` said so.
pub fn write(
    store: &Path,
    Chosen { runs, by }: Chosen,
    folder: &Path,
    force: bool,
    control: WriteControl,
) -> Result<WrittenPages, FolderError> {
    let reading = Store::open_read_only(store)?;
    let all: Arc<[RunSummary]> = reading.summaries()?.into();
    let mut named: Vec<Id> =
        runs.map_or_else(|| all.iter().map(|summary| summary.run).collect(), <[Id]>::to_vec);
    named.sort_by_key(|run| all.iter().position(|summary| summary.run == *run));
    let folder = SiteFolder::begin(folder, force)?;
    let known = SeriesByRun::default();
    let compared = compared(&known, &reading, &all, runs)?;
    let comparisons = compared.iter().map(|runs| names::compare_page(runs));
    let links = LinkedPages::Of {
        runs: named.iter().copied().collect(),
        comparisons: comparisons.chain(by.map(names::groups_page)).collect(),
    };
    let work = Work {
        folder: &folder,
        runs: &named,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        control,
    };
    let reader =
        StorePages::among(&reading, Arc::clone(&all), links.clone(), &known).with_all_changes();
    // Before all else, so that whoever mistyped need not wait.
    if let Some(by) = by {
        let page = reader.groups(&reader.newest(), by)?;
        folder.page(page.ok_or_else(|| FolderError::OneGroup { by: by.to_owned() })?)?;
    }
    let readers = thread::available_parallelism().map_or(1, usize::from).min(MOST_READERS);
    thread::scope(|scope| {
        // If threads are limited, fewer do the work.
        let others: Vec<_> = (1..readers)
            .filter_map(|_| {
                let thread = thread::Builder::new().spawn_scoped(scope, || {
                    // A connection to the store belongs to one thread.
                    let own = Store::open_read_only(store)?;
                    work.execute(&StorePages::among(&own, Arc::clone(&all), links.clone(), &known))
                });
                thread.ok()
            })
            .collect();
        let mut outcome = work.execute(&reader);
        for other in others {
            let result = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(result);
        }
        outcome
    })?;
    for runs in &compared {
        folder.page(reader.compare(runs)?)?;
    }
    folder.rest(&reader)?;
    Ok(WrittenPages { runs: named.len(), ..folder.end(reader.index()?)? })
}

/// The runs that have a page of comparison: the ones that are named, else the newest with the one before.
fn compared(
    known: &SeriesByRun,
    store: &Store,
    all: &Arc<[RunSummary]>,
    runs: Option<&[Id]>,
) -> Result<Vec<Vec<Id>>, FolderError> {
    if let Some(runs) = runs {
        let distinct: BTreeSet<&Id> = runs.iter().collect();
        let fits = (2..=crate::pages::MOST_COMPARED).contains(&distinct.len());
        return Ok(if fits && distinct.len() == runs.len() {
            vec![runs.to_vec()]
        } else {
            Vec::new()
        });
    }
    let Some(newest) = all.last() else { return Ok(Vec::new()) };
    let reader = StorePages::among(store, Arc::clone(all), LinkedPages::All, known);
    let shown = reader.shown(newest.run)?;
    let previous = shown.finding.since_last.found();
    Ok(previous.map(|since| vec![since.run, newest.run]).into_iter().collect())
}

/// Runs to be read and written, by whoever is free.
struct Work<'w> {
    folder: &'w SiteFolder,
    runs: &'w [Id],
    next: AtomicUsize,
    done: AtomicUsize,
    failed: AtomicBool,
    control: WriteControl<'w>,
}

impl Work<'_> {
    fn execute(&self, reader: &StorePages) -> Result<(), FolderError> {
        // A run is compared with an earlier one: the oldest go first.
        while let Some(run) = self.runs.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if (self.control.stop)() {
                return Err(FolderError::Interrupted { path: self.folder.path.clone() });
            }
            if self.failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let written = self.folder.run(reader, *run);
            if written.is_err() {
                self.failed.store(true, Ordering::Relaxed);
            }
            written?;
            (self.control.progress)(self.done.fetch_add(1, Ordering::Relaxed) + 1, self.runs.len());
        }
        Ok(())
    }
}

/// A folder that is being written.
struct SiteFolder {
    path: PathBuf,
    pages: AtomicUsize,
    bytes: AtomicUsize,
}

impl SiteFolder {
    /// Makes the folder, or clears one of ours.
    fn begin(path: &Path, force: bool) -> Result<Self, FolderError> {
        let trouble = |why| FolderError::Unwritable { path: path.to_owned(), why };
        if path.exists() && !path.is_dir() {
            return Err(FolderError::NoFolder { path: path.to_owned() });
        }
        let ours = path.join(MARK).exists();
        fs::create_dir_all(path).map_err(trouble)?;
        let mut holds = fs::read_dir(path).map_err(trouble)?;
        if !ours && !force && holds.next().is_some() {
            return Err(FolderError::NotOurs { path: path.to_owned() });
        }
        fs::create_dir_all(path.join(DATA)).map_err(trouble)?;
        if ours {
            clear(path, "html", PAGES_BEGIN)
                .and_then(|()| clear(&path.join(DATA), "js", DATA_BEGINS))
                .map_err(trouble)?;
        }
        let folder = Self { path: path.to_owned(), pages: 0.into(), bytes: 0.into() };
        // The mark comes first, so that a report that was interrupted here can be replaced by the next one.
        folder.file(MARK, MARKED.as_bytes())?;
        folder.file("plumb.js", assets::SCRIPT)?;
        folder.file("plumb.css", assets::STYLE)?;
        Ok(folder)
    }

    fn file(&self, name: &str, content: &[u8]) -> Result<(), FolderError> {
        let path = self.path.join(name);
        let written = File::create(&path).and_then(|mut file| file.write_all(content));
        self.bytes.fetch_add(content.len(), Ordering::Relaxed);
        written.map_err(|why| FolderError::Unwritable { path, why })
    }

    fn page(&self, page: Page) -> Result<(), FolderError> {
        let name = page.name.clone();
        let draws = !page.charts.is_empty();
        let made = page.render();
        if draws {
            self.file(&format!("{DATA}/{name}.js"), made.charts.as_bytes())?;
        }
        self.pages.fetch_add(1, Ordering::Relaxed);
        self.file(&format!("{name}.html"), made.html.as_bytes())
    }

    /// All pages of a run.
    fn run(&self, reader: &StorePages, run: Id) -> Result<(), FolderError> {
        let shown = reader.shown(run)?;
        let view = View::new(&shown.finding);
        self.page(reader.run(&shown, &view))?;
        for workload in plumb_site::workloads(&view) {
            if let Some(page) = reader.workload(&shown, &view, workload) {
                self.page(page)?;
            }
        }
        self.page(reader.monitors(&shown, &view)?)
    }

    /// The pages that are of no run, but the first.
    fn rest(&self, reader: &StorePages) -> Result<(), FolderError> {
        let histories = reader.histories_found()?;
        for page in histories.iter().map(|series| reader.history(series)) {
            self.page(page)?;
        }
        self.page(plumb_site::histories_page(&histories, None))?;
        for page in reader.machines()? {
            self.page(page)?;
        }
        for fleet in reader.fleets()? {
            self.page(reader.fleet(&fleet)?)?;
        }
        self.page(plumb_site::method_page())?;
        self.file(&format!("{DATA}/search.js"), reader.search()?.render().as_bytes())
    }

    /// Writes the first page, whole or not at all.
    fn end(self, index: Page) -> Result<WrittenPages, FolderError> {
        let part = "index.html.part";
        let charts = !index.charts.is_empty();
        let made = index.render();
        if charts {
            self.file(&format!("{DATA}/{}.js", names::INDEX), made.charts.as_bytes())?;
        }
        self.file(part, made.html.as_bytes())?;
        let path = self.path.join("index.html");
        fs::rename(self.path.join(part), &path)
            .map_err(|why| FolderError::Unwritable { path, why })?;
        let bytes = self.bytes.into_inner() as u64;
        Ok(WrittenPages { runs: 0, pages: self.pages.into_inner() + 1, bytes })
    }
}

/// Removes the pages of a report, or their data, the first page before the others. What does not begin as plumb
/// begins them is somebody else's and stays.
fn clear(folder: &Path, ending: &str, beginning: &str) -> io::Result<()> {
    let index = folder.join("index.html");
    // First, so that nobody finds the old index among missing pages; without an index the report is incomplete.
    if index.exists() {
        fs::remove_file(index)?;
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // People may keep files of their own in the folder: only what begins like plumb's files goes.
        if path.extension().is_some_and(|found| found == ending)
            && path.is_file()
            && begins(&path, beginning)?
        {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn begins(path: &Path, beginning: &str) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(path)?.take(beginning.len() as u64).read_to_end(&mut head)?;
    Ok(head == beginning.as_bytes())
}
