-- What monitors read and what disturbed is written now. The old tables never had a row.

DROP VIEW results;
DROP VIEW samples;
DROP VIEW measured;
DROP TABLE interference;
DROP TABLE monitor_chunk;
DROP TABLE counter_delta;

-- Evidence that something else ran beside an invocation, and the samples that it touches.
CREATE TABLE interference (
  invocation INTEGER NOT NULL REFERENCES invocation,
  ordinal INTEGER NOT NULL,
  rule TEXT NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  evidence TEXT NOT NULL,
  PRIMARY KEY (invocation, ordinal)
) STRICT, WITHOUT ROWID;

-- An invocation that ended well and does not count, by rules that do not look at its times.
CREATE TABLE exclusion (
  invocation INTEGER NOT NULL PRIMARY KEY REFERENCES invocation,
  excluded_by TEXT NOT NULL
) STRICT;

-- What monitors read: `monitor.name`.
CREATE TABLE counter (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  unit TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('counter', 'gauge')),
  UNIQUE (name, unit, kind)
) STRICT;

-- By how much a counter moved beside an invocation, or a gauge's mean. A counter without a row did not
-- move, or was not read.
CREATE TABLE counter_amount (
  invocation INTEGER NOT NULL REFERENCES invocation,
  counter INTEGER NOT NULL REFERENCES counter,
  amount INTEGER NOT NULL,
  duration_ns INTEGER NOT NULL,
  PRIMARY KEY (invocation, counter)
) STRICT, WITHOUT ROWID;

-- The readings of a counter that was read more than twice: the first value, then the distance to the
-- next reading in nanoseconds and the difference to its value, each as a varint of seven bits a byte
-- (differences zigzag).
CREATE TABLE monitor_chunk (
  invocation INTEGER NOT NULL REFERENCES invocation,
  counter INTEGER NOT NULL REFERENCES counter,
  start_ns INTEGER NOT NULL,
  readings INTEGER NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY (invocation, counter)
) STRICT, WITHOUT ROWID;

-- What the next two are made of: a sample's value of a metric, by local integers.
CREATE VIEW measured AS
SELECT
  invocation.run AS run,
  invocation.id AS invocation,
  invocation.point AS planned,
  invocation.target AS target,
  invocation.role AS role,
  measures.series AS series,
  CASE
    WHEN exclusion.invocation IS NOT NULL THEN 'excluded'
    ELSE coalesce(invocation_end.outcome, 'cut off')
  END AS outcome,
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
LEFT JOIN exclusion ON exclusion.invocation = invocation.id
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

CREATE VIEW counters AS
SELECT
  lower(hex(run.uuid)) AS run,
  lower(hex(invocation.uuid)) AS invocation,
  invocation.point AS planned,
  invocation.role AS role,
  invocation.round AS round,
  counter.name AS counter,
  counter.unit AS unit,
  counter.kind AS kind,
  counter_amount.amount AS amount,
  counter_amount.duration_ns * 1e-9 AS seconds,
  CASE
    WHEN counter.kind = 'gauge' THEN counter_amount.amount * 1.0
    WHEN counter_amount.duration_ns > 0 THEN
      counter_amount.amount * 1e9 / counter_amount.duration_ns
  END AS rate
FROM counter_amount
JOIN counter ON counter.id = counter_amount.counter
JOIN invocation ON invocation.id = counter_amount.invocation
JOIN run ON run.id = invocation.run;
