//! Starts programs.
#![expect(unsafe_code, reason = "what is done between fork and exec has no safe form")]

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::signals::reset;
use crate::spawn_options::{PADDING, PADDING_LENGTH, SpawnOptions};

/// Starts a program that ends with this process.
///
/// # Errors
/// What the system says.
pub fn start(
    argv: &[String],
    cwd: Option<&str>,
    options: SpawnOptions,
    [stdin, stdout, stderr]: [OwnedFd; 3],
) -> io::Result<Child> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout));
    command.stderr(Stdio::from(stderr)).process_group(0);
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    if let Some(bytes) = options.padding {
        command.env(PADDING, "x".repeat(bytes));
        if options.same_padding {
            command.env(PADDING_LENGTH, bytes.to_string());
        }
    }
    let group = options.group.as_ref().map(|group| entrance(group)).transpose()?;
    let parent = rustix::process::getpid();
    // SAFETY: the closure calls only async-signal-safe functions and touches no memory of the parent.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if rustix::process::getppid() != Some(parent) {
                return Err(io::Error::other("the keeper is gone"));
            }
            reset();
            if let Some(group) = &group {
                // "0" stands for whoever writes it.
                rustix::io::write(group, b"0")?;
            }
            options.take_on()
        });
    }
    command.spawn()
}

/// The file of a control group that takes new members.
fn entrance(group: &str) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).open(Path::new(group).join("cgroup.procs"))
}
