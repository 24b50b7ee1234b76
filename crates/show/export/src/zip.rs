//! A ZIP archive in memory: deflated files with fixed dates, so that the same content gives the same bytes.
//!
//! Source: APPNOTE.TXT 6.3.10 of PKWARE, sections 4.3.7 (local header), 4.3.12 (central directory) and 4.3.16 (its end).

use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, compress_to_output, create_comp_flags_from_zip_params,
};

/// Extraction needs version 2.0 of the format, for deflate.
const VERSION: u16 = 20;
/// The method *deflate*.
const DEFLATED: u16 = 8;
/// 1980-01-01, the first date that the format has.
const FIRST_DATE: u16 = (1 << 5) | 1;
/// The usual compromise of zlib between time and size.
const COMPRESSION: i32 = 6;
/// The window size that means raw deflate, without the header of zlib.
const RAW: i32 = -15;
/// Content that is compressed at a time, in bytes, so that a large file never exists uncompressed.
const CHUNK: usize = 1 << 16;

/// An archive that grows file by file.
#[derive(Default)]
pub struct Zip {
    out: Vec<u8>,
    entries: Vec<ZipEntry>,
}

/// What the central directory says of a file.
struct ZipEntry {
    name: String,
    crc32: u32,
    compressed: u32,
    size: u32,
    offset: u32,
}

/// A file of the archive that still grows.
pub struct Growing {
    name: String,
    pending: Vec<u8>,
    compressor: CompressorOxide,
    compressed: Vec<u8>,
    crc32: crc32fast::Hasher,
    size: u64,
}

impl Growing {
    /// An empty file of this name.
    pub fn new(name: &str) -> Self {
        let flags = create_comp_flags_from_zip_params(COMPRESSION, RAW, 0);
        Self {
            name: name.to_owned(),
            pending: Vec::with_capacity(2 * CHUNK),
            compressor: CompressorOxide::new(flags),
            compressed: Vec::new(),
            crc32: crc32fast::Hasher::new(),
            size: 0,
        }
    }

    /// Appends text in UTF-8.
    pub fn push(&mut self, text: &str) {
        self.pending.extend_from_slice(text.as_bytes());
        if self.pending.len() >= CHUNK {
            self.compress(TDEFLFlush::None);
        }
    }

    fn compress(&mut self, flush: TDEFLFlush) {
        self.crc32.update(&self.pending);
        self.size += self.pending.len() as u64;
        let compressed = &mut self.compressed;
        compress_to_output(&mut self.compressor, &self.pending, flush, |bytes| {
            compressed.extend_from_slice(bytes);
            true
        });
        self.pending.clear();
    }
}

impl Zip {
    /// Adds a file that is complete.
    ///
    /// # Errors
    /// When the file or the archive exceeds the 4 GiB that the format's 32-bit fields hold.
    pub fn add(&mut self, mut file: Growing) -> Result<(), TooLarge> {
        file.compress(TDEFLFlush::Finish);
        let entry = ZipEntry {
            crc32: file.crc32.finalize(),
            compressed: fitting(file.compressed.len())?,
            size: u32::try_from(file.size).map_err(|_| TooLarge)?,
            offset: fitting(self.out.len())?,
            name: file.name,
        };
        self.out.extend(b"PK\x03\x04");
        entry.write_fields(&mut self.out);
        self.out.extend([0; 2]); // length of the extra field
        self.out.extend(entry.name.as_bytes());
        self.out.extend(file.compressed);
        self.entries.push(entry);
        Ok(())
    }

    /// The archive.
    ///
    /// # Errors
    /// As for [`Zip::add`].
    pub fn finish(mut self) -> Result<Vec<u8>, TooLarge> {
        let start = fitting(self.out.len())?;
        for entry in &self.entries {
            self.out.extend(b"PK\x01\x02");
            self.out.extend(VERSION.to_le_bytes());
            entry.write_fields(&mut self.out);
            // Lengths of extra field and comment, disk, internal and external attributes.
            self.out.extend([0; 12]);
            self.out.extend(entry.offset.to_le_bytes());
            self.out.extend(entry.name.as_bytes());
        }
        let length = fitting(self.out.len())? - start;
        let count = u16::try_from(self.entries.len()).map_err(|_| TooLarge)?;
        self.out.extend(b"PK\x05\x06");
        self.out.extend([0; 4]); // this disk and the one where the directory starts
        self.out.extend(count.to_le_bytes());
        self.out.extend(count.to_le_bytes());
        self.out.extend(length.to_le_bytes());
        self.out.extend(start.to_le_bytes());
        self.out.extend([0; 2]); // length of the comment
        Ok(self.out)
    }
}

impl ZipEntry {
    /// What the local header and the central directory have in common, up to the length of the name.
    fn write_fields(&self, out: &mut Vec<u8>) {
        out.extend(VERSION.to_le_bytes());
        out.extend([0; 2]); // flags
        out.extend(DEFLATED.to_le_bytes());
        out.extend([0; 2]); // midnight
        out.extend(FIRST_DATE.to_le_bytes());
        out.extend(self.crc32.to_le_bytes());
        out.extend(self.compressed.to_le_bytes());
        out.extend(self.size.to_le_bytes());
        out.extend((self.name.len() as u16).to_le_bytes());
    }
}

/// The archive exceeds what the format's 32-bit fields hold.
#[derive(Debug)]
pub struct TooLarge;

fn fitting(bytes: usize) -> Result<u32, TooLarge> {
    u32::try_from(bytes).map_err(|_| TooLarge)
}
