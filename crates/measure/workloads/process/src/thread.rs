//! `process.thread`: making a thread, its end, and joining it.
#![expect(
    unsafe_code,
    reason = "pthread_create, whose price std's threads have and more, has no safe form"
)]

use std::ffi::c_void;
use std::io;

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare::{between, bytes, rate, threads, time, work, workload};
use plumb_workload_kit::limits::room_for_tasks;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::switches::{Switching, switches};
use plumb_workload_kit::threads::{self, Member, Team};

/// The workload `process.thread`: its parameters and metrics, and how it starts.
pub(crate) struct ThreadCreation;

impl Workload for ThreadCreation {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                between(
                    libc::PTHREAD_STACK_MIN,
                    1 << 40,
                    bytes("stack", 2 << 20, "size of the thread's stack"),
                ),
                between(1, 10_000, threads("threads that create others at the same time")),
                placement(),
            ],
            metrics: vec![
                time("time", "time to create and join one thread, on each creating thread"),
                rate(
                    "rate",
                    "threads/s",
                    "threads created and joined per second, all threads together",
                ),
                switches("thread created"),
            ],
            audit_class: Some(AuditClass::Process),
            ..workload("process.thread", "creates a thread that ends at once, and joins it")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("thread.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads");
        let stack = start.size("stack");
        room_for_tasks(2 * threads as u64 - 1)?;
        // Once, to see that it can be.
        Maker { attributes: ThreadAttributes::new(stack)?, made: 0 }.run(1)?;
        let team = Team::placed(threads, start, move |_| {
            Ok(Maker { attributes: ThreadAttributes::new(stack)?, made: 0 })
        })?;
        let mut ready = Ready { work: work(&[("rate", threads as u64)]), ..Ready::default() };
        threads::describe(threads, start, &mut ready)?;
        let making = Switching::beside(Making { team }, threads);
        Ok(StartedWorkload { instance: Box::new(making), ready })
    }
}

/// Attributes for creating a thread. Boxed, because C keeps no track of a move.
struct ThreadAttributes(Box<libc::pthread_attr_t>);

// SAFETY: plain memory that only its owner uses.
unsafe impl Send for ThreadAttributes {}

impl ThreadAttributes {
    fn new(stack: usize) -> Result<Self, Failure> {
        // SAFETY: a plain C struct, which the next call initialises.
        let mut attributes = Self(Box::new(unsafe { std::mem::zeroed() }));
        // SAFETY: the pointer is to a live object that the first call initialises.
        let errno = unsafe {
            libc::pthread_attr_init(&raw mut *attributes.0);
            libc::pthread_attr_setstacksize(&raw mut *attributes.0, stack)
        };
        match errno {
            0 => Ok(attributes),
            errno => Err(failed(&format!("a stack of {stack} bytes"), errno)),
        }
    }
}

impl Drop for ThreadAttributes {
    fn drop(&mut self) {
        // SAFETY: was initialised in `new`.
        unsafe { libc::pthread_attr_destroy(&raw mut *self.0) };
    }
}

fn failed(what: &str, errno: i32) -> Failure {
    Failure::io(what, &io::Error::from_raw_os_error(errno))
}

/// A thread's whole life: it gives back, one larger, what it was given, a number in the shape of a pointer.
extern "C" fn give_back(number: *mut c_void) -> *mut c_void {
    std::ptr::without_provenance_mut(number.addr().wrapping_add(1))
}

/// One thread's threads.
struct Maker {
    attributes: ThreadAttributes,
    made: usize,
}

impl Member for Maker {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.made = self.made.wrapping_add(1);
            let given = std::ptr::without_provenance_mut(self.made);
            // SAFETY: a thread id is plain memory, for which all zeroes is a value.
            let mut id: libc::pthread_t = unsafe { std::mem::zeroed() };
            // SAFETY: the pointers are to live objects; the thread uses none of the memory of this one.
            let errno = unsafe {
                libc::pthread_create(&raw mut id, &raw const *self.attributes.0, give_back, given)
            };
            if errno != 0 {
                return Err(failed(
                    "pthread_create (raise `ulimit -u` or pids.max, or set a smaller stack)",
                    errno,
                ));
            }
            let mut got = std::ptr::null_mut();
            // SAFETY: the thread was made above, and nobody else joins it.
            let errno = unsafe { libc::pthread_join(id, &raw mut got) };
            if errno != 0 {
                return Err(failed("pthread_join", errno));
            }
            check(got.addr(), self.made)?;
        }
        Ok(())
    }

    /// What every thread gave back has been checked in `run`.
    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// A thread that ran gave back one more than it got.
#[inline]
fn check(got: usize, given: usize) -> Result<(), Failure> {
    if got == given.wrapping_add(1) {
        return Ok(());
    }
    Err(Failure(format!("a thread with argument {given} returned {got}")))
}

struct Making {
    team: Team<Maker>,
}

impl Instance for Making {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.team.run(iterations)
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.team.shortest_sample_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::{ThreadAttributes, check};

    #[test]
    fn a_thread_that_did_not_run_is_caught() {
        check(8, 7).unwrap();
        assert_eq!(check(0, 7).unwrap_err().0, "a thread with argument 7 returned 0");
        assert!(ThreadAttributes::new(1).is_err(), "no stack of a byte");
    }
}
