//! Sizes of caches, memories and disks, short enough for a fact of a machine.

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
    use super::{binary_size, decimal_size};

    #[test]
    fn sizes_are_short() {
        assert_eq!(binary_size(48 << 10), "48 KiB");
        assert_eq!(binary_size(8_589_930_496), "8 GiB");
        assert_eq!(decimal_size(500_107_862_016), "500 GB");
        assert_eq!(decimal_size(512), "512 B");
        assert_eq!(binary_size(8_388_604_000), "7.81 GiB");
    }
}
