//! Dates, and the time between two of them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// The first year that [`day`] takes: moments count from it.
const FIRST_YEAR: i16 = 1970;

/// `2026-11-21 20:05 UTC`; 0 stands for a date that nobody knows, as of some imports.
#[must_use]
pub fn date(unix_ns: i64) -> String {
    if unix_ns == 0 {
        return "date unknown".to_owned();
    }
    civil(unix_ns).strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// RFC 3339 in UTC, to the nanosecond: `2026-11-21T20:05:12.000000000Z`.
#[must_use]
pub fn rfc3339(unix_ns: i64) -> String {
    civil(unix_ns).strftime("%Y-%m-%dT%H:%M:%S.%9fZ").to_string()
}

/// The beginning (UTC) of a day that is written as [`date`] does, `2026-11-21`, in nanoseconds since 1970.
/// None for what is not a day.
#[must_use]
pub fn day(text: &str) -> Option<i64> {
    let date = Date::strptime("%Y-%m-%d", text).ok().filter(|date| date.year() >= FIRST_YEAR)?;
    let start = date.to_zoned(TimeZone::UTC).ok()?;
    i64::try_from(start.timestamp().as_nanosecond()).ok()
}

/// The calendar's date and time, in UTC.
fn civil(unix_ns: i64) -> DateTime {
    let moment = Timestamp::from_nanosecond(i128::from(unix_ns));
    // Every i64 of nanoseconds lies within the years that a timestamp knows.
    TimeZone::UTC.to_datetime(moment.unwrap_or_default())
}

/// Seconds between two moments; None when the second is missing or earlier.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a length of time for people")]
pub fn between(start_unix_ns: i64, end_unix_ns: Option<i64>) -> Option<f64> {
    let elapsed = end_unix_ns?.checked_sub(start_unix_ns)?;
    (elapsed >= 0).then_some(elapsed as f64 * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::{between, date, day, rfc3339};

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
        assert_eq!(day("2000-2-9"), day("2000-02-09"), "as people type it");
        for days in (0..100_000_i64).step_by(37) {
            let at = days * 86_400_000_000_000;
            assert_eq!(day(&rfc3339(at)[..10]), Some(at));
        }
        for text in
            ["2026-02-29", "2026-13-01", "2026-11", "-1-1-1", "x", "1969-12-31", "2300-01-01"]
        {
            assert_eq!(day(text), None, "{text}");
        }
    }

    #[test]
    fn a_length_of_time_is_not_negative() {
        assert_eq!(between(5, Some(3)), None);
    }
}
