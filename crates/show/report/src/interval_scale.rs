//! Intervals drawn below each other on one scale, in characters.

use plumb_analysis::{Estimate, HistoryFinding};

/// From one value to another over so many columns.
pub(crate) struct IntervalScale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) room: usize,
}

impl IntervalScale {
    /// Over all estimates and a usual interval beside them, so that one run of few processes does not
    /// press all others together.
    pub(crate) fn of(finding: &HistoryFinding, room: usize) -> Self {
        let estimates = || finding.runs.iter().map(|run| &run.estimate);
        let half = |it: &Estimate| Some((it.high()? - it.low()?) / 2.0);
        let mut halves: Vec<f64> = estimates().filter_map(half).collect();
        halves.sort_by(f64::total_cmp);
        let usual = halves.get(halves.len() / 2).copied().unwrap_or(0.0);
        let lowest = estimates().map(|it| it.value).fold(f64::INFINITY, f64::min);
        let highest = estimates().map(|it| it.value).fold(f64::NEG_INFINITY, f64::max);
        Self { low: lowest - usual, high: highest + usual, room }
    }

    /// The column of a value, from 0, and whether it lies inside.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a column of a terminal, clamped"
    )]
    fn column(&self, value: f64) -> (usize, bool) {
        let span = self.high - self.low;
        let last = (self.room - 1) as f64;
        let place = if span > 0.0 { (value - self.low) / span * last } else { last / 2.0 };
        (place.clamp(0.0, last).round() as usize, (-0.5..=last + 0.5).contains(&place))
    }

    /// `──●───`, with `‹` or `›` where the interval goes on.
    pub(crate) fn draw(&self, estimate: &Estimate) -> String {
        let mut marks = vec![' '; self.room];
        if let (Some(low), Some(high)) = (estimate.low(), estimate.high()) {
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
        marks[self.column(estimate.value).0] = '●';
        marks.into_iter().collect::<String>().trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use plumb_analysis::{Ends, Estimate};

    use super::IntervalScale;

    #[test]
    fn intervals_lie_where_they_are() {
        let scale = IntervalScale { low: 10.0, high: 20.0, room: 11 };
        let draw =
            |value, low, high| scale.draw(&Estimate { value, interval: Ok(Ends { low, high }) });
        assert_eq!(draw(15.0, 13.0, 16.0), "   ──●─");
        assert_eq!(draw(10.0, 5.0, 12.0), "●──");
        assert_eq!(draw(19.0, 12.0, 25.0), "  ───────●›");
        let without = Estimate { value: 20.0, interval: Err("few".into()) };
        assert_eq!(scale.draw(&without), "          ●");
        let flat = IntervalScale { low: 1.0, high: 1.0, room: 11 };
        assert_eq!(flat.draw(&Estimate { value: 1.0, ..without }), "     ●");
    }
}
