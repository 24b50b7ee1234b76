//! Common steps of all filesystems: make one on the device below, and mount it.

use std::process::Command;

use plumb_machine::Root;
use plumb_protocol::StartError;
use plumb_workload_kit::tool::{run, tool};

use crate::building::Building;
use crate::needs::{MissingNeed, no_filesystem, no_program};

/// What the kernel, or the system, lacks for a filesystem that this program of this package makes.
pub fn missing(root: &Root, kind: &str, maker: &str, package: &str) -> Option<MissingNeed> {
    no_filesystem(root, kind)
        .or_else(|| no_program(maker, package))
        .or_else(|| no_program("mount", "mount"))
}

/// Makes one with these arguments, and mounts it with these options and the user's.
///
/// # Errors
/// With what the programs say.
pub fn lay(
    building: &mut Building<'_>,
    kind: &str,
    maker: &mut Command,
    options: [&str; 2],
) -> Result<(), StartError> {
    let device = building.surface.clone();
    run(maker.arg(&device), &[])?;
    let options: Vec<&str> = options.into_iter().filter(|option| !option.is_empty()).collect();
    building.mount(kind, &options.join(","), &device)
}

/// The maker of the ext family. Nothing is discarded, and no table is left to a thread of the kernel that would write
/// it while something is measured.
pub fn mke2fs(kind: &str) -> Command {
    let mut maker = tool(&format!("mkfs.{kind}"));
    maker.args(["-q", "-F", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"]);
    maker
}
