//! Drops the pages of files from memory before a run, and proves with mincore how many are gone.
#![expect(unsafe_code, reason = "posix_fadvise, mincore and geteuid have no safe form in std")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use plumb_model::{Flag, FlagKind};
use plumb_protocol::{Failure, StartError};

/// Files that the flag names, those with most bytes in memory.
const MOST_NAMED: usize = 3;

/// The files that a command maps, open, so that each run can start without their pages in memory.
pub(crate) struct ColdFiles {
    files: Vec<ColdFile>,
    page_bytes: u64,
    /// The drop that left most in memory.
    warmest: PagesLeft,
}

struct ColdFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

/// What a drop left in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct PagesLeft {
    /// Pages of all files.
    pub(crate) pages: u64,
    /// Those that stayed in memory.
    pub(crate) resident: u64,
    /// Files with pages in memory, and how many each has.
    kept: Vec<(u64, PathBuf)>,
}

impl ColdFiles {
    /// Opens these files, and tries whether their pages can be dropped.
    ///
    /// # Errors
    /// Unsupported without root, because mincore then does not say what is in memory, and if no page can be dropped.
    pub(crate) fn open(paths: &[String]) -> Result<Self, StartError> {
        // SAFETY: always succeeds.
        if unsafe { libc::geteuid() } != 0 {
            return Err(StartError::unsupported(
                "a cold start needs root: mincore shows other users nothing about system files, so nothing would prove it",
                "run as root, or without --cold",
            ));
        }
        let mut files = Vec::new();
        for path in paths {
            files.push(ColdFile::open(Path::new(path))?);
        }
        // SAFETY: asks for a constant of the system.
        let page_size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page_bytes = u64::try_from(page_size).unwrap_or(4096);
        let mut cold = Self { files, page_bytes, warmest: PagesLeft::default() };
        let dropped = cold.drop_pages()?;
        if dropped.pages > 0 && dropped.resident == dropped.pages {
            return Err(StartError::unsupported(
                "no page of the command's files can be dropped from memory, so no start is cold",
                "store the program on a device: files on tmpfs are always in memory",
            ));
        }
        Ok(cold)
    }

    /// Size of all files, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Drops the pages of all files, and counts those that stay.
    ///
    /// # Errors
    /// If the system can't drop or can't say: without proof there is no cold run.
    pub(crate) fn drop_pages(&mut self) -> Result<PagesLeft, Failure> {
        for cold in &self.files {
            // SAFETY: the descriptor is open; the advice changes no memory of this process.
            let errno = unsafe {
                libc::posix_fadvise(cold.file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED)
            };
            if errno != 0 {
                return Err(cold.failed("dropping", &io::Error::from_raw_os_error(errno)));
            }
        }
        let mut dropped = PagesLeft::default();
        // Only now: to drop one file may read another's pages.
        for cold in &self.files {
            let resident =
                cold.resident(self.page_bytes).map_err(|error| cold.failed("counting", &error))?;
            dropped.pages += cold.bytes.div_ceil(self.page_bytes);
            dropped.resident += resident;
            if resident > 0 {
                dropped.kept.push((resident, cold.path.clone()));
            }
        }
        if dropped.resident > self.warmest.resident {
            self.warmest = dropped.clone();
        }
        Ok(dropped)
    }

    /// The flag if a drop left something in memory.
    pub(crate) fn flag(&self) -> Option<Flag> {
        let warmest = &self.warmest;
        if warmest.resident == 0 {
            return None;
        }
        let mut kept = warmest.kept.clone();
        kept.sort_by(|one, other| other.cmp(one));
        let names: Vec<String> =
            kept.iter().take(MOST_NAMED).map(|(_, path)| path.display().to_string()).collect();
        let more = match kept.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let why = format!(
            "{:.1} % of {} pages stayed in memory, because other processes map them: {}{more}",
            share(warmest.resident, warmest.pages) * 100.0,
            warmest.pages,
            names.join(", ")
        );
        Some(Flag::new(FlagKind::PartlyWarm, why))
    }
}

#[expect(clippy::cast_precision_loss, reason = "pages of files stay far below 2^53")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

impl ColdFile {
    fn open(path: &Path) -> Result<Self, Failure> {
        Self::opened(path)
            .map_err(|error| Failure::io(format!("opening {}", path.display()), &error))
    }

    fn opened(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        // Pages that are not on the device yet can't be dropped: the file may have been built a moment ago.
        file.sync_data()?;
        Ok(Self { path: path.to_owned(), file, bytes })
    }

    fn failed(&self, doing: &str, error: &io::Error) -> Failure {
        Failure::io(format!("{doing} the pages of {}", self.path.display()), error)
    }

    /// Pages of the file in memory. To map it reads none of them.
    fn resident(&self, page_bytes: u64) -> io::Result<u64> {
        let pages = usize::try_from(self.bytes.div_ceil(page_bytes)).unwrap_or(0);
        let length = usize::try_from(self.bytes).unwrap_or(0);
        if length == 0 {
            return Ok(0);
        }
        let mut states = vec![0_u8; pages];
        let descriptor = self.file.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice, which is never accessed and is gone at the end. mincore
        // writes one byte for each of its pages, and there are as many bytes.
        let answer = unsafe {
            let mapped =
                libc::mmap(null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0);
            if mapped == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let answer = libc::mincore(mapped, length, states.as_mut_ptr());
            let error = io::Error::last_os_error();
            libc::munmap(mapped, length);
            if answer == 0 { Ok(()) } else { Err(error) }
        };
        answer?;
        Ok(states.iter().filter(|state| **state & 1 == 1).count() as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plumb_model::FlagKind;
    use plumb_protocol::StartError;

    use super::ColdFiles;

    #[test]
    fn pages_are_dropped_and_those_that_are_mapped_are_counted() {
        // Not in the temporary folder, which may be in memory.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![1; 1 << 20]).unwrap();
        let paths = [path.to_str().unwrap().to_owned()];
        let mut cold = match ColdFiles::open(&paths) {
            Ok(cold) => cold,
            Err(StartError::Unsupported { why, .. }) => {
                assert!(why.contains("root") || why.contains("no page"), "{why}");
                return;
            }
            Err(StartError::Failed(why)) => panic!("{why}"),
        };
        assert_eq!(cold.flag(), None);
        fs::read(&path).unwrap();
        assert!(cold.files[0].resident(cold.page_bytes).unwrap() > 0, "it was just read");
        assert_eq!(cold.drop_pages().unwrap().resident, 0);
        // This process runs from its own file, whose pages can't be dropped.
        let own = std::env::current_exe().unwrap();
        let mut own = ColdFiles::open(&[own.to_str().unwrap().to_owned()]).unwrap();
        let dropped = own.drop_pages().unwrap();
        assert!(dropped.resident > 0 && dropped.resident < dropped.pages, "{dropped:?}");
        let flag = own.flag().unwrap();
        assert_eq!(flag.flag, FlagKind::PartlyWarm);
        assert!(flag.why.contains("plumb_workload_process"), "{}", flag.why);
    }

    #[test]
    fn files_in_memory_give_no_cold_start() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
        let path = folder.path().join("file");
        fs::write(&path, [1; 5000]).unwrap();
        let refused = ColdFiles::open(&[path.to_str().unwrap().to_owned()]);
        let Err(StartError::Unsupported { why, .. }) = refused else { panic!("opened") };
        assert!(why.contains("no page of the command's files") || why.contains("root"), "{why}");
    }
}
