//! Whether systemd has started this machine.

use plumb_machine::Root;
use plumb_protocol::StartError;

/// The name of PID 1.
pub fn first_process(root: &Root) -> String {
    root.text("/proc/1/comm").unwrap_or_else(|| "unknown".to_owned())
}

/// Whether PID 1 is systemd.
pub fn runs(root: &Root) -> bool {
    first_process(root) == "systemd"
}

/// Refuses a container: what its files say of the boot is true of another machine.
///
/// # Errors
/// Unsupported, with the container's manager.
pub fn refuse_container(root: &Root) -> Result<(), StartError> {
    match plumb_machine::container(root) {
        None => Ok(()),
        Some(manager) => Err(StartError::unsupported(
            format!(
                "this is a container ({manager}): firmware, kernel and boot are those of its host"
            ),
            "measure on the host",
        )),
    }
}
