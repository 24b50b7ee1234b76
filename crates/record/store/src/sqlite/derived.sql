-- Derived: what was computed from the facts above, so that nobody computes it again. plumb may drop these
-- tables at any time and fill them anew.

-- The rules by which the rows were computed; rows of other rules do not count.
CREATE TABLE derived_version (
  version TEXT NOT NULL
) STRICT;

-- A run whose series are all in `derived_series`. They count only if the run is still in this state.
-- `machine` and `environment` are those that it began with; null if they are not known. `json` is null in a
-- run that gave no series.
CREATE TABLE derived_run (
  run BLOB NOT NULL PRIMARY KEY CHECK (length(run) = 16),
  state TEXT NOT NULL,
  machine BLOB,
  host TEXT,
  environment BLOB,
  json TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The logs of the costs of first metrics of a run, by series. Apart from `derived_run`, whose rows then fill a few
-- pages: a page about a series reads all of them.
CREATE TABLE derived_costs (
  run BLOB NOT NULL PRIMARY KEY CHECK (length(run) = 16),
  json TEXT NOT NULL
) STRICT;

-- A point as people know it. Most runs measure the same points, so each is kept once, under the hash of its text.
CREATE TABLE derived_point (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  json TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A series in one run without its samples; `environment` is that of the first invocation.
CREATE TABLE derived_series (
  name TEXT NOT NULL,
  run BLOB NOT NULL CHECK (length(run) = 16),
  n INTEGER NOT NULL,
  environment BLOB NOT NULL,
  point BLOB NOT NULL,
  json TEXT NOT NULL,
  PRIMARY KEY (name, run, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX derived_series_run ON derived_series (run, n);
