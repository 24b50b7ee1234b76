//! Counts the relocations of an ELF file from its dynamic section.
//!
//! The program headers lead to that section, and its tags give the sizes of the tables: section headers may be stripped.
//! Files may be damaged or hostile: every offset and size is checked, and no table is read whole before its size is.

use std::io::{self, Read, Seek, SeekFrom};

use plumb_model::RelocationCounts;

/// The first bytes of an ELF file.
pub(crate) const MAGIC: [u8; 4] = *b"\x7fELF";

/// Largest dynamic section that is read, in bytes; real ones have a few hundred.
const MOST_DYNAMIC: u64 = 1 << 20;
/// Largest table of packed relocations that is read, in bytes; that of a web browser has a few hundred KiB.
const MOST_PACKED: u64 = 64 << 20;

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;

const DT_NULL: u64 = 0;
const DT_PLTRELSZ: u64 = 2;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_RELAENT: u64 = 9;
const DT_REL: u64 = 17;
const DT_RELSZ: u64 = 18;
const DT_RELENT: u64 = 19;
const DT_PLTREL: u64 = 20;
const DT_JMPREL: u64 = 23;
const DT_RELRSZ: u64 = 35;
const DT_RELR: u64 = 36;
const DT_RELACOUNT: u64 = 0x6fff_fff9;
const DT_RELCOUNT: u64 = 0x6fff_fffa;

/// Counts the relocations of an ELF file; all are 0 for a static one.
///
/// # Errors
/// If it is not an ELF file, is cut off, or declares what it can't hold.
pub(crate) fn relocations(file: &mut (impl Read + Seek)) -> io::Result<RelocationCounts> {
    let mut elf = ElfFile::open(file)?;
    let segments = elf.segments()?;
    let Some(dynamic) = segments.iter().find(|segment| segment.kind == PT_DYNAMIC) else {
        return Ok(RelocationCounts::default());
    };
    let tags = elf.dynamic(dynamic)?;
    let packed = elf.packed(&tags, &segments)?;
    let counts = [
        tags.table(DT_RELA, DT_RELASZ, DT_RELAENT, DT_RELACOUNT, elf.words_to_bytes(3))?,
        tags.table(DT_REL, DT_RELSZ, DT_RELENT, DT_RELCOUNT, elf.words_to_bytes(2))?,
    ];
    let words = if tags.value(DT_PLTREL) == Some(DT_REL) { 2 } else { 3 };
    Ok(RelocationCounts {
        relative: counts.iter().map(|table| table.relative).sum::<u64>() + packed,
        symbolic: counts.iter().map(|table| table.symbolic).sum(),
        lazy: tags.size(DT_PLTRELSZ)? / elf.words_to_bytes(words),
    })
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged ELF file: {what}"))
}

struct ElfFile<'f, F> {
    file: &'f mut F,
    is_64_bit: bool,
    is_big_endian: bool,
    /// Size of the file, in bytes.
    size: u64,
}

/// The parts of a program header that matter here.
struct ProgramHeader {
    kind: u64,
    offset: u64,
    address: u64,
    file_size: u64,
}

impl<'f, F: Read + Seek> ElfFile<'f, F> {
    fn open(file: &'f mut F) -> io::Result<Self> {
        let size = file.seek(SeekFrom::End(0))?;
        let mut elf = Self { file, is_64_bit: true, is_big_endian: false, size };
        let identity = elf.bytes(0, 16)?;
        if identity[..4] != MAGIC {
            return Err(damaged("no magic number"));
        }
        elf.is_64_bit = match identity[4] {
            1 => false,
            2 => true,
            _ => return Err(damaged("unknown class")),
        };
        elf.is_big_endian = match identity[5] {
            1 => false,
            2 => true,
            _ => return Err(damaged("unknown byte order")),
        };
        Ok(elf)
    }

