//! What a database does to be a store. Whoever reads or writes goes through here; the conformance tests
//! (`tests/store/conformance/`) say what each of these must mean.

use std::fmt;
use std::path::Path;

use plumb_model::{
    CollectedRun, CounterAmount, EventSink, FleetRecord, Host, Id, MachineEnd, Owner, RecordSource,
    RunCosts, RunUpdate, SeriesName, SinkError, SlurmFleet, SlurmJob, Stamped, Target, Trace,
};

use crate::answers::{
    AuditFact, Baseline, DerivedRun, FreshlyDerived, KeptFile, MergeReport, RunEnd, RunSummary,
    SecretSalt, StoreInfo,
};
use crate::error::StoreError;
use crate::follow::Follow;

/// Fills a store while a run goes on: what it took is committed.
pub trait Writer: EventSink + fmt::Debug + Send {
    /// Stores one event; [`EventSink::take`] with the precise error.
    ///
    /// # Errors
    /// When the store is full or locked, or the event contradicts the ones before.
    fn write(&mut self, event: &Stamped) -> Result<(), StoreError>;
}

impl EventSink for Box<dyn Writer> {
    fn take(&mut self, event: &Stamped) -> Result<(), SinkError> {
        (**self).take(event)
    }
}

/// A database that takes events and gives records. One value is one connection: a thread has its own.
pub trait Backend: RecordSource<Error = StoreError> + fmt::Debug + Send {
    /// Where it is, absolute.
    fn path(&self) -> &Path;

    /// A new writer; a batch that it took is committed before it returns.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn writer(&self) -> Result<Box<dyn Writer>, StoreError>;

    /// All runs without their samples, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    fn summaries(&self) -> Result<Vec<RunSummary>, StoreError>;

    /// All runs, oldest first, with nothing but their states: much less work than summaries.
    ///
    /// # Errors
    /// When they cannot be read.
    fn ends(&self) -> Result<Vec<RunEnd>, StoreError>;

    /// The same of these runs, in their order; unknown runs are missing.
    ///
    /// # Errors
    /// When they cannot be read.
    fn ends_of(&self, runs: &[Id]) -> Result<Vec<RunEnd>, StoreError>;

    /// The run that a person means: an id's beginning, `last`, `last~2`, a label `k=v` or a
    /// baseline's name (the newest run that has it).
    ///
    /// # Errors
    /// When no run or several runs could be meant.
    fn resolve(&self, name: &str) -> Result<Id, StoreError>;

    /// Where a run was measured, without its samples.
    ///
    /// # Errors
    /// When the run is unknown or cannot be read.
    fn targets(&self, run: Id) -> Result<Vec<Target>, StoreError>;

    /// All series by their names, in the order of these.
    ///
    /// # Errors
    /// When they cannot be read.
    fn series_names(&self) -> Result<Vec<SeriesName>, StoreError>;

    /// The names of all series, in their order, without what people call their points: that stands in plans.
    ///
    /// # Errors
    /// When they cannot be read.
    fn series_names_alone(&self) -> Result<Vec<String>, StoreError>;

    /// Those of these runs whose series are kept as these rules derive them from runs in these states, in the same
    /// order: with the series of this name, or with all. A run that is missing has to be derived from its record.
    fn derived(&self, rules: &str, runs: &[RunEnd], name: Option<&str>) -> Vec<DerivedRun>;

    /// Keeps all series of runs, as these rules derived them from runs in these states, in one transaction.
    /// Runs that go on are left out. If the store cannot be written now, nothing is kept.
    fn keep_derived(&self, rules: &str, runs: &[FreshlyDerived]);

    /// The costs of those of these runs that are kept as [`Backend::derived`] says, and gave series; in the same order.
    fn derived_costs(&self, rules: &str, runs: &[RunEnd]) -> Vec<RunCosts>;

    /// What the counters of a run's measured invocations came to, a list an invocation in the order in
    /// which they began. Apart from the record, because there are many and few ask.
    ///
    /// # Errors
    /// When they cannot be read.
    fn counters(&self, run: Id) -> Result<Vec<(Id, Vec<CounterAmount>)>, StoreError>;

    /// The readings next to an invocation of those counters that were read more than twice.
    ///
    /// # Errors
    /// When they cannot be read.
    fn traces(&self, invocation: Id) -> Result<Vec<Trace>, StoreError>;

    /// Begins to follow a run: the first [`Backend::updates`] are all that is stored of it.
    ///
    /// # Errors
    /// When the run is unknown or cannot be read.
    fn follow(&self, run: Id) -> Result<Follow, StoreError>;

    /// The data of a run stored since the last time. The cost is that of the new data, however long the run is.
    ///
    /// # Errors
    /// When it cannot be read.
    fn updates(&self, follow: &mut Follow) -> Result<RunUpdate, StoreError>;

    /// A number that is another one once somebody else has changed the store; of this connection only.
    ///
    /// # Errors
    /// When it cannot be read.
    fn version(&self) -> Result<i64, StoreError>;

