//! Follows runs for those who watch them: a thread a run, that looks once a second at what is new in the
//! store, however many watch and whoever carries the run out.
//!
//! Nobody is told anything: who watches asks for what changed since the message they took last, and waits
//! while nothing has. A reader that is stuck therefore costs nothing, and gets, in one message, what it
//! missed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use plumb_model::Id;
use plumb_report::live::{Live, LiveDocument};
use plumb_store::{Follow, Store};

use crate::Refusal;

/// Time between two looks at the store, and therefore between two messages.
const PAUSE: Duration = Duration::from_secs(1);
/// Even when nothing was stored, it is looked whether the run still goes on, once in so many looks.
const WITHOUT_CHANGE: u32 = 5;
/// Runs that are followed at once.
const MOST_RUNS: usize = 4;

/// The runs that somebody watches.
#[derive(Debug)]
pub(crate) struct Watches {
    store: PathBuf,
    all: Mutex<All>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct All {
    runs: HashMap<Id, Watch>,
    /// Nobody waits for the next second any more.
    hurry: bool,
    stops: bool,
}

/// A run that somebody watches.
#[derive(Debug)]
struct Watch {
    live: Live,
    readers: usize,
    /// Why it can be followed no longer.
    failed: Option<String>,
}

impl Watch {
    /// Whether nothing more comes.
    fn ends(&self) -> bool {
        self.live.is_over() || self.failed.is_some()
    }
}

/// What a reader gets.
#[derive(Debug)]
pub(crate) enum Heard {
    /// What changed; whether it is the last.
    Message(Box<LiveDocument>, bool),
    /// Nothing has changed for so long.
    Nothing,
    /// Nothing more will come.
    Over,
}

impl Watches {
    /// Runs in this store.
    pub(crate) fn of(store: PathBuf) -> Self {
        Self { store, all: Mutex::default(), changed: Condvar::new() }
    }

    /// Begins to watch a run.
    pub(crate) fn join(self: &Arc<Self>, run: Id) -> Result<Watcher, Refusal> {
        if let Some(watcher) = self.joined(run) {
            return Ok(watcher);
        }
        let tail = Tail::begin(&self.store, run)?;
        let mut all = self.all();
        let mine = |all: &mut All| {
            let watch = all.runs.get_mut(&run)?;
            watch.readers += 1;
            Some(Watcher { watches: Arc::clone(self), run, seen: 0 })
        };
        // Somebody else may have come first.
        if let Some(watcher) = mine(&mut all) {
            return Ok(watcher);
        }
        if all.runs.len() >= MOST_RUNS || all.stops {
            return Err(Refusal::Busy);
        }
        let watch = Watch { live: tail.live.clone(), readers: 1, failed: None };
        if !watch.live.is_over() {
            let watches = Arc::clone(self);
            let named = thread::Builder::new().name("follow".into());
            named.spawn(move || watches.follow(tail)).map_err(|_| Refusal::Busy)?;
        }
        all.runs.insert(run, watch);
        Ok(Watcher { watches: Arc::clone(self), run, seen: 0 })
    }

    fn joined(self: &Arc<Self>, run: Id) -> Option<Watcher> {
        let mut all = self.all();
        let watch = all.runs.get_mut(&run).filter(|watch| watch.failed.is_none())?;
        watch.readers += 1;
        Some(Watcher { watches: Arc::clone(self), run, seen: 0 })
    }

    /// Everybody gets the newest at once, and no pause is made any more.
    pub(crate) fn hurry(&self) {
        self.all().hurry = true;
        self.changed.notify_all();
    }

    /// Nothing more comes.
    pub(crate) fn stop(&self) {
        self.all().stops = true;
        self.changed.notify_all();
    }