    /// Bytes of the file. Only as many are allocated as the file has.
    fn bytes(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let is_inside = offset.checked_add(length).is_some_and(|end| end <= self.size);
        if !is_inside {
            return Err(damaged("a table lies outside the file"));
        }
        let length = usize::try_from(length).map_err(|_| damaged("a table is too large"))?;
        let mut bytes = vec![0; length];
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The number in some bytes, in the byte order of the file.
    fn number(&self, bytes: &[u8]) -> u64 {
        let most_significant_first: Vec<u8> =
            if self.is_big_endian { bytes.to_vec() } else { bytes.iter().rev().copied().collect() };
        most_significant_first.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn word_bytes(&self) -> u64 {
        if self.is_64_bit { 8 } else { 4 }
    }

    fn words_to_bytes(&self, words: u64) -> u64 {
        words * self.word_bytes()
    }

    fn segments(&mut self) -> io::Result<Vec<ProgramHeader>> {
        let header = self.bytes(0, if self.is_64_bit { 64 } else { 52 })?;
        let (table_at, entry_at) = if self.is_64_bit { (32..40, 54) } else { (28..32, 42) };
        let table = self.number(&header[table_at]);
        let entry_size = self.number(&header[entry_at..entry_at + 2]);
        let count = self.number(&header[entry_at + 2..entry_at + 4]);
        let least_size = if self.is_64_bit { 56 } else { 32 };
        if count > 0 && entry_size < least_size {
            return Err(damaged("program headers are too small"));
        }
        let bytes = self.bytes(table, entry_size * count)?;
        let entries = bytes.chunks_exact(usize::try_from(entry_size.max(1)).unwrap_or(1));
        Ok(entries.map(|entry| self.segment(entry)).collect())
    }

    fn segment(&self, entry: &[u8]) -> ProgramHeader {
        let [offset, address, file_size] =
            if self.is_64_bit { [8..16, 16..24, 32..40] } else { [4..8, 8..12, 16..20] };
        ProgramHeader {
            kind: self.number(&entry[..4]),
            offset: self.number(&entry[offset]),
            address: self.number(&entry[address]),
            file_size: self.number(&entry[file_size]),
        }
    }

    fn dynamic(&mut self, segment: &ProgramHeader) -> io::Result<DynamicTags> {
        if segment.file_size > MOST_DYNAMIC {
            return Err(damaged("the dynamic section is too large"));
        }
        let bytes = self.bytes(segment.offset, segment.file_size)?;
        let word = usize::try_from(self.word_bytes()).unwrap_or(8);
        let mut tags = Vec::new();
        for entry in bytes.chunks_exact(2 * word) {
            let tag = self.number(&entry[..word]);
            if tag == DT_NULL {
                break;
            }
            tags.push((tag, self.number(&entry[word..])));
        }
        Ok(DynamicTags { tags, file_size: self.size })
    }

    /// Packed relocations: an even word is one, an odd word has one for each set bit but the lowest.
    fn packed(&mut self, tags: &DynamicTags, segments: &[ProgramHeader]) -> io::Result<u64> {
        let (Some(address), Some(length)) = (tags.value(DT_RELR), tags.value(DT_RELRSZ)) else {
            return Ok(0);
        };
        if length > MOST_PACKED {
            return Err(damaged("the table of packed relocations is too large"));
        }
        let loaded = segments.iter().filter(|segment| segment.kind == PT_LOAD).find(|segment| {
            address.checked_sub(segment.address).is_some_and(|into| into < segment.file_size)
        });
        let Some(loaded) = loaded else {
            return Err(damaged("packed relocations are not loaded"));
        };
        let offset = loaded.offset.checked_add(address - loaded.address);
        let offset = offset.ok_or_else(|| damaged("an offset is too large"))?;
        let bytes = self.bytes(offset, length)?;
        let word = usize::try_from(self.word_bytes()).unwrap_or(8);
        let words = bytes.chunks_exact(word).map(|bytes| self.number(bytes));
        Ok(words.map(|word| if word & 1 == 0 { 1 } else { u64::from(word.count_ones()) - 1 }).sum())
    }
}

/// The tags of a dynamic section, with their values.
struct DynamicTags {
    tags: Vec<(u64, u64)>,
    file_size: u64,
}

impl DynamicTags {
    fn value(&self, wanted: u64) -> Option<u64> {
        self.tags.iter().find(|(tag, _)| *tag == wanted).map(|(_, value)| *value)
    }

    /// The size of a table, in bytes; 0 without one.
    fn size(&self, tag: u64) -> io::Result<u64> {
        match self.value(tag) {
            Some(bytes) if bytes > self.file_size => {
                Err(damaged("a table is larger than the file"))
            }
            bytes => Ok(bytes.unwrap_or(0)),
        }
    }

    /// The relative and the other relocations of a table, by the tags of its address, size, entry size and count.
    fn table(
        &self,
        address: u64,
        size: u64,
        entry_size: u64,
        relative_count: u64,
        usual_entry: u64,
    ) -> io::Result<RelocationCounts> {
        let Some(start) = self.value(address) else {
            return Ok(RelocationCounts::default());
        };
        let mut bytes = self.size(size)?;
        let entry = self.value(entry_size).unwrap_or(usual_entry);
        if entry == 0 {
            return Err(damaged("relocations have no size"));
        }
        // Some linkers count the procedure linkage table, if it follows directly, as a part of this one.
        if let Some(lazy) = self.value(DT_JMPREL)
            && lazy.checked_sub(start).is_some_and(|into| into < bytes)
        {
            bytes = bytes.saturating_sub(self.size(DT_PLTRELSZ)?);
        }
        let all = bytes / entry;
        let relative = self.value(relative_count).unwrap_or(0).min(all);
        Ok(RelocationCounts { relative, symbolic: all - relative, lazy: 0 })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use plumb_model::RelocationCounts;

    use super::relocations;

    /// An ELF file of one segment that is all of it, with these dynamic tags at its end and `packed` words before them.
    fn file(is_64_bit: bool, is_big_endian: bool, packed: &[u64], tags: &[(u64, u64)]) -> Vec<u8> {
        let word = if is_64_bit { 8 } else { 4 };
        let number = |value: u64, bytes: usize| -> Vec<u8> {
            let all = value.to_be_bytes();
            let mut shown = all[8 - bytes..].to_vec();
            if !is_big_endian {
                shown.reverse();
            }
            shown
        };
        let header_size = if is_64_bit { 64 } else { 52 };
        let entry_size = if is_64_bit { 56 } else { 32 };
        let packed_at = header_size + 2 * entry_size;
        let dynamic_at = packed_at + packed.len() * word;
        let dynamic_size = (tags.len() + 1) * 2 * word;
        let end = dynamic_at + dynamic_size;
        let mut bytes = b"\x7fELF".to_vec();
        bytes.extend([if is_64_bit { 2 } else { 1 }, if is_big_endian { 2 } else { 1 }]);
        bytes.resize(if is_64_bit { 32 } else { 28 }, 0);
        bytes.extend(number(header_size as u64, word));
        bytes.resize(if is_64_bit { 54 } else { 42 }, 0);
        bytes.extend(number(entry_size as u64, 2));
        bytes.extend(number(2, 2));
        bytes.resize(header_size, 0);
        for (kind, offset, size) in [(1, 0, end), (2, dynamic_at, dynamic_size)] {
            let at = bytes.len();
            bytes.extend(number(kind, 4));
            bytes.resize(at + word, 0);
            bytes.extend(number(offset as u64, word));
            // Loaded at 0x10000.
            bytes.extend(number(0x1_0000 + offset as u64, word));
            bytes.extend(number(0, word));
            bytes.extend(number(size as u64, word));
            bytes.resize(at + entry_size, 0);
        }
        packed.iter().for_each(|value| bytes.extend(number(*value, word)));
        for (tag, value) in tags {
            let value = if *tag == 36 { 0x1_0000 + packed_at as u64 } else { *value };
            bytes.extend(number(*tag, word));
            bytes.extend(number(value, word));
        }
        bytes.resize(end, 0);
        bytes
    }

    #[test]
    fn relocations_of_both_classes_and_byte_orders_are_counted() {
        for (is_64_bit, is_big_endian) in
            [(true, false), (true, true), (false, false), (false, true)]
        {
            let word = if is_64_bit { 8 } else { 4 };
            let tags = [
                (7, 0x500),
                (8, 10 * 3 * word),
                (9, 3 * word),
                (0x6fff_fff9, 6),
                (2, 4 * 3 * word),
                (20, 7),
                (23, 0x100),
                (36, 0),
                (35, 3 * word),
            ];
            // One address, a bitmap of three, another address.
            let bytes = file(is_64_bit, is_big_endian, &[0x2000, 0b1111, 0x3000], &tags);
            let found = relocations(&mut Cursor::new(bytes)).unwrap();
            assert_eq!(found, RelocationCounts { relative: 6 + 5, symbolic: 4, lazy: 4 });
        }
    }

    #[test]
    fn a_procedure_linkage_table_inside_the_other_table_counts_once() {
        let tags = [(7, 0x100), (8, 240), (9, 24), (2, 48), (20, 7), (23, 0x100 + 192)];
        let found = relocations(&mut Cursor::new(file(true, false, &[], &tags))).unwrap();
        assert_eq!(found, RelocationCounts { relative: 0, symbolic: 8, lazy: 2 });
    }

    #[test]
    fn damaged_files_are_errors_and_never_panics() {
        let tags = [(7, 0x100), (8, 240), (9, 24), (36, 0), (35, 16), (2, 48), (23, 0)];
        let whole = file(true, false, &[3, 5], &tags);
        for length in 0..whole.len() {
            assert!(relocations(&mut Cursor::new(&whole[..length])).is_err(), "{length} bytes");
        }
        // Every byte of the headers and of the dynamic section at its extremes.
        for position in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[position] = value;
                let _ = relocations(&mut Cursor::new(bytes));
            }
        }
        let without_size = file(true, false, &[], &[(7, 1), (8, 240), (9, 0)]);
        assert!(relocations(&mut Cursor::new(without_size)).is_err());
        let huge = file(true, false, &[1], &[(36, 0), (35, u64::MAX)]);
        assert!(relocations(&mut Cursor::new(huge)).is_err());
        assert!(relocations(&mut Cursor::new(b"#!/bin/sh\n")).is_err());
    }

    #[test]
    fn the_counts_of_this_test_are_those_of_readelf() {
        let own = std::env::current_exe().unwrap();
        let counts = relocations(&mut std::fs::File::open(&own).unwrap()).unwrap();
        assert!(counts.total() > 0, "{counts:?}");
        let Ok(output) =
            std::process::Command::new("readelf").args(["--dynamic", "--wide"]).arg(&own).output()
        else {
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let number = |name: &str| -> u64 {
            let line = text.lines().find(|line| line.contains(name)).unwrap_or_default();
            line.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or(0)
        };
        assert_eq!(counts.relative + counts.symbolic, number("(RELASZ)") / 24, "{text}");
        assert_eq!(counts.lazy, number("(PLTRELSZ)") / 24, "{text}");
    }
}
