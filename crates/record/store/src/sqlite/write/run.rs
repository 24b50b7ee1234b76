//! The events of a run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use plumb_model::{
    Decision, Event, Id, Owner, Plan, PlannedPoint, Prepared, Ready, Role, StopReason, Target,
    Verdict,
};
use rusqlite::{Connection, OptionalExtension, ToSql, params, params_from_iter};

use super::invocation::OpenInvocation;
use super::monitored::{self, CounterKeys};
use crate::sqlite::content::{self, ContentId, count, signed, word};
use crate::sqlite::db_error::DbError;
use crate::sqlite::fixture_notes::FixtureNotes;

/// What the writer knows of the run that goes on.
#[derive(Debug, Clone)]
pub(super) struct OpenRun {
    pub(super) uuid: Id,
    key: i64,
    plan: Arc<Plan>,
    segment: u32,
    /// Number of the next event of the segment.
    pub(super) ordinal: i64,
    targets: BTreeMap<u32, TargetKeys>,
    invocations: HashMap<Id, OpenInvocation>,
    /// Counters that were written before, with their keys.
    counters: CounterKeys,
}

/// Where a target is, by keys.
#[derive(Debug, Clone)]
struct TargetKeys {
    name: String,
    machine: ContentId,
    environment: ContentId,
}

