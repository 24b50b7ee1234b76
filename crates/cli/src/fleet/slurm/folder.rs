//! The folder of a fleet, which this machine and the nodes share.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use plumb_model::SlurmJob;
use rustix::fs::{FlockOperation, flock};

use crate::error::{CommandError, Result};
use crate::locate;

/// The end of a log that is read: more than one line of a tool that complains.
const LOG_TAIL: usize = 4096;

/// The file with the options of sbatch.
const OPTIONS: &str = "options.json";

/// The folder of a fleet.
#[derive(Debug, Clone)]
pub struct FleetFolder {
    path: PathBuf,
}

/// A store that a node finished: which machine of the fleet measured it, and in which try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedStore {
    /// The machine's position in the fleet.
    pub position: usize,
    /// The number of the try.
    pub attempt: u32,
    /// Where it is.
    pub file: PathBuf,
}

impl FleetFolder {
    /// The folder at this path, which exists already.
    pub fn at(path: &str) -> Self {
        Self { path: PathBuf::from(path) }
    }

    /// The absolute path that a folder gets.
    ///
    /// # Errors
    /// When it cannot be a path in a script of Slurm.
    pub fn planned(given: Option<&Path>, fleet: &str) -> Result<Self> {
        let usual = PathBuf::from(format!("plumb-fleet-{fleet}"));
        let path = std::path::absolute(given.unwrap_or(&usual)).map_err(|error| {
            CommandError::usage(format!("cannot read the current folder: {error}"))
        })?;
        match path.to_str() {
            Some(text) if !text.contains(means_something_to_slurm) => Ok(Self { path }),
            _ => Err(CommandError::usage(format!(
                "Slurm cannot write logs under {}: the path contains `%`, a backslash, a control character or no UTF-8",
                path.display()
            ))
            .hint("choose another folder with --folder DIR")),
        }
    }

    /// Makes the folder, with a copy of this plumb.
    ///
    /// # Errors
    /// When it exists, or cannot be written.
    pub fn make(&self) -> Result<()> {
        let folder = self.path.display();
        if self.path.exists() {
            return Err(CommandError::usage(format!("{folder} already exists"))
                .hint("--folder must name a folder that does not exist yet"));
        }
        let plumb = locate::plumb()?;
        let written = make_private(&self.path)
            .and_then(|()| make_private(&self.path.join("logs")))
            .and_then(|()| make_private(&self.stores()))
            .and_then(|()| fs::copy(plumb, self.binary()).map(drop));
        written.map_err(|error| {
            self.remove();
            CommandError::file(format!("can't write the folder {folder}: {error}"))
                .hint("choose another shared folder with --folder DIR")
        })
    }

    /// Removes the folder, if nothing was submitted.
    pub fn remove(&self) {
        // If that fails, only files without a use are left.
        let _ = fs::remove_dir_all(&self.path);
    }

