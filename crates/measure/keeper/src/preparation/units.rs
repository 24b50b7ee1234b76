//! Units of systemd that knobs stop.

use plumb_machine::Root;

use crate::preparation::knob::{Assignment, Unusable};
use crate::setting::{OFF, SystemSetting};

/// Whether there are units.
///
/// # Errors
/// When systemd does not run here.
pub fn require_systemd(root: &Root) -> Result<(), Unusable> {
    match root.path("/run/systemd/system").is_dir() {
        true => Ok(()),
        false => Err(Unusable::unsupported("systemd is not running", "")),
    }
}

/// A unit that is stopped.
pub fn stopped(unit: &str, may_refuse: bool) -> Assignment {
    Assignment { setting: SystemSetting::Unit(unit.into()), to: OFF.into(), may_refuse }
}
