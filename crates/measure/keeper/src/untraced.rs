//! A process that a tracer of its parent does not trace.
#![expect(unsafe_code, reason = "clone with flags has no safe form")]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};

/// How the pid of an untraced process comes to its parent, which has started another one.
pub struct UntracedPid {
    reader: File,
    writer: OwnedFd,
}

impl UntracedPid {
    /// A pipe for it.
    ///
    /// # Errors
    /// When there can be no more files.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { reader: reader.into(), writer })
    }

    /// The end for [`leave_tracer`].
    pub fn writer(&self) -> io::Result<OwnedFd> {
        self.writer.try_clone()
    }

    /// The pid, once the process was started.
    ///
    /// # Errors
    /// When it was not.
    pub fn read(self) -> io::Result<u32> {
        drop(self.writer);
        let mut reader = self.reader;
        let mut pid = [0; 4];
        reader.read_exact(&mut pid)?;
        Ok(u32::from_ne_bytes(pid))
    }
}

/// Returns in a new process with the same parent, which no tracer is attached to: `strace -f` asks the kernel to attach it to
/// every child, but not to one that is cloned with `CLONE_UNTRACED` (clone(2)). The calling process writes the new pid, and ends.
///
/// It allocates nothing, so that it may stand between fork and exec, in a process with one thread.
///
/// # Errors
/// What the kernel says.
pub fn leave_tracer(pid_writer: &OwnedFd) -> io::Result<()> {
    // With the parent of the caller, the new process is waited for, killed and watched like any other.
    let flags = libc::CLONE_UNTRACED | libc::CLONE_PARENT | libc::SIGCHLD;
    // SAFETY: without CLONE_VM and a stack this is fork(2); nothing is passed but numbers.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0, 0, 0, 0) };
    match u32::try_from(pid) {
        Ok(0) => Ok(rustix::process::setpgid(None, None)?),
        Ok(pid) => {
            let bytes = pid.to_ne_bytes();
            // SAFETY: the bytes live for the call, and the file is open.
            unsafe {
                let written =
                    libc::write(pid_writer.as_raw_fd(), bytes.as_ptr().cast(), bytes.len());
                libc::_exit(i32::from(written < 0))
            }
        }
        Err(_) => Err(io::Error::last_os_error()),
    }
}
