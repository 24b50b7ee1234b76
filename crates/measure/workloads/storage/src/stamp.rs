//! Stamps: what makes every sector of a test file its own, and recognisable.
//!
//! The first 16 bytes of each 512-byte sector say which sector it is and by which write it came; the
//! rest is random. So no two sectors are alike (nothing can be deduplicated), a read of the wrong
//! place or of bytes that were never written is noticed, and so is a write that was lost.

/// Bytes between two stamps: the smallest unit that a block device writes.
pub const SECTOR: usize = 512;

/// The generation of a freshly laid out file; every write of a batch has a later one.
pub const LAID_OUT: u64 = 1;

/// The first word of the sector of this number; an odd factor makes it differ in every byte.
fn place(sector: u64) -> u64 {
    (sector ^ 0x706c_756d_6221_2121).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Writes the stamps of a block that lies at `offset` of its file, as the write of this `generation`.
pub fn write(block: &mut [u8], offset: u64, generation: u64) {
    let first = offset / SECTOR as u64;
    for (sector, number) in block.chunks_exact_mut(SECTOR).zip(first..) {
        sector[..8].copy_from_slice(&place(number).to_le_bytes());
        sector[8..16].copy_from_slice(&generation.to_le_bytes());
    }
}

/// Whether the first and the last sector of a block are those that belong at `offset`: cheap enough
/// for every block of a timed section.
#[must_use]
pub fn ends_match(block: &[u8], offset: u64) -> bool {
    let first = offset / SECTOR as u64;
    let last = first + (block.len() / SECTOR).saturating_sub(1) as u64;
    let at = block.len().saturating_sub(SECTOR);
    word(block, 0) == place(first) && word(block, at) == place(last)
}

/// The generations of all sectors of a block, the smallest and the largest.
///
/// # Errors
/// The offset in the file of the first sector that is not where it belongs.
pub fn read(block: &[u8], offset: u64) -> Result<(u64, u64), u64> {
    let first = offset / SECTOR as u64;
    let mut low = u64::MAX;
    let mut high = 0;
    for (sector, number) in block.chunks_exact(SECTOR).zip(first..) {
        if word(sector, 0) != place(number) {
            return Err(number * SECTOR as u64);
        }
        let generation = word(sector, 8);
        low = low.min(generation);
        high = high.max(generation);
    }
    Ok((low, high))
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::{ends_match, read, write};

    #[test]
    fn a_block_is_recognised_only_where_it_belongs() {
        let mut block = vec![7; 2048];
        write(&mut block, 4096, 9);
        assert!(ends_match(&block, 4096));
        assert!(!ends_match(&block, 2048));
        assert_eq!(read(&block, 4096), Ok((9, 9)));
        block[1024] ^= 1;
        assert!(ends_match(&block, 4096), "the ends are whole");
        assert_eq!(read(&block, 4096), Err(4096 + 1024));
        assert!(!ends_match(&[0; 512], 0), "zeroes are no sector");
    }

    #[test]
    fn half_written_blocks_show_two_generations() {
        let mut block = vec![0; 1024];
        write(&mut block, 0, 5);
        write(&mut block[512..], 512, 6);
        assert_eq!(read(&block, 0), Ok((5, 6)));
    }
}
