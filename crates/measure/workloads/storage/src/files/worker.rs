//! What one thread does to its files: one system call a file, or few, on names that were made before.

use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plumb_protocol::{Failure, StartError, now_ns};
use plumb_workload_kit::threads::Member;
use rustix::fs::{
    AtFlags, Mode, OFlags, RawDir, fsync, linkat, open, openat, renameat, statat, unlinkat,
};
use rustix::io::{Errno, write};

use crate::names::{LISTING_BYTES, names};

/// The operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOperation {
    /// It is created, written and closed.
    Create,
    /// It is opened and closed.
    Open,
    /// Its size is asked for.
    Stat,
    /// Its name is read from the folder.
    List,
    /// It gets another name.
    Rename,
    /// It gets a second name.
    Link,
    /// It is removed.
    Unlink,
}

impl FileOperation {
    /// All operations, the default first.
    pub const ALL: [Self; 7] =
        [Self::Create, Self::Open, Self::Stat, Self::List, Self::Rename, Self::Link, Self::Unlink];

    /// The word that users type for it: the name of the call.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Open => "open",
            Self::Stat => "stat",
            Self::List => "readdir",
            Self::Rename => "rename",
            Self::Link => "link",
            Self::Unlink => "unlink",
        }
    }

    /// The operation that a word stands for; creation if the word is not known.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        let known = Self::ALL.into_iter().find(|operation| operation.word() == word);
        known.unwrap_or(Self::Create)
    }
}

/// The objects that are synced with each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSync {
    /// Changes reach the device when the kernel writes them.
    None,
    /// Each file is synced after it was written.
    File,
    /// The file, where it was written, and then its folder.
    Folder,
}

/// What every worker does.
#[derive(Debug, Clone)]
pub struct FileTask {
    /// The operation on each file.
    pub operation: FileOperation,
    /// The objects that are synced with each file.
    pub sync: FileSync,
    /// Number of files of each worker.
    pub files: usize,
    /// Bytes that each file has.
    pub contents: Arc<[u8]>,
    /// Of names and order.
    pub seed: u64,
}

/// One thread with its files.
pub struct FilesWorker {
    folder: OwnedFd,
    /// In the order in which they are visited.
    names: Vec<CString>,
    /// The second name of each.
    others: Vec<CString>,
    task: FileTask,
    /// Whether the next run undoes what was done.
    undo: Arc<AtomicBool>,
    /// Files done in the last pass.
    done: usize,
    /// The time of each of them, in nanoseconds.
    times: Vec<u64>,
    /// Where the kernel writes names.
    listing: Vec<u8>,
}

/// Files of a pass that are checked after a batch.
const CHECKED: usize = 64;

