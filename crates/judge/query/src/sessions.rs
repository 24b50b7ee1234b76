//! What earlier repeated comparisons say of the noise between sessions.

use std::collections::BTreeMap;

use plumb_analysis::{SESSIONS_LABEL, session_log_ratios, summarise};
use plumb_model::{Host, RunStatus};
use plumb_store::{Store, StoreError};

/// The newest sessions that are read: each takes the samples of its run.
const MOST_READ: usize = 60;

/// The log ratios of comparisons that were repeated on this host, those with this value of the sessions' label left out: a
/// list of sessions for each side of each comparison.
///
/// # Errors
/// When the store can't be read.
pub fn earlier_sessions(
    store: &Store,
    host: &Host,
    except: &str,
) -> Result<Vec<Vec<f64>>, StoreError> {
    let mut of_sides: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
    let summaries = store.summaries()?;
    let sessions = summaries.iter().rev().filter_map(|run| {
        let label = run.labels.get(SESSIONS_LABEL)?;
        let counts = run.status == RunStatus::Complete && run.host == *host && label != except;
        counts.then_some((label, run.run))
    });
    for (label, run) in sessions.take(MOST_READ) {
        let finding = summarise(&store.record(run)?);
        for (side, log_ratio) in session_log_ratios(&finding).into_iter().enumerate() {
            of_sides.entry((label.clone(), side)).or_default().push(log_ratio);
        }
    }
    Ok(of_sides.into_values().filter(|sessions| sessions.len() > 1).collect())
}
