//! One SQLite file as a store: each question is its own transaction.

use std::path::{Path, PathBuf};

use plumb_model::{
    CollectedRun, CounterAmount, FleetRecord, Host, Id, MachineEnd, Owner, RecordSource, RunCosts,
    RunRecord, RunUpdate, SeriesName, SlurmFleet, SlurmJob, Stamped, Target, Trace,
};
use rusqlite::Connection;

use super::db_error::{DbError, at};
use super::write::SqliteWriter;
use super::{
    baseline, counters, derived, fleet, info, kept, merge, open, read, salt, series, slurm,
    snapshot, updates,
};
use crate::answers::{
    AuditFact, Baseline, DerivedRun, FreshlyDerived, KeptFile, MergeReport, RunEnd, RunSummary,
    SecretSalt, StoreInfo,
};
use crate::backend::{Backend, Writer};
use crate::error::StoreError;
use crate::follow::Follow;
use crate::names;

/// A store in a file, opened.
#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
}

impl Sqlite {
    /// Opens it for reading and writing; makes it, and its folder, when there is none.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let path = open::absolute(path)?;
        let connection = at(&path, open::writable(&path))?;
        Ok(Self { connection, path })
    }

    /// Opens it for reading only.
    pub(crate) fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let path = open::absolute(path)?;
        let connection = at(&path, open::readable(&path))?;
        Ok(Self { connection, path })
    }

    /// Another connection, which may write.
    fn second(&self) -> Result<Connection, StoreError> {
        if at(&self.path, self.connection.is_readonly("main").map_err(DbError::from))? {
            let why = "it was opened read-only".to_owned();
            return Err(StoreError::Unwritable { path: self.path.clone(), why });
        }
        at(&self.path, open::writable(&self.path))
    }

    /// Reads in one transaction: a run may go on meanwhile.
    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, DbError>,
    ) -> Result<T, StoreError> {
        let reading = || read(&*self.connection.unchecked_transaction()?);
        at(&self.path, reading())
    }

    /// Writes by its own connection.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Connection) -> Result<T, DbError>,
    ) -> Result<T, StoreError> {
        let mut connection = self.second()?;
        at(&self.path, change(&mut connection))
    }
}

impl RecordSource for Sqlite {
    type Error = StoreError;

    fn record(&self, run: Id) -> Result<RunRecord, StoreError> {
        self.read(|db| read::record(db, run))
    }

    fn runs(&self) -> Result<Vec<Id>, StoreError> {
        self.read(read::runs)
    }
}

impl Backend for Sqlite {
    fn path(&self) -> &Path {
        &self.path
    }

    fn writer(&self) -> Result<Box<dyn Writer>, StoreError> {
        Ok(Box::new(SqliteWriter::new(self.second()?, self.path.clone())))
    }

    fn summaries(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.read(read::summaries)
    }

    fn ends(&self) -> Result<Vec<RunEnd>, StoreError> {
        self.read(read::ends)
    }

    fn ends_of(&self, runs: &[Id]) -> Result<Vec<RunEnd>, StoreError> {
        self.read(|db| read::ends_of(db, runs))
    }

    fn resolve(&self, name: &str) -> Result<Id, StoreError> {
        let runs = self.summaries()?;
        let of_baseline = baseline::newest(&self.baselines()?, &runs, name);
        of_baseline.map_or_else(|| names::resolve(&runs, name), Ok)
    }

    fn targets(&self, run: Id) -> Result<Vec<Target>, StoreError> {
        self.read(|db| read::targets_of(db, run))
    }

    fn series_names(&self) -> Result<Vec<SeriesName>, StoreError> {
        self.read(series::names)
    }

    fn series_names_alone(&self) -> Result<Vec<String>, StoreError> {
        self.read(series::names_alone)
    }

    fn derived(&self, rules: &str, runs: &[RunEnd], name: Option<&str>) -> Vec<DerivedRun> {
        // Whatever is wrong with derived rows, the facts are still there.
        self.read(|db| derived::read(db, rules, runs, name)).unwrap_or_default()
    }

    fn derived_costs(&self, rules: &str, runs: &[RunEnd]) -> Vec<RunCosts> {
        self.read(|db| derived::costs(db, rules, runs)).unwrap_or_default()
    }

    fn keep_derived(&self, rules: &str, runs: &[FreshlyDerived]) {
        // A full disk, a read-only file, another writer: the rows are computed again the next time.
        let _ = derived::keep(&self.path, rules, runs);
    }

    fn counters(&self, run: Id) -> Result<Vec<(Id, Vec<CounterAmount>)>, StoreError> {
        self.read(|db| counters::amounts(db, run))
    }

    fn traces(&self, invocation: Id) -> Result<Vec<Trace>, StoreError> {
        self.read(|db| counters::traces(db, invocation))
    }

