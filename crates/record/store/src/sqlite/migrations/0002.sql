-- Smaller samples: start, iterations and CPU as differences to their batch, up to two reported values in
-- the sample's row; and what a look at a comparison saw.

DROP VIEW IF EXISTS results;
DROP VIEW IF EXISTS samples;
DROP VIEW IF EXISTS measured;
DROP VIEW IF EXISTS runs;

ALTER TABLE decision RENAME TO old_decision;
ALTER TABLE measures RENAME TO old_measures;
ALTER TABLE batch RENAME TO old_batch;
ALTER TABLE sample RENAME TO old_sample;
DROP INDEX decision_run;
DROP INDEX measures_series;

-- A decision of a strategy; `level` is null when it decided without a look; `pairs`
-- is null where nothing was compared, else the interval is of a ratio of costs.
CREATE TABLE decision (
  run INTEGER NOT NULL REFERENCES run,
  segment INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  point INTEGER NOT NULL,
  invocations INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  estimate REAL,
  low REAL,
  high REAL,
  level REAL,
  wanted REAL,
  stop TEXT,
  remaining_ns INTEGER,
  pairs INTEGER,
  verdict TEXT,
  pairs_needed INTEGER
) STRICT;
CREATE INDEX decision_run ON decision (run);
INSERT INTO decision SELECT *, NULL, NULL, NULL FROM old_decision;
DROP TABLE old_decision;

-- The series that an invocation's samples belong to, with the work of one iteration. `place` is the
-- column of `sample` that keeps reported values; null when they are rows of `value`.
CREATE TABLE measures (
  invocation INTEGER NOT NULL REFERENCES invocation,
  series INTEGER NOT NULL REFERENCES series,
  work REAL NOT NULL,
  place INTEGER CHECK (place IN (1, 2)),
  PRIMARY KEY (invocation, series)
) STRICT, WITHOUT ROWID;
CREATE INDEX measures_series ON measures (series);
INSERT INTO measures SELECT *, NULL FROM old_measures;

-- A batch with its resource use. `first` is the index of its first sample, `start_ns` the start of
-- that sample on the invocation's clock, `iterations` and `cpu` those of that sample, `step_ns` the
-- mean distance from start to start.
CREATE TABLE batch (
  invocation INTEGER NOT NULL REFERENCES invocation,
  batch INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  first INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  start_ns INTEGER NOT NULL,
  step_ns INTEGER NOT NULL,
  iterations INTEGER NOT NULL,
  cpu INTEGER NOT NULL,
  source TEXT NOT NULL,
  wall_ns INTEGER NOT NULL,
  user_ns INTEGER NOT NULL,
  system_ns INTEGER NOT NULL,
  iowait_ns INTEGER NOT NULL,
  minor_faults INTEGER NOT NULL,
  major_faults INTEGER NOT NULL,
  voluntary_switches INTEGER NOT NULL,
  involuntary_switches INTEGER NOT NULL,
  device_read_bytes INTEGER,
  device_written_bytes INTEGER,
  PRIMARY KEY (invocation, batch)
) STRICT, WITHOUT ROWID;
INSERT INTO batch
SELECT
  invocation, batch, at_ns, first, samples, start_ns, 0, 0, 0, source, wall_ns, user_ns, system_ns,
  iowait_ns, minor_faults, major_faults, voluntary_switches, involuntary_switches, device_read_bytes,
  device_written_bytes
FROM old_batch;

-- At most 40 bytes each, so start, iterations and CPU are small: differences to what the batch's
-- first sample and even steps from it would give. The key is invocation * 2^20 + n, because rows with
-- an integer key fill their pages when they are appended.
CREATE TABLE sample (
  sample INTEGER PRIMARY KEY,
  start_ns INTEGER NOT NULL,
  elapsed_ns INTEGER NOT NULL,
  iterations INTEGER NOT NULL,
  cpu INTEGER NOT NULL,
  value_1 REAL,
  value_2 REAL,
  invocation INTEGER GENERATED ALWAYS AS (sample >> 20) VIRTUAL REFERENCES invocation,
  n INTEGER GENERATED ALWAYS AS (sample & 1048575) VIRTUAL
) STRICT;
INSERT INTO sample (sample, start_ns, elapsed_ns, iterations, cpu)
SELECT
  (old_sample.invocation << 20) + old_sample.n,
  old_sample.start_ns + first.start_ns - own.start_ns,
  old_sample.elapsed_ns,
  old_sample.iterations,
  old_sample.cpu
FROM old_sample
JOIN old_batch AS first ON first.invocation = old_sample.invocation AND first.batch = 0
JOIN old_batch AS own
  ON own.invocation = old_sample.invocation
  AND own.first <= old_sample.n
  AND old_sample.n < own.first + own.samples;
DROP TABLE old_sample;
DROP TABLE old_batch;
DROP TABLE old_measures;

