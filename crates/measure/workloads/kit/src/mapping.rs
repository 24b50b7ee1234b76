//! Anonymous memory, page-aligned, with a say in the size of its pages.
#![expect(unsafe_code, reason = "mmap, madvise and views of a mapping have no safe form in std")]

use std::fs;
use std::ptr::NonNull;

use plumb_protocol::StartError;

/// Size and alignment of a huge page that the kernel gives to anonymous memory on the machines that
/// plumb knows (x86-64, and arm64 with 4 KiB pages).
pub const HUGE_BYTES: usize = 2 << 20;

/// Advice that makes the kernel gather pages into huge ones at once (Linux 6.1).
const MADV_COLLAPSE: libc::c_int = 25;

/// The pages of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// What the system gives without being asked.
    System,
    /// 4 KiB pages only.
    Small,
    /// Huge pages only.
    Huge,
}

/// Anonymous private memory; unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    whole: NonNull<libc::c_void>,
    whole_len: usize,
    /// Start of the part that is used: `whole` rounded up to a huge page if that was asked for.
    words: NonNull<u64>,
    bytes: usize,
    pages: Pages,
}

// SAFETY: the mapping is owned memory; nothing in it depends on the thread that made it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes, not yet touched.
    ///
    /// # Errors
    /// When there is no memory, or no such pages.
    pub fn new(bytes: usize, pages: Pages) -> Result<Self, StartError> {
        let align = if pages == Pages::Huge { HUGE_BYTES } else { 1 };
        let mut used = bytes;
        if pages == Pages::Huge {
            used = bytes.next_multiple_of(HUGE_BYTES);
        }
        // mmap aligns to base pages only: the surplus leaves room to begin at a huge page.
        let whole_len = used + align - 1;
        let read_write = libc::PROT_READ | libc::PROT_WRITE;
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), whole_len, read_write, private, -1, 0) };
        let Some(whole) = NonNull::new(address).filter(|_| address != libc::MAP_FAILED) else {
            let error = std::io::Error::last_os_error();
            return Err(StartError::unsupported(
                format!("{bytes} bytes of memory could not be mapped: {error}"),
                "set a smaller `size`, or raise `ulimit -v`",
            ));
        };
        let offset = address.addr().next_multiple_of(align) - address.addr();
        // SAFETY: `offset` is below `align`, and `whole_len` leaves that much room before `used`.
        let words = unsafe { whole.byte_add(offset) }.cast::<u64>();
        let mapping = Self { whole, whole_len, words, bytes, pages };
        mapping.advise(used);
        Ok(mapping)
    }

    /// A refused advice is found when the pages are counted, so its result is not needed here.
    fn advise(&self, used: usize) {
        let advice = match self.pages {
            Pages::System => return,
            Pages::Small => libc::MADV_NOHUGEPAGE,
            Pages::Huge => libc::MADV_HUGEPAGE,
        };
        // SAFETY: the range lies within the mapping, and the advice changes no contents.
        unsafe { libc::madvise(self.words.as_ptr().cast(), used, advice) };
    }

    /// The memory as words.
    pub fn words(&self) -> &[u64] {
        // SAFETY: the range is mapped, page-aligned, zero or written by us, and borrowed with self.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.bytes / 8) }
    }

    /// The memory as words.
    pub fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `words`, and self is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_ptr(), self.bytes / 8) }
    }

    /// Bytes of the memory that lie in huge pages; none when the kernel does not report. The kernel
    /// counts by mapping and joins neighbours of the same kind, so that this is an upper bound.
    pub fn huge_bytes(&self) -> Option<usize> {
        let smaps = fs::read_to_string("/proc/self/smaps").ok()?;
        Some(huge_bytes_at(&smaps, self.words.addr().get())?.huge.min(self.bytes))
    }

    /// Checks, after every page was touched, that the memory is made of the pages asked for.
    ///
    /// # Errors
    /// [`StartError::Unsupported`] when it is not, or when that can't be known.
    pub fn check_pages(&self) -> Result<(), StartError> {
        match self.pages {
            Pages::System => Ok(()),
            Pages::Small => self.check_small(),
            Pages::Huge => self.check_huge(),
        }
    }

    fn check_small(&self) -> Result<(), StartError> {
        let base = rustix::param::page_size();
        if base != 4096 {
            return Err(StartError::unsupported(
                format!("this kernel's base pages are {base} bytes, not 4096"),
                "set `pages=huge`",
            ));
        }
        match self.huge_bytes() {
            Some(0) | None => Ok(()),
            Some(huge) => Err(StartError::unsupported(
                format!("the kernel used huge pages for {huge} bytes although they were disabled"),
                "try again; if it persists, report it with your kernel version",
            )),
        }
    }

    fn check_huge(&self) -> Result<(), StartError> {
        let mut entry = self.entry();
        // The kernel may have left small pages at the first touch, when no huge page was free.
        if !entry.as_ref().is_some_and(SmapsEntry::is_all_huge) {
            let used = self.bytes.next_multiple_of(HUGE_BYTES);
            // SAFETY: the range lies within the mapping, and collapsing keeps the contents.
            unsafe { libc::madvise(self.words.as_ptr().cast(), used, MADV_COLLAPSE) };
            entry = self.entry();
        }
        match entry {
            Some(entry) if entry.is_all_huge() => Ok(()),
            Some(entry) => Err(no_huge_pages(&entry)),
            None => Err(StartError::unsupported(
                "can't check for huge pages without /proc/self/smaps",
                "mount /proc",
            )),
        }
    }

    fn entry(&self) -> Option<SmapsEntry> {
        let smaps = fs::read_to_string("/proc/self/smaps").ok()?;
        huge_bytes_at(&smaps, self.words.addr().get())
    }
}

