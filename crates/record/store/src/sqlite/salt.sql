-- The salt of the digests that stand for secrets in command lines; one row. It is no part of the numbered schema: a store
-- without this table gets it. Merging stores does not copy it.
CREATE TABLE IF NOT EXISTS secret_salt (
  salt BLOB NOT NULL CHECK (length(salt) = 16)
) STRICT;

INSERT INTO secret_salt SELECT randomblob(16) WHERE NOT EXISTS (SELECT 1 FROM secret_salt);
