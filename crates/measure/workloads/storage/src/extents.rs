//! The extents of a file: holes, extents that were never written, and extents that the filesystem compressed.
#![expect(unsafe_code, reason = "the ioctl that lists extents has no safe form")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use plumb_model::{Flag, FlagKind};
use plumb_units::whole_size;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// `FS_IOC_FIEMAP` of linux/fs.h.
const LIST: libc::Ioctl = 0xc020_660b_u32 as libc::Ioctl;
/// Asks that what waits in the page cache be written first (linux/fiemap.h).
const WRITE_FIRST: u32 = 0x1;
/// Of the last extent of a file.
const LAST: u32 = 0x1;
/// Of an extent whose bytes on the disk are others than the file's: compressed, or encrypted.
const ENCODED: u32 = 0x8;
/// Of an encrypted one.
const ENCRYPTED: u32 = 0x80;
/// Of an extent that is reserved and was never written.
const UNWRITTEN: u32 = 0x800;

/// Extents that one call lists.
const ROOM: usize = 256;
/// Extents or holes that are looked at: of a file in more pieces the beginning stands for all of it.
const MOST: usize = 32_768;

/// Bytes of the beginning of a file, by what the filesystem says of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct FileLayout {
    /// Those that were looked at.
    seen: u64,
    /// Nothing was ever written there, and nothing is reserved.
    holes: u64,
    /// Room is reserved, and nothing was ever written there.
    unwritten: u64,
    /// Written, and compressed.
    compressed: u64,
}

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved: [u64; 2],
    flags: u32,
    more: [u32; 3],
}

/// `struct fiemap` of linux/fiemap.h with room for extents behind it.
#[repr(C)]
struct List {
    start: u64,
    length: u64,
    flags: u32,
    listed: u32,
    room: u32,
    reserved: u32,
    extents: [FiemapExtent; ROOM],
}

impl List {
    /// The extents of so many bytes from here on, as many as there is room for.
    fn of(file: &File, start: u64, length: u64) -> io::Result<Box<Self>> {
        let none = FiemapExtent {
            logical: 0,
            physical: 0,
            length: 0,
            reserved: [0; 2],
            flags: 0,
            more: [0; 3],
        };
        let mut list = Box::new(Self {
            start,
            length,
            flags: WRITE_FIRST,
            listed: 0,
            room: ROOM as u32,
            reserved: 0,
            extents: [none; ROOM],
        });
        // SAFETY: the structure has the kernel's layout and lives beyond the call, which writes at most `room` extents.
        let done = unsafe { libc::ioctl(file.as_raw_fd(), LIST, &raw mut *list) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(list) }
    }

    fn extents(&self) -> &[FiemapExtent] {
        let listed = usize::try_from(self.listed).unwrap_or(ROOM);
        &self.extents[..listed.min(ROOM)]
    }
}

impl FileLayout {
    /// Of the first `size` bytes of a file.
    fn of(file: &File, size: u64) -> io::Result<Self> {
        Self::by_list(file, size).or_else(|_| Self::by_seeking(file, size))
    }

    /// As the filesystem lists its extents.
    fn by_list(file: &File, size: u64) -> io::Result<Self> {
        let mut layout = Self::default();
        let mut mapped = 0;
        let mut count = 0;
        while layout.seen < size && count < MOST {
            let list = List::of(file, layout.seen, size - layout.seen)?;
            let Some(last) = list.extents().last() else {
                layout.seen = size;
                break;
            };
            for extent in list.extents() {
                let end = extent.logical.saturating_add(extent.length).min(size);
                let bytes = end.saturating_sub(extent.logical.max(layout.seen));
                mapped += bytes;
                layout.add(extent.flags, bytes);
            }
            let end = last.logical.saturating_add(last.length);
            // A filesystem that lists nothing new would keep this loop going for ever.
            if end <= layout.seen {
                return Err(io::ErrorKind::InvalidData.into());
            }
            layout.seen = if last.flags & LAST != 0 { size } else { end.min(size) };
            count += list.extents().len();
        }
        layout.holes = layout.seen.saturating_sub(mapped);
        Ok(layout)
    }

    fn add(&mut self, flags: u32, bytes: u64) {
        if flags & UNWRITTEN != 0 {
            self.unwritten += bytes;
        } else if flags & ENCODED != 0 && flags & ENCRYPTED == 0 {
            // Encrypted extents are marked as encoded, too, but are as long on the disk as in the file.
            self.compressed += bytes;
        }
    }

    /// As the filesystem finds holes, to which it may count what is reserved and was never written.
    fn by_seeking(file: &File, size: u64) -> io::Result<Self> {
        let mut layout = Self::default();
        let mut data = 0;
        for _ in 0..MOST {
            let begin = match seek(file, SeekFrom::Data(layout.seen)) {
                Ok(begin) if begin < size => begin,
                // ENXIO: there are no data from here to the end of the file (lseek(2)).
                Ok(_) | Err(Errno::NXIO) => {
                    layout.seen = size;
                    break;
                }
                Err(error) => return Err(error.into()),
            };
            let end = seek(file, SeekFrom::Hole(begin))?.min(size);
            data += end - begin;
            layout.seen = end;
            if end == size {
                break;
            }
        }
        layout.holes = layout.seen - data;
        Ok(layout)
    }

