//! Pages that were made once, kept until something is stored. What is known of runs without their samples is
//! kept for as long as the file is the same ([`Pages`]).

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use plumb_model::RunStatus;
use plumb_site::{Links, Page, Rendered};
use plumb_store::{RunSummary, Store};

use crate::connections::{Connections, Version};
use crate::pages::{Pages, is_of_series};
use crate::refusal::Refusal;

/// Pages that are kept.
const MOST_PAGES: usize = 64;
/// Bytes of pages that are kept.
const MOST_BYTES: usize = 32 << 20;
/// A page that says that a run goes on is true so long after that run was killed.
const LONGEST_KEPT: Duration = Duration::from_secs(30);

/// The pages of a store, for many requests.
#[derive(Debug)]
pub(crate) struct PageCache {
    connections: Connections,
    path: PathBuf,
    /// The folder of what is kept from one start to the next.
    kept: Option<PathBuf>,
    cached: Mutex<VecDeque<CachedPage>>,
    /// What is known of the runs of the file that was opened as this.
    pages: Mutex<Option<(u64, Arc<Pages>)>>,
    runs: Mutex<Option<(Version, Arc<[RunSummary]>)>>,
}

/// A page that was made.
#[derive(Debug)]
struct CachedPage {
    name: String,
    version: Version,
    made: Instant,
    page: Arc<Rendered>,
}

impl CachedPage {
    fn bytes(&self) -> usize {
        self.page.html.len() + self.page.charts.len()
    }
}

impl PageCache {
    /// The store in this file, and a folder for what is kept from one start to the next.
    pub(crate) fn of(path: PathBuf, kept: Option<PathBuf>) -> Self {
        Self {
            connections: Connections::to(path.clone()),
            path,
            kept,
            cached: Mutex::default(),
            pages: Mutex::default(),
            runs: Mutex::default(),
        }
    }

    /// Reads the store, as soon as a connection is free.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.connections.read(read)
    }

    /// A page: as it was made before, if nothing was stored since.
    pub(crate) fn page(&self, name: &str) -> Result<Arc<Rendered>, Refusal> {
        let none = || Refusal::unknown(format!("no such page: {name}.html"));
        self.once(name, |pages, store, version| {
            let page = if is_of_series(name) {
                pages
                    .series(store, &Links::All, name)?
                    .filter(|it| it.name == name)
                    .map(Page::render)
            } else {
                pages.reader(store, self.runs(store, version)?, Links::All).page(name)?
            };
            page.ok_or_else(none)
        })
    }

    /// The index of all names, a script without a page.
    pub(crate) fn search(&self) -> Result<Arc<Rendered>, Refusal> {
        // No page is called so: its name would be no file's.
        self.once("data/search", |pages, store, version| {
            let pages = pages.reader(store, self.runs(store, version)?, Links::All);
            Ok(Rendered { html: String::new(), charts: pages.search().render() })
        })
    }

    /// What has this name, made unless nothing was stored since it was made before.
    fn once(
        &self,
        name: &str,
        make: impl FnOnce(&Pages, &Store, Version) -> Result<Rendered, Refusal>,
    ) -> Result<Arc<Rendered>, Refusal> {
        let version = self.connections.version()?;
        if let Some(page) = self.cached(name, version) {
            return Ok(page);
        }
        let pages = self.pages(version.opened);
        let page = Arc::new(self.read(|store| make(&pages, store, version))?);
        self.keep(CachedPage {
            name: name.into(),
            version,
            made: Instant::now(),
            page: page.clone(),
        });
        Ok(page)
    }

    /// All runs without their samples, oldest first.
    pub(crate) fn all_runs(&self) -> Result<Arc<[RunSummary]>, Refusal> {
        let version = self.connections.version()?;
        self.read(|store| self.runs(store, version))
    }

    /// Reads all runs once, so that pages about many of them need not, unless a run goes on: that is not
    /// disturbed. `stop` is asked between runs.
    pub(crate) fn warm(&self, stop: &dyn Fn() -> bool) -> Result<(), Refusal> {
        let opened = self.connections.version()?.opened;
        let store = self.connections.one_more()?;
        let runs: Arc<[RunSummary]> = store.summaries()?.into();
        if runs.iter().any(|run| run.status == RunStatus::Running) {
            return Ok(());
        }
        let pages = self.pages(opened);
        Ok(pages.reader(&store, runs, Links::All).warm(stop)?)
    }

    /// What is known of the runs of the file that was opened as this.
    fn pages(&self, opened: u64) -> Arc<Pages> {
        let mut known = locked(&self.pages);
        let of_file = known.take().filter(|(of, _)| *of == opened);
        let (_, pages) =
            known.insert(of_file.unwrap_or_else(|| (opened, Arc::new(self.nothing_known()))));
        Arc::clone(pages)
    }

    fn nothing_known(&self) -> Pages {
        let kept = self.kept.as_ref();
        kept.map_or_else(Pages::default, |folder| Pages::kept_in(folder, &self.path))
    }

    /// All runs without their samples.
    fn runs(&self, store: &Store, version: Version) -> Result<Arc<[RunSummary]>, Refusal> {
        let mut known = locked(&self.runs);
        if let Some((of, runs)) = &*known
            && *of == version
            // Who has died since stores nothing.
            && runs.iter().all(|run| run.status != RunStatus::Running)
        {
            return Ok(Arc::clone(runs));
        }
        let runs: Arc<[RunSummary]> = store.summaries()?.into();
        *known = Some((version, Arc::clone(&runs)));
        Ok(runs)
    }

    fn cached(&self, name: &str, version: Version) -> Option<Arc<Rendered>> {
        let mut cached = locked(&self.cached);
        cached.retain(|it| it.version == version && it.made.elapsed() < LONGEST_KEPT);
        cached.iter().find(|it| it.name == name).map(|it| Arc::clone(&it.page))
    }

    fn keep(&self, page: CachedPage) {
        let mut cached = locked(&self.cached);
        cached.retain(|it| it.name != page.name);
        cached.push_back(page);
        let bytes =
            |cached: &VecDeque<CachedPage>| -> usize { cached.iter().map(CachedPage::bytes).sum() };
        while cached.len() > MOST_PAGES || bytes(&cached) > MOST_BYTES {
            cached.pop_front();
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
