//! Data of pages as scripts: a page from disk may not fetch anything, but it may run these.

use std::io;

use miniz_oxide::deflate::compress_to_vec;
use plumb_chart::Chart;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter};

/// The level of compression: at 3, a run takes more than its 200 kB.
const LEVEL: u8 = 4;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The charts of a page, handed to its script: JSON, deflated (RFC 1951) and in base64 (RFC 4648), because the
/// samples of a thousand runs are most of what their pages weigh.
pub(crate) fn charts(page: &str, charts: Vec<Chart>) -> String {
    // Rounded first: digits that no screen shows would be half of the file.
    let charts: Vec<Chart> = charts.into_iter().map(Chart::coarse).collect();
    let packed = base64(&compress_to_vec(json(&charts).as_bytes(), LEVEL));
    call("charts", &[&in_script(page), &in_script(&packed)])
}

/// `plumb.NAME(VALUE,VALUE);`: a call that a classic script makes, so that it also works from a file.
pub(crate) fn call(function: &str, values: &[&str]) -> String {
    format!("plumb.{function}({});\n", values.join(","))
}

/// A value as it may stand in a script: what ends an element or a line is written as its number, so that no
/// text in it ends the script.
pub(crate) fn in_script(value: &(impl Serialize + ?Sized)) -> String {
    let json = json(value);
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// JSON whose numbers have the digits that can be drawn.
fn json(value: &(impl Serialize + ?Sized)) -> String {
    let mut json = Vec::new();
    let mut writer = Serializer::with_formatter(&mut json, Drawn);
    // Only keys that are no text can fail, and no page has any.
    if value.serialize(&mut writer).is_err() {
        json = b"null".to_vec();
    }
    String::from_utf8_lossy(&json).into_owned()
}

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        // Missing bytes at the end count as 0; their digits are replaced by `=`.
        let bits =
            (0..3).fold(0, |bits, n| bits << 8 | usize::from(three.get(n).copied().unwrap_or(0)));
        for n in 0..4 {
            let digit = char::from(BASE64[bits >> (18 - 6 * n) & 63]);
            out.push(if n <= three.len() { digit } else { '=' });
        }
    }
    out
}

/// Writes numbers with as many digits as can be seen: seven, and of moments, which are large, ten.
struct Drawn;

impl Formatter for Drawn {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        match whole(drawn(value)) {
            Some(whole) => write!(writer, "{whole}"),
            None => CompactFormatter.write_f64(writer, drawn(value)),
        }
    }
}

/// The number with seven significant digits, ten above 10⁹.
#[expect(clippy::cast_possible_truncation, reason = "the exponent of an f64")]
fn drawn(value: f64) -> f64 {
    let size = value.abs();
    if size == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = if size < 1e9 { 7 } else { 10 };
    let decimals = digits - 1 - size.log10().floor() as i32;
    // Powers of ten are exact up to the 22nd.
    match decimals {
        0..=22 => (value * 10_f64.powi(decimals)).round() / 10_f64.powi(decimals),
        -22..0 => (value / 10_f64.powi(-decimals)).round() * 10_f64.powi(-decimals),
        _ => value,
    }
}

/// A whole number needs no `.0`.
#[expect(clippy::cast_possible_truncation, reason = "whole and small enough to be exact")]
fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() < 1e15).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::{base64, drawn, in_script};

    #[test]
    fn a_script_ends_where_it_should() {
        let hostile = ["</script><!--", "\u{2028}&\u{2029}", "\"\\"];
        let written = in_script(&hostile);
        assert_eq!(written, r#"["\u003c/script\u003e\u003c!--","\u2028\u0026\u2029","\"\\"]"#);
        assert_eq!(serde_json::from_str::<[String; 3]>(&written).unwrap(), hostile);
    }

    #[test]
    fn numbers_are_short_and_dates_are_to_the_second() {
        let numbers = [1.234_567_89e-9, 0.1 + 0.2, 11_412_345_678.9, 1_732_219_201.5, -0.0, 1e300];
        assert_eq!(in_script(&numbers), "[1.234568e-9,0.3,11412345680,1732219202,0,1e+300]");
    }

    /// The examples of RFC 4648.
    #[test]
    fn base64_is_as_everybody_writes_it() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }

    proptest! {
        #[test]
        fn nothing_moves_by_more_than_can_be_seen(value in -1e15_f64..1e15) {
            assert!((drawn(value) - value).abs() <= value.abs() * 1e-6);
        }
    }
}
