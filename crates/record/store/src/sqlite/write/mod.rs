//! Fills the store while a run goes on: one event, one committed transaction.
//!
//! What the writer knows of the run is copied, changed and put back only after the commit, so that
//! an event that could not be stored leaves it as it was.

mod invocation;
mod monitored;
mod run;

use std::path::PathBuf;

use plumb_model::{Event, EventSink, SinkError, Stamped};
use rusqlite::{Connection, TransactionBehavior};

use crate::backend::Writer;
use crate::error::StoreError;
use crate::sqlite::db_error::{DbError, at};
use run::OpenRun;

/// Listens to the engine; what it took is committed.
#[derive(Debug)]
pub(super) struct SqliteWriter {
    connection: Connection,
    path: PathBuf,
    run: Option<OpenRun>,
}

impl EventSink for SqliteWriter {
    fn take(&mut self, event: &Stamped) -> Result<(), SinkError> {
        self.write(event).map_err(|error| SinkError(error.to_string()))
    }
}

impl Writer for SqliteWriter {
    fn write(&mut self, event: &Stamped) -> Result<(), StoreError> {
        let stored = self.commit(event);
        at(&self.path, stored)
    }
}

impl SqliteWriter {
    pub(super) fn new(connection: Connection, path: PathBuf) -> Self {
        Self { connection, path, run: None }
    }

    fn commit(&mut self, event: &Stamped) -> Result<(), DbError> {
        // What a program says while it works is no fact of the run. Writing it would also cost a commit next to the
        // measurement.
        if matches!(event.event, Event::Progress { .. }) {
            return Ok(());
        }
        let step = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // On a copy: if the commit fails, what is in memory must not be ahead of the file.
        let run = next(&step, self.run.clone(), event)?;
        step.commit()?;
        self.run = run;
        Ok(())
    }
}

/// Stores an event and gives what is known of the run after it.
fn next(
    db: &Connection,
    run: Option<OpenRun>,
    stamped: &Stamped,
) -> Result<Option<OpenRun>, DbError> {
    let at_ns = stamped.at_ns;
    match (&stamped.event, run) {
        (Event::RunStarted { run, started_unix_ns, plumb, command, plan }, _) => {
            Ok(Some(run::begin(db, *run, *started_unix_ns, plumb, command, plan)?))
        }
        (Event::SegmentStarted { run, segment, started_unix_ns, monotonic_ns, owner }, open) => {
            let mut open = match open {
                Some(open) if open.uuid == *run => open,
                _ => run::resume(db, *run)?,
            };
            open.start_segment(db, *segment, *started_unix_ns, *monotonic_ns, owner)?;
            Ok(Some(open))
        }
        (Event::RunEnded { ended_unix_ns, interrupted }, Some(open)) => {
            open.end(db, at_ns, *ended_unix_ns, *interrupted)?;
            Ok(None)
        }
        (event, Some(mut open)) => {
            open.event(db, at_ns, event)?;
            open.ordinal += 1;
            Ok(Some(open))
        }
        (_, None) => Err(DbError::Invalid("an event came before its run had started".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::{SqliteWriter, Writer as _};
    use crate::events::{Script, batch, fold, id, work};
    use crate::sqlite::open;
    use crate::{Store, StoreError};
    use plumb_model::{Event, Role};

    /// The database's own limit stands in for the disk: it needs neither root nor a mount, and
    /// SQLite answers both with the same code.
    fn limit_pages(writer: &SqliteWriter, pages: u32) {
        writer
            .connection
            .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .unwrap();
    }

    #[test]
    fn a_full_disk_ends_the_run_and_keeps_what_was_acknowledged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plumb.db");
        let store = Store::open(&path).unwrap();
        let mut script = Script::new(id(1), 5, &[]);
        script.start(id(2), 0, Role::Workload, work("bandwidth", 1.0));
        for n in 0..200 {
            script.batch(id(2), batch(n * 1_000_000, 500));
        }
        let mut writer = SqliteWriter::new(open::writable(&path).ok().unwrap(), path.clone());
        limit_pages(&writer, 100);
        let taken = script.events.iter().take_while(|event| writer.write(event).is_ok()).count();
        assert!(taken > 10 && taken < script.events.len(), "{taken}");
        let error = writer.write(&script.events[taken]).unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }));
        let text = error.to_string();
        for words in [path.to_str().unwrap(), "no space", "stored data are safe"] {
            assert!(text.contains(words), "no `{words}` in: {text}");
        }
        assert_eq!(store.record(id(1)).unwrap(), fold(&script.events[..taken]));
        // Space again: the same writer goes on where it was.
        limit_pages(&writer, 1 << 30);
        for event in &script.events[taken..] {
            writer.write(event).unwrap();
        }
        assert_eq!(store.record(id(1)).unwrap(), fold(&script.events));
    }

    #[test]
    fn progress_is_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plumb.db");
        let store = Store::open(&path).unwrap();
        let mut script = Script::new(id(1), 5, &[]);
        script.start(id(2), 0, Role::Workload, work("bandwidth", 1.0));
        let told = script.events.len();
        script.say(Event::Progress { point: 0, text: "phase 1 of 12: write_byte".into() });
        script.batch(id(2), batch(0, 3));
        let mut writer = SqliteWriter::new(open::writable(&path).ok().unwrap(), path.clone());
        script.events[..told].iter().for_each(|event| writer.write(event).unwrap());
        let changes = writer.connection.total_changes();
        writer.write(&script.events[told]).unwrap();
        assert_eq!(writer.connection.total_changes(), changes);
        writer.write(&script.events[told + 1]).unwrap();
        script.events.remove(told);
        assert_eq!(store.record(id(1)).unwrap(), fold(&script.events));
    }

    #[test]
    fn a_locked_store_is_named_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plumb.db");
        let mut writer = SqliteWriter::new(open::writable(&path).ok().unwrap(), path.clone());
        writer.connection.busy_timeout(std::time::Duration::from_millis(50)).unwrap();
        let holder = rusqlite::Connection::open(&path).unwrap();
        holder.execute_batch("BEGIN IMMEDIATE").unwrap();
        let events = Script::new(id(1), 5, &[]).events;
        let error = writer.write(&events[0]).unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
        let text = error.to_string();
        for words in [path.to_str().unwrap(), "locked by another process", "fuser"] {
            assert!(text.contains(words), "no `{words}` in: {text}");
        }
        assert_eq!(Store::open(&path).unwrap().runs().unwrap().len(), 0, "reading goes on");
        holder.execute_batch("COMMIT").unwrap();
        writer.write(&events[0]).unwrap();
    }
}
