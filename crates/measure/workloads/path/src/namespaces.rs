//! Network namespaces without a name: they live as long as somebody has them open.
#![expect(unsafe_code, reason = "what a thread shares with others has no safe form")]

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use plumb_protocol::StartError;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// Switches with which some systems keep users from their own namespaces, with the value that allows them.
const SWITCHES: [(&str, &str); 3] = [
    ("kernel.unprivileged_userns_clone", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "0"),
    ("user.max_user_namespaces", "10000"),
];

/// Moves the calling thread into a separate network namespace, and opens that; says whether it took a user namespace, too,
/// as it does if the caller is not root.
///
/// # Errors
/// Unsupported when the kernel refuses.
pub(crate) fn first() -> Result<(File, bool), StartError> {
    if let Ok(network) = another() {
        return Ok((network, false));
    }
    become_user(0, 0).map_err(refused)?;
    Ok((another().map_err(refused)?, true))
}

/// Moves the calling thread into another separate network namespace, and opens that.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn another() -> io::Result<File> {
    unshare(UnshareFlags::NEWNET)?;
    File::open("/proc/thread-self/ns/net")
}

/// Moves the calling thread into this network namespace.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn enter(network: &File) -> io::Result<()> {
    Ok(move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?)
}

/// Moves the process, which has one thread, into this user namespace.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn become_root_in(user: &Path) -> io::Result<()> {
    let user = File::open(user)?;
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Takes a user namespace in which this process, which has one thread, is this user and this group.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn become_user(user: u32, group: u32) -> io::Result<()> {
    let from_user = rustix::process::geteuid();
    let from_group = rustix::process::getegid();
    unshare(UnshareFlags::NEWUSER)?;
    // The workers of this user open what lies below /proc of this process.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {} 1", from_user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("{group} {} 1", from_group.as_raw()))
}

fn unshare(what: UnshareFlags) -> io::Result<()> {
    // SAFETY: file descriptors stay shared.
    Ok(unsafe { unshare_unsafe(what) }?)
}

fn refused(error: io::Error) -> StartError {
    let shut = SWITCHES.iter().find(|(name, open)| {
        let value = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/")));
        value.is_ok_and(|value| (value.trim() == "0") == (*open != "0"))
    });
    let fix = match shut {
        Some((name, open)) => format!("sudo sysctl {name}={open}"),
        None => "run plumb as root, or allow users to make namespaces".to_owned(),
    };
    StartError::unsupported(format!("cannot create a network namespace: {error}"), fix)
}
