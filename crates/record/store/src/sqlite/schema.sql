-- What is content-addressed: the key is a hash of the content, so that runs and stores share rows.

CREATE TABLE machine (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  fingerprint TEXT NOT NULL,
  facts TEXT NOT NULL
) STRICT;

CREATE TABLE environment (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  fingerprint TEXT NOT NULL,
  facts TEXT NOT NULL
) STRICT;

-- What a workload says of itself.
CREATE TABLE description (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  json TEXT NOT NULL
) STRICT;

-- A plan, with the description's id where a description stood.
CREATE TABLE plan (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  json TEXT NOT NULL
) STRICT;

-- Facts of a run. Those with `segment` and `ordinal` are in the order of these two.

CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  uuid BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  started_unix_ns INTEGER NOT NULL,
  plumb TEXT NOT NULL,
  command TEXT NOT NULL,
  plan BLOB NOT NULL REFERENCES plan
) STRICT;

CREATE TABLE label (
  run INTEGER NOT NULL REFERENCES run,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE segment (
  run INTEGER NOT NULL REFERENCES run,
  segment INTEGER NOT NULL,
  started_unix_ns INTEGER NOT NULL,
  monotonic_ns INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  start_ticks INTEGER NOT NULL,
  boot_id TEXT NOT NULL
) STRICT;
CREATE INDEX segment_run ON segment (run);

CREATE TABLE run_end (
  run INTEGER NOT NULL REFERENCES run,
  segment INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  ended_unix_ns INTEGER NOT NULL,
  interrupted INTEGER NOT NULL CHECK (interrupted IN (0, 1))
) STRICT;
CREATE INDEX run_end_run ON run_end (run);

-- What a target is; a later row of the same target says what it has become. `host` is null when nobody
-- knows which one of the machines of its kind it is.
CREATE TABLE target (
  run INTEGER NOT NULL REFERENCES run,
  segment INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  target INTEGER NOT NULL,
  name TEXT NOT NULL,
  machine BLOB NOT NULL REFERENCES machine,
  environment BLOB NOT NULL REFERENCES environment,
  host TEXT
) STRICT;
CREATE INDEX target_run ON target (run);

CREATE TABLE requirement (
  run INTEGER NOT NULL REFERENCES run,
  segment INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  point INTEGER NOT NULL,
  satisfied INTEGER NOT NULL CHECK (satisfied IN (0, 1)),
  why TEXT NOT NULL,
  fix TEXT NOT NULL
) STRICT;
CREATE INDEX requirement_run ON requirement (run);

-- `notes` is a JSON array of text, or an object of that array and of what the start of a command loads.
CREATE TABLE fixture (
  run INTEGER NOT NULL REFERENCES run,
  segment INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  workload TEXT NOT NULL,
  key TEXT NOT NULL,
  bytes_on_disk INTEGER NOT NULL,
  notes TEXT NOT NULL
) STRICT;
CREATE INDEX fixture_run ON fixture (run);

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

CREATE TABLE log (
  run INTEGER NOT NULL REFERENCES run,
  segment INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX log_run ON log (run);

-- A preparation that was made; a later row of the same setting, with a time and no values, says that
-- it was undone.
CREATE TABLE preparation (
  run INTEGER NOT NULL REFERENCES run,
  segment INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  setting TEXT NOT NULL,
  was TEXT NOT NULL,
  became TEXT NOT NULL,
  restored_at_ns INTEGER
) STRICT;
CREATE INDEX preparation_run ON preparation (run);

-- What history and comparisons are made of.
CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  machine BLOB NOT NULL REFERENCES machine,
  workload TEXT NOT NULL,
  version INTEGER NOT NULL,
  point TEXT NOT NULL,
  metric TEXT NOT NULL,
  clock TEXT NOT NULL,
  unit TEXT NOT NULL,
  better TEXT NOT NULL,
  kind TEXT NOT NULL,
  source TEXT NOT NULL,
  name TEXT GENERATED ALWAYS AS (
    workload || CASE point WHEN '' THEN '' ELSE ':' || point END || '/' || metric
  ) VIRTUAL,
  UNIQUE (machine, workload, version, point, metric, clock, unit, better, kind, source)
) STRICT;
CREATE INDEX series_name ON series (name);

-- Facts of an invocation.

CREATE TABLE invocation (
  id INTEGER PRIMARY KEY,
  uuid BLOB NOT NULL UNIQUE CHECK (length(uuid) = 16),
  run INTEGER NOT NULL REFERENCES run,
  segment INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  at_ns INTEGER NOT NULL,
  point INTEGER NOT NULL,
  role TEXT NOT NULL,
  round INTEGER NOT NULL,
  position INTEGER NOT NULL,
  target INTEGER NOT NULL,
  environment BLOB NOT NULL REFERENCES environment,
  seed INTEGER NOT NULL,
  ready TEXT NOT NULL
) STRICT;
CREATE INDEX invocation_run ON invocation (run);

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

-- How an invocation ended; no row when it was cut off. `steady_start` is the index of the first
-- steady sample, found by this version of the method. `fix` is 'wrong result' if the invocation failed because it computed
-- wrongly.
CREATE TABLE invocation_end (
  invocation INTEGER NOT NULL PRIMARY KEY REFERENCES invocation,
  at_ns INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('done', 'failed', 'unsupported')),
  why TEXT NOT NULL,
  fix TEXT NOT NULL,
  steady_start INTEGER NOT NULL,
  warmup TEXT NOT NULL,
  method INTEGER NOT NULL,
  peak_memory_bytes INTEGER NOT NULL,
  log TEXT NOT NULL
) STRICT;

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

