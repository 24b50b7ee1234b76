//! The test file: laid out with real data before anything is measured, and what lies under it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use plumb_protocol::{Failure, Held, SplitMix64, StartError};
use plumb_units::{show_bytes, whole_size};
use plumb_workload_kit::filesystem::{Filesystem, MOST_OF_FREE, free_bytes, is_device, less_size};
use rustix::fs::{Advice, AtFlags, CWD, MemfdFlags, StatxFlags, fadvise, memfd_create, statx};

use crate::stamp;

/// Bytes written at a time while a file is laid out.
const PIECE: usize = 1 << 20;

/// Bytes between two flushes while a file is laid out, so that little of it sits in the page cache.
const FLUSH_EVERY: u64 = 32 << 20;

/// The contents of a block's sectors behind their stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Random bytes, drawn by this seed: nobody can compress them.
    Random(u64),
    /// Zeros, which compress to almost nothing.
    Zeros,
}

/// A laid-out test file.
///
/// It has no name in its folder: it is reached through the descriptor of the process that holds it, so
/// that it is gone with that process, however that ends. Only if a filesystem can't do that it is
/// named, and removed when it is dropped.
#[derive(Debug)]
pub struct TestFile {
    dir: PathBuf,
    file: File,
    path: PathBuf,
    named: bool,
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> StartError {
    StartError::Failed(format!("{}: {why}", path.display()))
}

impl TestFile {
    /// Lays a file of `size` bytes out in `dir`: stamped, fully written and synced.
    ///
    /// # Errors
    /// Unsupported when it would take more than 80 % of the free space or can't be created or
    /// finished there; nothing is left then.
    pub fn lay_out(dir: &Path, name: &str, size: u64, data: Data) -> Result<Self, StartError> {
        if is_device(dir) {
            let why = format!("{} is a device, but this workload needs a folder", dir.display());
            return Err(StartError::unsupported(
                why,
                "use --dir FOLDER, or a medium with a filesystem",
            ));
        }
        check_space(dir, size)?;
        Self::lay_out_with(dir, name, size, data, &mut |file, piece| file.write_all(piece))
    }

    /// The beginning of a device in place of a file; what was there is lost.
    ///
    /// # Errors
    /// Unsupported if it is too small; failed when it can't be written.
    pub fn on_device(device: &Path, size: u64, data: Data) -> Result<Self, StartError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(device)
            .map_err(|error| failed(device, &error))?;
        check_length(&mut file, device, size)?;
        // The length was found by seeking to the end.
        file.rewind().map_err(|error| failed(device, &error))?;
        fill(&mut file, size, data, &mut |file, piece| file.write_all(piece))
            .map_err(|error| failed(device, &error))?;
        drop_cache(&file);
        let dir = device.parent().unwrap_or(device).to_owned();
        Ok(Self { dir, file, path: device.to_owned(), named: false })
    }

    /// The beginning of a file or device of the user's, which is only read.
    ///
    /// # Errors
    /// Unsupported if it is shorter than `size`; failed when it can't be read, or is a folder.
    pub fn of_user(path: &Path, size: u64) -> Result<Self, StartError> {
        let mut file = File::open(path).map_err(|error| failed(path, &error))?;
        let kind = file.metadata().map_err(|error| failed(path, &error))?.file_type();
        // A folder can be opened, too, and fails only when it is read.
        if !kind.is_file() && !kind.is_block_device() {
            return Err(failed(path, &"`file` must be a file or a block device"));
        }
        check_length(&mut file, path, size)?;
        let dir = path.parent().unwrap_or(path).to_owned();
        Ok(Self { dir, file, path: path.to_owned(), named: false })
    }

    /// Lays a file of `size` bytes out in memory (memfd, which is tmpfs): of the same bytes.
    ///
    /// # Errors
    /// Unsupported when it would take more than half of the memory that is available, of which there
    /// are `limit` bytes at most, and without /proc.
    pub fn in_memory(size: u64, data: Data, limit: u64) -> Result<Self, StartError> {
        check_memory(size, limit)?;
        let failed =
            |error| StartError::Failed(format!("can't create a test file in memory: {error}"));
        let file = memory_file().map_err(failed)?;
        let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        if let Err(error) = File::open(&path) {
            let why = format!("can't open the test file in memory as {}: {error}", path.display());
            return Err(StartError::unsupported(why, "mount -t proc proc /proc, or set place=dir"));
        }
        let mut laid_out = Self { dir: PathBuf::from("/dev/shm"), file, path, named: false };
        fill(&mut laid_out.file, size, data, &mut |file, piece| file.write_all(piece))
            .map_err(failed)?;
        Ok(laid_out)
    }

    fn lay_out_with(
        dir: &Path,
        name: &str,
        size: u64,
        data: Data,
        write: &mut dyn FnMut(&mut File, &[u8]) -> io::Result<()>,
    ) -> Result<Self, StartError> {
        let mut laid_out = Self::create(dir, name).map_err(|error| {
            StartError::unsupported(
                format!("can't create a test file in {}: {error}", dir.display()),
                "use --dir with a folder that you can write to",
            )
        })?;
        fill(&mut laid_out.file, size, data, write)
            .map_err(|error| laid_out.not_finished(size, &error))?;
        drop_cache(&laid_out.file);
        Ok(laid_out)
    }

