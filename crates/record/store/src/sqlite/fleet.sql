-- Fleets: commands on several machines. No part of the numbered schema: a store gets these tables with its first fleet.

-- A command, as it was typed, and the process that stores what the machines measure.
CREATE TABLE IF NOT EXISTS fleet (
  uuid BLOB NOT NULL PRIMARY KEY CHECK (length(uuid) = 16),
  started_unix_ns INTEGER NOT NULL,
  command TEXT NOT NULL,
  pid INTEGER NOT NULL,
  start_ticks INTEGER NOT NULL,
  boot_id TEXT NOT NULL
) STRICT;

-- A machine that was asked, and the run that it was to make.
CREATE TABLE IF NOT EXISTS fleet_machine (
  fleet_uuid BLOB NOT NULL REFERENCES fleet,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  run_uuid BLOB NOT NULL CHECK (length(run_uuid) = 16),
  PRIMARY KEY (fleet_uuid, position)
) STRICT;

-- What became of a machine; the last fact counts.
CREATE TABLE IF NOT EXISTS fleet_outcome (
  fleet_uuid BLOB NOT NULL REFERENCES fleet,
  position INTEGER NOT NULL,
  at_unix_ns INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  why TEXT,
  hints TEXT NOT NULL,
  PRIMARY KEY (fleet_uuid, position, at_unix_ns)
) STRICT;
