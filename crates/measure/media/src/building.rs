//! A medium while it is built, and what undoes each step.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_protocol::{Failure, Start, StartError};
use plumb_workload_kit::tool::{run, shown, tool};

/// The parameter that has the stack.
pub const MEDIUM: &str = "medium";
/// The parameter that tells the medium from others of the run.
pub const INDEX: &str = "index";
/// The parameter with the number of its compressed device, if it has one.
pub const ZRAM: &str = "zram";
/// The endpoint that is the folder.
pub const DIR: &str = "dir";

/// How long something that has just been let go may stay busy.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// A medium while it is built.
pub struct Building<'s> {
    /// What the worker was told.
    pub start: &'s Start,
    /// Tells its files from those of other media of the run.
    pub index: u64,
    /// The uppermost layer so far: its folder or its device.
    pub surface: PathBuf,
    /// Names of the layers that are still to come, from below.
    pub above: Vec<&'static str>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    undo: Vec<Undo>,
}

/// How a step is undone.
enum Undo {
    Unmount(PathBuf),
    /// A device that clears itself once it is closed.
    Close(File),
    Remove(PathBuf),
    Daemon(Child),
}

impl<'s> Building<'s> {
    /// Nothing but the folder of the run.
    pub fn new(start: &'s Start, index: u64, above: Vec<&'static str>) -> Self {
        let surface = PathBuf::from(&start.dir);
        Self { start, index, surface, above, notes: Vec::new(), undo: Vec::new() }
    }

    /// What has to be undone, in the order in which it was done.
    pub fn standing(mut self) -> StandingMedium {
        StandingMedium(std::mem::take(&mut self.undo))
    }

    /// A fresh folder for keys and mounts.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn folder(&mut self, name: &str) -> Result<PathBuf, StartError> {
        let depth = self.undo.len();
        let path = Path::new(&self.start.scratch).join(format!("{name}-{}-{depth}", self.index));
        std::fs::create_dir(&path).map_err(|error| failed(&path, &error))?;
        self.undo.push(Undo::Remove(path.clone()));
        Ok(path)
    }

    /// A fresh file in the surface, of this size, with its blocks reserved if the filesystem can. It has no name any
    /// more, so that it goes with the last that has it open; the one it had says whose it is.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn file(&mut self, size: u64) -> Result<File, StartError> {
        let run = Path::new(&self.start.scratch).file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{run}-medium-{}-{}", self.index, self.undo.len());
        let path = self.surface.join(name);
        let made = File::options().read(true).write(true).create_new(true).open(&path);
        let file = made.map_err(|error| failed(&path, &error))?;
        std::fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
        let reserved = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size);
        match reserved {
            Err(rustix::io::Errno::OPNOTSUPP) => {
                file.set_len(size).map_err(|error| failed(&path, &error))?;
            }
            other => other.map_err(|error| failed(&path, &error.into()))?,
        }
        Ok(file)
    }

    /// Keeps a device open for as long as the medium stands.
    pub fn keep(&mut self, device: File) {
        self.undo.push(Undo::Close(device));
    }

    /// Mounts on a fresh folder, which is the surface then.
    ///
    /// # Errors
    /// With what mount says.
    pub fn mount(&mut self, kind: &str, options: &str, source: &Path) -> Result<(), StartError> {
        let folder = self.folder(kind)?;
        let mut command = tool("mount");
        command.args(["-t", kind]);
        if !options.is_empty() {
            command.args(["-o", options]);
        }
        run(command.arg("--").arg(source).arg(&folder), &[])?;
        self.undo.push(Undo::Unmount(folder.clone()));
        self.surface = folder;
        Ok(())
    }

    /// Starts what serves a folder, and waits until it is mounted there; the surface then.
    ///
    /// # Errors
    /// When it ends, or mounts nothing.
    pub fn serve(&mut self, command: &mut Command, folder: PathBuf) -> Result<(), StartError> {
        self.daemon(command, || is_mounted(&folder), "mounted nothing")?;
        self.undo.push(Undo::Unmount(folder.clone()));
        self.surface = folder;
        Ok(())
    }

    /// Starts a process that works for as long as the medium stands, and waits until it `is_ready`; `or` says what is
    /// wrong where it never is.
    ///
    /// # Errors
    /// When it ends, or is not ready in time.
    pub fn daemon(
        &mut self,
        command: &mut Command,
        is_ready: impl Fn() -> bool,
        or: &str,
    ) -> Result<(), StartError> {
        let name = shown(command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut daemon =
            command.spawn().map_err(|error| StartError::Failed(format!("{name}: {error}")))?;
        let begun = Instant::now();
        let ready = loop {
            if is_ready() {
                break Ok(());
            }
            if let Ok(Some(status)) = daemon.try_wait() {
                break Err(format!("{name} ended with {status}"));
            }
            if begun.elapsed() > BUSY_TIMEOUT {
                break Err(format!("{name} {or} after {} s", BUSY_TIMEOUT.as_secs()));
            }
            std::thread::sleep(RETRY_INTERVAL);
        };
        self.undo.push(Undo::Daemon(daemon));
        ready.map_err(StartError::Failed)
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        let _ = undo(&mut self.undo);
    }
}

/// A medium that stands.
pub struct StandingMedium(Vec<Undo>);

impl plumb_protocol::Held for StandingMedium {
    fn clean(mut self: Box<Self>) -> Result<(), Failure> {
        undo(&mut self.0)
    }
}

impl Drop for StandingMedium {
    fn drop(&mut self) {
        let _ = undo(&mut self.0);
    }
}

/// Undoes the steps, the last one first; goes on if one fails.
fn undo(steps: &mut Vec<Undo>) -> Result<(), Failure> {
    let mut outcome = Ok(());
    while let Some(step) = steps.pop() {
        // A step that fails does not keep the others from being undone; the first error is reported.
        let done = match step {
            Undo::Unmount(folder) => unmount(&folder),
            Undo::Close(device) => {
                drop(device);
                Ok(())
            }
            Undo::Remove(path) => {
                std::fs::remove_dir_all(&path).map_err(|error| Failure::io(path.display(), &error))
            }
            Undo::Daemon(mut daemon) => {
                // It may have ended already; what counts is that it is reaped.
                drop(daemon.kill());
                drop(daemon.wait());
                Ok(())
            }
        };
        outcome = outcome.and(done);
    }
    outcome
}

/// Tries for a while: what others have just closed is busy for a moment.
fn unmount(folder: &Path) -> Result<(), Failure> {
    let begun = Instant::now();
    loop {
        match run(tool("umount").arg("--").arg(folder), &[]) {
            Err(_) if begun.elapsed() < BUSY_TIMEOUT => std::thread::sleep(RETRY_INTERVAL),
            done => return done,
        }
    }
}

/// Whether something else lies on a folder than on the one that it is in.
fn is_mounted(folder: &Path) -> bool {
    folder.parent().is_some_and(|above| device(folder) != device(above))
}

/// The number of the device that a file or folder lies on.
fn device(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|metadata| metadata.dev())
}

/// What the system says of a file or folder.
pub fn failed(path: &Path, error: &std::io::Error) -> StartError {
    Failure::io(path.display(), error).into()
}