    fn create(dir: &Path, name: &str) -> io::Result<Self> {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let process = std::process::id();
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let dir = dir.to_owned();
        let name = dir.join(format!("plumb-{name}-{process}-{number}.dat"));
        let file = create_new(&name)?;
        fs::remove_file(&name)?;
        let path = PathBuf::from(format!("/proc/{process}/fd/{}", file.as_raw_fd()));
        if File::open(&path).is_ok() {
            return Ok(Self { dir, file, path, named: false });
        }
        Ok(Self { dir, file: create_new(&name)?, path: name, named: true })
    }

    /// How it is opened, as long as this lives.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that it takes on the disk, as the filesystem counts them.
    ///
    /// # Errors
    /// When the filesystem does not report.
    pub fn bytes_on_disk(&self) -> Result<u64, Failure> {
        let metadata =
            self.file.metadata().map_err(|error| Failure::io("size of the test file", &error))?;
        Ok(metadata.blocks() * 512)
    }

    fn not_finished(&self, size: u64, error: &io::Error) -> StartError {
        let free = free_bytes(&self.dir).unwrap_or(0);
        let why = format!(
            "can't lay out a test file of {} in {}: {error}; {} free",
            whole_size(size),
            self.dir.display(),
            whole_size(free)
        );
        if is_full(error) {
            let less = less_size(free / MOST_OF_FREE.1 * MOST_OF_FREE.0);
            StartError::unsupported(why, format!("{less}, or use --dir on a larger filesystem"))
        } else {
            StartError::Failed(why)
        }
    }
}

fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// A file without a name that lies in memory, and only there.
fn memory_file() -> io::Result<File> {
    Ok(memfd_create(c"plumb-storage", MemfdFlags::CLOEXEC)?.into())
}

/// Memory that may be had without swapping, in bytes; None if the kernel does not report.
fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

fn check_memory(size: u64, limit: u64) -> Result<(), StartError> {
    let available = available_memory().ok_or_else(|| {
        StartError::unsupported(
            "can't read the available memory from /proc/meminfo",
            "set place=dir",
        )
    })?;
    let available = available.min(if limit == 0 { u64::MAX } else { limit });
    if size <= available / 2 {
        return Ok(());
    }
    Err(StartError::unsupported(
        format!(
            "a test file of {} would take more than half of the {} of available memory",
            whole_size(size),
            whole_size(available)
        ),
        format!("{}, or place=dir", less_size(available / 2)),
    ))
}

/// Whether an error says that there is no room.
#[must_use]
pub fn is_full(error: &io::Error) -> bool {
    [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded].contains(&error.kind())
}

impl Held for TestFile {
    fn clean(mut self: Box<Self>) -> Result<(), Failure> {
        if std::mem::take(&mut self.named) {
            fs::remove_file(&self.path).map_err(|error| {
                Failure::io(format!("removing {}", self.path.display()), &error)
            })?;
        }
        Ok(())
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        if self.named {
            // When this fails nobody is left to be told.
            fs::remove_file(&self.path).ok();
        }
    }
}

fn fill(
    file: &mut File,
    size: u64,
    data: Data,
    write: &mut dyn FnMut(&mut File, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut random = match data {
        Data::Random(seed) => Some(SplitMix64::new(seed)),
        Data::Zeros => None,
    };
    let mut piece = vec![0; PIECE];
    let mut offset = 0;
    while offset < size {
        let length = usize::try_from(size - offset).map_or(PIECE, |left| left.min(PIECE));
        if let Some(random) = &mut random {
            random.fill(&mut piece[..length]);
        }
        stamp::write(&mut piece[..length], offset, stamp::LAID_OUT);
        write(file, &piece[..length])?;
        offset += length as u64;
        if offset.is_multiple_of(FLUSH_EVERY) {
            file.sync_data()?;
            drop_cache(file);
        }
    }
    file.sync_all()
}

/// Refuses a file or device with fewer bytes.
fn check_length(file: &mut File, path: &Path, size: u64) -> Result<(), StartError> {
    let room = file
        .seek(SeekFrom::End(0))
        .map_err(|error| StartError::Failed(format!("{}: {error}", path.display())))?;
    if size <= room {
        return Ok(());
    }
    // Exact: rounded sizes may be equal.
    let why =
        format!("{} is {} long, less than {}", path.display(), show_bytes(room), show_bytes(size));
    Err(StartError::unsupported(why, less_size(room)))
}

fn check_space(dir: &Path, size: u64) -> Result<(), StartError> {
    let filesystem = Filesystem::of(dir).map_err(|error| {
        StartError::Failed(format!("reading the free space of {}: {error}", dir.display()))
    })?;
    let what = format!("a test file of {}", whole_size(size));
    filesystem.check_room(dir, &what, size, 1, &less_size)
}

/// The requirements of direct I/O on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectRule {
    /// The kernel does not report: try.
    Unknown,
    /// The file can't do it.
    Never,
    /// Offsets and lengths must be multiples of this many bytes.
    MultiplesOf(u64),
}

