//! Follows runs for those who want to see them: a task a run, that looks once per second at what is new in the
//! store, however many follow it and whoever carries the run out.
//!
//! Nothing is queued for anybody: a follower asks for what changed since the message they took last, and
//! waits while nothing has. One that is stuck therefore costs nothing, and gets, in one message, what it
//! missed. Looking blocks, so it is done by the runtime's threads for that, never by the thread that serves.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use plumb_live::{Live, LiveDocument};
use plumb_model::{Id, RunStatus};
use plumb_store::{Follow, Store};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::refusal::ServeRefusal;

/// Time between two looks at the store, and therefore between two messages,
const PAUSE: Duration = Duration::from_secs(1);
/// and the least, when nobody waits any more: the end of a run may still be on its way to the store.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
/// Even when nothing was stored, it is looked whether the run still goes on, once in so many looks.
const WITHOUT_CHANGE: u32 = 5;
/// Runs that are followed at once.
pub(crate) const MOST_RUNS: usize = 4;

/// The runs of a store that somebody follows.
#[derive(Debug)]
pub(crate) struct FollowedRuns {
    store: PathBuf,
    states: Mutex<HashMap<Id, Arc<watch::Sender<FollowedState>>>>,
    /// What the program under way says that it is doing, by run and point. It is not stored: only a server in the
    /// process that carries the run out knows it.
    activity: Mutex<Option<(Id, usize, String)>>,
    /// Whether nobody waits for the next second any more.
    hurry: watch::Sender<bool>,
}

/// The state of a followed run.
#[derive(Debug)]
struct FollowedState {
    live: Live,
    /// Whether it can be followed no longer.
    failed: bool,
}

impl FollowedState {
    /// Whether nothing more comes.
    fn ends(&self) -> bool {
        self.live.is_over() || self.failed
    }
}

impl FollowedRuns {
    /// Runs in this store.
    pub(crate) fn of(store: PathBuf) -> Self {
        Self {
            store,
            states: Mutex::default(),
            activity: Mutex::default(),
            hurry: watch::Sender::new(false),
        }
    }

    /// The program of a point of a run says that it is doing something; None: no more.
    pub(crate) fn doing(&self, run: Id, activity: Option<(usize, String)>) {
        let known = activity.map(|(point, text)| (run, point, text));
        *self.activity.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// What the program of a run says that it is doing, with its point.
    fn activity(&self, run: Id) -> Option<(usize, String)> {
        let known = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|(of, ..)| *of == run).map(|(_, point, text)| (*point, text.clone()))
    }

    /// Begins to follow a run. Reads the store, and so must not be called by the thread that serves; but in
    /// its runtime, which carries the task of the run.
    pub(crate) fn join(self: &Arc<Self>, run: Id) -> Result<RunFollower, ServeRefusal> {
        if let Some(state) = self.states().get(&run) {
            return Ok(RunFollower::of(state.subscribe()));
        }
        // Outside the lock: reading a long run must not keep the followers of other runs waiting.
        let tail = RunTail::begin(&self.store, run)?;
        let (sender, state) =
            watch::channel(FollowedState { live: tail.live.clone(), failed: false });
        if tail.live.is_over() {
            return Ok(RunFollower::of(state));
        }
        let mut states = self.states();
        // Somebody else may have come first.
        if let Some(state) = states.get(&run) {
            return Ok(RunFollower::of(state.subscribe()));
        }
        if states.len() >= MOST_RUNS {
            return Err(ServeRefusal::Busy);
        }
        let sender = Arc::new(sender);
        states.insert(run, Arc::clone(&sender));
        tokio::spawn(Arc::clone(self).follow(run, tail, sender));
        Ok(RunFollower::of(state))
    }

    /// Everybody gets the newest at once, and no pause is made any more.
    pub(crate) fn hurry(&self) {
        self.hurry.send_replace(true);
    }