-- Reported values that have no place in `sample`.
CREATE TABLE value (
  invocation INTEGER NOT NULL REFERENCES invocation,
  series INTEGER NOT NULL REFERENCES series,
  n INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (invocation, series, n)
) STRICT, WITHOUT ROWID;

-- Reported distributions: HdrHistogram V2 in base64 as a JSON text, or pairs of value and count.
CREATE TABLE histogram (
  invocation INTEGER NOT NULL REFERENCES invocation,
  series INTEGER NOT NULL REFERENCES series,
  n INTEGER NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (invocation, series, n)
) STRICT;

-- Reasons to distrust; `batch` is null for those that were known before the first sample.
CREATE TABLE flag (
  invocation INTEGER NOT NULL REFERENCES invocation,
  ordinal INTEGER NOT NULL,
  batch INTEGER,
  flag TEXT NOT NULL,
  why TEXT NOT NULL,
  PRIMARY KEY (invocation, ordinal)
) STRICT, WITHOUT ROWID;

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

-- Facts that outlive runs.

-- A change of a baseline: the last fact of a name and run wins.
CREATE TABLE baseline (
  uuid BLOB NOT NULL PRIMARY KEY CHECK (length(uuid) = 16),
  at_unix_ns INTEGER NOT NULL,
  name TEXT NOT NULL,
  run_uuid BLOB NOT NULL CHECK (length(run_uuid) = 16),
  action TEXT NOT NULL CHECK (action IN ('add', 'remove'))
) STRICT;

-- A noise audit of a machine.
CREATE TABLE audit (
  machine BLOB NOT NULL REFERENCES machine,
  environment BLOB NOT NULL REFERENCES environment,
  at_unix_ns INTEGER NOT NULL,
  json TEXT NOT NULL,
  host TEXT
) STRICT;

-- What was imported into this file; says nothing of measurements and is not imported itself.
CREATE TABLE import (
  at_unix_ns INTEGER NOT NULL,
  source TEXT NOT NULL,
  runs INTEGER NOT NULL,
  invocations INTEGER NOT NULL,
  samples INTEGER NOT NULL
) STRICT;

-- The interface for the `sqlite3` shell (docs/store.md). No feature newer than SQLite 3.40.

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
  run.plumb AS plumb,
  (
    SELECT host FROM target WHERE target.run = run.id
    ORDER BY target.target, segment DESC, ordinal DESC LIMIT 1
  ) AS host
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
