//! The phases on many files: created, looked at and deleted, in order and at random.

use std::ffi::{CStr, CString};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use plumb_classics::bonnie::parameter::CreatedLinks;
use plumb_protocol::{Failure, SplitMix64};
use rustix::fs::{
    AtFlags, Mode, OFlags, RawDir, fsync, linkat, open, openat, statat, symlinkat, sync, unlinkat,
};
use rustix::io::{Errno, read, write};

use super::phase::{Longest, PhaseProgress, PhaseResult, timed};
use crate::names::{LISTING_BYTES, names};

/// Where symbolic links point, from any of the folders.
const TARGET: &CStr = c"../00000/target";

/// What is asked for.
#[derive(Debug, Clone)]
pub struct ManySettings {
    /// How many files a phase creates, looks at or deletes.
    pub files: usize,
    /// Folders that they are spread over.
    pub folders: usize,
    /// Bytes of the smallest.
    pub smallest: usize,
    /// Bytes of the largest.
    pub largest: usize,
    /// The links that are created instead of files.
    pub links: CreatedLinks,
    /// Whether each file and its folder are synced.
    pub sync: bool,
    /// Seed of names, sizes and orders.
    pub seed: u64,
}

impl ManySettings {
    /// Bytes of all files, at most.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.largest as u64).saturating_mul(self.files as u64)
    }
}

/// The files with their phases.
pub struct Many {
    settings: ManySettings,
    folders: Vec<OwnedFd>,
    paths: Vec<PathBuf>,
    contents: Vec<u8>,
}

fn new_folder(path: &Path) -> Result<OwnedFd, Failure> {
    fs::create_dir(path)
        .map_err(|error| Failure::io(format!("creating {}", path.display()), &error))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(path, flags, Mode::empty())
        .map_err(|error| Failure::io(format!("opening {}", path.display()), &error.into()))
}

/// A file: its folder, name and size.
struct SmallFile {
    folder: usize,
    name: CString,
    size: usize,
}

impl Many {
    /// In folders below this one.
    ///
    /// # Errors
    /// When they can't be created.
    pub fn new(root: &Path, settings: ManySettings) -> Result<Self, Failure> {
        let paths: Vec<PathBuf> =
            (0..settings.folders).map(|number| root.join(format!("{number:05}"))).collect();
        let folders = paths.iter().map(|path| new_folder(path)).collect::<Result<_, _>>()?;
        let contents = vec![0; settings.largest];
        Ok(Self { settings, folders, paths, contents })
    }

    /// All phases, in order.
    ///
    /// # Errors
    /// Those of the files.
    pub fn pass(self, progress: &mut PhaseProgress<'_, '_>) -> Result<Vec<PhaseResult>, Failure> {
        let count = self.settings.files as u64;
        let mut results = Vec::new();
        let mut buffer = vec![0; self.settings.largest];
        let mut look = |dir: BorrowedFd<'_>, name: &CStr| Self::look(dir, name, &mut buffer);
        let remove = |dir: BorrowedFd<'_>, name: &CStr| self.remove(dir, name);
        for random in [false, true] {
            let mut entries = self.entries(random);
            let target = self.target()?;
            progress.next();
            results.push(timed(count, |longest| self.create(&entries, target.as_ref(), longest))?);
            progress.next();
            if random {
                SplitMix64::new(!self.settings.seed).shuffle(&mut entries);
                results.push(timed(count, |longest| self.each(&entries, longest, &mut look))?);
                progress.next();
                results.push(timed(count, |longest| self.delete(&entries, longest))?);
            } else {
                results.push(timed(count, |longest| self.listed(longest, &mut look))?);
                progress.next();
                results.push(timed(count, |longest| {
                    self.listed(longest, remove)?;
                    sync();
                    Ok(())
                })?);
            }
            if let Some(target) = target {
                self.done(self.remove(self.folders[0].as_fd(), &target))?;
            }
        }
        // A file that a phase left behind fails the pass here: folders that are not empty stay.
        for path in &self.paths {
            fs::remove_dir(path)
                .map_err(|error| Failure::io(format!("removing {}", path.display()), &error))?;
        }
        Ok(results)
    }

    /// The files, in the order in which they are created: a folder after the other.
    fn entries(&self, random: bool) -> Vec<SmallFile> {
        let ManySettings { files, folders, smallest, largest, seed, .. } = self.settings;
        let mut sizes = SplitMix64::new(seed.wrapping_add(u64::from(random)));
        // The second names are for `storage.files`, which renames and links.
        let (names, _) = names(0, files, random, seed);
        let range = (largest - smallest) as u64 + 1;
        let mut entries = Vec::with_capacity(files);
        for (number, name) in names.into_iter().enumerate() {
            entries.push(SmallFile {
                folder: number * folders / files,
                name,
                size: smallest + usize::try_from(sizes.below(range)).unwrap_or(0),
            });
        }
        entries
    }