impl FilesWorker {
    /// The worker of this number; its files are there already, unless it creates them.
    ///
    /// # Errors
    /// When they can't be created.
    pub fn new(
        root: &Path,
        number: usize,
        private: bool,
        random: bool,
        task: FileTask,
        undo: Arc<AtomicBool>,
    ) -> Result<Self, StartError> {
        let path = if private { root.join(number.to_string()) } else { root.to_owned() };
        let failed = |error: std::io::Error| {
            StartError::Failed(format!("creating files in {}: {error}", root.display()))
        };
        if private {
            fs::create_dir(&path).map_err(failed)?;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(&path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        let (names, others) = names(number * task.files, task.files, random, task.seed);
        let times = Vec::with_capacity(task.files);
        let listing = Vec::with_capacity(LISTING_BYTES);
        let worker = Self { folder, names, others, task, undo, done: 0, times, listing };
        if worker.task.operation != FileOperation::Create {
            worker.create_all(worker.names.len())?;
        }
        Ok(worker)
    }

    /// The time of each file of the last pass, in nanoseconds.
    #[must_use]
    pub fn times(&self) -> &[u64] {
        &self.times
    }

    fn create_all(&self, count: usize) -> Result<(), Failure> {
        let dir = self.folder.as_fd();
        let contents = &self.task.contents;
        self.each(count, &self.names, "creating", |name| {
            create(dir, name, contents, FileSync::None)
        })
    }

    /// Does something to the first files, untimed.
    fn each(
        &self,
        count: usize,
        names: &[CString],
        what: &str,
        mut work: impl FnMut(&CString) -> Result<(), Errno>,
    ) -> Result<(), Failure> {
        names[..count].iter().try_for_each(|name| {
            work(name)
                .map_err(|error| Failure::io(format!("{what} {}", shown(name)), &error.into()))
        })
    }

    /// Puts the files of the last pass back as they were before it.
    fn undo(&mut self) -> Result<(), Failure> {
        let dir = self.folder.as_fd();
        let done = std::mem::take(&mut self.done);
        let remove = |name: &CString| unlinkat(dir, name, AtFlags::empty());
        match self.task.operation {
            FileOperation::Create => self.each(done, &self.names, "removing", remove),
            FileOperation::Link => self.each(done, &self.others, "removing", remove),
            FileOperation::Unlink => self.create_all(done),
            FileOperation::Rename => {
                let mut pairs = self.others[..done].iter().zip(&self.names);
                pairs
                    .try_for_each(|(from, to)| renameat(dir, from, dir, to))
                    .map_err(|e| failed(&e))
            }
            FileOperation::Open | FileOperation::Stat | FileOperation::List => Ok(()),
        }
    }

    /// Reads the names of so many files.
    fn list(&mut self, files: usize) -> Result<(), Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder =
            // Opened anew: the position of an open folder stays at the end after a pass.
            openat(&self.folder, c".", flags, Mode::empty()).map_err(|error| failed(&error))?;
        let mut entries = RawDir::new(folder, self.listing.spare_capacity_mut());
        while self.done < files {
            let Some(entry) = entries.next() else {
                let found = self.done;
                return Err(Failure(format!("readdir found {found} of {files} files")));
            };
            let name = entry.map_err(|error| failed(&error))?;
            self.done += usize::from(!name.file_name().to_bytes().starts_with(b"."));
        }
        Ok(())
    }

    /// Does the operation to so many files from the first on, and notes what each took.
    fn pass(
        &mut self,
        files: usize,
        mut work: impl FnMut(BorrowedFd<'_>, &CString, &CString) -> Result<(), Errno>,
    ) -> Result<(), Failure> {
        let dir = self.folder.as_fd();
        let pairs = self.names.iter().zip(&self.others).take(files);
        let mut last = now_ns();
        for (name, other) in pairs {
            work(dir, name, other)
                .map_err(|error| Failure::io(format!("file {}", shown(name)), &error.into()))?;
            let now = now_ns();
            self.times.push(now - last);
            last = now;
            self.done += 1;
        }
        Ok(())
    }

    /// Whether a file is there under a name, with the bytes that it should have, and with how many names.
    fn look(&self, name: &CString) -> Result<Option<u64>, Failure> {
        match statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if u64::try_from(stat.st_size) == Ok(self.task.contents.len() as u64) =>
            {
                #[allow(clippy::useless_conversion, reason = "its type depends on the machine")]
                Ok(Some(stat.st_nlink.into()))
            }
            Ok(stat) => Err(Failure(format!("{} is {} bytes long", shown(name), stat.st_size))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }
}

impl Member for FilesWorker {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        if self.undo.load(Ordering::Relaxed) {
            return self.undo();
        }
        let files = usize::try_from(iterations).unwrap_or(usize::MAX);
        let size = self.task.contents.len() as u64;
        let operation = self.task.operation;
        let sync = self.task.sync;
        (self.done, _) = (0, self.times.clear());
        match operation {
            FileOperation::Create => {
                let contents = Arc::clone(&self.task.contents);
                self.pass(files, |dir, name, _| create(dir, name, &contents, sync))
            }
            FileOperation::Open => self.pass(files, |dir, name, _| {
                openat(dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map(drop)
            }),
            FileOperation::Stat => self.pass(files, |dir, name, _| {
                let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
                if u64::try_from(stat.st_size) == Ok(size) { Ok(()) } else { Err(Errno::IO) }
            }),
            FileOperation::List => self.list(files),
            FileOperation::Rename => self.pass(files, |dir, name, other| {
                renameat(dir, name, dir, other).and_then(|()| synced(dir, sync))
            }),
            FileOperation::Link => self.pass(files, |dir, name, other| {
                linkat(dir, name, dir, other, AtFlags::empty()).and_then(|()| synced(dir, sync))
            }),
            FileOperation::Unlink => self.pass(files, |dir, name, _| {
                unlinkat(dir, name, AtFlags::empty()).and_then(|()| synced(dir, sync))
            }),
        }
    }

    /// Looks at some files of the last pass.
    fn verify(&mut self) -> Result<(), Failure> {
        let (first, second) = match self.task.operation {
            FileOperation::Create
            | FileOperation::Open
            | FileOperation::Stat
            | FileOperation::List => (Some(1), None),
            FileOperation::Rename => (None, Some(1)),
            FileOperation::Link => (Some(2), Some(2)),
            FileOperation::Unlink => (None, None),
        };
        let step = self.done.div_ceil(CHECKED).max(1);
        for at in (0..self.done).step_by(step) {
            let found = (self.look(&self.names[at])?, self.look(&self.others[at])?);
            if found != (first, second) {
                let name = shown(&self.names[at]);
                return Err(Failure(format!(
                    "{name} and its second name have {found:?} links, not {:?}",
                    (first, second)
                )));
            }
        }
        Ok(())
    }
}

/// A new file with these bytes, closed.
fn create(
    dir: BorrowedFd<'_>,
    name: &CString,
    contents: &[u8],
    sync: FileSync,
) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?;
    let mut left = contents;
    while !left.is_empty() {
        left = &left[write(&file, left)?..];
    }
    if sync != FileSync::None {
        fsync(&file)?;
    }
    // The folder comes after its file: fsync of a file does not make its name safe (fsync(2)).
    drop(file);
    synced(dir, sync)
}

/// Syncs the folder, if that is asked for.
fn synced(dir: BorrowedFd<'_>, sync: FileSync) -> Result<(), Errno> {
    if sync == FileSync::Folder { fsync(dir) } else { Ok(()) }
}

fn failed(error: &Errno) -> Failure {
    Failure::io("accessing the files' folder", &(*error).into())
}

fn shown(name: &CString) -> std::borrow::Cow<'_, str> {
    name.to_string_lossy()
}
