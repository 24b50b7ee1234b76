//! What happens in an invocation.

use std::collections::BTreeMap;

use plumb_model::{
    Better, Description, Flag, InvocationEnd, Kind, Metric, MetricSource, Outcome, PlannedPoint,
    Ready, Samples, Usage,
};
use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::sqlite::content::{ContentId, count, signed, word};

/// What the writer knows of an invocation that has not ended.
#[derive(Debug, Clone)]
pub(super) struct OpenInvocation {
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

impl OpenInvocation {
    pub(super) fn new(key: i64, machine: ContentId, planned: &PlannedPoint, ready: &Ready) -> Self {
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
    pub(super) fn declare(
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
            better: Better::Neither,
            kind: Kind::Value,
            source: MetricSource::Value,
            summary: String::new(),
        };
        self.measures(db, &undeclared, 1.0)
    }

    pub(super) fn flag(
        &mut self,
        db: &Connection,
        batch: Option<i64>,
        flags: &[Flag],
    ) -> Result<(), Fault> {
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

    pub(super) fn batch(
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

    pub(super) fn end(
        &self,
        db: &Connection,
        at_ns: u64,
        end: &InvocationEnd,
    ) -> Result<(), Fault> {
        let (outcome, why, fix) = match &end.outcome {
            Outcome::Done => ("done", "", ""),
            Outcome::Failed(why) => ("failed", why.as_str(), ""),
            Outcome::Unsupported { why, fix } => ("unsupported", why.as_str(), fix.as_str()),
        };
        db.prepare_cached("INSERT INTO invocation_end VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?
            .execute(params![
                self.key,
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
        Ok(())
    }
}
