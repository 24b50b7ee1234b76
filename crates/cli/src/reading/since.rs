//! Since when, as it is typed.

use plumb_suite::time_ns;

use crate::error::{CommandError, Result};

/// A date, or a length of time before `now`, as nanoseconds since 1970 (UTC).
pub fn since_unix_ns(text: &str, now_unix_ns: i64) -> Result<i64> {
    if let Some(at) = plumb_text::time::day(text.trim()) {
        return Ok(at);
    }
    let before = time_ns(text).map_err(|_| {
        CommandError::usage(format!(
            "`{text}` is neither a date nor a length of time; try 2026-11-21 or 30d"
        ))
    })?;
    Ok(now_unix_ns.saturating_sub_unsigned(before))
}

#[cfg(test)]
mod tests {
    use super::since_unix_ns;

    #[test]
    fn since_a_date_or_for_a_time() {
        let day = 86_400_000_000_000;
        assert_eq!(since_unix_ns("1970-02-01", 0), Ok(31 * day));
        assert_eq!(since_unix_ns("2d", 5 * day), Ok(3 * day));
        assert!(since_unix_ns("yesterday", 0).is_err() && since_unix_ns("2026-02-30", 0).is_err());
    }
}
