//! The measuring lock: one plumb measures at a time.

use plumb_keeper::{LockError, MeasuringLock};

use crate::error::{CommandError, Result};
use crate::interrupt;
use crate::ui::Ui;

/// How long to sleep between two tries for the measuring lock.
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_millis(200);

/// Waits for the lock.
pub fn take_lock(ui: &Ui) -> Result<MeasuringLock> {
    let mut told = false;
    loop {
        match MeasuringLock::try_take("plumb") {
            Ok(lock) => return Ok(lock),
            Err(LockError::System(why)) => {
                return Err(CommandError::nothing(why).hint("--no-lock measures without it"));
            }
            Err(held) => {
                if !told {
                    ui.say(&format!("{held}; waiting until it ends (--no-lock does not wait)"));
                    told = true;
                }
                if interrupt::is_interrupted() {
                    return Err(CommandError::interrupted("interrupted while waiting"));
                }
                std::thread::sleep(LOCK_PAUSE);
            }
        }
    }
}
