//! Critical values of the Huber-max statistic, simulated from the code that computes it: quantiles of 200,000 series of
//! independent normal values a row (`tables` of `plumb-simulate`). `cargo xtask tables` prints them again, `cargo xtask validate`
//! compares.

/// How often a series without any change is split, by the whole search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alpha {
    /// One in 20.
    Twentieth,
    /// One in 100: suspects to be measured again, and segments of warm-up.
    Hundredth,
    /// One in 1000: if measuring again is impossible.
    Thousandth,
}

/// Which shortest segment, and with it which critical values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CriticalValues {
    /// Histories over commits: segments of at least 3 points.
    History,
    /// Samples inside a process: segments of at least 10.
    WarmUp,
}

impl CriticalValues {
    /// The fewest values in a segment.
    pub fn shortest(self) -> usize {
        match self {
            Self::History => 3,
            Self::WarmUp => 10,
        }
    }

    /// The critical value for `n` values, between the tabulated lengths linear in ln n, constant beyond the last.
    ///
    /// `None` below the first tabulated length: 8 for histories, 20 for warm-up.
    pub fn critical(self, n: usize, alpha: Alpha) -> Option<f64> {
        let rows = self.rows();
        let column = alpha as usize;
        let next = rows.iter().position(|row| row.0 >= n).unwrap_or(rows.len() - 1);
        let (size, values) = rows[next];
        if n >= size {
            return Some(values[column]);
        }
        let (size_before, before) = rows.get(next.checked_sub(1)?)?;
        // Critical values change about evenly with the logarithm of the length.
        let share =
            (n as f64 / *size_before as f64).ln() / (size as f64 / *size_before as f64).ln();
        Some(before[column] + share * (values[column] - before[column]))
    }

    /// The tabulated lengths, each with its values at .05, .01 and .001.
    pub fn rows(self) -> &'static [(usize, [f64; 3])] {
        match self {
            Self::History => &HISTORY,
            Self::WarmUp => &WARM_UP,
        }
    }
}

#[expect(clippy::approx_constant, reason = "a critical value that happens to look like pi")]
const HISTORY: [(usize, [f64; 3]); 11] = [
    (8, [2.713, 3.712, 5.121]),
    (9, [2.810, 3.798, 5.337]),
    (10, [2.867, 3.765, 5.098]),
    (12, [2.924, 3.782, 5.020]),
    (15, [2.979, 3.753, 4.850]),
    (20, [3.001, 3.714, 4.680]),
    (30, [3.022, 3.676, 4.489]),
    (50, [3.058, 3.638, 4.382]),
    (80, [3.077, 3.639, 4.336]),
    (120, [3.107, 3.651, 4.321]),
    (200, [3.141, 3.650, 4.289]),
];

#[expect(clippy::approx_constant, reason = "a critical value that happens to look like pi")]
const WARM_UP: [(usize, [f64; 3]); 11] = [
    (20, [2.057, 2.796, 3.724]),
    (22, [2.328, 3.063, 4.023]),
    (25, [2.504, 3.235, 4.146]),
    (30, [2.654, 3.331, 4.247]),
    (40, [2.790, 3.441, 4.233]),
    (60, [2.889, 3.503, 4.259]),
    (100, [2.983, 3.569, 4.271]),
    (200, [3.067, 3.592, 4.252]),
    (400, [3.142, 3.670, 4.281]),
    (800, [3.197, 3.697, 4.313]),
    (1600, [3.246, 3.753, 4.369]),
];
