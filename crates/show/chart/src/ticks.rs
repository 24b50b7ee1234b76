//! Where an axis is marked, and how.

use plumb_text::time::date;
use plumb_units::scale_of;

use crate::chart::{Axis, Scale};

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) text: String,
}

/// Further apart than this, powers are marked and not multiples.
const DECADE: f64 = 8.0;
/// Numbers of this kind double.
const DOUBLES: f64 = 64.0;
const HOUR: f64 = 3_600.0;
pub(crate) const DAY: f64 = 24.0 * HOUR;
const STEPS_OF_TIME: [f64; 18] = [
    60.0,
    300.0,
    900.0,
    1_800.0,
    HOUR,
    3.0 * HOUR,
    6.0 * HOUR,
    12.0 * HOUR,
    DAY,
    2.0 * DAY,
    4.0 * DAY,
    7.0 * DAY,
    14.0 * DAY,
    30.0 * DAY,
    61.0 * DAY,
    122.0 * DAY,
    365.25 * DAY,
    1_461.0 * DAY,
];

impl Axis {
    /// How far along the axis a value lies, from 0 to 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Log => log_ratio(value, self.low) / log_ratio(self.high, self.low),
            _ => (value - self.low) / (self.high - self.low),
        }
    }
}

/// The logarithm of a ratio, also of one that is larger than any number.
fn log_ratio(high: f64, low: f64) -> f64 {
    // More exact than the difference of logarithms if both are near each other; that one stands in if the ratio
    // overflows.
    let ratio = high / low;
    if ratio.is_finite() { ratio.ln() } else { high.ln() - low.ln() }
}

/// At most about so many ticks, at numbers that people like.
pub(crate) fn ticks(axis: &Axis, most: usize) -> Vec<Tick> {
    match axis.scale {
        Scale::Band => axis
            .categories
            .iter()
            .enumerate()
            .map(|(index, name)| Tick { at: crate::place::place(index), text: name.clone() })
            .collect(),
        Scale::Date => dates(axis, most),
        Scale::Log if is_of_bytes(axis) || is_of_doubles(axis) => doubles(axis, most),
        Scale::Log if axis.high / axis.low > DECADE => decades(axis, most),
        Scale::Linear | Scale::Log => multiples(axis, most),
    }
}

/// The title of an axis: `bandwidth (GB/s)`.
pub(crate) fn title(axis: &Axis) -> String {
    let own =
        axis.scale == Scale::Log && (is_of_bytes(axis) || axis.unit.is_empty() || is_wide(axis));
    match (axis.label.as_str(), axis.unit.as_str()) {
        (label, unit) if own || unit.is_empty() => label.to_owned(),
        ("", unit) => unit.to_owned(),
        (label, unit) => format!("{label} ({unit})"),
    }
}

/// A value as ticks write it.
pub(crate) fn written(axis: &Axis, value: f64) -> String {
    if axis.scale == Scale::Log && (is_of_bytes(axis) || is_wide(axis)) {
        return prefixed(value, if is_of_bytes(axis) { "B" } else { &axis.unit });
    }
    plain(value / axis.per)
}

/// A value with three digits.
pub(crate) fn brief(axis: &Axis, value: f64) -> String {
    plumb_units::quantity(value / axis.per, "")
}

fn is_of_bytes(axis: &Axis) -> bool {
    axis.scale == Scale::Log && ["B", "KiB", "MiB", "GiB", "TiB"].contains(&axis.unit.as_str())
}

fn is_of_doubles(axis: &Axis) -> bool {
    let ratio = axis.high / axis.low;
    axis.unit.is_empty() && axis.low >= 0.5 && (1.9..=DOUBLES).contains(&ratio)
}

/// No one prefix suits both ends.
fn is_wide(axis: &Axis) -> bool {
    #[expect(clippy::float_cmp, reason = "a factor that is exactly 1")]
    let base = axis.per == 1.0;
    base && !axis.unit.is_empty() && axis.unit != "%" && axis.high / axis.low > 1e3
}