    /// How many runs are followed.
    #[cfg(test)]
    pub(crate) fn followed(&self) -> usize {
        self.all().runs.len()
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the store until the run is over or nobody watches it.
    fn follow(&self, mut tail: Tail) {
        let run = tail.follow.run;
        while let Some(all) = self.pause(run) {
            drop(all);
            let looked = tail.look();
            let mut all = self.all();
            let Some(watch) = all.runs.get_mut(&run) else { return };
            match looked {
                Ok(false) => continue,
                Ok(true) => watch.live = tail.live.clone(),
                Err(refusal) => watch.failed = Some(refusal.to_string()),
            }
            let (ends, watched) = (watch.ends(), watch.readers > 0);
            self.changed.notify_all();
            if ends && !watched {
                all.runs.remove(&run);
            }
            if ends {
                return;
            }
        }
    }

    /// Waits a second, or until somebody hurries. None when there is nothing to do any more.
    fn pause(&self, run: Id) -> Option<MutexGuard<'_, All>> {
        let until = Instant::now() + PAUSE;
        let mut all = self.all();
        let mut hurried = all.hurry;
        loop {
            let watched = all.runs.get(&run).is_some_and(|watch| watch.readers > 0);
            if !watched || all.stops {
                all.runs.remove(&run);
                return None;
            }
            // Once hurried, it still must not spin while the run's end is being stored.
            let least = if hurried { Duration::from_millis(50) } else { PAUSE };
            let left = until.saturating_duration_since(Instant::now());
            let left = left.saturating_sub(PAUSE.saturating_sub(least));
            if left.is_zero() {
                return Some(all);
            }
            let waited = self.changed.wait_timeout(all, left);
            all = waited.unwrap_or_else(PoisonError::into_inner).0;
            hurried = all.hurry;
        }
    }
}

/// Somebody who watches a run.
#[derive(Debug)]
pub(crate) struct Watcher {
    watches: Arc<Watches>,
    run: Id,
    seen: u64,
}

impl Watcher {
    /// Whether the run is over.
    pub(crate) fn is_over(&self) -> bool {
        self.watches.all().runs.get(&self.run).is_none_or(Watch::ends)
    }

    /// What changed since the last time; waits so long for it.
    pub(crate) fn next(&mut self, patience: Duration) -> Heard {
        let until = Instant::now() + patience;
        let mut all = self.watches.all();
        loop {
            let Some(watch) = all.runs.get(&self.run) else { return Heard::Over };
            if watch.live.number() > self.seen {
                let over = watch.ends();
                let message = watch.live.since(self.seen);
                self.seen = message.number;
                return Heard::Message(Box::new(message), over);
            }
            let left = until.saturating_duration_since(Instant::now());
            if watch.ends() || all.stops {
                return Heard::Over;
            }
            if left.is_zero() {
                return Heard::Nothing;
            }
            let waited = self.watches.changed.wait_timeout(all, left);
            all = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let mut all = self.watches.all();
        let Some(watch) = all.runs.get_mut(&self.run) else { return };
        watch.readers -= 1;
        // The thread of a run that is over has ended, and removes nothing.
        if watch.readers == 0 && watch.ends() {
            all.runs.remove(&self.run);
        }
    }
}

/// Reads what is new of a run.
struct Tail {
    store: Store,
    follow: Follow,
    live: Live,
    version: i64,
    looks: u32,
}

impl Tail {
    /// All that is stored of a run by now.
    fn begin(path: &Path, run: Id) -> Result<Self, Refusal> {
        let store = Store::open_read_only(path)?;
        let version = store.version()?;
        let (follow, live) = so_far(&store, run)?;
        Ok(Self { store, follow, live, version, looks: 0 })
    }

    /// Whether something is new. What is not changed is not read, and what is read is what is new.
    fn look(&mut self) -> Result<bool, Refusal> {
        let version = self.store.version()?;
        self.looks += 1;
        if version == self.version && !self.looks.is_multiple_of(WITHOUT_CHANGE) {
            return Ok(false);
        }
        self.version = version;
        let news = self.store.updates(&mut self.follow)?;
        let elapsed = elapsed(&self.follow, news.at_ns, &news.status);
        Ok(self.live.take(&news, elapsed))
    }
}

/// All that is stored of a run by now.
pub(crate) fn so_far(store: &Store, run: Id) -> Result<(Follow, Live), Refusal> {
    let mut follow = store.follow(run)?;
    let mut live = Live::new(run, follow.started_unix_ns, &follow.plan);
    let news = store.updates(&mut follow)?;
    live.take(&news, elapsed(&follow, news.at_ns, &news.status));
    Ok((follow, live))
}

/// Time since the run's start: until now while it goes on, until its last fact otherwise.
fn elapsed(follow: &Follow, at_ns: u64, status: &plumb_model::RunStatus) -> Duration {
    if *status != plumb_model::RunStatus::Running {
        return Duration::from_nanos(at_ns);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started = u64::try_from(follow.started_unix_ns).unwrap_or(0);
    now.saturating_sub(Duration::from_nanos(started))
}
