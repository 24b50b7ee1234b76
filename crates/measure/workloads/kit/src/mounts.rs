//! Mounts that only this process and its children see, and that the kernel takes away when they end.
#![expect(unsafe_code, reason = "a namespace of one's own has no safe form")]

use std::io;

use plumb_protocol::StartError;

/// Enters a separate mount namespace: mounts of others still appear here, mounts made here stay here. Of the
/// calling thread and what it starts.
///
/// # Errors
/// Unsupported when the kernel refuses: it takes CAP_SYS_ADMIN.
pub fn enter_own() -> Result<(), StartError> {
    unshared().map_err(|error| {
        let why = format!("cannot create a mount namespace: {error}");
        StartError::unsupported(why, "start plumb outside the container, or give it CAP_SYS_ADMIN")
    })
}

fn unshared() -> io::Result<()> {
    let none = std::ptr::null();
    let root = c"/".as_ptr();
    // SAFETY: no memory is shared; the strings are static.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) < 0 {
            return Err(io::Error::last_os_error());
        }
        let flags = libc::MS_REC | libc::MS_SLAVE;
        if libc::mount(none, root, none, flags, std::ptr::null()) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