    /// The file that links are made to; made untimed.
    fn target(&self) -> Result<Option<CString>, Failure> {
        if self.settings.links == CreatedLinks::None {
            return Ok(None);
        }
        // No name of a small file is as short, so it cannot be one of them.
        let target = c"target".to_owned();
        let made = self.write(self.folders[0].as_fd(), &target, &[]);
        self.done(made).map(|()| Some(target))
    }

    fn done(&self, result: Result<(), Errno>) -> Result<(), Failure> {
        result.map_err(|error| Failure::io("accessing a file", &error.into()))
    }

    fn create(
        &self,
        entries: &[SmallFile],
        target: Option<&CString>,
        longest: &mut Longest,
    ) -> Result<(), Failure> {
        for SmallFile { folder, name, size } in entries {
            let dir = self.folders[*folder].as_fd();
            let made = match (target, self.settings.links) {
                (Some(target), CreatedLinks::Hard) => {
                    linkat(&self.folders[0], target, dir, name, AtFlags::empty())
                        .and_then(|()| self.synced(dir))
                }
                (Some(_), CreatedLinks::Symbolic) => {
                    symlinkat(TARGET, dir, name).and_then(|()| self.synced(dir))
                }
                _ => self.write(dir, name, &self.contents[..*size]),
            };
            longest.ended();
            self.done(made)?;
        }
        sync();
        Ok(())
    }

    /// A new file with these bytes.
    fn write(&self, dir: BorrowedFd<'_>, name: &CStr, contents: &[u8]) -> Result<(), Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(dir, name, flags, Mode::RUSR | Mode::WUSR)?;
        let mut left = contents;
        while !left.is_empty() {
            left = &left[write(&file, left)?..];
        }
        if self.settings.sync {
            fsync(&file)?;
        }
        drop(file);
        self.synced(dir)
    }

    fn synced(&self, dir: BorrowedFd<'_>) -> Result<(), Errno> {
        if self.settings.sync { fsync(dir) } else { Ok(()) }
    }

    /// Asks for the size of a file, and reads it if it has bytes.
    fn look(dir: BorrowedFd<'_>, name: &CStr, buffer: &mut [u8]) -> Result<(), Errno> {
        let stat = statat(dir, name, AtFlags::empty())?;
        if stat.st_size <= 0 {
            return Ok(());
        }
        let file = openat(dir, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut all = 0;
        let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
        while all < size {
            match read(&file, &mut *buffer)? {
                0 => return Err(Errno::IO),
                bytes => all += bytes,
            }
        }
        Ok(())
    }

    fn remove(&self, dir: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        unlinkat(dir, name, AtFlags::empty()).and_then(|()| self.synced(dir))
    }

    fn each(
        &self,
        entries: &[SmallFile],
        longest: &mut Longest,
        mut work: impl FnMut(BorrowedFd<'_>, &CStr) -> Result<(), Errno>,
    ) -> Result<(), Failure> {
        for SmallFile { folder, name, .. } in entries {
            let dir = self.folders[*folder].as_fd();
            self.done(work(dir, name))?;
            longest.ended();
        }
        Ok(())
    }

    fn delete(&self, entries: &[SmallFile], longest: &mut Longest) -> Result<(), Failure> {
        self.each(entries, longest, |dir, name| self.remove(dir, name))?;
        sync();
        Ok(())
    }

    /// The same with all files of all folders, in the order in which the folders list them.
    fn listed(
        &self,
        longest: &mut Longest,
        mut work: impl FnMut(BorrowedFd<'_>, &CStr) -> Result<(), Errno>,
    ) -> Result<(), Failure> {
        let mut found = 0;
        let mut listing = Vec::with_capacity(LISTING_BYTES);
        for folder in &self.folders {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let listed = openat(folder, c".", flags, Mode::empty())
                .map_err(|error| Failure::io("listing a folder", &error.into()))?;
            let mut entries = RawDir::new(listed, listing.spare_capacity_mut());
            while let Some(entry) = entries.next() {
                let entry = entry.map_err(|e| Failure::io("listing a folder", &e.into()))?;
                let name = entry.file_name();
                if name.to_bytes().starts_with(b".") || name == c"target" {
                    continue;
                }
                found += 1;
                self.done(work(folder.as_fd(), name))?;
                longest.ended();
            }
        }
        if found == self.settings.files {
            return Ok(());
        }
        Err(Failure(format!("{found} of {} files were listed", self.settings.files)))
    }
}