fn no_huge_pages(entry: &SmapsEntry) -> StartError {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if switched_off(&status) {
        return StartError::unsupported(
            "huge pages are disabled for this process (prctl PR_SET_THP_DISABLE)",
            "start plumb from a program that does not disable them",
        );
    }
    let setting = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
        .unwrap_or_else(|_| "not in this kernel".into());
    StartError::unsupported(
        format!(
            "{} of {} bytes are in huge pages (transparent huge pages: {})",
            entry.huge,
            entry.size,
            setting.trim()
        ),
        "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled; if that is set, \
         memory is fragmented: echo 1 > /proc/sys/vm/compact_memory",
    )
}

/// Whether /proc/PID/status says that the process gets no transparent huge pages.
fn switched_off(status: &str) -> bool {
    let field = status.lines().find_map(|line| line.strip_prefix("THP_enabled:"));
    field.is_some_and(|value| value.trim() == "0")
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the whole mapping is ours, and nobody can hold a view of it any more.
        unsafe { libc::munmap(self.whole.as_ptr(), self.whole_len) };
    }
}

/// One entry of smaps.
#[derive(Debug, PartialEq, Eq)]
struct SmapsEntry {
    /// Its size, in bytes.
    size: usize,
    /// The bytes of it in huge pages.
    huge: usize,
}

impl SmapsEntry {
    fn is_all_huge(&self) -> bool {
        self.huge == self.size
    }
}

/// The entry of `smaps` that holds `address`.
fn huge_bytes_at(smaps: &str, address: usize) -> Option<SmapsEntry> {
    let mut size = None;
    for line in smaps.lines() {
        if let Some((start, end)) = range(line) {
            size = (start..end).contains(&address).then_some(end - start);
        } else if let (Some(size), Some(rest)) = (size, line.strip_prefix("AnonHugePages:")) {
            let kib: usize = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
            return Some(SmapsEntry { size, huge: kib * 1024 });
        }
    }
    None
}

/// The addresses in the first line of an entry.
fn range(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some((usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Mapping, Pages, SmapsEntry, huge_bytes_at, no_huge_pages, switched_off};
    use plumb_protocol::StartError;

    const SMAPS: &str = "\
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      2048 kB
7f0000400000-7f0000401000 rw-p 00000000 00:00 0
AnonHugePages:         0 kB
";

    #[test]
    fn huge_pages_are_read_from_the_entry_that_holds_the_address() {
        let entry = SmapsEntry { size: 4 << 20, huge: 2 << 20 };
        assert_eq!(huge_bytes_at(SMAPS, 0x7f00_003f_ffff), Some(entry));
        let entry = SmapsEntry { size: 4096, huge: 0 };
        assert_eq!(huge_bytes_at(SMAPS, 0x7f00_0040_0000), Some(entry));
        assert_eq!(huge_bytes_at(SMAPS, 0x1000), None);
    }

    #[test]
    fn small_pages_are_small_and_a_lack_of_huge_ones_is_found() {
        let mut mapping = Mapping::new(8 << 20, Pages::Small).unwrap();
        mapping.words_mut().fill(1);
        assert_eq!(mapping.huge_bytes(), Some(0));
        mapping.check_pages().unwrap();
        let mut mapping = Mapping::new(3 << 20, Pages::Huge).unwrap();
        mapping.words_mut().fill(1);
        match mapping.check_pages() {
            Ok(()) => assert_eq!(mapping.huge_bytes(), Some(3 << 20)),
            Err(error) => assert!(matches!(error, StartError::Unsupported { .. }), "{error:?}"),
        }
    }

    #[test]
    fn missing_huge_pages_are_explained() {
        let StartError::Unsupported { why, fix } =
            no_huge_pages(&SmapsEntry { size: 4 << 20, huge: 2 << 20 })
        else {
            panic!("not unsupported")
        };
        assert!(why.starts_with("2097152 of 4194304 bytes are in huge pages"), "{why}");
        assert!(fix.contains("transparent_hugepage/enabled"));
        assert!(switched_off("Name:\tx\nTHP_enabled:\t0\n"));
        assert!(!switched_off("Name:\tx\nTHP_enabled:\t1\n") && !switched_off(""));
    }
}
