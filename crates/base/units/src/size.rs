//! Sizes of caches, memories and disks, short enough for a fact of a machine.

use crate::typed::show_bytes;

const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;

/// A size with a binary prefix: `48 KiB`, `7.81 GiB`.
#[must_use]
pub fn binary_size(bytes: u64) -> String {
    scaled(bytes, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB"])
}

/// A size with a decimal prefix, as disks are sold: `500 GB`.
#[must_use]
pub fn decimal_size(bytes: u64) -> String {
    scaled(bytes, 1000.0, ["B", "kB", "MB", "GB", "TB"])
}

/// A size in whole MiB, or in whole KiB below one, rounded down: `100 MiB`. Of what is free no more may be claimed.
#[must_use]
pub fn whole_size(bytes: u64) -> String {
    if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) }
}

/// The largest round size that is no more than this, as people type it: `3GiB`, `900MiB`.
#[must_use]
pub fn typed_at_most(bytes: u64) -> String {
    for (shift, suffix) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift {
            return format!("{}{suffix}", bytes >> shift);
        }
    }
    format!("{bytes}B")
}

/// A size between two sizes that were measured: in whole MiB, or in whole KiB below 8 MiB, because an edge between them
/// is no more exact.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are positive, and a cast saturates"
)]
pub fn rounded_size(bytes: f64) -> String {
    let step = if bytes < 8.0 * MIB { KIB } else { MIB };
    show_bytes(((bytes / step).round() * step) as u64)
}

#[expect(clippy::cast_precision_loss, reason = "three digits for people")]
fn scaled(bytes: u64, step: f64, units: [&str; 5]) -> String {
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let decimals = if value >= 100.0 { 0 } else { 2 };
    let number = format!("{value:.decimals$}");
    format!("{} {}", number.strip_suffix(".00").unwrap_or(&number), units[unit])
}

#[cfg(test)]
mod tests {
    use super::{binary_size, decimal_size, rounded_size, whole_size};

    #[test]
    fn sizes_are_short() {
        assert_eq!(binary_size(48 << 10), "48 KiB");
        assert_eq!(binary_size(8_589_930_496), "8 GiB");
        assert_eq!(decimal_size(500_107_862_016), "500 GB");
        assert_eq!(decimal_size(512), "512 B");
        assert_eq!(binary_size(8_388_604_000), "7.81 GiB");
        assert_eq!(whole_size((5 << 20) - 1), "4 MiB");
        assert_eq!(whole_size(4095), "3 KiB");
        assert_eq!(rounded_size(14.4 * 1048576.0), "14MiB");
        assert_eq!(rounded_size(31.7 * 1024.0), "32KiB");
    }
}
