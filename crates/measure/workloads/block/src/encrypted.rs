//! A folder whose files gocryptfs encrypts before they reach the disk below.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use plumb_protocol::{Failure, Start, StartError};
use plumb_workload_kit::processes::die_with_parent;
use plumb_workload_kit::tool::{self, run, tool};

use crate::disk::unmount;
use crate::settings::fresh_path;

/// How long gocryptfs may take to mount its folder, or to let it go.
const MOUNT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two checks.
const STEP: Duration = Duration::from_millis(5);

/// A folder through which files are encrypted; dropping it unmounts it.
pub struct EncryptedFolder {
    process: Child,
    folder: PathBuf,
    password: PathBuf,
}

impl EncryptedFolder {
    /// One whose encrypted files lie in `below`.
    ///
    /// # Errors
    /// Unsupported if gocryptfs is missing.
    pub fn over(start: &Start, below: &Path) -> Result<Self, StartError> {
        if tool::program("gocryptfs").is_none() {
            return Err(StartError::unsupported(
                "gocryptfs is not installed",
                "apt-get install gocryptfs",
            ));
        }
        let password = fresh_path(start, "gocryptfs-password");
        // It protects nothing: what is encrypted is made here and removed.
        fs::write(&password, format!("{:032x}\n", start.seed))
            .map_err(|error| Failure::io("writing a password", &error))?;
        let encrypted = below.join("encrypted-files");
        let folder = fresh_path(start, "gocryptfs");
        for path in [&encrypted, &folder] {
            fs::create_dir(path).map_err(|error| Failure::io(path.display(), &error))?;
        }
        let mut init = tool("gocryptfs");
        init.args(["-init", "-q", "-scryptn", "10", "-passfile"]).arg(&password);
        run(init.arg(&encrypted), &[])?;
        let mut serve = tool("gocryptfs");
        serve.args(["-fg", "-q", "-passfile"]).arg(&password).arg(&encrypted).arg(&folder);
        serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        die_with_parent(&mut serve);
        let process = serve.spawn().map_err(|error| Failure::io("starting gocryptfs", &error))?;
        let mut made = Self { process, folder, password };
        made.wait_until_mounted()?;
        Ok(made)
    }

    fn wait_until_mounted(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        while !is_mounted(&self.folder) {
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(Failure(format!("gocryptfs ended with {status}")));
            }
            if begun.elapsed() > MOUNT_TIMEOUT {
                return Err(Failure("gocryptfs did not mount its folder".into()));
            }
            std::thread::sleep(STEP);
        }
        Ok(())
    }

    /// Where files are written and read as they are.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// The process that encrypts.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for EncryptedFolder {
    fn drop(&mut self) {
        let begun = Instant::now();
        // What was just closed is busy for a moment.
        while is_mounted(&self.folder)
            && unmount(&self.folder).is_err()
            && begun.elapsed() < MOUNT_TIMEOUT
        {
            std::thread::sleep(STEP);
        }
        // Both fail only when it has ended already.
        self.process.kill().ok();
        self.process.wait().ok();
        fs::remove_dir(&self.folder).ok();
        fs::remove_file(&self.password).ok();
    }
}

/// Whether something else lies on a folder than on the one that it is in.
fn is_mounted(folder: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    folder.parent().is_some_and(|above| device(folder) != device(above))
}
