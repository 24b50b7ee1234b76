//! Percentages, times and labels as they are typed.

use crate::UsageError;

/// `3%`, `0.5 %` or `0.03` as a share.
pub fn share(text: &str) -> Result<f64, UsageError> {
    plumb_units::parse_fraction(text).ok_or_else(|| {
        UsageError::new(format!(
            "`{text}` is not a percentage between 0 and 100; try 3%, 1% or 0.5%"
        ))
    })
}

/// The margin as typed.
///
/// # Errors
/// When it is no share between 0 and 1.
pub fn margin(text: &str) -> Result<f64, UsageError> {
    share(text).map_err(|error| error.hint("--margin is the smallest relative change that matters"))
}

/// `90s`, `2m`, `1h30m`, `500ms` or plain seconds, in nanoseconds.
pub fn time_ns(text: &str) -> Result<u64, UsageError> {
    match plumb_units::parse_time(text) {
        Ok(0) => Err(UsageError::new(format!(
            "`{text}` must be longer than 0; try 500ms, 90s, 2m or 1h30m"
        ))),
        Ok(nanos) => Ok(nanos),
        Err(error) => Err(UsageError::new(error.0)),
    }
}

/// The same, or `0s` for none.
pub fn pause_ns(text: &str) -> Result<u64, UsageError> {
    plumb_units::parse_time(text).map_err(|error| UsageError::new(error.0))
}

/// `k=v` taken apart.
pub fn pair(text: &str) -> Result<(String, String), UsageError> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(UsageError::new(format!("`{text}` is not NAME=VALUE"))),
    }
}

/// A label, `k=v`. It stands in file names, timers and lines for cron: a line break in it would begin another line there.
pub fn label(text: &str) -> Result<(String, String), UsageError> {
    let (name, value) = pair(text)?;
    check_label(&name, &value)?;
    Ok((name, value))
}

/// Refuses labels with control characters.
pub fn check_label(name: &str, value: &str) -> Result<(), UsageError> {
    if name.chars().chain(value.chars()).any(char::is_control) {
        return Err(UsageError::new(format!(
            "the label {name:?} = {value:?} contains a control character"
        )));
    }
    Ok(())
}

/// `105MB/s`, `9 Gbit/s` or `40us` in a metric's unit (`B/s`, `s`, `ops/s`).
pub fn figure(text: &str, unit: &str) -> Result<f64, UsageError> {
    plumb_units::parse_figure(text, unit).ok_or_else(|| {
        let example = match unit {
            "s" => "40us".to_owned(),
            "share" => "90%".to_owned(),
            _ => format!("105M{unit}"),
        };
        UsageError::new(format!("`{text}` is not a value in {unit}; try {example}"))
    })
}

#[cfg(test)]
mod tests {
    use super::{label, pair, share, time_ns};

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
        assert_eq!(label("os=Debian 12"), Ok(("os".into(), "Debian 12".into())));
        for text in ["x=a\nb", "x\ty=1", "x=\u{1b}[0m", "x=\0"] {
            assert!(label(text).unwrap_err().to_string().contains("control character"), "{text:?}");
        }
    }

    #[test]
    fn figures_have_the_unit_of_their_metric() {
        use super::figure;
        assert_eq!(figure("105MB/s", "B/s").unwrap(), 105e6);
        assert!(figure("9Mx", "share").unwrap_err().to_string().ends_with("try 90%"));
        assert_eq!(figure("1.5 GiB/s", "B/s").unwrap(), 1.5 * 1024.0 * 1024.0 * 1024.0);
        assert_eq!(figure("8Gbit/s", "B/s").unwrap(), 1e9);
        assert!((figure("40us", "s").unwrap() - 40e-6).abs() < 1e-18);
        assert_eq!(figure("2kops/s", "ops/s").unwrap(), 2000.0);
        for wrong in ["", "MB/s", "5", "0B/s", "5xB/s", "5s", "1e400B/s"] {
            assert!(figure(wrong, "B/s").is_err(), "{wrong}");
        }
    }
}
