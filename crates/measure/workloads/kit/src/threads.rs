//! Threads that work in step: created before anything is timed, released together, waited for.
//!
//! The caller is the first member, so that a team of one has no thread to wake and nothing to pay.
//! Helpers poll for `SPIN_NS` before they sleep: within a batch the next release comes sooner than
//! that, and no sample pays for a wake-up. With more threads than CPUs nobody polls, because the
//! polling thread would keep the CPU from one that has work.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use plumb_model::{Facts, Flag, FlagKind, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, now_ns};

use crate::affinity::CpuSet;
use crate::placement::{Placement, in_words};

/// How long a thread polls before it sleeps.
const SPIN_NS: u64 = 20_000;

/// The shortest sample of a team with helpers, in nanoseconds: waking them for the first sample of a
/// batch takes some tens of microseconds.
const SHORTEST_SAMPLE_NS: u64 = 2_000_000;

/// The work of each thread of a team.
pub trait Member: Send + 'static {
    /// Does the work of `iterations` iterations.
    fn run(&mut self, iterations: u64) -> Result<(), Failure>;

    /// Checks the results since the last check.
    fn verify(&mut self) -> Result<(), Failure>;

    /// Whether a failed check means that this machine computed wrongly: see [`Instance::checks_computation`].
    fn checks_computation(&self) -> bool {
        false
    }
}

impl Member for Box<dyn Member> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.as_mut().run(iterations)
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.as_mut().verify()
    }

    fn checks_computation(&self) -> bool {
        self.as_ref().checks_computation()
    }
}

/// Members, each on its own thread; the first on the caller's.
pub struct Team<M> {
    own: M,
    helpers: Helpers<M>,
    /// The CPU of each thread; empty if they are not pinned.
    cpus: Vec<usize>,
    _restored: Option<RestoredAffinity>,
}

/// Where the caller's thread may run again, once the team has ended.
struct RestoredAffinity(CpuSet);

impl Drop for RestoredAffinity {
    fn drop(&mut self) {
        let _ = self.0.apply();
    }
}

struct Helpers<M> {
    cells: Vec<Arc<Mutex<MemberCell<M>>>>,
    threads: Vec<JoinHandle<()>>,
    barrier: Arc<RoundBarrier>,
}

/// A member with the result of its last round; none while it works, and after a panic.
struct MemberCell<M> {
    /// Which thread of the team.
    index: usize,
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
        let barrier = Arc::new(RoundBarrier::new(fits(threads, facts)));
        let mut helpers = Helpers { cells: Vec::new(), threads: Vec::new(), barrier };
        let (sender, built) = mpsc::channel();
        for index in 1..threads {
            helpers.spawn(index, threads, Arc::clone(&build), sender.clone())?;
        }
        // The loop below ends when the last sender is gone: this one would keep it waiting for ever.
        drop(sender);
        // After the helpers were started, so that all members are built at the same time.
        let own = build(0)?;
        for cell in built {
            helpers.cells.push(cell?);
        }
        if helpers.cells.len() + 1 != threads.max(1) {
            return Err(StartError::Failed("a thread panicked while it was set up".into()));
        }
        Ok(Self { own, helpers, cpus: Vec::new(), _restored: None })
    }

    /// The same on the CPUs that the parameter `placement` says; each thread is pinned before it builds its member.
    ///
    /// # Errors
    /// As for [`Team::start`], and where the placement can't be had.
    pub fn placed<B>(threads: usize, start: &Start, build: B) -> Result<Self, StartError>
    where
        B: Fn(usize) -> Result<M, StartError> + Send + Sync + 'static,
    {
        match Placement::of(start)?.cpus(threads, &start.facts)? {
            Some(cpus) => Self::on_cpus(cpus, build),
            None => Self::start(threads, &start.facts, build),
        }
    }

    /// One thread a CPU of `cpus`, in their order; each is pinned before it builds its member.
    ///
    /// # Errors
    /// As for [`Team::start`], and if a CPU may not be used.
    pub fn on_cpus<B>(cpus: Vec<usize>, build: B) -> Result<Self, StartError>
    where
        B: Fn(usize) -> Result<M, StartError> + Send + Sync + 'static,
    {
        let threads = cpus.len();
        let before = CpuSet::current()?;
        let facts = Facts { cpus: distinct(&cpus), ..Facts::default() };
        let places = cpus.clone();
        let pinned = move |index: usize| {
            CpuSet::only(places[index]).apply()?;
            build(index)
        };
        let team = Self::start(threads, &facts, pinned);
        // Only the own member's thread outlives the team.
        let restored = RestoredAffinity(before);
        team.map(|team| Self { cpus, _restored: Some(restored), ..team })
    }

    /// Names the CPU in the failure of a thread that is pinned: a single core may compute wrongly.
    fn on_cpu(&self, index: usize, failure: Failure) -> Failure {
        match self.cpus.get(index) {
            Some(cpu) => Failure(format!("on CPU {cpu}: {failure}")),
            None => failure,
        }
    }

    /// Shows every member to `look`.
    pub fn each(&self, mut look: impl FnMut(&M)) {
        look(&self.own);
        self.helpers.cells.iter().for_each(|cell| look(&locked(cell).member));
    }
}