CREATE VIEW runs AS
SELECT
  lower(hex(run.uuid)) AS run,
  strftime('%Y-%m-%dT%H:%M:%SZ', run.started_unix_ns / 1000000000, 'unixepoch') AS started,
  CASE (
    SELECT interrupted FROM run_end
    WHERE run_end.run = run.id
      AND segment = (SELECT max(segment) FROM segment WHERE segment.run = run.id)
    ORDER BY interrupted LIMIT 1
  ) WHEN 0 THEN 'complete' WHEN 1 THEN 'interrupted' ELSE 'open' END AS status,
  json_extract(plan.json, '$.suite') AS suite,
  (SELECT group_concat(name || '=' || value, ' ') FROM label WHERE label.run = run.id) AS labels,
  json_array_length(plan.json, '$.points') AS points,
  (SELECT count(*) FROM invocation WHERE invocation.run = run.id) AS invocations,
  (
    SELECT coalesce(sum(batch.samples), 0)
    FROM invocation JOIN batch ON batch.invocation = invocation.id
    WHERE invocation.run = run.id
  ) AS samples,
  run.plumb AS plumb
FROM run JOIN plan ON plan.id = run.plan;

-- What the next two are made of: a sample's value of a metric, by local integers.
CREATE VIEW measured AS
SELECT
  invocation.run AS run,
  invocation.id AS invocation,
  invocation.point AS planned,
  invocation.target AS target,
  invocation.role AS role,
  measures.series AS series,
  coalesce(invocation_end.outcome, 'cut off') AS outcome,
  sample.n AS n,
  CASE
    WHEN sample.n < coalesce(invocation_end.steady_start, 0) THEN 'warm-up'
    ELSE 'steady'
  END AS phase,
  batch.start_ns + (sample.n - batch.first) * batch.step_ns + sample.start_ns AS start_ns,
  sample.elapsed_ns AS elapsed_ns,
  batch.iterations + sample.iterations AS iterations,
  batch.cpu + sample.cpu AS cpu,
  CASE series.source
    WHEN 'time' THEN
      sample.elapsed_ns * 1e-9 / ((batch.iterations + sample.iterations) * measures.work)
    WHEN 'rate' THEN
      (batch.iterations + sample.iterations) * measures.work / (sample.elapsed_ns * 1e-9)
    ELSE CASE measures.place
      WHEN 1 THEN sample.value_1
      WHEN 2 THEN sample.value_2
      ELSE (
        SELECT value FROM value
        WHERE value.invocation = invocation.id
          AND value.series = measures.series
          AND value.n = sample.n
      )
    END
  END AS value
FROM invocation
JOIN measures ON measures.invocation = invocation.id
JOIN series ON series.id = measures.series
LEFT JOIN invocation_end ON invocation_end.invocation = invocation.id
-- CROSS keeps the order: a batch's samples are next to each other, a sample's batch is to be searched.
CROSS JOIN batch ON batch.invocation = invocation.id
CROSS JOIN sample
  ON sample.sample >= (invocation.id << 20) + batch.first
  AND sample.sample < (invocation.id << 20) + batch.first + batch.samples;

CREATE VIEW samples AS
SELECT
  lower(hex(run.uuid)) AS run,
  lower(hex(invocation.uuid)) AS invocation,
  series.name AS series,
  series.workload AS workload,
  series.point AS point,
  series.metric AS metric,
  series.unit AS unit,
  measured.planned AS planned,
  measured.target AS target,
  measured.role AS role,
  measured.outcome AS outcome,
  measured.n AS n,
  measured.phase AS phase,
  measured.start_ns AS start_ns,
  measured.elapsed_ns AS elapsed_ns,
  measured.iterations AS iterations,
  measured.cpu AS cpu,
  measured.value AS value
FROM measured
JOIN run ON run.id = measured.run
JOIN invocation ON invocation.id = measured.invocation
JOIN series ON series.id = measured.series;

CREATE VIEW results AS
WITH
  ranked AS (
    SELECT
      run, planned, target, series, invocation, value,
      row_number() OVER (PARTITION BY run, planned, target, series ORDER BY value) AS rank,
      count(*) OVER (PARTITION BY run, planned, target, series) AS of
    FROM measured
    WHERE role = 'workload' AND outcome = 'done' AND phase = 'steady' AND value IS NOT NULL
  ),
  counted AS (
    SELECT
      run, planned, target, series,
      count(DISTINCT invocation) AS invocations,
      count(*) AS samples,
      avg(CASE WHEN rank IN ((of + 1) / 2, (of + 2) / 2) THEN value END) AS median,
      min(value) AS min,
      max(value) AS max
    FROM ranked
    GROUP BY run, planned, target, series
  )
SELECT
  lower(hex(run.uuid)) AS run,
  series.name AS series,
  series.workload AS workload,
  series.point AS point,
  series.metric AS metric,
  series.unit AS unit,
  counted.planned AS planned,
  counted.target AS target,
  counted.invocations AS invocations,
  counted.samples AS samples,
  counted.median AS median,
  counted.min AS min,
  counted.max AS max
FROM counted
JOIN run ON run.id = counted.run
JOIN series ON series.id = counted.series;
