//! Percentages, times and labels as they are typed.

use crate::error::{CommandError, Result};

/// `3%`, `0.5 %` or `0.03` as a share.
pub fn share(text: &str) -> Result<f64> {
    let trimmed = text.trim();
    let (number, scale) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (trimmed, 1.0),
    };
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 && value / scale < 1.0 => Ok(value / scale),
        _ => Err(CommandError::usage(format!("`{text}` is no share above 0; try 3%, 1% or 0.5%"))),
    }
}

/// `90s`, `2m`, `1h30m`, `500ms` or plain seconds, in nanoseconds.
pub fn time_ns(text: &str) -> Result<u64> {
    let wrong = || CommandError::usage(format!("`{text}` is no time; try 500ms, 90s, 2m or 1h30m"));
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        seconds += number * seconds_of(&rest[..letters]).ok_or_else(wrong)?;
        rest = rest[letters..].trim_start();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; a float too large saturates"
    )]
    let nanos = (seconds * 1e9) as u64;
    if nanos == 0 { Err(wrong()) } else { Ok(nanos) }
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

/// `k=v` taken apart.
pub fn pair(text: &str) -> Result<(String, String)> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(CommandError::usage(format!("`{text}` is no `name=value`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::{pair, share, time_ns};

    #[test]
    fn what_people_type() {
        assert_eq!(share("3%"), Ok(0.03));
        assert_eq!(share("0.5 %"), Ok(0.005));
        assert_eq!(share("0.01"), Ok(0.01));
        assert_eq!(time_ns("90"), Ok(90_000_000_000));
        assert_eq!(time_ns("1h30m"), Ok(5_400_000_000_000));
        assert_eq!(time_ns("500ms"), Ok(500_000_000));
        assert_eq!(pair("kernel=6.1"), Ok(("kernel".into(), "6.1".into())));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in ["", "0", "100%", "-3%", "x", "NaN"] {
            assert!(share(text).is_err(), "{text}");
        }
        for text in ["", "0s", "m", "3 parsecs", "-1s"] {
            assert!(time_ns(text).is_err(), "{text}");
        }
        assert!(pair("=x").is_err() && pair("x").is_err());
    }
}
