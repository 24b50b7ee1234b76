//! Fills the store while a run goes on: one event, one committed transaction.
//!
//! What the writer knows of the run is copied, changed and put back only after the commit, so that
//! an event that could not be stored leaves it as it was.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use plumb_model::{
    Description, Environment, Event, EventSink, Flag, Id, InvocationEnd, Metric, Outcome, Owner,
    Plan, PlannedPoint, Ready, Role, Samples, SinkError, Stamped, Target, Usage,
};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::content::{self, ContentId, count, signed, word};
use crate::Error;
use crate::error::Fault;

/// Listens to the engine; what it took is committed.
#[derive(Debug)]
pub struct Writer {
    connection: Connection,
    path: PathBuf,
    run: Option<OpenRun>,
}

/// What the writer knows of the run that goes on.
#[derive(Debug, Clone)]
struct OpenRun {
    uuid: Id,
    key: i64,
    plan: Arc<Plan>,
    segment: u32,
    /// Number of the next event of the segment.
    ordinal: i64,
    targets: BTreeMap<u32, Place>,
    invocations: HashMap<Id, OpenInvocation>,
}

/// Where a target is, by keys.
#[derive(Debug, Clone)]
struct Place {
    name: String,
    machine: ContentId,
    environment: ContentId,
}

/// What the writer knows of an invocation that has not ended.
#[derive(Debug, Clone)]
struct OpenInvocation {
    key: i64,
    machine: ContentId,
    version: u32,
    workload: String,
    point: String,
    clock: String,
    /// Metric → series.
    series: BTreeMap<String, i64>,
    batches: i64,
    samples: i64,
    flags: i64,
    /// Start of batch 0, from which the samples' starts count.
    origin_ns: u64,
    /// Names of the reported columns, once samples came.
    columns: Option<Vec<String>>,
}

impl EventSink for Writer {
    fn take(&mut self, event: &Stamped) -> Result<(), SinkError> {
        self.write(event).map_err(|error| SinkError(error.to_string()))
    }
}

impl Writer {
    pub(super) fn new(connection: Connection, path: PathBuf) -> Self {
        Self { connection, path, run: None }
    }

    /// Stores one event; [`EventSink::take`] with the precise error.
    ///
    /// # Errors
    /// When the store is full or locked, or the event contradicts the ones before.
    pub fn write(&mut self, event: &Stamped) -> Result<(), Error> {
        let stored = self.commit(event);
        stored.map_err(|fault| Error::from_fault(&self.path, fault))
    }

    /// Lets the file grow to so many pages of 4096 bytes at most: a quota, as a full disk is one.
    ///
    /// # Errors
    /// When the database refuses.
    pub fn limit_pages(&self, pages: u32) -> Result<(), Error> {
        let set =
            self.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()));
        set.map_err(|error| Error::from_fault(&self.path, error.into()))
    }

    fn commit(&mut self, event: &Stamped) -> Result<(), Fault> {
        let step = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let run = next(&step, self.run.clone(), event)?;
        step.commit()?;
        self.run = run;
        Ok(())
    }
}

/// Stores an event and gives what is known of the run after it.
fn next(
    db: &Connection,
    run: Option<OpenRun>,
    stamped: &Stamped,
) -> Result<Option<OpenRun>, Fault> {
    let at_ns = stamped.at_ns;
    match (&stamped.event, run) {
        (Event::RunStarted { run, started_unix_ns, plumb, command, plan }, _) => {
            Ok(Some(begin(db, *run, *started_unix_ns, plumb, command, plan)?))
        }
        (Event::SegmentStarted { run, segment, started_unix_ns, monotonic_ns, owner }, open) => {
            let mut open = match open {
                Some(open) if open.uuid == *run => open,
                _ => resume(db, *run)?,
            };
            open.start_segment(db, *segment, *started_unix_ns, *monotonic_ns, owner)?;
            Ok(Some(open))
        }
        (Event::RunEnded { ended_unix_ns, interrupted }, Some(open)) => {
            open.end(db, at_ns, *ended_unix_ns, *interrupted)?;
            Ok(None)
        }
        (event, Some(mut open)) => {
            open.event(db, at_ns, event)?;
            open.ordinal += 1;
            Ok(Some(open))
        }
        (_, None) => Err(Fault::Invalid("an event came before its run had started".into())),
    }
}

