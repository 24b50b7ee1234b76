//! The launcher of invocations, as the engine sees it.

use std::collections::BTreeMap;

use plumb_model::{PlannedPoint, PreparationSlot, Ready, Role};
use plumb_protocol::SampleReply;

use crate::refusal::LaunchRefusal;
use crate::slot_report::SlotReport;

/// The program to start.
#[derive(Debug, Clone, Copy)]
pub struct StartSpec<'p> {
    /// The point with the program that measures it.
    pub planned: &'p PlannedPoint,
    /// Whether it is the workload, its server or a load next to it.
    pub role: Role,
    /// Seed of its random numbers.
    pub seed: u64,
}

/// Starts invocations: through the keeper on this machine; simulated ones in tests; other machines
/// later.
///
/// `progress` hears what a program says that it is doing while plumb waits for its answer: in one short line, a few
/// times a second at most.
pub trait Launcher {
    /// From now on no answer of a program is waited for longer than this, in nanoseconds, apart from one sample: what takes
    /// longer is refused with [`LaunchRefusal::OutOfTime`].
    fn end_within(&mut self, _left_ns: u64) {}

    /// Lays out the fixture of a point, if it has one and it does not stand yet. The answer is the
    /// fixture's key and its word, when it was laid out now.
    ///
    /// # Errors
    /// Why the point can't be measured.
    fn prepare(
        &mut self,
        planned: &PlannedPoint,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<(String, Ready)>, LaunchRefusal>;

    /// Starts a fresh process and has it set up.
    ///
    /// # Errors
    /// Why it can't be measured.
    fn start(
        &mut self,
        spec: StartSpec<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Box<dyn InvocationSession + '_>, Ready), LaunchRefusal>;

    /// What the companions (`--with`) reported since the last call: index, samples.
    ///
    /// # Errors
    /// When one of them ended by itself.
    fn companions(&mut self) -> Result<Vec<(usize, SampleReply)>, LaunchRefusal>;

    /// Starts the companions of the run, or those of a point's next invocation alone.
    ///
    /// # Errors
    /// Why one of them can't run.
    fn start_companions(
        &mut self,
        point: Option<&PlannedPoint>,
    ) -> Result<Vec<(usize, Ready)>, LaunchRefusal>;

    /// Ends the companions of an invocation, also those that were started before one of them could not be.
    ///
    /// # Errors
    /// When one can't be ended.
    fn end_companions(&mut self) -> Result<(), LaunchRefusal>;

    /// Prepares the machine for a slot, and for this point in it. In the slot of the run, settings are
    /// made before the run begins; what is left are actions, once its fixtures stand.
    ///
    /// # Errors
    /// Why something that the user named can't be had.
    fn apply(
        &mut self,
        slot: PreparationSlot,
        point: Option<&PlannedPoint>,
    ) -> Result<SlotReport, LaunchRefusal>;

    /// Undoes what was made for a slot.
    ///
    /// # Errors
    /// When it can't be undone.
    fn undo(&mut self, slot: PreparationSlot) -> Result<SlotReport, LaunchRefusal>;

    /// Ends fixtures and companions.
    ///
    /// # Errors
    /// When something could not be cleaned.
    fn finish(&mut self) -> Result<(), LaunchRefusal>;
}

/// A started invocation. `progress` hears what its program says, as for [`Launcher`].
pub trait InvocationSession {
    /// The number of its process, if it is known.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// Iterations that take about `target_ns`, and how long they took.
    ///
    /// # Errors
    /// Why the invocation failed.
    fn calibrate(
        &mut self,
        target_ns: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(u64, u64), LaunchRefusal>;

    /// Takes samples back to back; `expected_ns` is how long that should take, 0 if unknown: then nothing but the time limit of
    /// the workload ends the first of them.
    ///
    /// # Errors
    /// Why the invocation failed.
    fn sample(
        &mut self,
        iterations: &[u64],
        expected_ns: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<SampleReply, LaunchRefusal>;

    /// Offers a load for a while; the answer is one sample, which counts operations.
    ///
    /// # Errors
    /// Why the invocation failed.
    fn trial(
        &mut self,
        load: f64,
        duration_ns: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<SampleReply, LaunchRefusal>;

    /// Begins to work without pause for `duration_ns`, a sample every `interval_ns`.
    ///
    /// # Errors
    /// Why the invocation failed.
    fn begin_stream(&mut self, interval_ns: u64, duration_ns: u64) -> Result<(), LaunchRefusal>;

    /// The next sample of the stream; None once it has ended.
    ///
    /// # Errors
    /// Why the invocation failed; [`LaunchRefusal::Interrupted`] leaves the stream to [`InvocationSession::stop`].
    fn streamed(
        &mut self,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Option<SampleReply>, LaunchRefusal>;

    /// Ends the process, and a stream that it has not ended. What is still busy when the time of the run is over is killed,
    /// without an error: what it has answered before counts.
    ///
    /// # Errors
    /// Why the invocation failed after all (a status other than 0, a wrong last word).
    fn stop(self: Box<Self>) -> Result<ProcessEnd, LaunchRefusal>;
}

/// The state after an invocation's process has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessEnd {
    /// Peak resident memory of the process, in bytes.
    pub peak_memory_bytes: u64,
    /// The last lines that it wrote to stderr.
    pub log: String,
    /// Processes that it left behind; killed.
    pub left_behind: u32,
}

/// Names and addresses that fixtures and servers gave.
pub type Endpoints = BTreeMap<String, String>;
