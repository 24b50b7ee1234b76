//! Lengths of time.

use crate::figure::{OF_SESSION, quantity};

/// From this many hours on a length of time is written in days.
const HOURS_BEFORE_DAYS: f64 = 48.0;

/// What stands for the interval of a session of so many seconds that describes nothing but itself.
#[must_use]
pub fn of_session_alone(seconds: f64) -> String {
    format!("{OF_SESSION}{}", length(seconds))
}

/// A length of time in seconds: `850 ms`, `12.3 s`, `2 min 05 s`, `3 h 02 min`, `4 d 02 h`.
#[must_use]
pub fn length(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "?".to_owned();
    }
    // From .9995 s on, three digits of milliseconds would round to 1000.
    if seconds > 0.0 && seconds < 0.9995 {
        return quantity(seconds, "s");
    }
    let whole = seconds.round();
    if whole < 60.0 {
        let decimals = usize::from(seconds < 9.95 && (seconds - whole).abs() >= 0.05);
        return format!("{seconds:.decimals$} s");
    }
    let minutes = (whole / 60.0).floor();
    let hours = (whole / 3600.0).floor();
    if hours < 1.0 {
        return two_units(minutes, "min", whole % 60.0, "s");
    }
    if hours < HOURS_BEFORE_DAYS {
        return two_units(hours, "h", minutes % 60.0, "min");
    }
    two_units((hours / 24.0).floor(), "d", hours % 24.0, "h")
}

/// A time in seconds with so many decimals, for a column or to compare with another: `12.3 s`.
#[must_use]
pub fn seconds_to(seconds: f64, decimals: usize) -> String {
    format!("{seconds:.decimals$} s")
}

fn two_units(large: f64, unit: &str, small: f64, smaller_unit: &str) -> String {
    if small == 0.0 {
        format!("{large:.0} {unit}")
    } else {
        format!("{large:.0} {unit} {small:02.0} {smaller_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::length;

    #[test]
    fn lengths_read_naturally() {
        assert_eq!(length(0.0), "0 s");
        assert_eq!(length(0.85), "850 ms");
        assert_eq!(length(9.96), "10 s");
        assert_eq!(length(59.7), "1 min");
        assert_eq!(length(125.0), "2 min 05 s");
        assert_eq!(length(10_930.0), "3 h 02 min");
        assert_eq!(length(47.0 * 3600.0), "47 h");
        assert_eq!(length(98.0 * 3600.0 + 1700.0), "4 d 02 h");
        assert_eq!(length(f64::NAN), "?");
    }
}
