//! The traits that a built-in workload implements.

use plumb_model::{Description, Flag, Ready};

use crate::batch::Batch;
use crate::clock::{current_cpu, now_ns};
use crate::distribution::Distribution;
use crate::failure::Failure;
use crate::message::Start;

/// A program that exercises one part of the system.
pub trait Workload: Sync {
    /// Its description: id, parameters, metrics.
    fn describe(&self) -> Description;

    /// Its one-page manual, in Markdown.
    fn manual(&self) -> &'static str;

    /// Sets up one invocation; untimed.
    ///
    /// # Errors
    /// [`StartError::Unsupported`] when it can't run here, [`StartError::Failed`] for anything else.
    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError>;

    /// Starts the far end of an invocation (role `server`). What it needs to live is in the returned
    /// [`Held`]; addresses go into `Ready::endpoints`.
    ///
    /// # Errors
    /// As for [`Workload::start`].
    fn start_server(&self, _start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        Err(StartError::Failed("this workload has no server".into()))
    }

    /// Lays out what invocations share: once per key and run, untimed.
    ///
    /// # Errors
    /// As for [`Workload::start`].
    fn prepare(&self, _start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        Err(StartError::Failed("this workload has no fixture".into()))
    }
}

/// A workload that is ready to be measured.
pub struct StartedWorkload {
    /// The workload's instance, which does the work.
    pub instance: Box<dyn Instance>,
    /// What the reader should know: work per iteration, versions, notes, flags.
    pub ready: Ready,
}

/// Something that lives until it is cleaned: a server, a fixture. Dropping it ends it, too.
pub trait Held {
    /// Ends it and removes what it left.
    ///
    /// # Errors
    /// When something could not be removed.
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Held for () {}

impl Held for Box<dyn Held> {
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        (*self).clean()
    }
}

/// Both are cleaned, whatever becomes of the first.
impl<A: Held, B: Held> Held for (A, B) {
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        let (first, second) = *self;
        let cleaned = Box::new(first).clean();
        Box::new(second).clean().and(cleaned)
    }
}

/// One invocation, set up.
pub trait Instance {
    /// Does the work of `iterations` iterations. The caller reads the clock just before and just
    /// after: nothing here may allocate, log, or wait for anything but the work itself.
    ///
    /// # Errors
    /// When the work went wrong; the invocation then fails.
    fn run(&mut self, iterations: u64) -> Result<(), Failure>;

    /// Checks the results of the batch just taken; untimed. An optimiser that deleted the work, or a
    /// system that did it wrongly, must be found here.
    ///
    /// # Errors
    /// When a result is wrong.
    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether a failed check means that this machine computed wrongly, and not that something could not be read or reached: such a
    /// result makes the whole run fail.
    fn checks_computation(&self) -> bool {
        false
    }

    /// Ends what the instance began, after its last batch; untimed.
    ///
    /// # Errors
    /// When that went wrong; the invocation then fails.
    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Names of the metrics that [`Instance::values`] reports with every sample, in its order.
    fn value_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Writes the reported values of the sample just taken; between samples, so it must be quick.
    fn values(&mut self, _out: &mut [f64]) {}

    /// The distributions that it records. Before a batch each gets room for as many values as there are iterations;
    /// who takes samples himself ends each sample of them ([`Distribution::end_sample`]).
    fn distributions(&mut self) -> &mut [Distribution] {
        &mut []
    }

    /// Takes one sample per entry of `iterations`, back to back, into preallocated columns: reads the
    /// clock, runs, reads the clock. Only
    /// workloads whose sample is a process, or that time themselves, write their own. A workload whose samples last
    /// seconds says in between what it is doing ([`Batch::progress`]).
    ///
    /// # Errors
    /// As for [`Instance::run`].
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch<'_>) -> Result<(), Failure> {
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            let elapsed = now_ns() - start;
            batch.record(start, elapsed, k, current_cpu());
            batch.record_reported(|row| self.values(row));
            self.distributions().iter_mut().for_each(Distribution::end_sample);
        }
        Ok(())
    }

    /// Whether a sample is always one iteration, whatever is asked for: a fresh process, or a whole
    /// run of a fixed shape. Calibration then takes one sample and answers 1.
    fn fixed_iterations(&self) -> bool {
        false
    }

    /// Whether it adds the extra work that it was started with by itself. Otherwise samples get more iterations than they
    /// report.
    fn adds_extra_work(&self) -> bool {
        false
    }

    /// The shortest sample worth taking, in nanoseconds: below it the borders of a sample (a queue that
    /// fills, a closing round trip, a flush) would show in its time. `calibrate` aims no lower.
    fn shortest_sample_ns(&self) -> u64 {
        0
    }

    /// The fewest iterations of a sample that is worth taking: several times what is under way at
    /// once, so that samples can't live on each other's work. `calibrate` answers no fewer.
    fn least_iterations(&self) -> u64 {
        1
    }

    /// Whether a sample is shorter than what it takes: it puts things back in between. Then a stream, too, tells only
    /// the time of the work.
    fn has_untimed_parts(&self) -> bool {
        false
    }

    /// Values that its distributions get with each iteration, at most.
    fn values_per_iteration(&self) -> u64 {
        1
    }

    /// Offers `load` operations per second for `duration_ns`, whether earlier ones are done or not, and counts those that
    /// end well by the workload's goal. All that were to begin within the duration are offered, also those that could
    /// not begin; it returns when none is under way any more. The caller reads the clock before and after.
    ///
    /// # Errors
    /// When the work went wrong, or the workload answers no trials; the invocation then fails.
    fn trial(&mut self, _load: f64, _duration_ns: u64) -> Result<TrialCounts, Failure> {
        Err(Failure("this workload does not support trials".into()))
    }

    /// Live helper processes whose CPU time belongs to the work (their /proc/PID/stat is read before
    /// and after each batch).
    fn helpers(&self) -> &[u32] {
        &[]
    }
}

/// The counts of a trial's operations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrialCounts {
    /// Operations that were to begin.
    pub offered: u64,
    /// Those that ended well; the others are bad.
    pub good: u64,
    /// Why the trial deserves distrust.
    pub flags: Vec<Flag>,
}

/// Why a workload did not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartError {
    /// It can't run here.
    Unsupported {
        /// Why not, in one line.
        why: String,
        /// The fix: a command or a setting.
        fix: String,
    },
    /// It should have worked.
    Failed(String),
}

impl StartError {
    /// It can't run here.
    #[must_use]
    pub fn unsupported(why: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Unsupported { why: why.into(), fix: fix.into() }
    }
}

impl From<Failure> for StartError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.0)
    }
}