    /// All baselines that have runs, by name.
    ///
    /// # Errors
    /// When they cannot be read.
    fn baselines(&self) -> Result<Vec<Baseline>, StoreError>;

    /// A baseline by its name; None when it has no runs.
    ///
    /// # Errors
    /// When it cannot be read.
    fn baseline(&self, name: &str) -> Result<Option<Baseline>, StoreError> {
        Ok(self.baselines()?.into_iter().find(|baseline| baseline.name == name))
    }

    /// The baseline of this name as it was first set, since it was last removed; None if it has no runs.
    ///
    /// # Errors
    /// When it cannot be read.
    fn first_baseline(&self, name: &str) -> Result<Option<Baseline>, StoreError>;

    /// Makes `runs` the members of a baseline; others leave it. Facts are only ever added: the last one
    /// of a name and run counts. `fresh` gives an identity that rises with time.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn set_baseline(
        &self,
        name: &str,
        runs: &[Id],
        at_unix_ns: i64,
        fresh: &mut dyn FnMut() -> Id,
    ) -> Result<(), StoreError>;

    /// Keeps which machines are asked to carry out a command, and the process that stores what they measure.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn begin_fleet(&self, fleet: &FleetRecord, owner: &Owner) -> Result<(), StoreError>;

    /// Keeps what became of a machine, by its position in the fleet. The last fact of a machine counts.
    ///
    /// # Errors
    /// When the store cannot be written, or has no such fleet.
    fn end_machine(
        &self,
        fleet: Id,
        position: usize,
        at_unix_ns: i64,
        end: &MachineEnd,
    ) -> Result<(), StoreError>;

    /// All fleets, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    fn fleets(&self) -> Result<Vec<FleetRecord>, StoreError>;

    /// Keeps a fleet that Slurm is to carry out, before its first job is submitted.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn begin_slurm_fleet(
        &self,
        fleet: &FleetRecord,
        owner: &Owner,
        slurm: &SlurmFleet,
    ) -> Result<(), StoreError>;

    /// Keeps jobs that were submitted, without their facts.
    ///
    /// # Errors
    /// When the store cannot be written, or has no such fleet.
    fn add_slurm_jobs(&self, fleet: Id, jobs: &[SlurmJob]) -> Result<(), StoreError>;

    /// Keeps the last facts of jobs that are kept already. The last fact of a job counts.
    ///
    /// # Errors
    /// When the store cannot be written, or has no such fleet.
    fn add_slurm_facts(&self, fleet: Id, jobs: &[SlurmJob]) -> Result<(), StoreError>;

    /// Keeps that a run came from a node. The first run of a machine is that of the fleet.
    ///
    /// # Errors
    /// When the store cannot be written, or has no such fleet.
    fn add_slurm_run(
        &self,
        fleet: Id,
        at_unix_ns: i64,
        run: &CollectedRun,
    ) -> Result<(), StoreError>;

    /// What is special about fleets that Slurm carries out, with their jobs.
    ///
    /// # Errors
    /// When they cannot be read.
    fn slurm_fleets(&self) -> Result<Vec<SlurmFleet>, StoreError>;

    /// Keeps the files that these runs executed. What is kept of a run already stays as it is.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn keep_files(&self, runs: &[Id], files: &[KeptFile]) -> Result<(), StoreError>;

    /// The files that are kept of a run; none if nobody kept any.
    ///
    /// # Errors
    /// When they cannot be read.
    fn kept_files(&self, run: Id) -> Result<Vec<KeptFile>, StoreError>;

    /// Removes the files that are kept of all other runs than these.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn drop_files_except(&self, runs: &[Id]) -> Result<(), StoreError>;

    /// The salt with which this store keeps digests of secrets instead of secrets.
    ///
    /// # Errors
    /// When it cannot be read, or the store has none because it was only ever opened for reading.
    fn secret_salt(&self) -> Result<SecretSalt, StoreError>;

    /// The audits of the kind of machine with this fingerprint that may be of this host, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    fn audits(&self, fingerprint: &str, host: &Host) -> Result<Vec<AuditFact>, StoreError>;

    /// Keeps an audit of a machine.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn add_audit(&self, target: &Target, at_unix_ns: i64, json: &str) -> Result<(), StoreError>;

    /// Takes over everything that the store file at `other` holds and this one does not. The order in
    /// which stores are merged does not matter, and a second time changes nothing. The other file is
    /// only read; an older one is migrated as a copy. All or nothing.
    ///
    /// # Errors
    /// When the other file cannot be read, went on changing, or contradicts this one.
    fn merge(&self, other: &Path) -> Result<MergeReport, StoreError>;

    /// Takes over a run that another tool measured, told as events; `source` is where it came from.
    /// One that is here already changes nothing. All or nothing.
    ///
    /// # Errors
    /// When the store cannot be written, or the events are not those of a run.
    fn import(&self, source: &str, events: &[Stamped]) -> Result<MergeReport, StoreError>;

    /// How it is: sizes, counts, integrity.
    ///
    /// # Errors
    /// When it cannot be read.
    fn info(&self) -> Result<StoreInfo, StoreError>;
}
