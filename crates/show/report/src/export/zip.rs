//! Files in one ZIP archive, stored as they are: what a workbook is made of.
//!
//! The format is APPNOTE.TXT 6.3.3, sections 4.3.7, 4.3.12 and 4.3.16. Nothing is compressed, so
//! that no further crate has to be built.

use std::num::TryFromIntError;

/// 1980-01-01, the first date that the format knows: the same data gives the same bytes.
const DATE: u16 = 0x21;
/// Version 2.0, the first with folders.
const VERSION: u16 = 20;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;

/// An archive of these names and contents.
///
/// # Errors
/// When it would need the 64-bit form: over 4 GiB, or 65 535 files.
pub(super) fn zip(files: &[(&str, Vec<u8>)]) -> Result<Vec<u8>, TryFromIntError> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let at = u32::try_from(out.len())?;
        let common = common(name, content)?;
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&common);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(content);
        directory.extend_from_slice(b"PK\x01\x02");
        directory.extend_from_slice(&VERSION.to_le_bytes());
        directory.extend_from_slice(&common);
        // No comment, first disk, no attributes.
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let (start, size) = (u32::try_from(out.len())?, u32::try_from(directory.len())?);
    let count = u16::try_from(files.len())?.to_le_bytes();
    out.append(&mut directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    out.extend([count, count].concat());
    out.extend([size.to_le_bytes(), start.to_le_bytes()].concat());
    out.extend_from_slice(&[0; 2]);
    Ok(out)
}

/// The fields that both headers have.
fn common(name: &str, content: &[u8]) -> Result<Vec<u8>, TryFromIntError> {
    let size = u32::try_from(content.len())?.to_le_bytes();
    let mut fields = [VERSION, UTF8, 0, 0, DATE].map(u16::to_le_bytes).concat();
    fields.extend(crc32(content).to_le_bytes());
    fields.extend([size, size].concat());
    fields.extend(u16::try_from(name.len())?.to_le_bytes());
    fields.extend([0; 2]);
    Ok(fields)
}

/// CRC-32 of IEEE 802.3, a byte at a time.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !bytes.iter().fold(!0, |crc, byte| {
        let [low, ..] = crc.to_le_bytes();
        (crc >> 8) ^ TABLE[usize::from(low ^ byte)]
    })
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte: u32 = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn the_check_value_of_the_standard() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
