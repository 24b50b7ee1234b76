//! Where machines that measure together wait for each other before the samples of each invocation.

use std::sync::{Mutex, MutexGuard, PoisonError};

use plumb_agent::StartPosition;

/// A start is announced so long ahead, in nanoseconds: the announcement reaches machines on another continent before it.
const AHEAD_NS: u64 = 500_000_000;

/// What a machine is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MachineState {
    /// It measures, or gets ready to.
    Busy,
    /// It is ready at this position.
    Waiting(StartPosition),
    /// It was told to begin at this time, but has not been asked about it yet.
    Announced { start_ns: u64 },
    /// Its visit is over.
    Gone,
}

/// The machines that begin together. Once all that still measure are ready, those at the earliest position begin: a machine that could
/// not measure a point is ahead of the others, and waits for them.
#[derive(Debug)]
pub struct StartBarrier {
    machines: Mutex<Vec<MachineState>>,
}

impl StartBarrier {
    /// Of so many machines.
    pub fn of(machines: usize) -> Self {
        Self { machines: Mutex::new(vec![MachineState::Busy; machines]) }
    }

    /// A machine is ready, at this time on CLOCK_MONOTONIC, in nanoseconds.
    pub fn arrive(&self, machine: usize, position: StartPosition, now_ns: u64) {
        self.change(machine, MachineState::Waiting(position), now_ns);
    }

    /// A machine measures no more, as of this time.
    pub fn leave(&self, machine: usize, now_ns: u64) {
        self.change(machine, MachineState::Gone, now_ns);
    }

    /// A machine that was ready has to begin anew, because its connection was lost.
    pub fn restart(&self, machine: usize) {
        self.locked()[machine] = MachineState::Busy;
    }

    /// When the samples of a machine begin, in nanoseconds of CLOCK_MONOTONIC; None until all others are ready. The machine then counts as
    /// busy.
    pub fn start_ns(&self, machine: usize) -> Option<u64> {
        let mut machines = self.locked();
        let MachineState::Announced { start_ns } = machines[machine] else { return None };
        machines[machine] = MachineState::Busy;
        Some(start_ns)
    }

    /// The machines that are not ready, if this machine is the first of those that wait for them: one report is enough.
    pub fn held_up_by(&self, machine: usize) -> Vec<usize> {
        let machines = self.locked();
        let first = machines.iter().position(|state| matches!(state, MachineState::Waiting(_)));
        if first != Some(machine) {
            return Vec::new();
        }
        let states = machines.iter().enumerate();
        states.filter(|(_, state)| **state == MachineState::Busy).map(|(index, _)| index).collect()
    }

    fn change(&self, machine: usize, state: MachineState, now_ns: u64) {
        let mut machines = self.locked();
        machines[machine] = state;
        let is_busy = |state: &MachineState| {
            matches!(state, MachineState::Busy | MachineState::Announced { .. })
        };
        if machines.iter().any(is_busy) {
            return;
        }
        let waiting = machines.iter().filter_map(|state| match state {
            MachineState::Waiting(position) => Some(*position),
            _ => None,
        });
        let Some(earliest) = waiting.min() else { return };
        for state in machines.iter_mut() {
            if *state == MachineState::Waiting(earliest) {
                *state = MachineState::Announced { start_ns: now_ns.saturating_add(AHEAD_NS) };
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, Vec<MachineState>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use plumb_agent::StartPosition;

    use super::{AHEAD_NS, StartBarrier};

    const fn at(round: u32, turn: u32) -> StartPosition {
        StartPosition { round, turn }
    }

    #[test]
    fn all_begin_at_one_time_once_the_last_is_ready() {
        let barrier = StartBarrier::of(2);
        barrier.arrive(0, at(0, 0), 10);
        assert_eq!(barrier.start_ns(0), None);
        barrier.arrive(1, at(0, 0), 70);
        assert_eq!(barrier.start_ns(0), Some(70 + AHEAD_NS));
        assert_eq!(barrier.start_ns(0), None, "it has begun");
        // The first is ready again before the second was asked about the first start.
        barrier.arrive(0, at(1, 0), 80);
        assert_eq!(barrier.start_ns(0), None);
        assert_eq!(barrier.start_ns(1), Some(70 + AHEAD_NS));
    }

    #[test]
    fn who_is_ahead_or_gone_holds_nobody_up() {
        let barrier = StartBarrier::of(3);
        barrier.arrive(0, at(0, 1), 1);
        barrier.arrive(1, at(0, 0), 2);
        barrier.leave(2, 3);
        assert_eq!(barrier.start_ns(1), Some(3 + AHEAD_NS));
        assert_eq!(barrier.start_ns(0), None, "it waits for the other to get there");
        barrier.arrive(1, at(0, 1), 9);
        assert_eq!(barrier.start_ns(0), barrier.start_ns(1));
        barrier.arrive(0, at(1, 0), 10);
        barrier.leave(1, 11);
        assert_eq!(barrier.start_ns(0), Some(11 + AHEAD_NS), "it goes on alone");
    }

    #[test]
    fn the_first_that_waits_knows_for_whom() {
        let barrier = StartBarrier::of(4);
        barrier.leave(3, 0);
        barrier.arrive(1, at(0, 0), 1);
        assert_eq!(barrier.held_up_by(1), [0, 2]);
        barrier.arrive(0, at(0, 0), 2);
        assert_eq!(barrier.held_up_by(0), [2]);
        assert!(barrier.held_up_by(1).is_empty());
        barrier.arrive(2, at(0, 0), 3);
        assert!(barrier.held_up_by(0).is_empty());
    }

    #[test]
    fn a_machine_whose_connection_was_lost_is_waited_for() {
        let barrier = StartBarrier::of(2);
        barrier.arrive(0, at(0, 0), 1);
        barrier.restart(0);
        barrier.arrive(1, at(0, 0), 2);
        assert_eq!(barrier.start_ns(1), None);
        barrier.arrive(0, at(0, 0), 3);
        assert_eq!(barrier.start_ns(1), Some(3 + AHEAD_NS));
    }
}
