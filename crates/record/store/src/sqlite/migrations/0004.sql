-- Which one of the machines of a kind: runs and audits from before have a host that nobody knows.

DROP VIEW runs;

ALTER TABLE target RENAME TO old_target;
ALTER TABLE audit RENAME TO old_audit;
DROP INDEX target_run;

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
INSERT INTO target SELECT *, NULL FROM old_target;
DROP TABLE old_target;

-- A noise audit of a machine.
CREATE TABLE audit (
  machine BLOB NOT NULL REFERENCES machine,
  environment BLOB NOT NULL REFERENCES environment,
  at_unix_ns INTEGER NOT NULL,
  json TEXT NOT NULL,
  host TEXT
) STRICT;
INSERT INTO audit SELECT *, NULL FROM old_audit;
DROP TABLE old_audit;

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
