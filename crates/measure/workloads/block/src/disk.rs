//! A remote disk as a device of this machine: nbdfuse makes a file of it, a loop device a disk of that.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use plumb_protocol::{Failure, Start, StartError};
use plumb_workload_kit::loop_device;
use plumb_workload_kit::mounts;
use plumb_workload_kit::tool::{self, last_line, run, tool};

use crate::server::NbdServer;
use crate::settings::{Access, fresh_path};

/// How long a device may take to appear, or to go.
const DEVICE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often it is looked at.
const STEP: Duration = Duration::from_millis(5);

/// What all of this needs of the machine; from here on, what is mounted goes with this process.
///
/// # Errors
/// Unsupported if something is missing.
pub fn prepare_process() -> Result<(), StartError> {
    if !rustix::process::geteuid().is_root() {
        return Err(StartError::unsupported("a loop device needs root", "start plumb as root"));
    }
    for (program, package) in
        [("nbdfuse", "libnbd-bin"), ("mkfs.ext4", "e2fsprogs"), ("mount", "mount")]
    {
        if tool::program(program).is_none() {
            let why = format!("{program} is not installed");
            return Err(StartError::unsupported(why, format!("apt-get install {package}")));
        }
    }
    for file in ["/dev/fuse", "/dev/loop-control"] {
        let opened = File::options().read(true).write(true).open(file);
        opened.map_err(|error| {
            StartError::unsupported(format!("{file}: {error}"), "start plumb outside the container")
        })?;
    }
    mounts::enter_own()
}

/// A remote disk that is there; dropping it takes it away.
pub struct RemoteDisk {
    /// Its server, behind the link.
    pub server: NbdServer,
    folder: PathBuf,
    fuse: Child,
    device: Option<File>,
    node: PathBuf,
    /// Whether it was taken away.
    ended: bool,
}

impl RemoteDisk {
    /// A disk of so many zeroes. While it comes up, there is no link.
    ///
    /// # Errors
    /// When it does not.
    pub fn start(start: &Start, size: usize, access: Access) -> Result<Self, Failure> {
        let server = NbdServer::start(start, size, access).map_err(|error| match error {
            StartError::Failed(why) => Failure(why),
            StartError::Unsupported { why, .. } => Failure(why),
        })?;
        server.link(false);
        let folder = fresh_path(start, "nbd-disk");
        fs::create_dir_all(&folder)
            .map_err(|error| Failure::io("creating nbdfuse's folder", &error))?;
        let mut nbdfuse = tool("nbdfuse");
        nbdfuse.arg(&folder).arg("--unix").arg(server.socket());
        nbdfuse.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let fuse = nbdfuse.spawn().map_err(|error| Failure::io("starting nbdfuse", &error))?;
        let mut disk =
            Self { server, folder, fuse, device: None, node: PathBuf::new(), ended: false };
        disk.attach()?;
        Ok(disk)
    }

    fn attach(&mut self) -> Result<(), Failure> {
        let file = self.folder.join("nbd");
        let begun = Instant::now();
        while !file.exists() {
            if let Ok(Some(status)) = self.fuse.try_wait() {
                let mut said = String::new();
                let mut stderr = self.fuse.stderr.take();
                let _ = stderr.as_mut().map(|stderr| stderr.read_to_string(&mut said));
                let why = last_line(&said).map_or_else(|| status.to_string(), str::to_owned);
                return Err(Failure(format!("nbdfuse: {why}")));
            }
            if begun.elapsed() > DEVICE_TIMEOUT {
                return Err(Failure("nbdfuse did not provide the disk".into()));
            }
            std::thread::sleep(STEP);
        }
        let attached = File::options()
            .read(true)
            .write(true)
            .open(&file)
            .and_then(|file| loop_device::over(&file));
        let (device, node) =
            attached.map_err(|error| Failure::io("attaching a loop device", &error))?;
        (self.device, self.node) = (Some(device), node);
        Ok(())
    }

    /// The device file under which the kernel has the disk.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Waits until all that was written has reached the server.
    ///
    /// # Errors
    /// When it does not.
    pub fn sync(&self) -> Result<(), Failure> {
        let synced = self.device.as_ref().map_or(Ok(()), File::sync_all);
        synced.map_err(|error| Failure::io("syncing the remote disk", &error))
    }

    /// Takes the device away, and looks at what the server's disk holds then.
    pub fn into_server<T>(mut self, look: impl FnOnce(&mut [u8]) -> T) -> T {
        self.detach();
        self.server.fill(look)
    }

    fn detach(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.server.link(false);
        self.device = None;
        let begun = Instant::now();
        let is_mounted = self.folder.join("nbd").exists();
        // The loop device goes a moment after its last user.
        while is_mounted && unmount(&self.folder).is_err() && begun.elapsed() < DEVICE_TIMEOUT {
            std::thread::sleep(STEP);
        }
        while matches!(self.fuse.try_wait(), Ok(None)) {
            if !is_mounted || begun.elapsed() > DEVICE_TIMEOUT {
                self.fuse.kill().ok();
            }
            std::thread::sleep(STEP);
        }
        fs::remove_dir(&self.folder).ok();
    }
}

impl Drop for RemoteDisk {
    fn drop(&mut self) {
        self.detach();
    }
}

/// Unmounts a folder.
///
/// # Errors
/// With what umount says.
pub fn unmount(folder: &Path) -> Result<(), Failure> {
    run(tool("umount").arg("--").arg(folder), &[])
}

/// Writes a file in pieces of 1 MiB, and has it reach the disk.
///
/// # Errors
/// When it does not.
pub fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    for piece in bytes.chunks(1 << 20) {
        file.write_all(piece)?;
    }
    file.sync_all()?;
    Ok(rustix::fs::syncfs(&file)?)
}
