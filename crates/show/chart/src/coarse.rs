//! Numbers no finer than a screen shows them. A page of thousands of dots is a third as long for it.

use crate::chart::{Along, Axis, Chart, Mark, Scale};

/// Columns up to this long keep all their digits, but for dots: they are estimates and levels, which people read.
const FEW: usize = 24;
/// Steps that an axis has at least: the horizontal one can be drawn apart, the vertical one is as high as a screen.
const ACROSS: f64 = 5_000.0;
const UP: f64 = 1_000.0;

impl Chart {
    /// Rounds what is drawn in long columns to decimal steps, at least 5,000 of them on the horizontal axis and
    /// 1,000 on the vertical one; on a logarithmic axis to six and five digits.
    #[must_use]
    pub fn coarse(mut self) -> Self {
        let x = TickGrid::of(&self.x, ACROSS);
        let y = TickGrid::of(&self.y, UP);
        for layer in &mut self.layers {
            for (along, column) in long_columns(&mut layer.mark) {
                let grid = if along == Along::X { x } else { y };
                column.for_each(|value| *value = grid.nearest(*value));
            }
        }
        self
    }
}

/// Each number of a column.
type Values<'m> = Box<dyn Iterator<Item = &'m mut f64> + 'm>;

fn all(column: &mut [f64]) -> Values<'_> {
    Box::new(column.iter_mut())
}

/// The columns that may be long, with the axis of each.
fn long_columns(mark: &mut Mark) -> Vec<(Along, Values<'_>)> {
    if mark.len() <= FEW && !matches!(mark, Mark::Dots { .. }) {
        return Vec::new();
    }
    match mark {
        Mark::Dots { x, y, .. } => vec![(Along::X, all(x)), (Along::Y, all(y))],
        Mark::Line { x, y, .. } => {
            vec![(Along::X, all(x)), (Along::Y, Box::new(y.iter_mut().flatten()))]
        }
        Mark::Band { x, low, high } => {
            vec![(Along::X, all(x)), (Along::Y, all(low)), (Along::Y, all(high))]
        }
        Mark::Boxes { along, low, q1, median, q3, high, .. } => {
            let along = *along;
            [low, q1, median, q3, high].map(|column| (along, all(column))).into()
        }
        _ => Vec::new(),
    }
}

/// Where numbers may stand on an axis.
#[derive(Debug, Clone, Copy)]
enum TickGrid {
    /// At multiples of a power of ten.
    Steps(i32),
    /// At numbers of so many digits.
    Digits(i32),
}

impl TickGrid {
    fn of(axis: &Axis, steps: f64) -> Self {
        let extent = axis.high - axis.low;
        match axis.scale {
            Scale::Log => Self::Digits(exponent(steps) + 2),
            _ if extent > 0.0 && extent.is_finite() => Self::Steps(exponent(extent / steps)),
            _ => Self::Digits(exponent(steps) + 2),
        }
    }

    fn nearest(self, value: f64) -> f64 {
        let power = match self {
            Self::Steps(power) => power,
            Self::Digits(_) if value == 0.0 || !value.is_finite() => return value,
            Self::Digits(digits) => exponent(value.abs()) + 1 - digits,
        };
        // Powers of ten are exact up to the 22nd.
        match power {
            0..=22 => (value / 10_f64.powi(power)).round() * 10_f64.powi(power),
            -22..0 => (value * 10_f64.powi(-power)).round() / 10_f64.powi(-power),
            _ => value,
        }
    }
}

/// The place of the first digit: 0 for 1 to 9.
#[expect(clippy::cast_possible_truncation, reason = "the exponent of an f64")]
fn exponent(value: f64) -> i32 {
    value.log10().floor() as i32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use crate::chart::{Chart, Mark};
    use crate::draft::Draft;
    use crate::spec::{AxisFit, AxisSpec};

    fn lined(y: &[f64], fit: AxisFit) -> Chart {
        let axis = |fit| AxisSpec::values("what", "s", fit);
        let mut draft =
            Draft::new("a/b".into(), "title".into(), "says".into(), axis(AxisFit::Even), axis(fit));
        let x = (0..y.len()).map(crate::place::place).collect();
        draft.layer(None, Mark::Line { x, y: y.iter().copied().map(Some).collect(), steps: false });
        draft.finish().unwrap()
    }

    fn drawn(chart: &Chart) -> Vec<f64> {
        let Mark::Line { y, .. } = &chart.layers[0].mark else { panic!("a line") };
        y.iter().copied().flatten().collect()
    }

    #[test]
    fn long_columns_lose_digits_and_short_ones_keep_them() {
        let y: Vec<f64> = (0..100).map(|n| 12.3e9 + f64::from(n) * 1_234_567.89).collect();
        assert_eq!(drawn(&lined(&y, AxisFit::Free).coarse())[..2], [12.3e9, 12.301_2e9]);
        assert_eq!(drawn(&lined(&y[..20], AxisFit::Free).coarse()), &y[..20]);
        let decades: Vec<f64> = (0..30).map(|n| 1.234_567_89e-6 * 2_f64.powi(n)).collect();
        assert_eq!(drawn(&lined(&decades, AxisFit::Free).coarse())[..2], [1.2346e-6, 2.4691e-6]);
    }

    proptest! {
        #[test]
        fn nothing_moves_by_a_pixel(y in prop::collection::vec(-1e12_f64..1e12, 25..60)) {
            let chart = lined(&y, AxisFit::Even);
            let pixel = (chart.y.high - chart.y.low) / 1_000.0;
            let moved = drawn(&chart.clone().coarse()).into_iter().zip(&y);
            for (now, before) in moved {
                assert!((now - before).abs() <= pixel / 2.0 * 1.001, "{before} {now}");
            }
        }
    }
}
