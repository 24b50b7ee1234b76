//! What was found in each series of each run, kept in a file of its own so that nobody computes it again.
//!
//! It is a cache and never the truth: texts that only their author understands, under a version that the author
//! raises when the rules change, and each run with the state ([`crate::RunEnd::state`]) that it was read in.
//! Whoever can't read or write it computes again, so nothing here is an error.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumb_model::Id;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::content::{ContentId, count, identity, keep_text, path_id};
use super::db_error::DbError;
use super::open;

const SCHEMA: &str = "
    CREATE TABLE version (version TEXT NOT NULL) STRICT;
    CREATE TABLE run (run BLOB NOT NULL PRIMARY KEY, state TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE common (id BLOB NOT NULL PRIMARY KEY, json TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE entry (
      series TEXT NOT NULL, run BLOB NOT NULL, n INTEGER NOT NULL,
      common BLOB NOT NULL REFERENCES common, own TEXT NOT NULL,
      PRIMARY KEY (series, run, n)
    ) STRICT, WITHOUT ROWID;";

/// What is kept of a series in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedSeries {
    /// Name of the series.
    pub series: String,
    /// What it has in common with others, which is kept once.
    pub common: Arc<str>,
    /// What is of this series in this run alone.
    pub own: String,
}

/// A cache of series, of one store.
#[derive(Debug)]
pub struct SeriesCache(Connection);

impl SeriesCache {
    /// The file that is the cache of the store at this path, in a folder of caches.
    #[must_use]
    pub fn file(folder: &Path, store: &Path) -> PathBuf {
        let store = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
        folder.join(format!("{}.db", identity(path_id(&store)).simple()))
    }

    /// Opens the cache in this file, empty where its author had another version; None where it can't be had.
    #[must_use]
    pub fn open(file: &Path, version: &str) -> Option<Self> {
        fs::create_dir_all(file.parent()?).ok()?;
        let opened = || Self::opened(file, version).ok();
        opened().or_else(|| {
            // It is damaged, or no cache at all.
            for suffix in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(open::beside(file, suffix));
            }
            opened()
        })
    }

    fn opened(file: &Path, version: &str) -> Result<Self, DbError> {
        let mut db = Connection::open(file)?;
        db.busy_timeout(open::PATIENCE)?;
        db.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        if found(&db)?.as_deref() != Some(version) {
            let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Asked again: another process may have done it meanwhile.
            if found(&step)?.as_deref() != Some(version) {
                step.execute_batch(
                    "DROP TABLE IF EXISTS entry; DROP TABLE IF EXISTS common; \
                     DROP TABLE IF EXISTS run; DROP TABLE IF EXISTS version;",
                )?;
                step.execute_batch(SCHEMA)?;
                step.execute("INSERT INTO version VALUES (?)", [version])?;
            }
            step.commit()?;
        }
        Ok(Self(db))
    }

    /// The runs that are kept whole, each with its state when it was read.
    #[must_use]
    pub fn runs(&self) -> HashMap<Id, String> {
        let read = || -> Result<_, DbError> {
            let mut select = self.0.prepare_cached("SELECT run, state FROM run")?;
            let rows = select.query_map([], |row| Ok((identity(row.get(0)?), row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        read().unwrap_or_default()
    }

    /// What is kept of a series, each with its run; None where that can't be read.
    #[must_use]
    pub fn series(&self, name: &str) -> Option<Vec<(Id, CachedSeries)>> {
        let mut commons: BTreeMap<ContentId, Arc<str>> = BTreeMap::new();
        let mut read = || -> Result<_, DbError> {
            let mut select = self.0.prepare_cached(
                "SELECT run, common, own FROM entry WHERE series = ? ORDER BY run, n",
            )?;
            let mut common = self.0.prepare_cached("SELECT json FROM common WHERE id = ?")?;
            let mut rows = select.query([name])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let id: ContentId = row.get(1)?;
                let common = match commons.get(&id) {
                    Some(known) => Arc::clone(known),
                    None => {
                        let text: Arc<str> = common.query_row([id], |row| row.get(0))?;
                        Arc::clone(commons.entry(id).or_insert(text))
                    }
                };
                let kept = CachedSeries { series: name.to_owned(), common, own: row.get(2)? };
                found.push((identity(row.get(0)?), kept));
            }
            Ok(found)
        };
        read().ok()
    }

    /// Keeps all series of a run that was in this state, in place of what was kept of it.
    pub fn keep(&mut self, run: Id, state: &str, series: &[CachedSeries]) {
        // Without a cache it is computed again.
        let _ = self.kept(run, state, series);
    }

    fn kept(&mut self, run: Id, state: &str, series: &[CachedSeries]) -> Result<(), DbError> {
        let step = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let key = run.as_bytes();
        let known: Option<bool> = step
            .prepare_cached("SELECT true FROM run WHERE run = ?")?
            .query_row([key], |row| row.get(0))
            .optional()?;
        if known.is_some() {
            step.prepare_cached("DELETE FROM entry WHERE run = ?")?.execute([key])?;
        }
        for (n, it) in series.iter().enumerate() {
            let common = keep_text(&step, "common", &it.common)?;
            step.prepare_cached("INSERT INTO entry VALUES (?, ?, ?, ?, ?)")?.execute(params![
                it.series,
                key,
                count(n),
                common,
                it.own
            ])?;
        }
        step.prepare_cached("INSERT OR REPLACE INTO run VALUES (?, ?)")?.execute((key, state))?;
        Ok(step.commit()?)
    }
}

/// The version that it was written under; None in a new file.
fn found(db: &Connection) -> Result<Option<String>, DbError> {
    let has = "SELECT count(*) FROM sqlite_schema WHERE name = 'version'";
    match db.query_row(has, [], |row| row.get(0))? {
        0 => Ok(None),
        _ => Ok(db.query_row("SELECT version FROM version", [], |row| row.get(0)).optional()?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plumb_model::Id;

    use super::{CachedSeries, SeriesCache};

    fn of(series: &str, own: &str) -> CachedSeries {
        CachedSeries { series: series.into(), common: "{\"cpu\":\"a\"}".into(), own: own.into() }
    }

    #[test]
    fn it_gives_back_what_it_was_told_last() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("made/when/needed.db");
        let (one, other) = (Id::from_u128(1), Id::from_u128(2));
        let mut cache = SeriesCache::open(&file, "1").unwrap();
        assert!(cache.runs().is_empty());
        cache.keep(one, "early", &[of("a/x", "1"), of("a/y", "2")]);
        cache.keep(other, "whole", &[of("a/x", "3"), of("a/x", "4")]);
        cache.keep(one, "whole", &[of("a/x", "5")]);
        let again = SeriesCache::open(&file, "1").unwrap();
        assert_eq!(again.runs().len(), 2);
        assert_eq!(again.runs()[&one], "whole");
        let own = |name| -> Vec<_> {
            let all = again.series(name).unwrap().into_iter();
            all.map(|(run, it)| (run, it.own, it.common.len())).collect()
        };
        let found = [(one, "5".to_owned(), 11), (other, "3".into(), 11), (other, "4".into(), 11)];
        assert_eq!(own("a/x"), found);
        assert!(own("a/y").is_empty());
    }

    #[test]
    fn another_version_and_a_damaged_file_begin_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache.db");
        let keep = |version: &str| {
            let mut cache = SeriesCache::open(&file, version).unwrap();
            assert!(cache.runs().is_empty() && cache.series("a/x").unwrap().is_empty());
            cache.keep(Id::from_u128(1), "whole", &[of("a/x", "1")]);
            assert_eq!((cache.runs().len(), cache.series("a/x").unwrap().len()), (1, 1));
        };
        keep("1");
        keep("2");
        fs::write(&file, "no database, and longer than the header of one would be: ".repeat(9))
            .unwrap();
        keep("2");
        let nowhere = folder.path().join("cache.db/below/a/file.db");
        assert!(SeriesCache::open(&nowhere, "1").is_none());
    }
}
