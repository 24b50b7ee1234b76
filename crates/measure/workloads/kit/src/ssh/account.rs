//! Who runs this process, and logs in.
#![expect(unsafe_code, reason = "the user database has no safe form in std")]

use std::ffi::CStr;
use std::io;

use plumb_protocol::{Failure, StartError};

/// An entry of the user database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserAccount {
    /// Its login name.
    pub name: String,
    /// Its login shell; empty stands for /bin/sh.
    pub shell: String,
}

impl UserAccount {
    /// The account of the effective user.
    ///
    /// # Errors
    /// When the user database does not know it, unsupported when nobody can log in to it.
    pub fn current() -> Result<Self, StartError> {
        let user =
            Self::read().map_err(|error| Failure::io("looking up the current user", &error))?;
        if user.may_log_in() {
            return Ok(user);
        }
        Err(StartError::unsupported(
            format!("{} has the shell {} and can't log in", user.name, user.shell),
            "run plumb as a user with a login shell",
        ))
    }

    fn read() -> io::Result<Self> {
        let mut buffer = vec![0; 16 << 10];
        let mut found = std::ptr::null_mut();
        // SAFETY: passwd is plain pointers and numbers; every pointer is valid, and the strings are
        // copied while the buffer that holds them lives.
        unsafe {
            let mut entry: libc::passwd = std::mem::zeroed();
            let result = libc::getpwuid_r(
                libc::geteuid(),
                &raw mut entry,
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            );
            if result != 0 {
                return Err(io::Error::from_raw_os_error(result));
            }
            if found.is_null() {
                return Err(io::ErrorKind::NotFound.into());
            }
            let text = |at: *const libc::c_char| CStr::from_ptr(at).to_string_lossy().into_owned();
            Ok(Self { name: text(entry.pw_name), shell: text(entry.pw_shell) })
        }
    }

    /// Whether a session of this account could run a command.
    fn may_log_in(&self) -> bool {
        !matches!(self.shell.rsplit('/').next(), Some("nologin" | "false"))
    }
}

#[cfg(test)]
mod tests {
    use super::UserAccount;

    #[test]
    fn accounts_without_a_shell_are_told() {
        let user = |shell: &str| UserAccount { name: "x".into(), shell: shell.into() };
        assert!(user("/bin/bash").may_log_in() && user("").may_log_in());
        assert!(!user("/usr/sbin/nologin").may_log_in() && !user("/bin/false").may_log_in());
    }
}
