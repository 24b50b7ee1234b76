//! Who does the work: as bonnie++ does, root may do it as somebody else.

use std::os::unix::fs::chown;
use std::path::Path;

use plumb_protocol::StartError;
use plumb_workload_kit::users::ids;
use rustix::process::{Gid, Signal, Uid, geteuid, getppid, set_parent_process_death_signal};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// Gives the folder to a user, and makes this thread and those that it starts theirs; nothing if there is no name.
///
/// # Errors
/// When there is no such user, or plumb is not root.
pub fn become_user(name: &str, folder: &Path) -> Result<(), StartError> {
    if name.is_empty() {
        return Ok(());
    }
    let (uid, gid) = ids(name)
        .ok_or_else(|| StartError::Failed(format!("there is no user `{name}` in /etc/passwd")))?;
    if geteuid().as_raw() == uid {
        return Ok(());
    }
    if !geteuid().is_root() {
        let why = format!("only root can run as another user, here `{name}`");
        return Err(StartError::unsupported(why, "run plumb as root, or leave `user` out"));
    }
    let failed = |what: &str, error: std::io::Error| {
        StartError::Failed(format!("becoming user `{name}`: {what}: {error}"))
    };
    chown(folder, Some(uid), Some(gid))
        .map_err(|error| failed("changing the folder's owner", error))?;
    // Groups go first: a user that is not root may not change them any more.
    let uid = Uid::from_raw(uid);
    let gid = Gid::from_raw(gid);
    set_thread_groups(&[gid])
        .and_then(|()| set_thread_res_gid(gid, gid, gid))
        .and_then(|()| set_thread_res_uid(uid, uid, uid))
        // The kernel forgets it with a change of user: nobody of ours is to outlive the keeper.
        .and_then(|()| set_parent_process_death_signal(Some(Signal::KILL)))
        .map_err(|error| failed("changing the user", error.into()))?;
    match getppid() {
        Some(parent) if !parent.is_init() => Ok(()),
        _ => Err(StartError::Failed("plumb has ended".to_owned())),
    }
}