fn multiples(axis: &Axis, most: usize) -> Vec<Tick> {
    let low = axis.low / axis.per;
    let high = axis.high / axis.per;
    // One or two more are better than half as many.
    let step = nice(0.8 * (high - low) / crate::place::place(most.max(1)));
    let first = (low / step).ceil();
    let decimals = decimals(step);
    (0..=4 * most)
        .map(|i| (first + crate::place::place(i)) * step)
        // The last multiple may lie a rounding error above the end. Below 0 the tolerance points the other way.
        .take_while(|value| *value <= high * (1.0 + 1e-12) || *value <= high)
        .filter(|value| value.is_finite())
        .map(|value| Tick { at: value * axis.per, text: multiple_text(value, decimals) })
        .collect()
}

fn multiple_text(value: f64, decimals: usize) -> String {
    let fixed = format!("{value:.decimals$}");
    // `-0.0` and `0.00` are 0.
    if fixed.trim_start_matches('-').chars().all(|c| "0.".contains(c)) {
        "0".to_owned()
    } else if value.abs() >= 1e7 {
        format!("{value:e}")
    } else {
        fixed
    }
}

/// 1, 2 or 5 times a power of ten, no less than this.
fn nice(least: f64) -> f64 {
    let power = 10_f64.powf(least.abs().max(f64::MIN_POSITIVE).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * power >= least * (1.0 - 1e-9))
        .unwrap_or(10.0)
        * power
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small number of digits, clamped"
)]
fn decimals(step: f64) -> usize {
    (-step.log10().floor()).clamp(0.0, 9.0) as usize
}

fn decades(axis: &Axis, most: usize) -> Vec<Tick> {
    // On a wide axis each tick has its own prefix, so decades are those of the base unit.
    let per = if is_wide(axis) { 1.0 } else { axis.per };
    let low = axis.low / per;
    let high = axis.high / per;
    let from = exponent(low.log10().floor());
    let to = exponent(high.log10().ceil());
    let count = usize::try_from(to - from).unwrap_or(1).max(1);
    let within: &[f64] = match most / count {
        0..=1 => &[1.0],
        2 => &[1.0, 3.0],
        _ => &[1.0, 2.0, 5.0],
    };
    let every = i32::try_from(count.div_ceil(most.max(1))).unwrap_or(1).max(1);
    let powers = (from..=to).filter(|power| power.rem_euclid(every) == 0);
    powers
        .flat_map(|power| within.iter().map(move |factor| factor * 10_f64.powi(power)))
        .filter(|value| (low..=high).contains(value))
        .map(|value| Tick { at: value * per, text: written(axis, value * per) })
        .collect()
}

#[expect(clippy::cast_possible_truncation, reason = "the exponent of an f64")]
fn exponent(log10: f64) -> i32 {
    log10 as i32
}

fn doubles(axis: &Axis, most: usize) -> Vec<Tick> {
    let span = log_ratio(axis.high, axis.low) / std::f64::consts::LN_2;
    let every = (span / crate::place::place(most.max(1))).ceil().max(1.0);
    let first = (axis.low.log2() / every).ceil();
    let values = (0..=most).map(|i| ((first + crate::place::place(i)) * every).exp2());
    values
        .filter(|value| *value <= axis.high)
        .map(|at| Tick { at, text: written(axis, at) })
        .collect()
}

