//! The tables: as a new store gets them, and the steps from older ones.

/// `plmb`: tells plumb's files from other databases (and `file` can show it).
pub(super) const APPLICATION_ID: i64 = 0x706c_6d62;

/// The schema as a new store gets it.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// The steps that bring an old store to the same schema; number n leaves `user_version` at n + 1.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
];

/// The newest schema.
pub(super) const KNOWN: i64 = MIGRATIONS.len() as i64;
