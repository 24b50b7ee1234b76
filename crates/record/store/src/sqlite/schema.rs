//! The tables, as a new store gets them.

/// `plmb`: tells plumb's files from other databases (and `file` can show it).
pub(super) const APPLICATION_ID: i64 = 0x706c_6d62;

/// The schema as a new store gets it.
pub(super) const SCHEMA: &str = include_str!("schema.sql");

/// The tables of what is derived. They are no part of the numbered schema: a store without them gets them.
pub(super) const DERIVED: &str = include_str!("derived.sql");

/// The tables of what baselines keep. They are no part of the numbered schema either.
pub(super) const KEPT: &str = include_str!("kept.sql");

/// The tables of fleets. They are no part of the numbered schema either: a store gets them with its first fleet.
pub(super) const FLEET: &str = include_str!("fleet.sql");

/// The tables of fleets that Slurm carries out. They are no part of the numbered schema either.
pub(super) const SLURM: &str = include_str!("slurm.sql");

/// The table of the salt of secrets. It is no part of the numbered schema either.
pub(super) const SALT: &str = include_str!("salt.sql");

/// The schema that this plumb reads and writes. Versions 1 to 3 were never released.
pub(super) const KNOWN: i64 = 4;