impl<M: Member> Instance for Team<M> {
    /// Lets every member work for `iterations` iterations and waits for the last.
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        if self.helpers.cells.is_empty() {
            return self.own.run(iterations);
        }
        self.helpers.barrier.release(iterations, self.helpers.cells.len());
        let own = self.own.run(iterations);
        // Also if the own member failed: the helpers are still at work, each with its cell locked.
        self.helpers.barrier.wait_for_all();
        own?;
        // A member that panicked leaves no result.
        self.helpers.cells.iter().try_for_each(|cell| {
            locked(cell)
                .result
                .take()
                .unwrap_or_else(|| Err(Failure("a thread of the workload panicked".into())))
        })
    }

    /// Checks every member's results, on the caller's thread.
    fn verify(&mut self) -> Result<(), Failure> {
        let own = self.own.verify();
        own.map_err(|failure| self.on_cpu(0, failure))?;
        self.helpers.cells.iter().try_for_each(|cell| {
            let mut cell = locked(cell);
            cell.member.verify().map_err(|failure| self.on_cpu(cell.index, failure))
        })
    }

    fn checks_computation(&self) -> bool {
        self.own.checks_computation()
    }

    /// Releasing the members does not show in a sample of this length.
    fn shortest_sample_ns(&self) -> u64 {
        if self.helpers.cells.is_empty() { 0 } else { SHORTEST_SAMPLE_NS }
    }
}

