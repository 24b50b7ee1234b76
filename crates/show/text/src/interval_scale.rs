//! Intervals drawn below each other on one scale, in characters.

/// From one value to another over so many columns, at least one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalScale {
    /// The value of the first column.
    pub low: f64,
    /// The value of the last column.
    pub high: f64,
    /// Width of the drawing, in columns.
    pub room: usize,
}

impl IntervalScale {
    /// The column of a value, from 0, and whether it lies inside.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a column of a terminal, clamped"
    )]
    fn column(&self, value: f64) -> (usize, bool) {
        let span = self.high - self.low;
        let last = self.room.saturating_sub(1) as f64;
        let place = if span > 0.0 { (value - self.low) / span * last } else { last / 2.0 };
        (place.clamp(0.0, last).round() as usize, (-0.5..=last + 0.5).contains(&place))
    }

    /// `──●───`, with `‹` or `›` if the interval goes on; the value alone without both ends.
    #[must_use]
    pub fn draw(&self, value: f64, low: Option<f64>, high: Option<f64>) -> String {
        let mut marks = vec![' '; self.room.max(1)];
        if let (Some(low), Some(high)) = (low, high) {
            let (from, starts) = self.column(low);
            let (to, ends) = self.column(high);
            marks[from..=to].fill('─');
            if !starts {
                marks[from] = '‹';
            }
            if !ends {
                marks[to] = '›';
            }
        }
        marks[self.column(value).0] = '●';
        marks.into_iter().collect::<String>().trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::IntervalScale;

    #[test]
    fn intervals_lie_where_they_are() {
        let scale = IntervalScale { low: 10.0, high: 20.0, room: 11 };
        let draw = |value, low, high| scale.draw(value, Some(low), Some(high));
        assert_eq!(draw(15.0, 13.0, 16.0), "   ──●─");
        assert_eq!(draw(10.0, 5.0, 12.0), "●──");
        assert_eq!(draw(19.0, 12.0, 25.0), "  ───────●›");
        assert_eq!(scale.draw(20.0, None, None), "          ●");
        let flat = IntervalScale { low: 1.0, high: 1.0, room: 11 };
        assert_eq!(flat.draw(1.0, None, None), "     ●");
    }
}
