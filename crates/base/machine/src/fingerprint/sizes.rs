//! Sizes for people.

/// `48 KiB`, `7.81 GiB`.
pub fn binary(bytes: u64) -> String {
    scaled(bytes, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB"])
}

/// `500 GB`, as disks are sold.
pub fn decimal(bytes: u64) -> String {
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
    use super::{binary, decimal};

    #[test]
    fn sizes_are_short() {
        assert_eq!((binary(48 << 10), binary(8_589_930_496)), ("48 KiB".into(), "8 GiB".into()));
        assert_eq!((decimal(500_107_862_016), decimal(512)), ("500 GB".into(), "512 B".into()));
        assert_eq!(binary(8_388_604_000), "7.81 GiB");
    }
}