/// A new run.
fn begin(
    db: &Connection,
    uuid: Id,
    started_unix_ns: i64,
    plumb: &str,
    command: &[String],
    plan: &Plan,
) -> Result<OpenRun, Fault> {
    let known = db.query_row("SELECT 1 FROM run WHERE uuid = ?", [uuid.as_bytes()], |_| Ok(()));
    if known.optional()?.is_some() {
        return Err(Fault::Invalid(format!("run {uuid} started twice")));
    }
    let command = serde_json::to_string(command)?;
    db.execute(
        "INSERT INTO run (uuid, started_unix_ns, plumb, command, plan) VALUES (?, ?, ?, ?, ?)",
        params![uuid.as_bytes(), started_unix_ns, plumb, command, content::keep_plan(db, plan)?],
    )?;
    let key = db.last_insert_rowid();
    for (name, value) in &plan.labels {
        db.execute("INSERT INTO label VALUES (?, ?, ?)", params![key, name, value])?;
    }
    Ok(OpenRun::new(uuid, key, plan.clone()))
}

/// A run that is in the store already.
fn resume(db: &Connection, uuid: Id) -> Result<OpenRun, Fault> {
    let found = db
        .query_row("SELECT id, plan FROM run WHERE uuid = ?", [uuid.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((key, plan)) = found else {
        return Err(Fault::Invalid(format!("run {uuid} is continued but was never started")));
    };
    Ok(OpenRun::new(uuid, key, content::plan(db, plan)?))
}

impl OpenRun {
    fn new(uuid: Id, key: i64, plan: Plan) -> Self {
        Self {
            uuid,
            key,
            plan: Arc::new(plan),
            segment: 0,
            ordinal: 0,
            targets: BTreeMap::new(),
            invocations: HashMap::new(),
        }
    }

    fn start_segment(
        &mut self,
        db: &Connection,
        segment: u32,
        started_unix_ns: i64,
        monotonic_ns: u64,
        owner: &Owner,
    ) -> Result<(), Fault> {
        db.execute(
            "INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?, ?)",
            params![
                self.key,
                segment,
                started_unix_ns,
                signed(monotonic_ns),
                owner.pid,
                signed(owner.start_ticks),
                owner.boot_id,
            ],
        )?;
        self.segment = segment;
        self.ordinal = 0;
        Ok(())
    }

    fn end(
        &self,
        db: &Connection,
        at_ns: u64,
        ended_unix_ns: i64,
        interrupted: bool,
    ) -> Result<(), Fault> {
        let Self { key, segment, ordinal, .. } = self;
        db.execute(
            "INSERT INTO run_end VALUES (?, ?, ?, ?, ?, ?)",
            params![key, segment, ordinal, signed(at_ns), ended_unix_ns, interrupted],
        )?;
        Ok(())
    }

    fn event(&mut self, db: &Connection, at_ns: u64, event: &Event) -> Result<(), Fault> {
        match event {
            Event::TargetReady { target, description } => {
                self.target_ready(db, at_ns, *target, description)
            }
            Event::EnvironmentChanged { target, environment } => {
                self.environment_changed(db, at_ns, *target, environment)
            }
            Event::InvocationStarted { .. } => self.invocation_started(db, at_ns, event),
            Event::Batch { invocation, samples, usage, flags } => {
                let open = self.open_invocation(*invocation)?;
                open.batch(db, at_ns, samples, usage, flags)
            }
            Event::InvocationEnded { invocation, end } => {
                self.invocation_ended(db, at_ns, *invocation, end)
            }
            other => self.remark(db, at_ns, other),
        }
    }

    /// Facts of the run that nothing later builds on.
    fn remark(&self, db: &Connection, at_ns: u64, event: &Event) -> Result<(), Fault> {
        let Self { key, segment, ordinal, .. } = self;
        let at_ns = signed(at_ns);
        match event {
            Event::Unsupported(missing) => db
                .prepare_cached("INSERT INTO requirement VALUES (?, ?, ?, ?, ?, 0, ?, ?)")?
                .execute(params![
                    key,
                    segment,
                    ordinal,
                    at_ns,
                    count(missing.point),
                    missing.why,
                    missing.fix
                ])?,
            Event::FixtureReady { workload, key: of, bytes_on_disk, notes } => db
                .prepare_cached("INSERT INTO fixture VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?
                .execute(params![
                    key,
                    segment,
                    ordinal,
                    at_ns,
                    workload,
                    of,
                    signed(*bytes_on_disk),
                    serde_json::to_string(notes)?
                ])?,
            Event::Decided(decision) => db
                .prepare_cached(
                    "INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )?
                .execute(params![
                    key,
                    segment,
                    ordinal,
                    at_ns,
                    count(decision.point),
                    count(decision.invocations),
                    count(decision.samples),
                    decision.look.map(|look| look.estimate),
                    decision.look.and_then(|look| look.low),
                    decision.look.and_then(|look| look.high),
                    decision.look.map(|look| look.level),
                    decision.wanted,
                    decision.stop,
                    decision.remaining_ns.map(signed)
                ])?,
            Event::Log { text } => db
                .prepare_cached("INSERT INTO log VALUES (?, ?, ?, ?, ?)")?
                .execute(params![key, segment, ordinal, at_ns, text])?,
            // Every invocation carries its round and position.
            _ => 0,
        };
        Ok(())
    }

    fn target_ready(
        &mut self,
        db: &Connection,
        at_ns: u64,
        target: u32,
        description: &Target,
    ) -> Result<(), Fault> {
        let place = Place {
            name: description.name.clone(),
            machine: content::keep_machine(db, &description.machine)?,
            environment: content::keep_environment(db, &description.environment)?,
        };
        self.place(db, at_ns, target, place)
    }

    fn environment_changed(
        &mut self,
        db: &Connection,
        at_ns: u64,
        target: u32,
        environment: &Environment,
    ) -> Result<(), Fault> {
        let environment = content::keep_environment(db, environment)?;
        let place = Place { environment, ..self.known_place(target)?.clone() };
        self.place(db, at_ns, target, place)
    }

    fn place(
        &mut self,
        db: &Connection,
        at_ns: u64,
        target: u32,
        place: Place,
    ) -> Result<(), Fault> {
        let Self { key, segment, ordinal, .. } = &*self;
        db.execute(
            "INSERT INTO target VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                key,
                segment,
                ordinal,
                signed(at_ns),
                target,
                place.name,
                place.machine,
                place.environment
            ],
        )?;
        self.targets.insert(target, place);
        Ok(())
    }

    fn known_place(&self, target: u32) -> Result<&Place, Fault> {
        let place = self.targets.get(&target);
        place.ok_or_else(|| Fault::Invalid(format!("target {target} was never ready")))
    }

    fn open_invocation(&mut self, uuid: Id) -> Result<&mut OpenInvocation, Fault> {
        let open = self.invocations.get_mut(&uuid);
        open.ok_or_else(|| Fault::Invalid(format!("invocation {uuid} is not under way")))
    }

    fn planned(&self, role: Role, point: usize) -> Result<&PlannedPoint, Fault> {
        let found = match role {
            // A server is the far end of a point of the plan.
            Role::Workload | Role::Server => self.plan.points.get(point),
            _ => self.plan.companions.get(point).map(|companion| &companion.point),
        };
        found.ok_or_else(|| Fault::Invalid(format!("the plan has no point {point} for it")))
    }

    fn invocation_started(
        &mut self,
        db: &Connection,
        at_ns: u64,
        event: &Event,
    ) -> Result<(), Fault> {
        let Event::InvocationStarted {
            invocation,
            point,
            role,
            round,
            position,
            segment,
            target,
            seed,
            ready,
        } = event
        else {
            return Ok(());
        };
        let planned = self.planned(*role, *point)?;
        let place = self.known_place(*target)?;
        // Flags have a table of their own.
        let told = Ready { flags: Vec::new(), ..Ready::clone(ready) };
        db.prepare_cached(
            "INSERT INTO invocation (uuid, run, segment, ordinal, at_ns, point, role, round, \
             position, target, environment, seed, ready) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            invocation.as_bytes(),
            self.key,
            segment,
            self.ordinal,
            signed(at_ns),
            count(*point),
            word(role)?,
            round,
            position,
            target,
            place.environment,
            signed(*seed),
            serde_json::to_string(&told)?
        ])?;
        let mut open = OpenInvocation::new(db.last_insert_rowid(), place.machine, planned, ready);
        open.flag(db, None, &ready.flags)?;
        open.declare(db, &planned.description, ready)?;
        self.invocations.insert(*invocation, open);
        Ok(())
    }

    fn invocation_ended(
        &mut self,
        db: &Connection,
        at_ns: u64,
        uuid: Id,
        end: &InvocationEnd,
    ) -> Result<(), Fault> {
        let open = self.open_invocation(uuid)?;
        let (outcome, why, fix) = match &end.outcome {
            Outcome::Done => ("done", "", ""),
            Outcome::Failed(why) => ("failed", why.as_str(), ""),
            Outcome::Unsupported { why, fix } => ("unsupported", why.as_str(), fix.as_str()),
        };
        db.prepare_cached("INSERT INTO invocation_end VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?
            .execute(params![
                open.key,
                signed(at_ns),
                outcome,
                why,
                fix,
                count(end.steady_start),
                end.warmup,
                end.method,
                signed(end.peak_memory_bytes),
                end.log
            ])?;
        self.invocations.remove(&uuid);
        Ok(())
    }
}

impl OpenInvocation {
    fn new(key: i64, machine: ContentId, planned: &PlannedPoint, ready: &Ready) -> Self {
        let clock = ready.clock.as_ref().map_or("monotonic", |clock| &clock.id);
        Self {
            key,
            machine,
            version: planned.description.version,
            workload: planned.point.workload.clone(),
            point: planned.point.key.clone(),
            clock: clock.to_owned(),
            series: BTreeMap::new(),
            batches: 0,
            samples: 0,
            flags: 0,
            origin_ns: 0,
            columns: None,
        }
    }

    /// Makes the series of all metrics that the workload declares.
    fn declare(
        &mut self,
        db: &Connection,
        description: &Description,
        ready: &Ready,
    ) -> Result<(), Fault> {
        for metric in &description.metrics {
            let work = ready.work.get(&metric.name).copied().unwrap_or(1.0);
            self.measures(db, metric, work)?;
        }
        Ok(())
    }

    fn measures(&mut self, db: &Connection, metric: &Metric, work: f64) -> Result<i64, Fault> {
        let of = params![
            self.machine,
            self.workload,
            self.version,
            self.point,
            metric.name,
            self.clock,
            metric.unit,
            word(&metric.better)?,
            word(&metric.kind)?,
            word(&metric.source)?
        ];
        db.prepare_cached(
            "INSERT OR IGNORE INTO series (machine, workload, version, point, metric, clock, unit, \
             better, kind, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(of)?;
        let series = db
            .prepare_cached(
                "SELECT id FROM series WHERE machine = ? AND workload = ? AND version = ? \
                 AND point = ? AND metric = ? AND clock = ? AND unit = ? AND better = ? \
                 AND kind = ? AND source = ?",
            )?
            .query_row(of, |row| row.get(0))?;
        db.prepare_cached("INSERT OR IGNORE INTO measures VALUES (?, ?, ?)")?
            .execute(params![self.key, series, work])?;
        self.series.insert(metric.name.clone(), series);
        Ok(series)
    }

    /// The series of a reported column; a metric that the workload did not declare is kept too.
    fn series(&mut self, db: &Connection, metric: &str) -> Result<i64, Fault> {
        if let Some(series) = self.series.get(metric) {
            return Ok(*series);
        }
        let undeclared = Metric {
            name: metric.to_owned(),
            unit: String::new(),
            better: plumb_model::Better::Neither,
            kind: plumb_model::Kind::Value,
            source: plumb_model::MetricSource::Value,
            summary: String::new(),
        };
        self.measures(db, &undeclared, 1.0)
    }

    fn flag(&mut self, db: &Connection, batch: Option<i64>, flags: &[Flag]) -> Result<(), Fault> {
        for flag in flags {
            db.prepare_cached("INSERT INTO flag VALUES (?, ?, ?, ?, ?)")?.execute(params![
                self.key,
                self.flags,
                batch,
                flag.flag.word(),
                flag.why
            ])?;
            self.flags += 1;
        }
        Ok(())
    }

    fn batch(
        &mut self,
        db: &Connection,
        at_ns: u64,
        samples: &Samples,
        usage: &Usage,
        flags: &[Flag],
    ) -> Result<(), Fault> {
        samples.check().map_err(|error| Fault::Invalid(error.to_string()))?;
        self.same_columns(samples)?;
        let start_ns = samples.start_ns.first().copied().unwrap_or(0);
        if self.batches == 0 {
            self.origin_ns = start_ns;
        }
        db.prepare_cached(
            "INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            self.key,
            self.batches,
            signed(at_ns),
            self.samples,
            count(samples.len()),
            signed(start_ns),
            word(&usage.source)?,
            signed(usage.wall_ns),
            signed(usage.user_ns),
            signed(usage.system_ns),
            signed(usage.iowait_ns),
            signed(usage.minor_faults),
            signed(usage.major_faults),
            signed(usage.voluntary_switches),
            signed(usage.involuntary_switches),
            usage.device_read_bytes.map(signed),
            usage.device_written_bytes.map(signed)
        ])?;
        self.samples(db, samples)?;
        self.flag(db, Some(self.batches), flags)?;
        self.batches += 1;
        self.samples += count(samples.len());
        Ok(())
    }

    fn same_columns(&mut self, samples: &Samples) -> Result<(), Fault> {
        if samples.is_empty() {
            return Ok(());
        }
        let names = samples.values.keys().chain(samples.histograms.keys()).cloned().collect();
        match &self.columns {
            Some(before) if *before != names => Err(Fault::Invalid(format!(
                "a batch of {} reports {names:?}, an earlier one {before:?}",
                self.workload
            ))),
            _ => {
                self.columns = Some(names);
                Ok(())
            }
        }
    }

    fn samples(&mut self, db: &Connection, samples: &Samples) -> Result<(), Fault> {
        let mut insert = db.prepare_cached("INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?)")?;
        for (i, n) in (0..samples.len()).zip(self.samples..) {
            insert.execute((
                self.key,
                n,
                signed(samples.start_ns[i].wrapping_sub(self.origin_ns)),
                signed(samples.elapsed_ns[i]),
                signed(samples.iterations[i]),
                samples.cpu[i],
            ))?;
        }
        for (metric, column) in &samples.values {
            let series = self.series(db, metric)?;
            let mut insert = db.prepare_cached("INSERT INTO value VALUES (?, ?, ?, ?)")?;
            for (value, n) in column.iter().zip(self.samples..) {
                insert.execute((self.key, series, n, value))?;
            }
        }
        for (metric, column) in &samples.histograms {
            let series = self.series(db, metric)?;
            let mut insert = db.prepare_cached("INSERT INTO histogram VALUES (?, ?, ?, ?)")?;
            for (histogram, n) in column.iter().zip(self.samples..) {
                insert.execute((self.key, series, n, serde_json::to_string(histogram)?))?;
            }
        }
        Ok(())
    }
}
