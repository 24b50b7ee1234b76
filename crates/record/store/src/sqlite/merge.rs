//! Merges another store into this one.
//!
//! The other file is copied first, with its log: opening it would leave traces next to it. The copy is attached, and one transaction takes over every row
//! that is not here yet. What makes a row the same in both stores, so that order does not matter:
//!
//! - content-addressed rows: their key;
//! - runs and invocations: their UUID, which local integers are translated through;
//! - series and counters: all that they are made of;
//! - rows of an invocation: the invocation and the rest of their key. Only one process ever adds
//!   to an invocation, so one of two copies is the beginning of the other, and the union is the
//!   longer one;
//! - facts of a run: all their columns. A run whose copies were both resumed keeps both.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};

use super::db_error::DbError;
use super::snapshot::Snapshot;
use super::{content, fleet, read, slurm};
use crate::answers::MergeReport;
use crate::error::StoreError;

/// Rows with a key that means the same in every store.
const SHARED: [&str; 7] =
    ["machine", "environment", "description", "plan", "baseline", "kept_file", "kept"];

/// Rows known by an integer that means something in one store only.
const LOCAL: [&str; 4] = ["run", "series", "counter", "invocation"];

/// Rows with a key below an invocation.
const OF_INVOCATION: [&str; 11] = [
    "measures",
    "invocation_end",
    "batch",
    "sample",
    "value",
    "histogram",
    "flag",
    "interference",
    "exclusion",
    "monitor_chunk",
    "counter_amount",
];

/// Rows that all their columns make.
const FACTS: [&str; 10] = [
    "label",
    "segment",
    "run_end",
    "target",
    "requirement",
    "fixture",
    "decision",
    "log",
    "preparation",
    "audit",
];

/// Takes over what the store at `other` holds and the one at `path`, which `db` is connected to,
/// does not; `source` is where people know it from.
pub(super) fn merge(
    db: &mut Connection,
    path: &Path,
    other: &Path,
    source: &str,
) -> Result<MergeReport, DbError> {
    attach(db, path, other)?;
    // Locked from the beginning: a transaction that first reads may find that it can't write any more, and would not
    // wait.
    let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let merge = Merge { db: &step, other, source };
    let (report, changed) = merge.take_over()?;
    // Dropped without a commit, an import that brought nothing new leaves no note and no new version.
    if changed > 0 {
        merge.note(report)?;
        merge.check()?;
        step.commit()?;
    }
    Ok(report)
}

/// Attaches a copy of the other store, whose files are gone when this returns: SQLite holds them
/// open, and nothing is left when plumb is killed.
fn attach(db: &Connection, path: &Path, other: &Path) -> Result<(), DbError> {
    let known = |error: DbError| DbError::from(error.about(other));
    let copy = Snapshot::take(other, path).map_err(known)?;
    db.execute("ATTACH ? AS other", [copy.path().as_os_str().as_bytes()])?;
    // Reads, so that the files are open.
    db.query_row("SELECT count(*) FROM other.run", [], |_| Ok(()))?;
    Ok(())
}

/// A merge under way, in one transaction.
struct Merge<'a> {
    db: &'a Connection,
    other: &'a Path,
    source: &'a str,
}

/// A column that is taken over.
struct MergedColumn {
    name: String,
    /// Whether it tells the row from others in every store.
    key: bool,
}

impl MergedColumn {
    /// What it is in this store, for a row of the other.
    fn translated(&self) -> String {
        match self.name.as_str() {
            map @ ("run" | "invocation" | "series" | "counter") => {
                format!("(SELECT here FROM temp.{map}_map AS map WHERE map.there = there.{map})")
            }
            // The invocation above the 20 bits of the sample's index.
            "sample" => "((SELECT here FROM temp.invocation_map AS map \
                         WHERE map.there = there.sample >> 20) << 20) + (there.sample & 1048575)"
                .to_owned(),
            name => format!("there.{name}"),
        }
    }

    /// Whether a row of this store and one of the other have the same in it.
    fn same(&self) -> String {
        // Not `=`, by which a null differs from a null.
        format!("here.{} IS {}", self.name, self.translated())
    }
}