    fn flags(self) -> Vec<Flag> {
        let Self { seen, holes, unwritten, compressed } = self;
        let mut flags = Vec::new();
        if holes + unwritten > 0 {
            let why = format!(
                "{} of the first {} are not on the device: {} are holes, {} are reserved but never written",
                whole_size(holes + unwritten),
                whole_size(seen),
                whole_size(holes),
                whole_size(unwritten)
            );
            flags.push(Flag::new(FlagKind::Sparse, why));
        }
        if compressed > 0 {
            let why = format!(
                "{} of the first {} are compressed: the device moves fewer bytes than the blocks contain",
                whole_size(compressed),
                whole_size(seen)
            );
            flags.push(Flag::new(FlagKind::Compressed, why));
        }
        flags
    }
}

/// Why the first `size` bytes of a file are no measure of a device; nothing if the filesystem does not report.
#[must_use]
pub fn flags(path: &Path, size: u64) -> Vec<Flag> {
    let layout = File::open(path).and_then(|file| FileLayout::of(&file, size));
    layout.map(FileLayout::flags).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{FileLayout, flags};
    use plumb_model::FlagKind;
    use rustix::fs::{FallocateFlags, fallocate};
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    /// Four MiB: written, a hole, reserved, written.
    fn made(folder: &std::path::Path) -> File {
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(folder.join("own"))
            .unwrap();
        file.set_len(4 * MIB).unwrap();
        fallocate(&file, FallocateFlags::empty(), 2 * MIB, MIB).unwrap();
        for at in [0, 3 * MIB] {
            file.write_all_at(&[7; 1 << 20], at).unwrap();
        }
        file
    }

    #[test]
    fn holes_and_what_was_never_written_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = made(folder.path());
        let found = FileLayout::of(&file, 4 * MIB).unwrap();
        assert_eq!((found.seen, found.holes + found.unwritten), (4 * MIB, 2 * MIB), "{found:?}");
        if let Ok(listed) = FileLayout::by_list(&file, 4 * MIB) {
            let expected = FileLayout { seen: 4 * MIB, holes: MIB, unwritten: MIB, compressed: 0 };
            assert_eq!(listed, expected);
            let begin = FileLayout::by_list(&file, MIB + MIB / 2).unwrap();
            assert_eq!((begin.seen, begin.holes, begin.unwritten), (MIB * 3 / 2, MIB / 2, 0));
        }
        let sought = FileLayout::by_seeking(&file, 4 * MIB).unwrap();
        // A filesystem may count what is reserved as data.
        assert!([MIB, 2 * MIB].contains(&sought.holes) && sought.seen == 4 * MIB, "{sought:?}");
        let flags = flags(&folder.path().join("own"), 4 * MIB);
        assert_eq!((flags.len(), &flags[0].flag), (1, &FlagKind::Sparse));
        assert!(flags[0].why.starts_with("2 MiB of the first 4 MiB"), "{flags:?}");
    }

    #[test]
    fn a_file_that_was_written_whole_is_not_flagged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whole");
        std::fs::write(&path, vec![7_u8; 3 << 20]).unwrap();
        assert!(flags(&path, 3 * MIB).is_empty());
        let file = File::open(&path).unwrap();
        assert_eq!(FileLayout::by_seeking(&file, 3 * MIB).unwrap().holes, 0);
        assert!(flags(&folder.path().join("none"), MIB).is_empty());
    }

    #[test]
    fn a_file_in_many_pieces_is_listed_in_several_calls() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create_new(folder.path().join("pieces")).unwrap();
        // More pieces than one call has room for.
        let pieces = 600;
        let apart = 64 << 10;
        for piece in 0..pieces {
            file.write_all_at(&[7; 4096], piece * apart).unwrap();
        }
        file.set_len(pieces * apart).unwrap();
        let file = File::open(folder.path().join("pieces")).unwrap();
        let found = FileLayout::of(&file, pieces * apart).unwrap();
        assert_eq!(found.seen, pieces * apart);
        assert_eq!(found.holes + found.unwritten, pieces * (apart - 4096), "{found:?}");
    }

    #[test]
    fn an_encrypted_extent_is_not_compressed() {
        let mut layout = FileLayout { seen: 8192, ..FileLayout::default() };
        layout.add(super::ENCODED | super::ENCRYPTED, 4096);
        assert!(layout.flags().is_empty());
        layout.add(super::ENCODED, 4096);
        assert_eq!(layout.flags()[0].flag, FlagKind::Compressed);
    }
}
