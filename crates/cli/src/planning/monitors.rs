//! Monitors as they are typed: with `--monitor`, and in suites.

use crate::error::{CommandError, Result};

/// The words of `--monitor`, or of the key `monitors` of a suite, checked.
///
/// # Errors
/// When there is no such monitor, or it can't be read so often.
pub fn monitors(from: &str, words: Vec<String>) -> Result<Vec<String>> {
    plumb_monitors::wanted(&words).map_err(|why| {
        let names: Vec<&str> = plumb_monitors::ALL.iter().map(|monitor| monitor.name).collect();
        CommandError::usage(format!("{from}: {why}"))
            .hint(format!("known monitors: {}", names.join(", ")))
            .hint("--monitor perf adds one, --monitor stat=20 sets its rate, --monitor none turns all off")
    })?;
    Ok(words)
}
