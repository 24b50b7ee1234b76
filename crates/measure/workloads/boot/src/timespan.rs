//! Lengths of time as systemd writes them: `1min 2.345s`.

/// Seconds of each unit that systemd writes.
const UNITS: [(&str, f64); 10] = [
    ("y", 31_557_600.0),
    ("month", 2_629_800.0),
    ("w", 604_800.0),
    ("d", 86_400.0),
    ("h", 3_600.0),
    ("min", 60.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("μs", 1e-6),
];

/// The seconds in a text such as `1min 2.345s` or `345ms`; None if it is no such text.
pub fn seconds(text: &str) -> Option<f64> {
    let mut sum = 0.0;
    for word in text.split_whitespace() {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = word.split_at(end);
        let (_, length_s) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum += number.parse::<f64>().ok()? * length_s;
    }
    (!text.trim().is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn lengths_are_added_unit_by_unit() {
        let close = |text, expected: f64| {
            let found = seconds(text).unwrap();
            assert!((found - expected).abs() < 1e-9, "{text}: {found}");
        };
        close("2.345s", 2.345);
        close("345ms", 0.345);
        close("9min 39.222s", 579.222);
        close("1h 2min 3s", 3723.0);
        close("1d", 86_400.0);
        close("12us", 12e-6);
        for wrong in ["", " ", "12", "s", "1.2.3s", "3 s", "5parsec"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
