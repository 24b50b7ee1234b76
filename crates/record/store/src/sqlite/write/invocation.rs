//! The events of an invocation.

use std::collections::BTreeMap;

use plumb_model::{
    Better, Description, Flag, InvocationEnd, Metric, MetricSource, Outcome, PlannedPoint,
    QuantityKind, Ready, Samples, Usage,
};
use rusqlite::{Connection, params};

use crate::sqlite::content::{ContentId, WRONG_RESULT, count, signed, word};
use crate::sqlite::db_error::DbError;

/// Columns of `sample` for reported values: what goes beyond them costs a row a value.
const PLACES: usize = 2;

/// The bits of `sample.sample` below the invocation.
const SAMPLE_BITS: u32 = 20;

/// Samples that an invocation can have.
const MOST_SAMPLES: i64 = 1 << SAMPLE_BITS;

/// Where the samples of a metric go.
#[derive(Debug, Clone, Copy)]
struct SeriesRow {
    id: i64,
    /// The column of `sample` for its reported values, counted from 0; None: rows of `value`.
    place: Option<usize>,
}

/// What the writer knows of an invocation that has not ended.
#[derive(Debug, Clone)]
pub(super) struct OpenInvocation {
    key: i64,
    machine: ContentId,
    version: u32,
    workload: String,
    point: String,
    clock: String,
    /// Metric → where its samples go.
    series: BTreeMap<String, SeriesRow>,
    /// Columns of `sample` that a series has taken for its reported values.
    places: usize,
    batches: i64,
    samples: i64,
    flags: i64,
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
            places: 0,
            batches: 0,
            samples: 0,
            flags: 0,
            columns: None,
        }
    }

    /// The key of its row.
    pub(super) fn key(&self) -> i64 {
        self.key
    }

    /// Makes the series of all metrics that the workload declares.
    pub(super) fn declare(
        &mut self,
        db: &Connection,
        description: &Description,
        ready: &Ready,
    ) -> Result<(), DbError> {
        for metric in &description.metrics {
            let work = ready.work.get(&metric.name).copied().unwrap_or(1.0);
            self.measures(db, metric, work)?;
        }
        Ok(())
    }

    fn measures(
        &mut self,
        db: &Connection,
        metric: &Metric,
        work: f64,
    ) -> Result<SeriesRow, DbError> {
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
        // Asked for instead of `last_insert_rowid`, which says nothing if the row was there before.
        let id = db
            .prepare_cached(
                "SELECT id FROM series WHERE machine = ? AND workload = ? AND version = ? \
                 AND point = ? AND metric = ? AND clock = ? AND unit = ? AND better = ? \
                 AND kind = ? AND source = ?",
            )?
            .query_row(of, |row| row.get(0))?;
        let series = SeriesRow { id, place: self.place(metric) };
        let place = series.place.map(|place| count(place + 1));
        db.prepare_cached("INSERT OR IGNORE INTO measures VALUES (?, ?, ?, ?)")?
            .execute(params![self.key, id, work, place])?;
        self.series.insert(metric.name.clone(), series);
        Ok(series)
    }

    /// The next free column of `sample`, when the metric's values are reported.
    fn place(&mut self, metric: &Metric) -> Option<usize> {
        let reported =
            metric.source == MetricSource::Value && metric.kind != QuantityKind::Histogram;
        let place = (reported && self.places < PLACES).then_some(self.places);
        self.places += usize::from(place.is_some());
        place
    }

    /// The series of a reported column; a metric that the workload did not declare is kept too.
    fn series(&mut self, db: &Connection, metric: &str) -> Result<SeriesRow, DbError> {
        if let Some(series) = self.series.get(metric) {
            return Ok(*series);
        }
        let undeclared = Metric::new(metric, "", Better::Neither, MetricSource::Value, "");
        self.measures(db, &undeclared, 1.0)
    }

    pub(super) fn flag(
        &mut self,
        db: &Connection,
        batch: Option<i64>,
        flags: &[Flag],
    ) -> Result<(), DbError> {
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
    ) -> Result<(), DbError> {
        samples.check().map_err(|error| DbError::Invalid(error.to_string()))?;
        self.same_columns(samples)?;
        // A larger index would reach into the bits of the next invocation.
        if self.samples + count(samples.len()) > MOST_SAMPLES {
            let why = format!("an invocation of {} has over {MOST_SAMPLES} samples", self.workload);
            return Err(DbError::Invalid(why));
        }
        db.prepare_cached(
            "INSERT INTO batch VALUES \
             (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            self.key,
            self.batches,
            signed(at_ns),
            self.samples,
            count(samples.len()),
            signed(samples.start_ns.first().copied().unwrap_or(0)),
            signed(step_ns(samples)),
            signed(samples.iterations.first().copied().unwrap_or(0)),
            samples.cpu.first().copied().unwrap_or(-1),
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

    fn same_columns(&mut self, samples: &Samples) -> Result<(), DbError> {
        if samples.is_empty() {
            return Ok(());
        }
        let names = samples.values.keys().chain(samples.histograms.keys()).cloned().collect();
        match &self.columns {
            Some(before) if *before != names => Err(DbError::Invalid(format!(
                "a batch of {} reports {names:?}, an earlier one {before:?}",
                self.workload
            ))),
            _ => {
                self.columns = Some(names);
                Ok(())
            }
        }
    }

    fn samples(&mut self, db: &Connection, samples: &Samples) -> Result<(), DbError> {
        let mut placed = [None; PLACES];
        for (metric, column) in &samples.values {
            let series = self.series(db, metric)?;
            match series.place {
                Some(place) => placed[place] = Some(column),
                None => self.values(db, series.id, column)?,
            }
        }
        self.timed(db, samples, placed)?;
        for (metric, column) in &samples.histograms {
            let series = self.series(db, metric)?.id;
            let mut insert = db.prepare_cached("INSERT INTO histogram VALUES (?, ?, ?, ?)")?;
            for (histogram, n) in column.iter().zip(self.samples..) {
                insert.execute((self.key, series, n, serde_json::to_string(histogram)?))?;
            }
        }
        Ok(())
    }

    /// The rows of `sample`, as differences to their batch.
    fn timed(
        &self,
        db: &Connection,
        samples: &Samples,
        placed: [Option<&Vec<f64>>; PLACES],
    ) -> Result<(), DbError> {
        let mut insert = db.prepare_cached("INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?)")?;
        // SQLite stores small integers in few bytes: the distance from an even grid takes less room than a time.
        let step_ns = step_ns(samples);
        let mut even_ns = samples.start_ns.first().copied().unwrap_or(0);
        for (i, n) in (0..samples.len()).zip(self.samples..) {
            insert.execute((
                self.key << SAMPLE_BITS | n,
                difference(samples.start_ns[i], even_ns),
                signed(samples.elapsed_ns[i]),
                difference(samples.iterations[i], samples.iterations[0]),
                i64::from(samples.cpu[i]) - i64::from(samples.cpu[0]),
                placed[0].map(|column| column[i]),
                placed[1].map(|column| column[i]),
            ))?;
            even_ns = even_ns.wrapping_add(step_ns);
        }
        Ok(())
    }

    fn values(&self, db: &Connection, series: i64, column: &[f64]) -> Result<(), DbError> {
        let mut insert = db.prepare_cached("INSERT INTO value VALUES (?, ?, ?, ?)")?;
        for (value, n) in column.iter().zip(self.samples..) {
            insert.execute((self.key, series, n, value))?;
        }
        Ok(())
    }

    pub(super) fn end(
        &self,
        db: &Connection,
        at_ns: u64,
        end: &InvocationEnd,
    ) -> Result<(), DbError> {
        let (outcome, why, fix) = match &end.outcome {
            Outcome::Done => ("done", "", ""),
            Outcome::Failed(why) => ("failed", why.as_str(), ""),
            Outcome::WrongResult(why) => ("failed", why.as_str(), WRONG_RESULT),
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

/// The mean distance from start to start.
fn step_ns(samples: &Samples) -> u64 {
    match samples.start_ns.as_slice() {
        [first, .., last] => last.wrapping_sub(*first) / (samples.len() as u64 - 1),
        _ => 0,
    }
}

/// A number from another, whichever is larger; adding them up again wraps as well.
fn difference(n: u64, from: u64) -> i64 {
    signed(n.wrapping_sub(from))
}