    /// How many runs are followed.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.states().len()
    }

    fn states(&self) -> MutexGuard<'_, HashMap<Id, Arc<watch::Sender<FollowedState>>>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the store until the run is over or nobody follows it.
    async fn follow(
        self: Arc<Self>,
        run: Id,
        mut tail: RunTail,
        state: Arc<watch::Sender<FollowedState>>,
    ) {
        let mut hurry = self.hurry.subscribe();
        loop {
            pause(&mut hurry).await;
            if self.is_left(run, &state) {
                return;
            }
            let activity = self.activity(run);
            let look = move || {
                let looked = tail.look(activity);
                (tail, looked)
            };
            let Ok((back, looked)) = spawn_blocking(look).await else {
                return self.end(run, &state, None);
            };
            tail = back;
            match looked {
                Ok(false) => {}
                Ok(true) if tail.live.is_over() => return self.end(run, &state, Some(tail.live)),
                Ok(true) => state.send_modify(|state| state.live = tail.live.clone()),
                Err(_) => return self.end(run, &state, None),
            }
        }
    }

    /// Whether nobody follows a run any more; then it is forgotten.
    fn is_left(&self, run: Id, state: &watch::Sender<FollowedState>) -> bool {
        // Nobody joins while this is held.
        let mut states = self.states();
        let left = state.receiver_count() == 0;
        if left {
            states.remove(&run);
        }
        left
    }

    /// Tells the last that is known of a run; None when that can't be known any more.
    fn end(&self, run: Id, state: &watch::Sender<FollowedState>, last: Option<Live>) {
        self.states().remove(&run);
        state.send_modify(|state| match last {
            Some(live) => state.live = live,
            None => state.failed = true,
        });
    }
}

async fn pause(hurry: &mut watch::Receiver<bool>) {
    sleep(LEAST_PAUSE).await;
    // Either way it is time to look.
    let _ = timeout(PAUSE.saturating_sub(LEAST_PAUSE), hurry.wait_for(|hurry| *hurry)).await;
}

/// Somebody who follows a run.
#[derive(Debug)]
pub(crate) struct RunFollower {
    state: watch::Receiver<FollowedState>,
    /// The number of the message that they have.
    has: u64,
}

impl RunFollower {
    fn of(state: watch::Receiver<FollowedState>) -> Self {
        Self { state, has: 0 }
    }

    /// Whether the run is over.
    pub(crate) fn is_over(&self) -> bool {
        self.state.borrow().ends()
    }

    /// What changed since the last message, as soon as something has, and whether it is the last; None when
    /// nothing more comes.
    pub(crate) async fn next(&mut self) -> Option<(LiveDocument, bool)> {
        loop {
            {
                // In a block of its own, because the borrow is a lock: held while waiting, it would block the writer.
                let state = self.state.borrow_and_update();
                if state.live.number() > self.has {
                    let message = state.live.since(self.has);
                    self.has = message.number;
                    return Some((message, state.ends()));
                }
                if state.ends() {
                    return None;
                }
            }
            self.state.changed().await.ok()?;
        }
    }
}

/// Reads what is new of a run.
struct RunTail {
    store: Store,
    follow: Follow,
    live: Live,
    version: i64,
    looks: u32,
}

impl RunTail {
    /// All that is stored of a run by now.
    fn begin(path: &Path, run: Id) -> Result<Self, ServeRefusal> {
        let store = Store::open_read_only(path)?;
        let version = store.version()?;
        let (follow, live) = so_far(&store, run)?;
        Ok(Self { store, follow, live, version, looks: 0 })
    }

    /// Whether something is new. What is not changed is not read, and what is read is what is new.
    fn look(&mut self, activity: Option<(usize, String)>) -> Result<bool, ServeRefusal> {
        let stored = self.look_at_store()?;
        Ok(self.live.doing(activity) || stored)
    }

    fn look_at_store(&mut self) -> Result<bool, ServeRefusal> {
        let version = self.store.version()?;
        self.looks += 1;
        // A killed run stores nothing more: only looking for its process shows that it is over.
        if version == self.version && !self.looks.is_multiple_of(WITHOUT_CHANGE) {
            return Ok(false);
        }
        self.version = version;
        let updates = self.store.updates(&mut self.follow)?;
        let elapsed = elapsed(&self.follow, updates.at_ns, updates.status);
        Ok(self.live.take(&updates, elapsed))
    }
}

/// All that is stored of a run by now.
pub(crate) fn so_far(store: &Store, run: Id) -> Result<(Follow, Live), ServeRefusal> {
    let mut follow = store.follow(run)?;
    let mut live = Live::new(run, follow.started_unix_ns, &follow.plan);
    let updates = store.updates(&mut follow)?;
    live.take(&updates, elapsed(&follow, updates.at_ns, updates.status));
    Ok((follow, live))
}

/// Time since the run's start: until now while it goes on, until its last fact otherwise.
fn elapsed(follow: &Follow, at_ns: u64, status: RunStatus) -> Duration {
    if status != RunStatus::Running {
        return Duration::from_nanos(at_ns);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let started = u64::try_from(follow.started_unix_ns).unwrap_or(0);
    now.saturating_sub(Duration::from_nanos(started))
}