impl<M: Member> Helpers<M> {
    fn spawn<B>(
        &mut self,
        index: usize,
        threads: usize,
        build: Arc<B>,
        sender: Sender<Result<Arc<Mutex<MemberCell<M>>>, StartError>>,
    ) -> Result<(), StartError>
    where
        B: Fn(usize) -> Result<M, StartError> + Send + Sync + 'static,
    {
        let barrier = Arc::clone(&self.barrier);
        let body = move || {
            let cell = build(index)
                .map(|member| Arc::new(Mutex::new(MemberCell { index, member, result: None })));
            let own = cell.as_ref().ok().map(Arc::clone);
            // The receiver is gone only when the start has failed, and then the barrier is closed.
            drop(sender.send(cell));
            drop(sender);
            if let Some(cell) = own {
                barrier.serve(&cell);
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
        self.barrier.close();
        for thread in self.threads.drain(..) {
            // A panic of the thread has been reported by `run` already.
            drop(thread.join());
        }
    }
}

/// Tells the reader where threads run, and flags it when they have to share CPUs.
///
/// # Errors
/// Where the placement can't be had.
pub fn describe(threads: usize, start: &Start, ready: &mut Ready) -> Result<(), StartError> {
    let Some(cpus) = Placement::of(start)?.cpus(threads, &start.facts)? else {
        if threads > 1 {
            ready.notes.push("threads are not pinned to CPUs".into());
        }
        ready.flags.extend(oversubscribed(threads, &start.facts));
        return Ok(());
    };
    ready.notes.push(format!("threads pinned, {}", in_words(&cpus)));
    let facts = Facts { cpus: distinct(&cpus), ..Facts::default() };
    ready.flags.extend(oversubscribed(threads, &facts));
    Ok(())
}

fn distinct(cpus: &[usize]) -> Vec<u32> {
    let distinct: BTreeSet<u32> = cpus.iter().filter_map(|cpu| u32::try_from(*cpu).ok()).collect();
    distinct.into_iter().collect()
}

/// A flag when threads have to share CPUs.
pub fn oversubscribed(threads: usize, facts: &Facts) -> Option<Flag> {
    let cpus = facts.cpus.len();
    (cpus > 0 && !fits(threads, facts)).then(|| {
        let why = format!("{threads} threads share {cpus} CPUs");
        Flag::new(FlagKind::Oversubscribed, why)
    })
}

/// Whether every thread can have its own CPU; when the CPUs are unknown, a single one can.
fn fits(threads: usize, facts: &Facts) -> bool {
    threads <= facts.cpus.len().max(1)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where helpers wait for work and the caller waits for helpers.
struct RoundBarrier {
    state: Mutex<RoundState>,
    released: Condvar,
    finished: Condvar,
    /// Copies of what `state` holds, for those who poll.
    round: AtomicU64,
    working: AtomicUsize,
    polls: bool,
}

#[derive(Default)]
struct RoundState {
    round: u64,
    iterations: u64,
    working: usize,
    closed: bool,
}

impl RoundBarrier {
    fn new(polls: bool) -> Self {
        Self {
            state: Mutex::default(),
            released: Condvar::new(),
            finished: Condvar::new(),
            round: AtomicU64::new(0),
            working: AtomicUsize::new(0),
            polls,
        }
    }

    fn release(&self, iterations: u64, helpers: usize) {
        let mut state = locked(&self.state);
        state.round += 1;
        state.iterations = iterations;
        state.working = helpers;
        self.working.store(helpers, Ordering::Release);
        // Last: a thread that polls and sees the new round must also see how many work on it.
        self.round.store(state.round, Ordering::Release);
        drop(state);
        self.released.notify_all();
    }

    fn wait_for_all(&self) {
        self.poll(|| self.working.load(Ordering::Acquire) == 0);
        let mut state = locked(&self.state);
        while state.working > 0 {
            state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn close(&self) {
        locked(&self.state).closed = true;
        // For threads that poll: no round has this number.
        self.round.store(u64::MAX, Ordering::Release);
        self.released.notify_all();
    }

    /// Works round after round until the barrier is closed.
    fn serve<M: Member>(&self, cell: &Mutex<MemberCell<M>>) {
        let mut seen = 0;
        while let Some(iterations) = self.wait_for_round(&mut seen) {
            // Dropped after the lock on the cell, and in a panic, too.
            let _finish = FinishGuard(self);
            let mut cell = locked(cell);
            cell.result = None;
            cell.result = Some(cell.member.run(iterations));
        }
    }

    fn wait_for_round(&self, seen: &mut u64) -> Option<u64> {
        self.poll(|| self.round.load(Ordering::Acquire) != *seen);
        let mut state = locked(&self.state);
        while state.round == *seen && !state.closed {
            state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        *seen = state.round;
        (!state.closed).then_some(state.iterations)
    }

    fn poll(&self, ready: impl Fn() -> bool) {
        // With more threads than CPUs, polling would keep the thread that is waited for from running.
        if self.polls {
            let end = now_ns() + SPIN_NS;
            while !ready() && now_ns() < end {
                std::hint::spin_loop();
            }
        }
    }
}

/// Reports the end of a helper's round when it is dropped.
struct FinishGuard<'g>(&'g RoundBarrier);

impl Drop for FinishGuard<'_> {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        state.working -= 1;
        self.0.working.store(state.working, Ordering::Release);
        if state.working == 0 {
            self.0.finished.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuSet, Member, Team};
    use plumb_model::Facts;
    use plumb_protocol::{Failure, Instance, StartError};

    struct CountingMember(u64);

    impl Member for CountingMember {
        fn run(&mut self, iterations: u64) -> Result<(), Failure> {
            self.0 += iterations;
            assert_ne!(iterations, 13, "a panic on purpose");
            if iterations == 7 { Err(Failure("seven".into())) } else { Ok(()) }
        }
        fn verify(&mut self) -> Result<(), Failure> {
            Ok(())
        }
    }

    fn team(threads: usize) -> Team<CountingMember> {
        let facts = Facts { cpus: vec![0, 1], ..Facts::default() };
        Team::start(threads, &facts, |_| Ok(CountingMember(0))).unwrap()
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
            _ => Ok(CountingMember(0)),
        };
        assert!(Team::start(4, &Facts::default(), build).is_err());
    }

    #[test]
    fn a_wrong_result_of_a_pinned_thread_names_its_cpu() {
        struct Wrong(usize);
        impl Member for Wrong {
            fn run(&mut self, _: u64) -> Result<(), Failure> {
                Ok(())
            }
            fn verify(&mut self) -> Result<(), Failure> {
                if self.0 == 2 { Err(Failure("2 + 2 = 5".into())) } else { Ok(()) }
            }
        }
        let cpu = *CpuSet::current().unwrap().cpus().last().unwrap();
        let mut team = Team::on_cpus(vec![cpu; 3], |index| Ok(Wrong(index))).unwrap();
        team.run(1).unwrap();
        assert_eq!(team.verify(), Err(Failure(format!("on CPU {cpu}: 2 + 2 = 5"))));
        let mut free = Team::start(3, &Facts::default(), |index| Ok(Wrong(index))).unwrap();
        free.run(1).unwrap();
        assert_eq!(free.verify(), Err(Failure("2 + 2 = 5".into())));
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
