//! Threads that work in step: created before anything is timed, released together, waited for.
//!
//! The caller is the first member, so that a team of one has no thread to wake and nothing to pay.
//! Helpers poll for [`SPIN_NS`] before they sleep: within a batch the next release comes sooner than
//! that, and no sample pays for a wake-up. With more threads than CPUs nobody polls, because the
//! polling thread would keep the CPU from one that has work.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use plumb_model::{Facts, Flag, FlagKind, Ready};
use plumb_protocol::{Failure, Instance, StartError, now_ns};

/// How long a thread polls before it sleeps.
const SPIN_NS: u64 = 20_000;

/// The shortest sample of a team with helpers, in nanoseconds: waking them for the first sample of a
/// batch takes some tens of microseconds.
const SHORTEST_SAMPLE_NS: u64 = 2_000_000;

/// What each thread of a team does.
pub trait Member: Send + 'static {
    /// Does the work of `iterations` iterations.
    fn run(&mut self, iterations: u64) -> Result<(), Failure>;

    /// Checks the results since the last check.
    fn verify(&mut self) -> Result<(), Failure>;
}

/// Members, each on a thread of its own; the first on the caller's.
pub struct Team<M> {
    own: M,
    helpers: Helpers<M>,
}

struct Helpers<M> {
    slots: Vec<Arc<Mutex<Slot<M>>>>,
    threads: Vec<JoinHandle<()>>,
    gate: Arc<Gate>,
}

/// A member with the result of its last round; none while it works, and after a panic.
struct Slot<M> {
    member: M,
    result: Option<Result<(), Failure>>,
}

impl<M: Member> Team<M> {
    /// Starts `threads` threads; each builds its own member, so that memory is first touched by the
    /// thread that uses it.
    ///
    /// # Errors
    /// When a thread can't be created or a member can't be built.
    pub fn start<B>(threads: usize, facts: &Facts, build: B) -> Result<Self, StartError>
    where
        B: Fn(usize) -> Result<M, StartError> + Send + Sync + 'static,
    {
        let build = Arc::new(build);
        let gate = Arc::new(Gate::new(fits(threads, facts)));
        let mut helpers = Helpers { slots: Vec::new(), threads: Vec::new(), gate };
        let (sender, built) = mpsc::channel();
        for index in 1..threads {
            helpers.spawn(index, threads, Arc::clone(&build), sender.clone())?;
        }
        drop(sender);
        let own = build(0)?;
        for slot in built {
            helpers.slots.push(slot?);
        }
        if helpers.slots.len() + 1 != threads.max(1) {
            return Err(StartError::Failed("a thread panicked while it was set up".into()));
        }
        Ok(Self { own, helpers })
    }

    /// Shows every member to `look`.
    pub fn each(&self, mut look: impl FnMut(&M)) {
        look(&self.own);
        self.helpers.slots.iter().for_each(|slot| look(&locked(slot).member));
    }
}

impl<M: Member> Instance for Team<M> {
    /// Lets every member work for `iterations` iterations and waits for the last.
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        if self.helpers.slots.is_empty() {
            return self.own.run(iterations);
        }
        self.helpers.gate.release(iterations, self.helpers.slots.len());
        let own = self.own.run(iterations);
        self.helpers.gate.wait_for_all();
        own?;
        let panicked = || Err(Failure("a thread of the workload panicked".into()));
        self.helpers
            .slots
            .iter()
            .try_for_each(|slot| locked(slot).result.take().unwrap_or_else(panicked))
    }

    /// Checks every member's results, on the caller's thread.
    fn verify(&mut self) -> Result<(), Failure> {
        self.own.verify()?;
        self.helpers.slots.iter().try_for_each(|slot| locked(slot).member.verify())
    }

    /// Releasing the members does not show in a sample of this length.
    fn shortest_sample_ns(&self) -> u64 {
        if self.helpers.slots.is_empty() { 0 } else { SHORTEST_SAMPLE_NS }
    }
}

impl<M: Member> Helpers<M> {
    fn spawn<B>(
        &mut self,
        index: usize,
        threads: usize,
        build: Arc<B>,
        sender: Sender<Result<Arc<Mutex<Slot<M>>>, StartError>>,
    ) -> Result<(), StartError>
    where
        B: Fn(usize) -> Result<M, StartError> + Send + Sync + 'static,
    {
        let gate = Arc::clone(&self.gate);
        let body = move || {
            let slot =
                build(index).map(|member| Arc::new(Mutex::new(Slot { member, result: None })));
            let own = slot.as_ref().ok().map(Arc::clone);
            // The receiver is gone only when the start has failed, and then the gate is closed.
            drop(sender.send(slot));
            drop(sender);
            if let Some(slot) = own {
                gate.serve(&slot);
            }
        };
        let thread =
            Builder::new().name(format!("worker-{index}")).spawn(body).map_err(|error| {
                StartError::unsupported(
                    format!("thread {} of {threads} could not be created: {error}", index + 1),
                    "set fewer threads, or raise `ulimit -u` and the cgroup's pids.max",
                )
            })?;
        self.threads.push(thread);
        Ok(())
    }
}

impl<M> Drop for Helpers<M> {
    fn drop(&mut self) {
        self.gate.close();
        for thread in self.threads.drain(..) {
            // A panic of the thread has been reported by `run` already.
            drop(thread.join());
        }
    }
}

/// Tells the reader that threads are not pinned, and flags it when they have to share CPUs.
pub fn describe(threads: usize, facts: &Facts, ready: &mut Ready) {
    if threads > 1 {
        ready.notes.push("threads are not pinned to CPUs".into());
    }
    ready.flags.extend(oversubscribed(threads, facts));
}

