-- Fleets that Slurm carries out. No part of the numbered schema: a store gets these tables with its first such fleet.

-- How jobs are submitted. `folder` holds the script, the binary, logs and finished stores; `queued` is null without a limit.
CREATE TABLE IF NOT EXISTS slurm_fleet (
  fleet_uuid BLOB NOT NULL PRIMARY KEY REFERENCES fleet,
  folder TEXT NOT NULL,
  options TEXT NOT NULL,
  every INTEGER NOT NULL CHECK (every IN (0, 1)),
  queued INTEGER
) STRICT;

-- An attempt to measure a machine: a job, or a task of an array. If several stores submitted it, the last one counts.
CREATE TABLE IF NOT EXISTS slurm_job (
  fleet_uuid BLOB NOT NULL REFERENCES slurm_fleet,
  position INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  job INTEGER NOT NULL,
  task INTEGER,
  submitted_unix_ns INTEGER NOT NULL,
  PRIMARY KEY (fleet_uuid, position, attempt, job, submitted_unix_ns)
) STRICT;

-- What Slurm answered about a job, if it was not the same as before; the last fact counts.
CREATE TABLE IF NOT EXISTS slurm_fact (
  fleet_uuid BLOB NOT NULL REFERENCES slurm_fleet,
  position INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  at_unix_ns INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  node TEXT,
  exit_code INTEGER,
  exit_signal INTEGER,
  PRIMARY KEY (fleet_uuid, position, attempt, at_unix_ns)
) STRICT;

-- A run that came from a node. The first run of a machine is the one that the fleet shows. Several stores may collect it.
CREATE TABLE IF NOT EXISTS slurm_run (
  fleet_uuid BLOB NOT NULL REFERENCES slurm_fleet,
  position INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  at_unix_ns INTEGER NOT NULL,
  node TEXT NOT NULL,
  run_uuid BLOB NOT NULL CHECK (length(run_uuid) = 16),
  PRIMARY KEY (fleet_uuid, position, attempt, run_uuid, at_unix_ns)
) STRICT;
