-- Kept files: what runs of baselines executed. No part of the numbered schema: a store without these tables gets them.

-- A file, once, under the hash of its content.
CREATE TABLE IF NOT EXISTS kept_file (
  id BLOB NOT NULL PRIMARY KEY CHECK (length(id) = 16),
  content BLOB NOT NULL
) STRICT;

-- What a word of a command line in the plan of a run named. `protocol` is null unless it was plumb itself.
CREATE TABLE IF NOT EXISTS kept (
  run_uuid BLOB NOT NULL CHECK (length(run_uuid) = 16),
  word TEXT NOT NULL,
  file BLOB NOT NULL REFERENCES kept_file,
  executable INTEGER NOT NULL CHECK (executable IN (0, 1)),
  protocol INTEGER,
  PRIMARY KEY (run_uuid, word)
) STRICT;