/// The requirements of direct I/O on this file (statx `STATX_DIOALIGN`, Linux 6.1).
#[must_use]
pub fn direct_rule(path: &Path) -> DirectRule {
    let Ok(stat) = statx(CWD, path, AtFlags::empty(), StatxFlags::DIOALIGN) else {
        return DirectRule::Unknown;
    };
    match (stat.stx_mask & StatxFlags::DIOALIGN.bits(), stat.stx_dio_offset_align) {
        (0, _) => DirectRule::Unknown,
        (_, 0) => DirectRule::Never,
        (_, multiple) => DirectRule::MultiplesOf(u64::from(multiple)),
    }
}

/// Asks the kernel to forget the clean cached pages of a file. A hint: what stays cached shows in the
/// device's bytes.
pub fn drop_cache(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

#[cfg(test)]
mod tests {
    use super::{Data, TestFile, free_bytes};
    use crate::stamp;
    use plumb_protocol::{Held, StartError};
    use plumb_workload_kit::filesystem::is_in_memory;
    use std::fs;
    use std::io::Write;

    #[test]
    fn a_file_is_real_stamped_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let size = (1 << 20) + 4096;
        let file = TestFile::lay_out(dir.path(), "test", size, Data::Random(7)).unwrap();
        let bytes = fs::read(file.path()).unwrap();
        assert_eq!(bytes.len() as u64, size);
        assert_eq!(stamp::read(&bytes, 0), Ok((1, 1)));
        assert!(file.bytes_on_disk().unwrap() >= size, "not sparse");
        if !file.named {
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "it has no name");
        }
        Box::new(file).clean().unwrap();
        drop(TestFile::lay_out(dir.path(), "test", size, Data::Random(7)).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "it is left");
    }

    #[test]
    fn a_file_of_zeros_is_as_stamped_and_holds_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let size = (1 << 20) + 4096;
        let file = TestFile::lay_out(dir.path(), "test", size, Data::Zeros).unwrap();
        let bytes = fs::read(file.path()).unwrap();
        assert_eq!(stamp::read(&bytes, 0), Ok((1, 1)));
        let rest = |sector: &[u8]| sector[16..].iter().all(|byte| *byte == 0);
        assert!(bytes.chunks_exact(stamp::SECTOR).all(rest));
        let random = TestFile::lay_out(dir.path(), "test", size, Data::Random(7)).unwrap();
        let bytes = fs::read(random.path()).unwrap();
        assert!(!bytes.chunks_exact(stamp::SECTOR).any(rest));
    }

    #[test]
    fn a_file_of_the_user_stays_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own");
        fs::write(&path, [9_u8; 8192]).unwrap();
        drop(TestFile::of_user(&path, 8192).unwrap());
        assert_eq!(fs::read(&path).unwrap(), [9_u8; 8192]);
        let Err(StartError::Unsupported { why, .. }) = TestFile::of_user(&path, 8193) else {
            panic!("it is too short");
        };
        assert!(why.contains("own is 8KiB long, less than 8193B"), "{why}");
        for wrong in [dir.path().to_owned(), dir.path().join("none"), "/dev/zero".into()] {
            assert!(matches!(TestFile::of_user(&wrong, 512), Err(StartError::Failed(_))));
        }
    }

    #[test]
    fn a_file_that_would_fill_the_disk_is_not_begun() {
        let dir = tempfile::tempdir().unwrap();
        let size = free_bytes(dir.path()).unwrap() / 5 * 4 + (64 << 20);
        let Err(StartError::Unsupported { why, .. }) =
            TestFile::lay_out(dir.path(), "test", size, Data::Random(7))
        else {
            panic!("it was laid out");
        };
        assert!(why.contains("80 %") && why.contains("MiB free in"), "{why}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_in_memory_is_as_real_and_no_larger_than_memory() {
        let size = 1 << 20;
        let file = TestFile::in_memory(size, Data::Random(7), 0).unwrap();
        assert!(is_in_memory(file.path()));
        assert_eq!(stamp::read(&fs::read(file.path()).unwrap(), 0), Ok((1, 1)));
        for (size, limit) in [(1 << 50, 0), (size, size)] {
            let data = Data::Random(7);
            let Err(StartError::Unsupported { why, .. }) = TestFile::in_memory(size, data, limit)
            else {
                panic!("it was laid out");
            };
            assert!(why.contains("more than half of the"), "{why}");
        }
    }

    #[test]
    fn a_disk_that_fills_up_on_the_way_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut pieces = 0;
        let result =
            TestFile::lay_out_with(dir.path(), "test", 8 << 20, Data::Zeros, &mut |file, piece| {
                pieces += 1;
                if pieces == 4 {
                    return Err(std::io::Error::from_raw_os_error(libc::ENOSPC));
                }
                file.write_all(piece)
            });
        let Err(StartError::Unsupported { why, .. }) = result else {
            panic!("it was laid out");
        };
        assert!(why.contains("of 8 MiB") && why.contains(" free"), "{why}");
        assert!(why.contains(&dir.path().display().to_string()), "{why}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
