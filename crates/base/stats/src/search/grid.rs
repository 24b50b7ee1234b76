//! The loads that a search tries: steps of equal ratio, each a goal's width, so that widths add up exactly.

use super::goal::GoalError;

/// The loads from least to most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadGrid {
    least: f64,
    most: f64,
    /// The position of `most`; that of `least` is 0.
    last: u32,
}

impl LoadGrid {
    /// Loads between two, in the largest even steps that are at most the relative `width`.
    ///
    /// # Errors
    /// When there is no range, or none that can be divided so finely.
    pub fn new(least: f64, most: f64, width: f64) -> Result<Self, GoalError> {
        if !(least > 0.0 && least < most && most.is_finite()) {
            return Err(GoalError("the lowest load must be above 0 and below the highest"));
        }
        let steps = ((most / least).ln() / -(-width).ln_1p()).ceil();
        if steps > f64::from(u32::MAX / 8) {
            return Err(GoalError("the range of loads is too wide for the width of the goal"));
        }
        Ok(Self { least, most, last: steps as u32 })
    }

    /// The position of the largest load.
    pub fn last(self) -> u32 {
        self.last
    }

    /// The load at a position.
    pub fn load(self, position: u32) -> f64 {
        match position {
            0 => self.least,
            at if at >= self.last => self.most,
            at => self.least * (self.most / self.least).powf(f64::from(at) / f64::from(self.last)),
        }
    }

    /// The highest position whose load is no more than this.
    pub fn position(self, load: f64) -> u32 {
        if load <= self.least {
            return 0;
        }
        let share = (load / self.least).ln() / (self.most / self.least).ln();
        // Rounding in logarithms may give the position next to the right one.
        let near = ((share * f64::from(self.last)) as u32).min(self.last);
        match near {
            at if at < self.last && self.load(at + 1) <= load => at + 1,
            at if at > 0 && self.load(at) > load => at - 1,
            at => at,
        }
    }
}

/// A position between two that are further apart than `width`. One part is `width` times a power of two and the lower part
/// the smaller one, as evenly as that goes; parts that are halved later then come out even.
pub fn middle(lower: u32, upper: u32, width: u32) -> u32 {
    let whole = upper - lower;
    let mut part = if whole < 2 * width { width / 2 } else { width };
    while whole > 4 * part {
        part *= 2;
    }
    let rest = whole - 2 * part;
    lower + if evenness(part, whole) > evenness(rest, whole) { part } else { rest }
}

/// The product of a part and what is left of the whole: the larger, the more even they are.
fn evenness(part: u32, whole: u32) -> u64 {
    u64::from(part) * u64::from(whole - part)
}

#[cfg(test)]
mod tests {
    use super::{LoadGrid, middle};

    #[test]
    fn positions_and_loads_agree_and_a_width_is_no_wider_than_wanted() {
        let grid = LoadGrid::new(10.0, 1e6, 0.01).unwrap();
        for position in 0..=grid.last() {
            assert_eq!(grid.position(grid.load(position)), position);
        }
        assert!((grid.load(grid.last()) - 1e6).abs() < 1e-9 && grid.position(1e9) == grid.last());
        let lower = grid.load(400);
        let upper = grid.load(401);
        let width = (upper - lower) / upper;
        assert!(width <= 0.01 && width > 0.0099, "{width}");
        assert!(LoadGrid::new(1e-300, 1e300, 1e-6).is_err());
    }

    #[test]
    fn halves_come_out_even() {
        // Widths of 8: one and a half, two, three, five and eight of them.
        for (whole, lower_part) in [(12, 4), (16, 8), (24, 8), (40, 16), (64, 32), (9, 4)] {
            assert_eq!(middle(100, 100 + whole, 8), 100 + lower_part, "{whole}");
        }
    }
}
