//! Starts programs.
#![expect(unsafe_code, reason = "what is done between fork and exec has no safe form")]

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Signal, chdir, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use plumb_protocol::{PADDING, PADDING_LENGTH};

use crate::signals::reset;
use crate::spawn_options::SpawnOptions;
use crate::untraced::{UntracedPid, leave_tracer};

/// A program that was started.
pub struct StartedProgram {
    /// What was started first: the program, unless it is to be untraced.
    pub child: Child,
    /// The process of the program.
    pub pid: u32,
}

/// Starts a program that ends with this process.
///
/// # Errors
/// What the system says.
pub fn start(
    argv: &[String],
    cwd: Option<&str>,
    options: SpawnOptions,
    [stdin, stdout, stderr]: [OwnedFd; 3],
) -> io::Result<StartedProgram> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout));
    command.stderr(Stdio::from(stderr)).process_group(0);
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    for (name, value) in &options.variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(bytes) = options.padding {
        command.env(PADDING, "x".repeat(bytes));
        if options.same_padding {
            command.env(PADDING_LENGTH, bytes.to_string());
        }
    }
    // Files are opened here, as nothing may be allocated between fork and exec.
    let mounts = options.mounts_of.map(|pid| Mounts::of(pid, cwd)).transpose()?;
    let groups: Vec<fs::File> =
        options.groups.iter().map(|group| entrance(group)).collect::<io::Result<_>>()?;
    let parent = rustix::process::getpid();
    let untraced = if options.untraced { Some(UntracedPid::new()?) } else { None };
    let pid_writer = untraced.as_ref().map(UntracedPid::writer).transpose()?;
    // SAFETY: the closure calls only async-signal-safe functions and touches no memory of the parent.
    unsafe {
        command.pre_exec(move || {
            if let Some(pid_writer) = &pid_writer {
                leave_tracer(pid_writer)?;
            }
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // If the keeper ended before that call, no signal comes any more.
            if rustix::process::getppid() != Some(parent) {
                return Err(io::Error::other("the keeper has ended"));
            }
            reset();
            if let Some(mounts) = &mounts {
                mounts.enter()?;
            }
            for group in &groups {
                // "0" stands for whoever writes it.
                rustix::io::write(group, b"0")?;
            }
            // After the group: joining a cpuset can give the process all of its CPUs, over a narrower affinity.
            options.take_on()
        });
    }
    let child = command.spawn()?;
    // The closure has the other end of the pipe.
    drop(command);
    let pid = match untraced {
        Some(untraced) => untraced.read()?,
        None => child.id(),
    };
    Ok(StartedProgram { child, pid })
}

/// Mounts that another process sees.
struct Mounts {
    namespace: fs::File,
    /// The working directory, which entering them leaves.
    cwd: CString,
}

impl Mounts {
    fn of(pid: u32, cwd: Option<&str>) -> io::Result<Self> {
        let namespace = fs::File::open(format!("/proc/{pid}/ns/mnt"))
            .map_err(|error| io::Error::other(format!("the medium no longer exists: {error}")))?;
        let cwd = match cwd {
            Some(cwd) => cwd.as_bytes().to_vec(),
            None => std::env::current_dir()?.into_os_string().into_vec(),
        };
        Ok(Self { namespace, cwd: CString::new(cwd)? })
    }

    /// For the calling process. It allocates nothing, so that it may stand between fork and exec.
    fn enter(&self) -> io::Result<()> {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
        Ok(chdir(&*self.cwd)?)
    }
}

/// The file of a control group that takes new members.
fn entrance(group: &str) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).open(Path::new(group).join("cgroup.procs"))
}
