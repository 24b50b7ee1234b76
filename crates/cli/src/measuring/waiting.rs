//! Waiting between runs, until a moment or a signal.

use std::time::{Duration, Instant};

use crate::error::{CommandError, Result};
use crate::interrupt;
use crate::ui::Ui;

/// How long to sleep between two looks at the clock and at signals.
const PAUSE: Duration = Duration::from_millis(200);

/// Waits until this moment and shows the time left; `before` names what comes then, as in `before run 2 of 8`.
pub fn wait_until(when: Instant, before: &str, ui: &Ui) -> Result<()> {
    let mut is_interrupted = interrupt::is_interrupted();
    while !is_interrupted && Instant::now() < when {
        let left = when.saturating_duration_since(Instant::now());
        if ui.is_live() {
            let left = plumb_units::length(left.as_secs_f64().ceil());
            ui.draw(&format!("\r\x1b[Kwaiting {left} {before}"));
        }
        std::thread::sleep(PAUSE.min(left));
        is_interrupted = interrupt::is_interrupted();
    }
    if ui.is_live() {
        ui.draw("\r\x1b[K");
    }
    if is_interrupted {
        return Err(CommandError::interrupted(format!("interrupted while waiting {before}")));
    }
    Ok(())
}