fn dates(axis: &Axis, most: usize) -> Vec<Tick> {
    let least = (axis.high - axis.low) / crate::place::place(most.max(1));
    let step = STEPS_OF_TIME
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or_else(|| nice(least / DAY) * DAY);
    // Counted from 1970, so that steps of hours and days fall on midnight UTC.
    let first = (axis.low / step).ceil();
    let values = (0..=2 * most).map(|i| (first + crate::place::place(i)) * step);
    values
        .take_while(|at| *at <= axis.high)
        .map(|at| {
            #[expect(clippy::cast_possible_truncation, reason = "a date")]
            let written = date((at * 1e9) as i64);
            // `2026-11-23 10:35`: steps of hours need no year, steps of days no time.
            let full = written.trim_end_matches(" UTC");
            let text = if step < DAY { full.get(5..) } else { full.get(..10) };
            Tick { at, text: text.unwrap_or_default().to_owned() }
        })
        .collect()
}

/// A number with its own prefix: `64 KiB`, `10 µs`.
fn prefixed(value: f64, unit: &str) -> String {
    // 999.9999999 kB is meant to be 1 MB: ticks are exact numbers that rounding moved.
    let (unit, per) = scale_of(value * (1.0 + 1e-9), unit);
    format!("{} {unit}", plain(value / per))
}

/// A number without noise.
fn plain(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let rounded = format!("{value:.4}");
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::{ticks, title};
    use crate::chart::{Axis, Scale};

    fn axis(scale: Scale, low: f64, high: f64, unit: &str, per: f64) -> Axis {
        let label = "what".to_owned();
        let unit = unit.to_owned();
        let categories = Vec::new();
        Axis { label, unit, per, scale, categories, low, high }
    }

    fn texts(axis: &Axis) -> Vec<String> {
        ticks(axis, 5).into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn ticks_stand_at_numbers_that_people_like() {
        let linear = axis(Scale::Linear, 9.7e9, 13.2e9, "GB/s", 1e9);
        assert_eq!(texts(&linear), ["10", "11", "12", "13"]);
        assert_eq!(title(&linear), "what (GB/s)");
        assert_eq!(
            texts(&axis(Scale::Linear, 0.0, 1.0, "%", 0.01)),
            ["0", "20", "40", "60", "80", "100"]
        );
        assert_eq!(
            texts(&axis(Scale::Linear, -0.02, 0.02, "", 1.0)),
            ["-0.02", "-0.01", "0", "0.01", "0.02"]
        );
        assert_eq!(texts(&axis(Scale::Log, 0.95, 1.12, "", 1.0)), ["0.95", "1.00", "1.05", "1.10"]);
        assert_eq!(texts(&axis(Scale::Log, 1.0, 1.1e6, "", 1.0)), ["1", "100", "10000", "1000000"]);
        assert_eq!(texts(&axis(Scale::Log, 0.9, 8.8, "", 1.0)), ["1", "2", "4", "8"]);
    }

    #[test]
    fn wide_axes_take_a_prefix_a_tick() {
        let sizes = axis(Scale::Log, 4096.0, f64::from(1 << 30), "B", 1.0);
        assert_eq!(texts(&sizes), ["4 KiB", "64 KiB", "1 MiB", "16 MiB", "256 MiB"]);
        assert_eq!(title(&sizes), "what");
        let times = axis(Scale::Log, 1e-9, 0.5, "s", 1.0);
        assert_eq!(texts(&times), ["10 ns", "1 µs", "100 µs", "10 ms"]);
        let narrow = axis(Scale::Log, 1.3e-9, 90e-9, "ns", 1e-9);
        assert_eq!(texts(&narrow), ["3", "10", "30"]);
    }

    #[test]
    fn dates_are_days_or_hours() {
        let day = 86_400.0;
        let found = texts(&axis(Scale::Date, 1.8e9, 1.8e9 + 30.0 * day, "", 1.0));
        assert!(
            found.len() > 2 && found[0].starts_with("2027-0") && found[0].len() == 10,
            "{found:?}"
        );
        let found = texts(&axis(Scale::Date, 1.8e9, 1.8e9 + day / 2.0, "", 1.0));
        assert!(found.iter().all(|text| text.len() == 11 && text.ends_with(":00")), "{found:?}");
    }
}
