//! One measuring plumb at a time on a machine, so that two runs don't disturb each other.
//!
//! The lock is an abstract Unix socket: it leaves no file, dies with its holder however that dies, and
//! names the holder. It does not reach into other network namespaces.

use std::fmt;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
    sockopt::socket_peercred,
};

/// The lock; released when dropped.
#[derive(Debug)]
pub struct MeasuringLock {
    _socket: OwnedFd,
}

/// Why the lock can't be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockError {
    /// Another plumb measures; its pid if the kernel tells.
    Held(Option<i32>),
    /// The kernel refuses such sockets.
    System(String),
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(Some(pid)) => write!(f, "another plumb is measuring (pid {pid})"),
            Self::Held(None) => write!(f, "another plumb is measuring"),
            Self::System(why) => write!(f, "can't take the measuring lock: {why}"),
        }
    }
}

impl std::error::Error for LockError {}

impl MeasuringLock {
    /// Takes the lock of this name, if nobody has it. `plumb` is the name of the product's lock.
    ///
    /// # Errors
    /// [`LockError::Held`] when another process has it.
    pub fn try_take(name: &str) -> Result<Self, LockError> {
        // The kernel frees an abstract name when its process ends, however it ends: no lock is left over.
        let address = SocketAddrUnix::new_abstract_name(format!("{name}-measuring").as_bytes())
            .map_err(system_error)?;
        let socket = stream_socket().map_err(system_error)?;
        match bind(&socket, &address) {
            Ok(()) => {
                // It accepts nobody, but only a listening socket lets the next one connect and read the holder's pid.
                listen(&socket, 1).map_err(system_error)?;
                Ok(Self { _socket: socket })
            }
            Err(Errno::ADDRINUSE) => Err(LockError::Held(holder(&address))),
            Err(error) => Err(system_error(error)),
        }
    }
}

fn system_error(error: Errno) -> LockError {
    LockError::System(error.to_string())
}

fn stream_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

fn holder(address: &SocketAddrUnix) -> Option<i32> {
    let socket = stream_socket().ok()?;
    connect(&socket, address).ok()?;
    Some(socket_peercred(&socket).ok()?.pid.as_raw_nonzero().get())
}

#[cfg(test)]
mod tests {
    use super::{LockError, MeasuringLock};

    #[test]
    fn the_second_is_told_who_has_it_and_gets_it_after() {
        let name = format!("test-{}", std::process::id());
        let first = MeasuringLock::try_take(&name).unwrap();
        let me = i32::try_from(std::process::id()).ok();
        assert_eq!(MeasuringLock::try_take(&name).unwrap_err(), LockError::Held(me));
        drop(first);
        assert!(MeasuringLock::try_take(&name).is_ok());
    }
}
