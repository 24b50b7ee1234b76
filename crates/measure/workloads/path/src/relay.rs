//! Passes frames from one device to another when they are due: what lies between the two ends of a path.
//!
//! Each direction has a thread, which takes in what came, says what becomes of it, passes on what is due, and waits for
//! either. It passes on frames as they are: ends on both sides talk with each other and not with it.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_protocol::now_ns;
use rustix::thread::set_current_timer_slack;

use crate::counts::{self, FrameCounts};
use crate::frames::{BATCH, Device, FramePool, PooledFrame};
use crate::line::{Fate, LineSettings, PathDirection};

/// It looks whether it is to end, and what the kernel dropped, this often at least.
const LOOKS: Duration = Duration::from_millis(50);
/// A frame that is passed on so much after it was due was late.
const LATE_NS: u64 = 1_000_000;

/// A wait ends so much before a frame is due, at most.
const MOST_EARLY_NS: u64 = 200_000;
/// The last of so many waits counts for one of them.
const LEARNS: u64 = 8;

/// Two threads that pass on frames; dropping it ends them.
#[derive(Debug)]
pub(crate) struct FrameRelay {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl FrameRelay {
    /// Between these devices of the calling thread's network namespace, the near end's first; counts in `counts`.
    ///
    /// # Errors
    /// When their frames can't be had.
    pub(crate) fn start(
        devices: [&str; 2],
        settings: LineSettings,
        seed: u64,
        counts: &File,
    ) -> io::Result<Self> {
        let mut relay = Self { ended: Arc::default(), threads: Vec::new() };
        for number in 0..2_usize {
            let from = devices[number];
            let to = devices[1 - number];
            let mut direction = OneWay {
                from: Device::open(from)?,
                to: Device::open(to)?,
                line: PathDirection::new(settings, seed.wrapping_add(number as u64)),
                pool: FramePool::new(),
                waiting: VecDeque::new(),
                ready: Vec::with_capacity(2 * BATCH),
                carried: FrameCounts::default(),
                lateness_ns: 0,
                is_awake: false,
            };
            let ended = Arc::clone(&relay.ended);
            let counts = counts.try_clone()?;
            counts::write(&counts, number, &direction.carried)?;
            let thread = thread::Builder::new().spawn(move || {
                // A device that is gone ends it: then an end is gone, too.
                let _ = direction.pass(&ended, &counts, number);
            })?;
            relay.threads.push(thread);
        }
        Ok(relay)
    }
}

impl Drop for FrameRelay {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

/// One direction of a relay.
struct OneWay {
    from: Device,
    to: Device,
    line: PathDirection,
    pool: FramePool,
    /// Frames in the order in which they are due, each with its time.
    waiting: VecDeque<(PooledFrame, u64)>,
    /// Frames that go now.
    ready: Vec<PooledFrame>,
    carried: FrameCounts,
    /// How late it runs on after a wait.
    lateness_ns: u64,
    /// Whether it has waited for the frame that is due next.
    is_awake: bool,
}

impl OneWay {
    fn pass(&mut self, ended: &AtomicBool, counts: &File, number: usize) -> io::Result<()> {
        // The kernel may otherwise wake it 50 µs late, to wake others with it.
        set_current_timer_slack(NonZeroU64::new(1)).ok();
        let mut came = Vec::with_capacity(BATCH);
        let mut looked_ns = now_ns();
        while !ended.load(Ordering::Acquire) {
            self.from.receive(&mut self.pool, &mut came)?;
            let is_idle = came.is_empty();
            self.decide(&mut came);
            let has_passed = self.pass_on();
            let is_time_to_look = now_ns() - looked_ns > LOOKS.as_nanos() as u64;
            if is_time_to_look {
                self.carried.dropped += self.from.dropped();
                looked_ns = now_ns();
            }
            if has_passed || !is_idle || is_time_to_look {
                counts::write(counts, number, &self.carried)?;
            }
            if is_idle && !has_passed {
                self.wait();
            }
        }
        Ok(())
    }

    /// Says what becomes of frames that came.
    fn decide(&mut self, came: &mut Vec<PooledFrame>) {
        for frame in came.drain(..) {
            self.carried.came += 1;
            match self.line.fate(frame.arrived_ns) {
                Fate::Lost => {
                    self.carried.lost += 1;
                    self.pool.give_back(frame);
                }
                Fate::Overtakes => {
                    self.carried.overtaking += 1;
                    self.ready.push(frame);
                }
                Fate::Due(due_ns) => self.waiting.push_back((frame, due_ns)),
            }
        }
    }

    /// Passes on what goes now, a batch of what is due at most; whether there was any.
    fn pass_on(&mut self) -> bool {
        let now = now_ns();
        let room = BATCH + self.ready.len();
        while self.ready.len() < room
            && let Some((frame, due_ns)) = self.waiting.pop_front_if(|(_, due_ns)| *due_ns <= now)
        {
            self.carried.late += u64::from(now - due_ns > LATE_NS);
            self.ready.push(frame);
        }
        for batch in self.ready.chunks(BATCH) {
            let taken = self.to.send(&mut self.pool, batch);
            self.carried.passed += taken as u64;
            self.carried.dropped += (batch.len() - taken) as u64;
        }
        let any = !self.ready.is_empty();
        self.is_awake &= !any;
        self.ready.drain(..).for_each(|frame| self.pool.give_back(frame));
        any
    }

    /// Waits until a frame comes or the next is due, and not longer than it may go without a look.
    ///
    /// A CPU that slept runs on late, a virtual one by some 50 µs: so it waits by so much less, as it was late the last times, and looks
    /// at the clock for the rest; for half of the time at most, so that it leaves the CPU to others.
    fn wait(&mut self) {
        let Some((_, due_ns)) = self.waiting.front() else { return self.from.wait(LOOKS) };
        let left_ns = due_ns.saturating_sub(now_ns());
        if left_ns < self.lateness_ns && self.is_awake {
            return;
        }
        let early_ns = self.lateness_ns.min(left_ns / 2);
        let wait_ns = (left_ns - early_ns).min(LOOKS.as_nanos() as u64);
        let until_ns = now_ns() + wait_ns;
        self.from.wait(Duration::from_nanos(wait_ns));
        self.is_awake = true;
        if let Some(late_ns) = now_ns().checked_sub(until_ns) {
            let late_ns = late_ns.min(MOST_EARLY_NS);
            self.lateness_ns = self.lateness_ns - self.lateness_ns / LEARNS + late_ns / LEARNS;
        }
    }
}
