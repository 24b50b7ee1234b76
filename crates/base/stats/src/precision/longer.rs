//! The precision of a longer run: docs/method.md, *Precision*.

/// Independent noise halves with four times the time.
const INDEPENDENT: f64 = 0.5;
/// Where neighbours are alike, there is slow noise too, which hardly averages out.
const ALIKE: f64 = 0.25;
/// Another run of the same length is often wider than this one.
const ALLOWANCE: f64 = 1.2;

/// So many times as long a run may be for [`half_after`] to foretell what it reaches.
pub const TIMES_LONGER: [f64; 4] = [1.5, 2.0, 3.0, 4.0];

/// Relative half-width that a run so many `times` as long as this one is to reach. `half` is that of this one, `stretch`
/// the neighbours in time that make one independent unit. On recordings, runs that are up to four times as long come
/// within 1.5 times of it (docs/validation.md).
#[must_use]
pub fn half_after(half: f64, stretch: usize, times: f64) -> f64 {
    ALLOWANCE * half / times.powf(if stretch > 1 { ALIKE } else { INDEPENDENT })
}
