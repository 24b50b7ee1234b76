//! A medium while it is built, and what undoes each step.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_protocol::{Failure, Start, StartError};

use crate::needs::program;

/// The parameter that has the stack.
pub const MEDIUM: &str = "medium";
/// The parameter that tells the medium from others of the run.
pub const INDEX: &str = "index";
/// The parameter with the number of its compressed device, where it has one.
pub const ZRAM: &str = "zram";
/// The endpoint that is the folder.
pub const DIR: &str = "dir";

/// How long something that has just been let go may stay busy.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is tried again.
const STEP: Duration = Duration::from_millis(20);

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
    /// What readers should know.
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
    pub fn standing(mut self) -> Standing {
        Standing(std::mem::take(&mut self.undo))
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

    /// A fresh file in the surface, of this size, with its blocks reserved where the filesystem can. It has no name any
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
        let name = shown(command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut daemon =
            command.spawn().map_err(|error| StartError::Failed(format!("{name}: {error}")))?;
        let begun = Instant::now();
        let mounted = loop {
            if is_mounted(&folder) {
                break Ok(());
            }
            if let Ok(Some(status)) = daemon.try_wait() {
                break Err(format!("{name} ended with {status}"));
            }
            if begun.elapsed() > PATIENCE {
                break Err(format!("{name} mounted nothing for {} s", PATIENCE.as_secs()));
            }
            std::thread::sleep(STEP);
        };
        self.undo.push(Undo::Daemon(daemon));
        mounted.map_err(StartError::Failed)?;
        self.undo.push(Undo::Unmount(folder.clone()));
        self.surface = folder;
        Ok(())
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        let _ = undo(&mut self.undo);
    }
}

/// A medium that stands.
pub struct Standing(Vec<Undo>);

impl plumb_protocol::Held for Standing {
    fn clean(mut self: Box<Self>) -> Result<(), Failure> {
        undo(&mut self.0)
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = undo(&mut self.0);
    }
}

/// Undoes the steps, the last one first; goes on where one fails.
fn undo(steps: &mut Vec<Undo>) -> Result<(), Failure> {
    let mut outcome = Ok(());
    while let Some(step) = steps.pop() {
        let done = match step {
            Undo::Unmount(folder) => unmount(&folder),
            Undo::Close(device) => {
                drop(device);
                Ok(())
            }
            Undo::Remove(path) => std::fs::remove_dir_all(&path).map_err(|error| at(&path, &error)),
            Undo::Daemon(mut daemon) => {
                let _ = daemon.kill();
                let _ = daemon.wait();
                Ok(())
            }
        };
        outcome = outcome.and(done.map_err(Failure));
    }
    outcome
}

fn unmount(folder: &Path) -> Result<(), String> {
    again(|| run(tool("umount").arg("--").arg(folder), &[]))
}

/// Tries for a while: what others have just closed is busy for a moment.
fn again(mut attempt: impl FnMut() -> Result<(), StartError>) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(error) if begun.elapsed() > PATIENCE => return Err(words(error)),
            Err(_) => std::thread::sleep(STEP),
        }
    }
}

fn words(error: StartError) -> String {
    match error {
        StartError::Unsupported { why, .. } | StartError::Failed(why) => why,
    }
}

/// Whether something else lies on a folder than on the one that it is in.
fn is_mounted(folder: &Path) -> bool {
    let device = |path: &Path| std::fs::metadata(path).map(|it| it.dev()).ok();
    folder.parent().is_some_and(|above| device(folder) != device(above))
}

/// A program for administrators.
pub fn tool(name: &str) -> Command {
    Command::new(program(name).unwrap_or_else(|| PathBuf::from(name)))
}

/// Runs a program with this input; fails with the last line of what it says.
///
/// # Errors
/// When it can't be started, or ends with another status than 0.
pub fn run(command: &mut Command, input: &[u8]) -> Result<(), StartError> {
    let name = shown(command);
    let failed = |why: &dyn fmt::Display| StartError::Failed(format!("{name}: {why}"));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who does not read it says why below.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().map_err(|error| failed(&error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    Err(failed(&last.map_or_else(|| output.status.to_string(), str::to_owned)))
}

/// A program without its folder.
fn shown(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// What the system says of a file or folder.
pub fn failed(path: &Path, error: &std::io::Error) -> StartError {
    StartError::Failed(at(path, error))
}

#[cfg(test)]
mod tests {
    use super::{run, tool};
    use plumb_protocol::StartError;

    #[test]
    fn a_tool_that_fails_is_quoted_with_its_last_line() {
        assert!(run(tool("true").arg("x"), b"ignored").is_ok());
        let said = run(tool("sh").args(["-c", "cat >&2; echo >&2; exit 3"]), b"one\ntwo\n");
        assert_eq!(said, Err(StartError::Failed("sh: two".into())));
        let silent = run(tool("sh").args(["-c", "exit 3"]), &[]);
        assert_eq!(silent, Err(StartError::Failed("sh: exit status: 3".into())));
    }
}
