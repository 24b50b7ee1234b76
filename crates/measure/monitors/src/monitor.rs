//! What a monitor is.

use plumb_machine::Root;

use crate::counter_buffer::{CounterBuffer, CounterParser};

/// Readings a second of the cheap monitors that show bursts.
pub const FAST_HZ: f64 = 10.0;
/// Readings a second of the others.
pub const SLOW_HZ: f64 = 1.0;
/// A monitor, described without starting it.
#[derive(Debug)]
pub struct Monitor {
    /// Its name, the first part of its counters' names.
    pub name: &'static str,
    /// Its readings, in one line.
    pub summary: &'static str,
    /// Its manual page, in Markdown.
    pub manual: &'static str,
    /// Readings a second if nobody says otherwise; None: it reads only when it is asked for.
    pub default_hz: Option<f64>,
    /// Whether a reading may take long, so that it gets its own thread.
    pub slow: bool,
    /// The parsers for the texts of its files.
    pub parsers: &'static [CounterParser],
    /// Opens its files; the error says why this machine does not have it.
    pub open: fn(&Root) -> Result<Box<dyn CounterSource>, String>,
}

/// An opened monitor.
pub trait CounterSource: Send {
    /// Another process is measured from now on; None if its number is not known.
    ///
    /// # Errors
    /// Why it can't be watched.
    fn attach(&mut self, _worker: Option<u32>) -> Result<(), String> {
        Ok(())
    }

    /// Reads all counters once.
    ///
    /// # Errors
    /// Why they can't be read now.
    fn read(&mut self, buffer: &mut CounterBuffer) -> Result<(), String>;
}
