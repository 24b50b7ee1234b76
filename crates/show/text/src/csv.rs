//! Fields of CSV (RFC 4180), harmless to a spreadsheet.

use crate::text::clean;

/// Fields as a line.
pub fn line(fields: impl IntoIterator<Item = String>) -> String {
    let fields: Vec<String> = fields.into_iter().collect();
    fields.join(",") + "\r\n"
}

/// A text field. Control characters are written out, and what a spreadsheet would take for a formula
/// gets an apostrophe before it.
pub fn text(value: &str) -> String {
    let mut value = clean(value);
    if value.starts_with(['=', '+', '-', '@']) {
        value.insert(0, '\'');
    }
    if value.contains([',', '"', ' ']) {
        return format!("\"{}\"", value.replace('"', "\"\""));
    }
    value
}

/// The shortest text that reads back as the same number; empty for what is no number.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        String::new()
    } else if size == 0.0 || (1e-5..1e16).contains(&size) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{number, text};

    #[test]
    fn fields_are_quoted_and_harmless() {
        assert_eq!(text("a,b"), "\"a,b\"");
        assert_eq!(text("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(text("=cmd|'/c calc'!A1"), "\"'=cmd|'/c calc'!A1\"");
        assert_eq!(text("two\r\nlines\u{1b}[2J"), "\"two  lines\\u{1b}[2J\"");
    }

    proptest! {
        #[test]
        fn numbers_read_back_the_same(value in any::<f64>()) {
            if value.is_finite() {
                let read: f64 = number(value).parse().unwrap();
                assert!(read.to_bits() == value.to_bits());
            }
        }

        #[test]
        fn a_field_is_one_field(value in any::<String>()) {
            let field = text(&value);
            assert!(!field.chars().any(char::is_control));
            let inner = field.strip_prefix('"').and_then(|f| f.strip_suffix('"')).map(|f| f.replace("\"\"", ""));
            assert!(inner.map_or_else(|| !field.contains([',', '"']), |inner| !inner.contains('"')), "{field}");
        }
    }
}
