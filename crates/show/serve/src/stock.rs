//! The store as requests get it: read-only, two at a time, and pages that were made once kept until
//! something is stored. What is left of runs without their samples is kept for as long as the file is the
//! same ([`Pages`]).

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use plumb_model::RunStatus;
use plumb_site::{Links, Rendered};
use plumb_store::{Backend, RunSummary, Store};

use crate::{Pages, Reader, Refusal};

/// Readers of the store at once: more would take the machine from what is measured on it.
const MOST_READERS: usize = 2;
/// How long a request waits for one of them.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pages that are kept.
const MOST_PAGES: usize = 64;
/// Bytes of pages that are kept.
const MOST_BYTES: usize = 32 << 20;
/// A page that says that a run goes on is true so long after that run was killed.
const LONGEST_KEPT: Duration = Duration::from_secs(30);

/// The store, for many requests.
#[derive(Debug)]
pub(crate) struct Stock {
    path: PathBuf,
    readers: Mutex<Readers>,
    free: Condvar,
    watcher: Mutex<Watcher>,
    kept: Mutex<VecDeque<Kept>>,
    pages: Mutex<Option<(u64, Arc<Pages>)>>,
    runs: Mutex<Option<(Version, Arc<[RunSummary]>)>>,
}

/// Connections that nobody uses now, and how many are in use.
#[derive(Debug, Default)]
struct Readers {
    idle: Vec<Connection>,
    busy: usize,
}

/// A connection, and which file it has open.
#[derive(Debug)]
struct Connection {
    store: Store,
    file: File,
}

/// A file, whatever its name.
type File = (u64, u64);

/// The connection that tells whether the store has changed, and which one it is: another file may get the
/// number of one that is gone.
#[derive(Debug, Default)]
struct Watcher {
    connection: Option<Connection>,
    opened: u64,
}

/// What the store held: another value as soon as somebody has changed it, or put another in its place.
type Version = (u64, i64);

/// A page that was made.
#[derive(Debug)]
struct Kept {
    name: String,
    version: Version,
    made: Instant,
    page: Arc<Rendered>,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.page.html.len() + self.page.charts.len()
    }
}

impl Stock {
    /// The store in this file.
    pub(crate) fn of(path: PathBuf) -> Self {
        Self {
            path,
            readers: Mutex::default(),
            free: Condvar::new(),
            watcher: Mutex::default(),
            kept: Mutex::default(),
            pages: Mutex::default(),
            runs: Mutex::default(),
        }
    }

    /// Reads the store, as soon as a connection is free.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Store) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut lent = self.lend()?;
        let connection = match lent.connection.take() {
            Some(it) if Some(it.file) == file(&self.path) => it,
            // Somebody has put another file there.
            _ => open(&self.path)?,
        };
        read(&lent.connection.insert(connection).store)
    }

    /// A page: as it was made before, if nothing was stored since.
    pub(crate) fn page(&self, name: &str) -> Result<Arc<Rendered>, Refusal> {
        let none = || Refusal::unknown(format!("nothing is called {name}.html"));
        self.once(name, |pages| pages.page(name)?.ok_or_else(none))
    }

    /// The index of all names, a script without a page.
    pub(crate) fn search(&self) -> Result<Arc<Rendered>, Refusal> {
        let script =
            |pages: Reader<'_>| Rendered { html: String::new(), charts: pages.search().render() };
        // No page is called so: its name would be no file's.
        self.once("data/search", |pages| Ok(script(pages)))
    }

    /// What has this name, made unless nothing was stored since it was made before.
    fn once(
        &self,
        name: &str,
        make: impl FnOnce(Reader<'_>) -> Result<Rendered, Refusal>,
    ) -> Result<Arc<Rendered>, Refusal> {
        let version = self.version()?;
        if let Some(page) = self.kept(name, version) {
            return Ok(page);
        }
        let pages = self.pages(version.0);
        let make =
            |store: &Store| make(pages.reader(store, self.runs(store, version)?, Links::All));
        let page = Arc::new(self.read(make)?);
        self.keep(Kept { name: name.into(), version, made: Instant::now(), page: page.clone() });
        Ok(page)
    }

    /// All runs without their samples, oldest first.
    pub(crate) fn all_runs(&self) -> Result<Arc<[RunSummary]>, Refusal> {
        let version = self.version()?;
        self.read(|store| self.runs(store, version))
    }

    /// Reads all runs once, so that pages about many of them need not, unless a run goes on: that is not
    /// disturbed. `stop` is asked between runs.
    pub(crate) fn warm(&self, stop: &dyn Fn() -> bool) -> Result<(), Refusal> {
        let (opened, _) = self.version()?;
        let connection = open(&self.path)?;
        let runs: Arc<[RunSummary]> = connection.store.summaries()?.into();
        if runs.iter().any(|run| run.status == RunStatus::Running) {
            return Ok(());
        }
        let pages = self.pages(opened);
        Ok(pages.reader(&connection.store, runs, Links::All).warm(stop)?)
    }

    /// What is known of the runs of the file that was opened as this.
    fn pages(&self, opened: u64) -> Arc<Pages> {
        let mut known = locked(&self.pages);
        let of_file = known.take().filter(|(of, _)| *of == opened);
        let (_, pages) = known.insert(of_file.unwrap_or_else(|| (opened, Arc::default())));
        Arc::clone(pages)
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

    fn version(&self) -> Result<Version, Refusal> {
        let mut watcher = locked(&self.watcher);
        let connection = match watcher.connection.take() {
            Some(it) if Some(it.file) == file(&self.path) => it,
            _ => {
                watcher.opened += 1;
                open(&self.path)?
            }
        };
        let version = connection.store.version();
        watcher.connection = Some(connection);
        Ok((watcher.opened, version?))
    }

    fn kept(&self, name: &str, version: Version) -> Option<Arc<Rendered>> {
        let mut kept = locked(&self.kept);
        kept.retain(|it| it.version == version && it.made.elapsed() < LONGEST_KEPT);
        kept.iter().find(|it| it.name == name).map(|it| Arc::clone(&it.page))
    }

    fn keep(&self, page: Kept) {
        let mut kept = locked(&self.kept);
        kept.retain(|it| it.name != page.name);
        kept.push_back(page);
        while kept.len() > MOST_PAGES || kept.iter().map(Kept::bytes).sum::<usize>() > MOST_BYTES {
            kept.pop_front();
        }
    }

    fn lend(&self) -> Result<Lent<'_>, Refusal> {
        let until = Instant::now() + PATIENCE;
        let mut readers = locked(&self.readers);
        while readers.busy >= MOST_READERS {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Refusal::Busy);
            }
            let waited = self.free.wait_timeout(readers, left);
            readers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        readers.busy += 1;
        Ok(Lent { stock: self, connection: readers.idle.pop() })
    }
}

/// A connection in use; given back when dropped.
struct Lent<'s> {
    stock: &'s Stock,
    connection: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut readers = locked(&self.stock.readers);
        readers.busy -= 1;
        // After a panic nobody knows what state it is in.
        readers.idle.extend(self.connection.take().filter(|_| !thread::panicking()));
        self.stock.free.notify_one();
    }
}

fn open(path: &Path) -> Result<Connection, Refusal> {
    let before = file(path);
    let store = Store::open_read_only(path)?;
    Ok(Connection { store, file: before.unwrap_or_default() })
}

fn file(path: &Path) -> Option<File> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
