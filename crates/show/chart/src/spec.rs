//! How an axis is made of the marks on it: its scale, its ends, and units that people read.

use plumb_units::scale_of;

use crate::chart::{Axis, Scale};
use crate::mark::LARGEST;
use crate::ticks::DAY;

/// Values that are further apart than this, all above 0, are laid off by their logarithm.
const FAR_APART: f64 = 30.0;
/// Further than this apart no one unit suits both ends.
const DECADES: f64 = 1e3;
/// What is left free next to the outermost marks, as a share of the axis.
const MARGIN: f64 = 0.04;

/// How an axis is to be made of the marks on it.
#[derive(Debug, Clone)]
pub enum AxisSpec {
    /// Names side by side.
    Names(Vec<String>),
    /// Values in a base unit; `%` stands for shares.
    Values {
        /// What is laid off on the axis.
        label: String,
        /// The SI base unit of the values.
        unit: String,
        /// How they are laid off.
        fit: AxisFit,
    },
}

/// How values are laid off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisFit {
    /// By the logarithm if they are far apart, else evenly.
    Free,
    /// Evenly, whatever the values are.
    Even,
    /// Evenly, with 0 on the axis: lengths of bars are compared.
    FromZero,
    /// By the logarithm if that is possible.
    Log,
    /// Seconds since 1970.
    Date,
}

impl AxisSpec {
    /// An axis of values in a base unit.
    #[must_use]
    pub fn values(label: &str, unit: &str, fit: AxisFit) -> Self {
        Self::Values { label: label.to_owned(), unit: unit.to_owned(), fit }
    }
}

/// From the least to the greatest of some values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueRange {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl ValueRange {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let none = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let found = values
            .fold(none, |all, value| Self { low: all.low.min(value), high: all.high.max(value) });
        if found.low > found.high { Self { low: 0.0, high: 1.0 } } else { found }
    }
}

impl AxisSpec {
    pub(crate) fn axis(self, extent: ValueRange) -> Axis {
        match self {
            Self::Names(categories) => {
                #[expect(clippy::cast_precision_loss, reason = "a number of categories")]
                let last = categories.len() as f64 - 1.0;
                // Every name has its slot, half a place on either side, whatever the marks reach.
                Axis {
                    label: String::new(),
                    unit: String::new(),
                    per: 1.0,
                    scale: Scale::Band,
                    categories,
                    low: (extent.low.min(0.0) - 0.5).max(-0.5),
                    high: (extent.high.max(last) + 0.5).min(last + 0.5),
                }
            }
            Self::Values { label, unit, fit } => {
                let scale = fit.scale(extent);
                let (unit, per) = unit_of(&unit, scale, extent);
                let (low, high) = fit.ends(scale, extent);
                Axis { label, unit, per, scale, categories: Vec::new(), low, high }
            }
        }
    }
}

fn unit_of(unit: &str, scale: Scale, ValueRange { low, high }: ValueRange) -> (String, f64) {
    match (unit, scale) {
        ("%", _) => ("%".to_owned(), 0.01),
        (_, Scale::Date) => (String::new(), 1.0),
        (_, Scale::Log) if high / low > DECADES => (unit.to_owned(), 1.0),
        (_, Scale::Log) => scale_of((low * high).sqrt(), unit),
        _ => scale_of(low.abs().max(high.abs()), unit),
    }
}

impl AxisFit {
    fn scale(self, ValueRange { low, high }: ValueRange) -> Scale {
        // Nothing at or below 0 has a logarithm, and a ratio beyond the largest number has no length.
        let possible = low >= LARGEST.recip() && high / low <= LARGEST;
        let by_log = possible && (self == Self::Log || high / low > FAR_APART);
        match self {
            Self::Date => Scale::Date,
            Self::Free | Self::Log if by_log => Scale::Log,
            _ => Scale::Linear,
        }
    }

    fn ends(self, scale: Scale, ValueRange { low, high }: ValueRange) -> (f64, f64) {
        if scale == Scale::Log {
            let factor = (high / low).powf(MARGIN).max(1.02);
            return (low / factor, high * factor);
        }
        let (low, high) =
            if self == Self::FromZero { (low.min(0.0), high.max(0.0)) } else { (low, high) };
        // A single value still needs an axis with an extent.
        let alone = match self {
            // Room next to a single date.
            Self::Date => DAY.max(low.abs() * f64::EPSILON * 4.0),
            _ if low == 0.0 => 1.0,
            _ => low.abs() * MARGIN,
        };
        let free = if high > low { (high - low) * MARGIN } else { alone };
        // Bars stand on the axis: there is no room between it and 0.
        let from_zero = self == Self::FromZero;
        let below = if from_zero && low == 0.0 { 0.0 } else { free };
        let above = if from_zero && high == 0.0 && low < 0.0 { 0.0 } else { free };
        (low - below, high + above)
    }
}
