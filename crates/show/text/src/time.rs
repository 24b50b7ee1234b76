//! Dates and lengths of time.

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// Seconds of a day.
const DAY: i64 = 86_400;

struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
}

/// `2026-11-21 20:05 UTC`; 0 stands for a date that nobody knows, as of some imports.
#[must_use]
pub fn date(unix_ns: i64) -> String {
    if unix_ns == 0 {
        return "date unknown".to_owned();
    }
    let Civil { year, month, day, hour, minute, .. } = civil(unix_ns);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// RFC 3339 in UTC, to the nanosecond: `2026-11-21T20:05:12.000000000Z`.
#[must_use]
pub fn rfc3339(unix_ns: i64) -> String {
    let Civil { year, month, day, hour, minute, second, nanos } = civil(unix_ns);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

/// The beginning (UTC) of a day that is written as [`date`] does, `2026-11-21`, in nanoseconds since 1970.
/// None for what is no day.
#[must_use]
pub fn day(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, '-').map(|part| part.parse::<u32>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if !(1970..=2261).contains(&year) {
        return None;
    }
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    // The guess is a few days off at most.
    let guess = (year - 1970) * 365 + (year - 1969) / 4 + (month - 1) * 30 + day - 1;
    let is = |days: &i64| {
        let found = civil(days * DAY * SECOND);
        (found.year, found.month, found.day) == (year, month, day)
    };
    (guess - 5..guess + 10).find(is).map(|days| days * DAY * SECOND)
}

/// A length of time in seconds: `850 ms`, `12.3 s`, `2 min 05 s`, `3 h 02 min`.
#[must_use]
pub fn length(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "?".to_owned();
    }
    let whole = seconds.round();
    if seconds > 0.0 && seconds < 0.9995 {
        return crate::units::quantity(seconds, "s");
    }
    if whole < 60.0 {
        let decimals = usize::from(seconds < 9.95 && (seconds - whole).abs() >= 0.05);
        return format!("{seconds:.decimals$} s");
    }
    let (minutes, hours) = ((whole / 60.0).floor(), (whole / 3600.0).floor());
    if hours < 1.0 {
        return joined(minutes, "min", whole % 60.0, "s");
    }
    joined(hours, "h", minutes % 60.0, "min")
}

fn joined(large: f64, unit: &str, small: f64, smaller: &str) -> String {
    if small == 0.0 {
        format!("{large:.0} {unit}")
    } else {
        format!("{large:.0} {unit} {small:02.0} {smaller}")
    }
}

/// Seconds between two moments; None when the second is missing or earlier.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a length of time for people")]
pub fn between(start_unix_ns: i64, end_unix_ns: Option<i64>) -> Option<f64> {
    let elapsed = end_unix_ns?.checked_sub(start_unix_ns)?;
    (elapsed >= 0).then_some(elapsed as f64 * 1e-9)
}

/// Days since 1970 to the Gregorian calendar, by eras of 400 years that begin in March.
fn civil(unix_ns: i64) -> Civil {
    let (seconds, nanos) = (unix_ns.div_euclid(SECOND), unix_ns.rem_euclid(SECOND));
    let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    Civil {
        year: year_of_era + era * 400 + i64::from(month <= 2),
        month,
        day: day_of_year - (153 * from_march + 2) / 5 + 1,
        hour: rest / 3600,
        minute: rest / 60 % 60,
        second: rest % 60,
        nanos,
    }
}

#[cfg(test)]
mod tests {
    use super::{between, date, day, length, rfc3339};

    #[test]
    fn dates_of_known_moments() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(date(1_795_291_512_000_000_000), "2026-11-21 20:05 UTC");
        assert_eq!(rfc3339(951_782_400_000_000_001), "2000-02-29T00:00:00.000000001Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(date(i64::MAX), "2262-04-11 23:47 UTC");
    }

    #[test]
    fn days_are_read_as_they_are_written() {
        for (at, text) in
            [(0, "1970-01-01"), (951_782_400, "2000-02-29"), (1_795_219_200, "2026-11-21")]
        {
            assert_eq!(day(text), Some(at * 1_000_000_000), "{text}");
        }
        for days in (0..100_000_i64).step_by(37) {
            let at = days * 86_400_000_000_000;
            assert_eq!(day(&rfc3339(at)[..10]), Some(at));
        }
        for text in ["2026-02-29", "2026-13-01", "2026-11", "-1-1-1", "x", "1969-12-31"] {
            assert_eq!(day(text), None, "{text}");
        }
    }

    #[test]
    fn lengths_read_naturally() {
        assert_eq!(length(0.0), "0 s");
        assert_eq!(length(0.85), "850 ms");
        assert_eq!(length(9.96), "10 s");
        assert_eq!(length(59.7), "1 min");
        assert_eq!(length(125.0), "2 min 05 s");
        assert_eq!(length(10_930.0), "3 h 02 min");
        assert_eq!(length(f64::NAN), "?");
        assert_eq!(between(5, Some(3)), None);
    }
}
