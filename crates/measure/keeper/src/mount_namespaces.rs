//! Mount namespaces of processes that are killed, held until these have ended.
//!
//! The kernel unmounts what a mount namespace holds when its last process ends, as part of that end. If that process serves
//! one of the mounts (nbdfuse below a loop device with a file system), the unmount waits for writes that only the process
//! itself could serve: it never ends, and neither does any `sync` on the machine. While another process holds the namespace,
//! the server ends first, its mounts fail, and the unmount is quick.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Namespaces that this process holds for others.
#[derive(Debug, Default)]
pub struct HeldMounts {
    /// By their inodes.
    inodes: BTreeSet<u64>,
    files: Vec<File>,
    /// The processes that are to end first.
    processes: BTreeSet<u32>,
}

impl HeldMounts {
    /// Holds the mount namespace of a process, unless it is that of this one.
    pub fn hold(&mut self, pid: u32) {
        let path = namespace_of(&pid.to_string());
        let (Ok(own), Ok(other)) = (fs::metadata(namespace_of("self")), fs::metadata(&path)) else {
            return;
        };
        if own.ino() == other.ino() {
            return;
        }
        self.processes.insert(pid);
        if !self.inodes.contains(&other.ino())
            && let Ok(file) = File::open(&path)
        {
            self.inodes.insert(other.ino());
            self.files.push(file);
        }
    }

    /// Lets the namespaces go if all their processes have ended.
    pub fn release_ended(&mut self) {
        self.processes.retain(|pid| Path::new(&format!("/proc/{pid}/exe")).is_symlink());
        if self.processes.is_empty() {
            *self = Self::default();
        }
    }

    /// How many there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.files.len()
    }
}

fn namespace_of(process: &str) -> PathBuf {
    Path::new("/proc").join(process).join("ns/mnt")
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread::sleep;
    use std::time::Duration;

    use super::{HeldMounts, namespace_of};

    #[test]
    fn a_namespace_is_held_until_its_process_has_ended() {
        let mut held = HeldMounts::default();
        held.hold(std::process::id());
        assert_eq!(held.len(), 0, "the namespace of this process goes on anyway");
        let mut unshare = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            unshare.args(["--user", "--map-root-user"]);
        }
        let mut sleeper = unshare.args(["--mount", "sleep", "60"]).spawn().unwrap();
        let own = std::fs::read_link(namespace_of("self")).unwrap();
        while std::fs::read_link(namespace_of(&sleeper.id().to_string())).unwrap() == own {
            sleep(Duration::from_millis(1));
        }
        held.hold(sleeper.id());
        held.hold(sleeper.id());
        held.release_ended();
        assert_eq!(held.len(), 1);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        held.release_ended();
        assert_eq!(held.len(), 0);
    }
}
