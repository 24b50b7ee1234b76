//! Critical values of the Huber-max statistic, simulated from the code that computes it.

/// How often a series without any change is split, by the whole search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alpha {
    /// One in 20.
    Twentieth,
    /// One in 100: suspects to be measured again, and segments of warm-up.
    Hundredth,
    /// One in 1000: where measuring again is impossible.
    Thousandth,
}

/// Which shortest segment, and with it which critical values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Histories over commits: segments of at least 3 points.
    History,
    /// Samples inside a process: segments of at least 10.
    WarmUp,
}

impl Table {
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

const HISTORY: [(usize, [f64; 3]); 9] = [
    (8, [2.69, 3.63, 5.19]),
    (10, [2.84, 3.73, 5.15]),
    (15, [2.97, 3.72, 4.80]),
    (20, [2.99, 3.71, 4.63]),
    (30, [3.01, 3.68, 4.43]),
    (50, [3.06, 3.67, 4.49]),
    (80, [3.09, 3.63, 4.50]),
    (120, [3.12, 3.67, 4.37]),
    (200, [3.16, 3.68, 4.42]),
];

const WARM_UP: [(usize, [f64; 3]); 2] = [(20, [2.7, 3.4, 4.3]), (600, [3.0, 3.6, 4.3])];