/// A flag when threads have to share CPUs.
pub fn oversubscribed(threads: usize, facts: &Facts) -> Option<Flag> {
    let cpus = facts.cpus.len();
    (cpus > 0 && !fits(threads, facts)).then(|| {
        let why = format!("{threads} threads share {cpus} CPUs");
        Flag::new(FlagKind::Other("oversubscribed".into()), why)
    })
}

/// Whether every thread can have a CPU of its own; when the CPUs are unknown, a single one can.
fn fits(threads: usize, facts: &Facts) -> bool {
    threads <= facts.cpus.len().max(1)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where helpers wait for work and the caller waits for helpers.
struct Gate {
    orders: Mutex<Orders>,
    released: Condvar,
    finished: Condvar,
    /// Copies of what `orders` holds, for those who poll.
    round: AtomicU64,
    working: AtomicUsize,
    polls: bool,
}

#[derive(Default)]
struct Orders {
    round: u64,
    iterations: u64,
    working: usize,
    closed: bool,
}

impl Gate {
    fn new(polls: bool) -> Self {
        Self {
            orders: Mutex::default(),
            released: Condvar::new(),
            finished: Condvar::new(),
            round: AtomicU64::new(0),
            working: AtomicUsize::new(0),
            polls,
        }
    }

    fn release(&self, iterations: u64, helpers: usize) {
        let mut orders = locked(&self.orders);
        orders.round += 1;
        orders.iterations = iterations;
        orders.working = helpers;
        self.working.store(helpers, Ordering::Release);
        self.round.store(orders.round, Ordering::Release);
        drop(orders);
        self.released.notify_all();
    }

    fn wait_for_all(&self) {
        self.poll(|| self.working.load(Ordering::Acquire) == 0);
        let mut orders = locked(&self.orders);
        while orders.working > 0 {
            orders = self.finished.wait(orders).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn close(&self) {
        locked(&self.orders).closed = true;
        self.round.store(u64::MAX, Ordering::Release);
        self.released.notify_all();
    }

    /// Works round after round until the gate is closed.
    fn serve<M: Member>(&self, slot: &Mutex<Slot<M>>) {
        let mut seen = 0;
        while let Some(iterations) = self.wait_for_orders(&mut seen) {
            // Dropped after the lock on the slot, and in a panic, too.
            let _leaving = Leaving(self);
            let mut slot = locked(slot);
            slot.result = None;
            slot.result = Some(slot.member.run(iterations));
        }
    }

    fn wait_for_orders(&self, seen: &mut u64) -> Option<u64> {
        self.poll(|| self.round.load(Ordering::Acquire) != *seen);
        let mut orders = locked(&self.orders);
        while orders.round == *seen && !orders.closed {
            orders = self.released.wait(orders).unwrap_or_else(PoisonError::into_inner);
        }
        *seen = orders.round;
        (!orders.closed).then_some(orders.iterations)
    }

    fn poll(&self, ready: impl Fn() -> bool) {
        if self.polls {
            let end = now_ns() + SPIN_NS;
            while !ready() && now_ns() < end {
                std::hint::spin_loop();
            }
        }
    }
}

/// Reports the end of a helper's round when it is dropped.
struct Leaving<'g>(&'g Gate);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut orders = locked(&self.0.orders);
        orders.working -= 1;
        self.0.working.store(orders.working, Ordering::Release);
        if orders.working == 0 {
            self.0.finished.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, Team};
    use plumb_model::Facts;
    use plumb_protocol::{Failure, Instance, StartError};

    struct Counter(u64);

    impl Member for Counter {
        fn run(&mut self, iterations: u64) -> Result<(), Failure> {
            self.0 += iterations;
            assert_ne!(iterations, 13, "a panic on purpose");
            if iterations == 7 { Err(Failure("seven".into())) } else { Ok(()) }
        }
        fn verify(&mut self) -> Result<(), Failure> {
            Ok(())
        }
    }

    fn team(threads: usize) -> Team<Counter> {
        let facts = Facts { cpus: vec![0, 1], ..Facts::default() };
        Team::start(threads, &facts, |_| Ok(Counter(0))).unwrap()
    }

    #[test]
    fn every_member_does_every_round() {
        for threads in [1, 2, 5] {
            let mut team = team(threads);
            for _ in 0..200 {
                team.run(3).unwrap();
            }
            let mut sums = Vec::new();
            team.each(|member| sums.push(member.0));
            assert_eq!(sums, vec![600; threads]);
        }
    }

    #[test]
    fn failures_reach_the_caller_and_the_team_still_ends() {
        assert_eq!(team(3).run(7), Err(Failure("seven".into())));
        let build = |index| match index {
            2 => Err(StartError::Failed("no".into())),
            _ => Ok(Counter(0)),
        };
        assert!(Team::start(4, &Facts::default(), build).is_err());
    }

    #[test]
    fn a_panic_of_a_helper_is_a_failure_and_no_deadlock() {
        struct Fragile(usize);
        impl Member for Fragile {
            fn run(&mut self, _: u64) -> Result<(), Failure> {
                assert_eq!(self.0, 0, "a panic on purpose");
                Ok(())
            }
            fn verify(&mut self) -> Result<(), Failure> {
                Ok(())
            }
        }
        let mut team = Team::start(2, &Facts::default(), |index| Ok(Fragile(index))).unwrap();
        let failure = team.run(1).unwrap_err();
        assert!(failure.0.contains("panicked"), "{failure}");
    }
}