/// A new run.
pub(super) fn begin(
    db: &Connection,
    uuid: Id,
    started_unix_ns: i64,
    plumb: &str,
    command: &[String],
    plan: &Plan,
) -> Result<OpenRun, DbError> {
    let known = db.query_row("SELECT 1 FROM run WHERE uuid = ?", [uuid.as_bytes()], |_| Ok(()));
    if known.optional()?.is_some() {
        return Err(DbError::Invalid(format!("run {uuid} started twice")));
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
pub(super) fn resume(db: &Connection, uuid: Id) -> Result<OpenRun, DbError> {
    let found = db
        .query_row("SELECT id, plan FROM run WHERE uuid = ?", [uuid.as_bytes()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((key, plan)) = found else {
        return Err(DbError::Invalid(format!("run {uuid} is continued but was never started")));
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
            counters: CounterKeys::default(),
        }
    }

    pub(super) fn start_segment(
        &mut self,
        db: &Connection,
        segment: u32,
        started_unix_ns: i64,
        monotonic_ns: u64,
        owner: &Owner,
    ) -> Result<(), DbError> {
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
        // Events are ordered by segment first, so a resumed run need not know how far its last segment came.
        self.ordinal = 0;
        Ok(())
    }

    pub(super) fn end(
        &self,
        db: &Connection,
        at_ns: u64,
        ended_unix_ns: i64,
        interrupted: bool,
    ) -> Result<(), DbError> {
        self.fact(db, at_ns, "run_end", params![ended_unix_ns, interrupted])
    }

    /// Adds a row to a table of facts of a run, which all begin with the same columns.
    fn fact(
        &self,
        db: &Connection,
        at_ns: u64,
        table: &str,
        columns: &[&dyn ToSql],
    ) -> Result<(), DbError> {
        let when = signed(at_ns);
        let place: [&dyn ToSql; 4] = [&self.key, &self.segment, &self.ordinal, &when];
        let marks = ", ?".repeat(columns.len());
        db.prepare_cached(&format!("INSERT INTO {table} VALUES (?, ?, ?, ?{marks})"))?
            .execute(params_from_iter(place.iter().chain(columns)))?;
        Ok(())
    }

    pub(super) fn event(
        &mut self,
        db: &Connection,
        at_ns: u64,
        event: &Event,
    ) -> Result<(), DbError> {
        match event {
            Event::TargetReady { target, description } => {
                self.target_ready(db, at_ns, *target, description)
            }
            Event::InvocationStarted { .. } => self.invocation_started(db, at_ns, event),
            Event::Batch { invocation, samples, usage, flags } => {
                let open = self.open_invocation(*invocation)?;
                open.batch(db, at_ns, samples, usage, flags)
            }
            Event::Monitored { invocation, readings, interference } => {
                let key = self.open_invocation(*invocation)?.key();
                monitored::interference(db, key, interference)?;
                monitored::readings(db, key, &mut self.counters, readings)
            }
            Event::Excluded { invocation, by } => monitored::exclude(db, *invocation, by),
            Event::InvocationEnded { invocation, end } => {
                self.open_invocation(*invocation)?.end(db, at_ns, end)?;
                // A long run has many thousands of invocations; only those under way are kept in memory.
                self.invocations.remove(invocation);
                Ok(())
            }
            other => self.remark(db, at_ns, other),
        }
    }

    /// Facts of the run that nothing later builds on.
    fn remark(&self, db: &Connection, at_ns: u64, event: &Event) -> Result<(), DbError> {
        match event {
            Event::Unsupported(missing) => {
                let columns = params![count(missing.point), false, missing.why, missing.fix];
                self.fact(db, at_ns, "requirement", columns)
            }
            Event::Prepared(Prepared { setting, was, became }) => {
                let undone = None::<i64>;
                self.fact(db, at_ns, "preparation", params![setting, was, became, undone])
            }
            Event::Restored { setting } => {
                // A row of its own instead of an update: facts are only added, so that stores can be merged.
                let columns = params![setting, "", "", signed(at_ns)];
                self.fact(db, at_ns, "preparation", columns)
            }
            Event::FixtureReady { workload, key, bytes_on_disk, notes, start_up } => {
                let notes = FixtureNotes::text(notes, start_up.as_deref())?;
                let columns = params![workload, key, signed(*bytes_on_disk), notes];
                self.fact(db, at_ns, "fixture", columns)
            }
            Event::Decided(decision) => self.decided(db, at_ns, decision),
            Event::Log { text } => self.fact(db, at_ns, "log", params![text]),
            // Every invocation carries its round and position.
            _ => Ok(()),
        }
    }

    fn decided(&self, db: &Connection, at_ns: u64, decision: &Decision) -> Result<(), DbError> {
        let look = decision.look;
        let compared = decision.compared.as_ref();
        let columns = params![
            count(decision.point),
            count(decision.invocations),
            count(decision.samples),
            look.map(|look| look.estimate),
            look.and_then(|look| look.low),
            look.and_then(|look| look.high),
            look.map(|look| look.level),
            decision.wanted,
            decision.stop.map(StopReason::word),
            decision.remaining_ns.map(signed),
            compared.map(|compared| count(compared.pairs)),
            compared.and_then(|compared| compared.verdict).map(Verdict::word),
            compared.and_then(|compared| compared.pairs_needed).map(count)
        ];
        self.fact(db, at_ns, "decision", columns)
    }

    fn target_ready(
        &mut self,
        db: &Connection,
        at_ns: u64,
        target: u32,
        description: &Target,
    ) -> Result<(), DbError> {
        let place = TargetKeys {
            name: description.name.clone(),
            machine: content::keep_machine(db, &description.machine)?,
            environment: content::keep_environment(db, &description.environment)?,
        };
        let host = description.host.known();
        let columns = params![target, place.name, place.machine, place.environment, host];
        self.fact(db, at_ns, "target", columns)?;
        self.targets.insert(target, place);
        Ok(())
    }

    fn known_place(&self, target: u32) -> Result<&TargetKeys, DbError> {
        let place = self.targets.get(&target);
        place.ok_or_else(|| DbError::Invalid(format!("target {target} was never described")))
    }

    fn open_invocation(&mut self, uuid: Id) -> Result<&mut OpenInvocation, DbError> {
        let open = self.invocations.get_mut(&uuid);
        open.ok_or_else(|| DbError::Invalid(format!("invocation {uuid} is not under way")))
    }

    fn planned(&self, role: Role, point: usize) -> Result<&PlannedPoint, DbError> {
        let found = match role {
            // A server is the far end of a point of the plan.
            Role::Workload | Role::Server => self.plan.points.get(point),
            _ => self.plan.companions.get(point).map(|companion| &companion.point),
        };
        found.ok_or_else(|| DbError::Invalid(format!("the plan has no point {point} for it")))
    }

    fn invocation_started(
        &mut self,
        db: &Connection,
        at_ns: u64,
        event: &Event,
    ) -> Result<(), DbError> {
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
        // Flags have their own table.
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
}