impl Merge<'_> {
    /// Takes everything over; gives what came, and the number of new rows of any kind.
    fn take_over(&self) -> Result<(MergeReport, usize), DbError> {
        let mut report = MergeReport::default();
        let mut changed = 0;
        // Parents before children: the rows of a table refer to those of the tables above, in which they must be found.
        for table in SHARED {
            changed += self.add(table)?;
        }
        if fleet::has_tables(self.db, "other")? {
            fleet::create(self.db)?;
            for table in fleet::TABLES {
                changed += self.add(table)?;
            }
        }
        if slurm::has_tables(self.db, "other")? {
            slurm::create(self.db)?;
            for table in slurm::TABLES {
                changed += self.add(table)?;
            }
        }
        report.runs = self.add("run")?;
        self.map("run")?;
        changed += report.runs + self.add("series")?;
        self.map("series")?;
        changed += self.add("counter")?;
        self.map("counter")?;
        report.invocations = self.add("invocation")?;
        self.map("invocation")?;
        changed += report.invocations;
        for table in OF_INVOCATION {
            let added = self.add(table)?;
            changed += added;
            if table == "sample" {
                report.samples = added;
            }
        }
        for table in FACTS {
            changed += self.add_facts(table)?;
        }
        Ok((report, changed))
    }

    /// Adds the rows whose key is not here; rows with the same key must be the same.
    fn add(&self, table: &str) -> Result<usize, DbError> {
        let columns = self.columns(table)?;
        // `ON CONFLICT DO NOTHING` would silently keep this store's row, so contradictions are found first.
        self.agree(table, &columns)?;
        self.execute(&format!(
            // Without `WHERE true` SQLite would take `ON` for the condition of a join.
            "INSERT INTO main.{table} ({}) SELECT {} FROM other.{table} AS there WHERE true \
             ON CONFLICT DO NOTHING",
            join(&columns, ", ", |column| column.name.clone()),
            join(&columns, ", ", MergedColumn::translated),
        ))
    }

    /// Adds the rows that are not here with all their columns.
    fn add_facts(&self, table: &str) -> Result<usize, DbError> {
        let columns = self.columns(table)?;
        let names = join(&columns, ", ", |column| column.name.clone());
        self.execute(&format!(
            "INSERT INTO main.{table} ({names}) SELECT {} FROM other.{table} AS there \
             EXCEPT SELECT {names} FROM main.{table}",
            join(&columns, ", ", MergedColumn::translated),
        ))
    }

    fn execute(&self, sql: &str) -> Result<usize, DbError> {
        self.db.execute(sql, []).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => self.contradiction(error.to_string()),
            _ => error.into(),
        })
    }

    fn contradiction(&self, what: String) -> DbError {
        StoreError::Contradiction { path: self.other.to_owned(), what }.into()
    }

    fn agree(&self, table: &str, columns: &[MergedColumn]) -> Result<(), DbError> {
        let (keys, rest): (Vec<_>, Vec<_>) = columns.iter().partition(|column| column.key);
        if rest.is_empty() {
            return Ok(());
        }
        let differ: bool = self.db.query_row(
            &format!(
                "SELECT EXISTS (SELECT 1 FROM other.{table} AS there \
                 JOIN main.{table} AS here ON {} WHERE NOT ({}))",
                join(&keys, " AND ", |column| column.same()),
                join(&rest, " AND ", |column| column.same()),
            ),
            [],
            |row| row.get(0),
        )?;
        if differ {
            return Err(
                self.contradiction(format!("the same row of `{table}` has different contents"))
            );
        }
        Ok(())
    }

    /// Notes which local integer of the other store is which here.
    fn map(&self, table: &str) -> Result<(), DbError> {
        let columns = self.columns(table)?;
        let keys: Vec<_> = columns.iter().filter(|column| column.key).collect();
        self.db.execute_batch(&format!(
            "CREATE TEMP TABLE {table}_map (there INTEGER PRIMARY KEY, here INTEGER NOT NULL); \
             INSERT INTO temp.{table}_map SELECT there.id, here.id FROM other.{table} AS there \
             JOIN main.{table} AS here ON {};",
            join(&keys, " AND ", |column| column.same()),
        ))?;
        Ok(())
    }

    /// The columns of a table, but for the local integer that it is known by.
    fn columns(&self, table: &str) -> Result<Vec<MergedColumn>, DbError> {
        let mut select =
            self.db.prepare("SELECT name, pk > 0 FROM pragma_table_info(?, 'main')")?;
        let rows = select.query_map([table], |row| {
            let (name, primary): (String, bool) = (row.get(0)?, row.get(1)?);
            // These are known by an integer without having a UUID: all else makes them.
            let key = primary || name == "uuid" || matches!(table, "series" | "counter");
            Ok(MergedColumn { name, key })
        })?;
        let columns: Vec<_> = rows.collect::<Result<_, _>>()?;
        let local = LOCAL.contains(&table);
        Ok(columns.into_iter().filter(|column| !(local && column.name == "id")).collect())
    }

    /// Notes where it came from; says nothing of measurements, so it is never merged itself.
    fn note(&self, report: MergeReport) -> Result<(), DbError> {
        self.db.execute(
            "INSERT INTO import VALUES (unixepoch() * 1000000000, ?, ?, ?, ?)",
            params![
                self.source,
                content::count(report.runs),
                content::count(report.invocations),
                content::count(report.samples)
            ],
        )?;
        Ok(())
    }

    /// Reads back what came: a store that was changed by hand must not spoil this one.
    fn check(&self) -> Result<(), DbError> {
        let mut select = self
            .db
            .prepare("SELECT uuid FROM main.run JOIN temp.run_map ON run_map.here = run.id")?;
        let runs: Vec<_> = select
            .query_map([], |row| Ok(content::identity(row.get(0)?)))?
            .collect::<Result<_, _>>()?;
        for run in runs {
            read::record(self.db, run).map_err(|error| DbError::from(error.about(self.other)))?;
        }
        Ok(())
    }
}

fn join<T>(columns: &[T], separator: &str, show: impl Fn(&T) -> String) -> String {
    columns.iter().map(show).collect::<Vec<_>>().join(separator)
}
