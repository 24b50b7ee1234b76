//! The units that the kernel counts in, in SI base units, and the unit of shares.

/// The unit of a share of a whole, 0 to 1: people read it in percent.
pub const SHARE: &str = "share";

/// Whether values in these units can be compared. Shares had no unit before they had this one, and stores keep those.
#[must_use]
pub fn is_same_unit(first: &str, second: &str) -> bool {
    stored_unit(first) == stored_unit(second)
}

/// The unit under which earlier versions stored values of this one: equal for units that can be compared.
#[must_use]
pub fn stored_unit(unit: &str) -> &str {
    if unit == SHARE { "" } else { unit }
}

/// How much one of a counter's unit is in an SI base unit, and which: a `tick` is 0.01 s. A unit without one, such as
/// `page`, stays as it is.
#[must_use]
pub fn base_unit(unit: &str) -> (f64, &str) {
    match unit {
        // USER_HZ is 100 on every architecture that plumb runs on, whatever the kernel's own HZ is.
        "tick" => (0.01, "s"),
        "ms" => (1e-3, "s"),
        "us" => (1e-6, "s"),
        "ns" => (1e-9, "s"),
        // /proc writes kB and means 1,024 bytes.
        "kB" => (1024.0, "B"),
        // The block layer counts in 512 bytes, whatever the sectors of the device are.
        "sector" => (512.0, "B"),
        "kHz" => (1e3, "Hz"),
        "uJ" => (1e-6, "J"),
        "uW" => (1e-6, "W"),
        "mV" => (1e-3, "V"),
        "mA" => (1e-3, "A"),
        "m°C" => (1e-3, "°C"),
        other => (1.0, other),
    }
}

#[cfg(test)]
mod tests {
    use super::{SHARE, base_unit, is_same_unit};

    #[test]
    fn a_unit_without_a_base_stays() {
        assert_eq!(base_unit("sector"), (512.0, "B"));
        assert_eq!(base_unit("page"), (1.0, "page"));
    }

    #[test]
    fn shares_of_older_stores_have_no_unit() {
        assert!(is_same_unit(SHARE, "") && is_same_unit("", SHARE) && is_same_unit("B", "B"));
        assert!(!is_same_unit(SHARE, "s") && !is_same_unit("B", "B/s"));
    }
}