    fn follow(&self, run: Id) -> Result<Follow, StoreError> {
        self.read(|db| updates::follow(db, run))
    }

    fn updates(&self, follow: &mut Follow) -> Result<RunUpdate, StoreError> {
        self.read(|db| updates::updates(db, follow))
    }

    fn version(&self) -> Result<i64, StoreError> {
        let read = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        at(&self.path, read.map_err(DbError::from))
    }

    fn baselines(&self) -> Result<Vec<Baseline>, StoreError> {
        self.read(baseline::baselines)
    }

    fn first_baseline(&self, name: &str) -> Result<Option<Baseline>, StoreError> {
        self.read(|db| baseline::first_baseline(db, name))
    }

    fn set_baseline(
        &self,
        name: &str,
        runs: &[Id],
        at_unix_ns: i64,
        fresh: &mut dyn FnMut() -> Id,
    ) -> Result<(), StoreError> {
        let before = self.baseline(name)?.map(|baseline| baseline.runs).unwrap_or_default();
        self.change(|db| baseline::set(db, name, (&before, runs), at_unix_ns, fresh))
    }

    fn begin_fleet(&self, fleet: &FleetRecord, owner: &Owner) -> Result<(), StoreError> {
        self.change(|db| fleet::begin(db, fleet, owner))
    }

    fn end_machine(
        &self,
        fleet: Id,
        position: usize,
        at_unix_ns: i64,
        end: &MachineEnd,
    ) -> Result<(), StoreError> {
        self.change(|db| fleet::end(db, fleet, position, at_unix_ns, end))
    }

    fn fleets(&self) -> Result<Vec<FleetRecord>, StoreError> {
        self.read(fleet::fleets)
    }

    fn begin_slurm_fleet(
        &self,
        fleet: &FleetRecord,
        owner: &Owner,
        slurm: &SlurmFleet,
    ) -> Result<(), StoreError> {
        self.change(|db| {
            let step = db.transaction()?;
            fleet::insert(&step, fleet, owner)?;
            slurm::insert(&step, slurm)?;
            Ok(step.commit()?)
        })
    }

    fn add_slurm_jobs(&self, fleet: Id, jobs: &[SlurmJob]) -> Result<(), StoreError> {
        self.change(|db| slurm::add_jobs(db, fleet, jobs))
    }

    fn add_slurm_facts(&self, fleet: Id, jobs: &[SlurmJob]) -> Result<(), StoreError> {
        self.change(|db| slurm::add_facts(db, fleet, jobs))
    }

    fn add_slurm_run(
        &self,
        fleet: Id,
        at_unix_ns: i64,
        run: &CollectedRun,
    ) -> Result<(), StoreError> {
        self.change(|db| slurm::add_run(db, fleet, at_unix_ns, run))
    }

    fn slurm_fleets(&self) -> Result<Vec<SlurmFleet>, StoreError> {
        self.read(slurm::fleets)
    }

    fn keep_files(&self, runs: &[Id], files: &[KeptFile]) -> Result<(), StoreError> {
        self.change(|db| kept::keep(db, runs, files))
    }

    fn kept_files(&self, run: Id) -> Result<Vec<KeptFile>, StoreError> {
        self.read(|db| kept::of_run(db, run))
    }

    fn drop_files_except(&self, runs: &[Id]) -> Result<(), StoreError> {
        self.change(|db| kept::drop_except(db, runs))
    }

    fn secret_salt(&self) -> Result<SecretSalt, StoreError> {
        self.read(salt::read)
    }

    fn audits(&self, fingerprint: &str, host: &Host) -> Result<Vec<AuditFact>, StoreError> {
        self.read(|db| baseline::audits(db, fingerprint, host))
    }

    fn add_audit(&self, target: &Target, at_unix_ns: i64, json: &str) -> Result<(), StoreError> {
        self.change(|db| baseline::add_audit(db, target, at_unix_ns, json))
    }

    fn merge(&self, other: &Path) -> Result<MergeReport, StoreError> {
        let other = open::absolute(other)?;
        let source = other.to_string_lossy();
        self.change(|db| merge::merge(db, &self.path, &other, &source))
    }

    /// The events make a store of their own first, which is merged.
    fn import(&self, source: &str, events: &[Stamped]) -> Result<MergeReport, StoreError> {
        let mut connection = self.second()?;
        let folder = at(&self.path, snapshot::folder_beside(&self.path))?;
        let other = folder.path().join("import.db");
        let mut writer = Self::open(&other)?.writer()?;
        events.iter().try_for_each(|event| writer.write(event))?;
        drop(writer);
        let merged = merge::merge(&mut connection, &self.path, &other, source);
        at(&self.path, merged)
    }

    fn info(&self) -> Result<StoreInfo, StoreError> {
        self.read(|db| info::gather(db, &self.path))
    }
}
