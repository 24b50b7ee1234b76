//! Pages that were made once, kept until something is stored. Nothing else is kept: the store has what is derived.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use plumb_model::RunStatus;
use plumb_query::SeriesByRun;
use plumb_site::{LinkedPages, Page, Rendered};
use plumb_store::{RunSummary, Store};

use crate::connections::{StoreConnections, Version};
use crate::pages::{StorePages, is_of_series, series_page};
use crate::refusal::ServeRefusal;

/// Pages that are kept.
const MOST_PAGES: usize = 64;
/// Bytes of pages that are kept.
const MOST_BYTES: usize = 32 << 20;
/// A page that says that a run goes on is true so long after that run was killed.
const LONGEST_KEPT: Duration = Duration::from_secs(30);

/// The pages of a store, for many requests.
#[derive(Debug)]
pub(crate) struct PageCache {
    connections: StoreConnections,
    cached: Mutex<VecDeque<CachedPage>>,
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
    /// The pages of the store in this file.
    pub(crate) fn of(path: PathBuf) -> Self {
        Self { connections: StoreConnections::to(path), cached: Mutex::default() }
    }

    /// Reads the store, as soon as a connection is free.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, ServeRefusal>,
    ) -> Result<T, ServeRefusal> {
        self.connections.read(read)
    }

    /// A page: as it was made before, if nothing was stored since.
    pub(crate) fn page(&self, name: &str) -> Result<Arc<Rendered>, ServeRefusal> {
        let none = || ServeRefusal::unknown(format!("no such page: {name}.html"));
        self.once(name, |store| {
            let page = if is_of_series(name) {
                let page = series_page(store, &LinkedPages::All, name)?;
                page.filter(|page| page.name == name).map(Page::render)
            } else {
                StorePages::of(store, &SeriesByRun::default())?.page(name)?
            };
            page.ok_or_else(none)
        })
    }

    /// The index of all names, a script without a page.
    pub(crate) fn search(&self) -> Result<Arc<Rendered>, ServeRefusal> {
        // No page is called so: its name would be no file's.
        self.once("data/search", |store| {
            let search = StorePages::of(store, &SeriesByRun::default())?.search()?;
            Ok(Rendered { html: String::new(), charts: search.render() })
        })
    }

    /// What has this name, made unless nothing was stored since it was made before.
    fn once(
        &self,
        name: &str,
        make: impl FnOnce(&Store) -> Result<Rendered, ServeRefusal>,
    ) -> Result<Arc<Rendered>, ServeRefusal> {
        // Asked before the page is made: what is stored meanwhile then makes the kept page outdated, not wrong.
        let version = self.connections.version()?;
        if let Some(page) = self.cached(name, version) {
            return Ok(page);
        }
        let page = Arc::new(self.read(make)?);
        self.keep(CachedPage {
            name: name.into(),
            version,
            made: Instant::now(),
            page: page.clone(),
        });
        Ok(page)
    }

    /// All runs without their samples, oldest first.
    pub(crate) fn all_runs(&self) -> Result<Arc<[RunSummary]>, ServeRefusal> {
        self.read(|store| Ok(store.summaries()?.into()))
    }

    /// Has the series of all runs derived once, so that no page has to read samples for them, unless a run goes on: that
    /// is not disturbed. `stop` is asked between runs.
    pub(crate) fn warm(&self, stop: &dyn Fn() -> bool) -> Result<(), ServeRefusal> {
        let store = self.connections.one_more()?;
        if store.summaries()?.iter().any(|run| run.status == RunStatus::Running) {
            return Ok(());
        }
        Ok(plumb_query::fill(&store, stop)?)
    }

    fn cached(&self, name: &str, version: Version) -> Option<Arc<Rendered>> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|entry| entry.version == version && entry.made.elapsed() < LONGEST_KEPT);
        cached.iter().find(|entry| entry.name == name).map(|entry| Arc::clone(&entry.page))
    }

    fn keep(&self, page: CachedPage) {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|entry| entry.name != page.name);
        cached.push_back(page);
        let bytes =
            |cached: &VecDeque<CachedPage>| -> usize { cached.iter().map(CachedPage::bytes).sum() };
        while cached.len() > MOST_PAGES || bytes(&cached) > MOST_BYTES {
            cached.pop_front();
        }
    }
}
