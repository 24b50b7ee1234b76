//! JSON as tools write it: often several documents in one file, with warnings between them.

use serde_json::Value;

use crate::result_file::ResultFile;
use crate::{Format, ImportError};

/// One document of a file.
#[derive(Debug)]
pub(crate) struct Document {
    /// The parsed document.
    pub value: Value,
    /// The line in which it begins, from 1.
    pub line: usize,
}

/// All documents in a text, in their order. Lines between them are warnings of the tool, and listed as not read.
///
/// # Errors
/// If there is none, the last is cut off, or one is not JSON.
pub(crate) fn documents(
    text: &str,
    format: Format,
    found: &mut ResultFile,
) -> Result<Vec<Document>, ImportError> {
    let text = &without_nan(text);
    let mut documents = Vec::new();
    let mut at = 0;
    while let Some(skip) = text[at..].find('{') {
        note_warnings(text, at, at + skip, found);
        at += skip;
        let line = line_of(text, at);
        let mut stream = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => documents.push(Document { value, line }),
            Some(Err(error)) if error.is_eof() => {
                return Err(ImportError::damaged(format, error.to_string()));
            }
            Some(Err(error)) => {
                let wrong = line + error.line().saturating_sub(1);
                return Err(ImportError::unreadable(format, wrong, error.to_string()));
            }
            None => break,
        }
        at += stream.byte_offset();
    }
    if documents.is_empty() {
        return Err(ImportError::damaged(format, "it has no JSON document"));
    }
    note_warnings(text, at, text.len(), found);
    Ok(documents)
}

/// JSON with `null` for values that are not numbers: iperf3 up to 3.1 writes `"lost_percent": -nan` if nothing arrived.
fn without_nan(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for (index, part) in text.split(':').enumerate() {
        if index == 0 {
            cleaned.push_str(part);
            continue;
        }
        cleaned.push(':');
        let value = part.trim_start();
        let rest = value.strip_prefix("-nan").or(value.strip_prefix("nan"));
        match rest.filter(|rest| !rest.starts_with(char::is_alphanumeric)) {
            Some(rest) => {
                cleaned.push_str(&part[..part.len() - value.len()]);
                cleaned.push_str("null");
                cleaned.push_str(rest);
            }
            None => cleaned.push_str(part),
        }
    }
    cleaned
}

/// Lists the lines between two places that hold more than brackets and commas.
fn note_warnings(text: &str, from: usize, to: usize, found: &mut ResultFile) {
    for line in text[from..to].lines() {
        if line.chars().any(char::is_alphanumeric) {
            found.not_read("a line outside the JSON documents", Some(line_of(text, from)));
        }
    }
}

fn line_of(text: &str, at: usize) -> usize {
    1 + text[..at].bytes().filter(|byte| *byte == b'\n').count()
}

/// A list, empty when there is none.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of a field; None if it is absent or not a text.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// A number above zero.
pub(crate) fn positive(value: &Value, name: &str) -> Option<f64> {
    number(value, name).filter(|number| *number > 0.0)
}

/// A finite number, which may be zero or negative.
pub(crate) fn number(value: &Value, name: &str) -> Option<f64> {
    value.get(name).and_then(Value::as_f64).filter(|number| number.is_finite())
}

/// A plain value as text.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(on) => (if *on { "yes" } else { "no" }).to_owned(),
        _ => String::new(),
    }
}
