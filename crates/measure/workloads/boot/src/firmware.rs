//! Firmware that counts from the last cold start: its time grows from boot to boot.
//!
//! Firmware and boot loader read the CPU's time stamp counter, which some machines do not reset when they restart. Each
//! boot then adds the time since the one before (systemd issue 8422).

use plumb_model::{Flag, FlagKind};
use plumb_units::length;

/// The fewest boots in a row that show it: two that differ may do so by chance.
const FEWEST_BOOTS: usize = 3;
/// A boot's firmware took longer than the one before if by so many seconds, and by this share of the shortest time: what
/// it adds is compared with an ordinary boot, and not with what it has piled up.
const GROWTH_S: f64 = 1.0;
const GROWTH_SHARE: f64 = 0.1;

/// The flag of firmware times that grow in some boots in a row; `times_s` are those of all boots in their order, 0 of
/// boots without firmware.
pub fn growth(times_s: &[f64]) -> Option<Flag> {
    let shortest_s = times_s.iter().copied().filter(|s| *s > 0.0).reduce(f64::min)?;
    let least_s = GROWTH_S.max(GROWTH_SHARE * shortest_s);
    let row = times_s
        .chunk_by(|before, after| *before > 0.0 && *after > before + least_s)
        .max_by_key(|row| row.len())?;
    let first = *row.first()?;
    let last = *row.last()?;
    (row.len() >= FEWEST_BOOTS).then(|| {
        let why = format!(
            "the firmware time grew in {} boots in a row, from {} to {}: it includes time before the restart (systemd issue 8422)",
            row.len(),
            length(first),
            length(last),
        );
        Flag::new(FlagKind::FirmwareGrows, why)
    })
}

#[cfg(test)]
mod tests {
    use super::growth;

    #[test]
    fn three_boots_in_a_row_that_each_take_longer_are_flagged() {
        let flag = growth(&[9.0, 8.0, 700.0, 1500.0, 7400.0, 9.1]).unwrap();
        assert!(flag.why.contains("4 boots in a row, from 8"), "{}", flag.why);
        assert!(growth(&[9.0, 700.0, 9.0, 650.0, 9.0]).is_none(), "two are not enough");
        // A short time is added to a long one.
        assert!(growth(&[9.0, 9000.0, 9040.0]).is_some());
    }

    #[test]
    fn noise_missing_firmware_and_shrinking_are_not_flagged() {
        assert!(growth(&[]).is_none());
        assert!(growth(&[9.0, 9.1, 9.2, 9.3, 9.4]).is_none(), "less than a tenth");
        assert!(growth(&[0.1, 0.2, 0.4, 0.8]).is_none(), "less than a second");
        assert!(growth(&[0.0, 9.0, 11.0]).is_none(), "a boot by kexec has no firmware");
        assert!(growth(&[5000.0, 700.0, 9.0]).is_none());
    }
}