    /// Keeps the options of sbatch for later submissions: here, and not in the store, because they may contain secrets.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_options(&self, words: &[String]) -> Result<()> {
        self.write(OPTIONS, &serde_json::json!(words).to_string())
    }

    /// The options of sbatch.
    ///
    /// # Errors
    /// When the file is gone, or damaged.
    pub fn options(&self) -> Result<Vec<String>> {
        let file = self.path.join(OPTIONS);
        let unread =
            |why: String| CommandError::file(format!("can't read {}: {why}", file.display()));
        let text = fs::read_to_string(&file).map_err(|error| unread(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| unread(error.to_string()))
    }

    /// Writes a file of the folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let file = self.path.join(name);
        fs::write(&file, text)
            .map_err(|error| CommandError::file(format!("can't write {}: {error}", file.display())))
    }

    /// Waits until no other plumb submits or collects jobs of this fleet. The lock ends with the file.
    ///
    /// # Errors
    /// When the folder is gone, or cannot be written.
    pub fn lock(&self) -> Result<fs::File> {
        let file = self.path.join("lock");
        let locked = fs::File::create(&file)
            .and_then(|file| Ok(flock(&file, FlockOperation::LockExclusive).map(|()| file)?));
        locked.map_err(|error| {
            CommandError::file(format!("can't use the folder {}: {error}", self.path.display()))
                .hint(
                    "it contains the fleet's script and results; restore it, or submit a new fleet",
                )
        })
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path as text.
    pub fn text(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// The script that all jobs run.
    pub fn script(&self) -> PathBuf {
        self.path.join("job.sh")
    }

    /// Where Slurm writes the logs of jobs or, with `_%a` in the name, of the tasks of arrays.
    pub fn log_pattern(&self, is_array: bool) -> String {
        let name = if is_array { "%A_%a.log" } else { "%j.log" };
        self.path.join("logs").join(name).to_string_lossy().into_owned()
    }

    /// The log of a job.
    pub fn log(&self, job: &SlurmJob) -> PathBuf {
        self.path.join("logs").join(format!("{}.log", job.id()))
    }

    /// The last line that a job wrote to its log; None if it wrote nothing.
    pub fn last_words(&self, job: &SlurmJob) -> Option<String> {
        let bytes = fs::read(self.log(job)).ok()?;
        let tail = &bytes[bytes.len().saturating_sub(LOG_TAIL)..];
        let text = String::from_utf8_lossy(tail).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        // The error of a command comes before its hints.
        let error = lines.iter().rev().find(|line| line.contains("error:"));
        error.or(lines.last()).map(|line| line.trim().to_owned())
    }

    /// The stores that nodes have finished.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn finished(&self) -> Result<Vec<FinishedStore>> {
        let folder = self.stores();
        let entries = fs::read_dir(&folder).map_err(|error| {
            CommandError::file(format!("can't read {}: {error}", folder.display()))
        })?;
        let mut finished: Vec<FinishedStore> =
            entries.flatten().filter_map(|entry| finished_store(entry.path())).collect();
        finished.sort_by_key(|store| (store.position, store.attempt));
        Ok(finished)
    }

    fn stores(&self) -> PathBuf {
        self.path.join("stores")
    }

    fn binary(&self) -> PathBuf {
        self.path.join("plumb")
    }
}

/// Whether Slurm would not take a character of a log's path as it is: it replaces percent signs, and a backslash turns that off.
fn means_something_to_slurm(c: char) -> bool {
    c == '%' || c == '\\' || c.is_control()
}

/// A store by its name, `POSITION.ATTEMPT.db`. A node copies to other names first.
fn finished_store(file: PathBuf) -> Option<FinishedStore> {
    let name = file.file_name()?.to_str()?;
    let (position, attempt) = name.strip_suffix(".db")?.split_once('.')?;
    Some(FinishedStore { position: position.parse().ok()?, attempt: attempt.parse().ok()?, file })
}

/// Makes a folder for its owner alone: scripts and stores have command lines.
fn make_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::{FleetFolder, finished_store};
    use std::path::{Path, PathBuf};

    #[test]
    fn only_whole_stores_are_finished() {
        let found = finished_store(PathBuf::from("/x/12.2.db")).unwrap();
        assert_eq!((found.position, found.attempt), (12, 2));
        for name in [".12.2.7.part", "12.db", "12.2.db-wal", "a.b.db", "12.2.part"] {
            assert_eq!(finished_store(PathBuf::from(name)), None, "{name}");
        }
    }

    #[test]
    fn folders_are_absolute_and_have_no_signs_of_slurm() {
        let planned = FleetFolder::planned(None, "0193f2").unwrap();
        assert!(planned.path().is_absolute() && planned.path().ends_with("plumb-fleet-0193f2"));
        assert!(FleetFolder::planned(Some(Path::new("/srv/a%j")), "0193f2").is_err());
    }
}
