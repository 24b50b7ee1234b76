//! JSON as tools write it.

use serde_json::Value;

use crate::{Format, ImportError};

/// The document in a text. Some tools write warnings before it.
pub(crate) fn document(text: &str, format: Format) -> Result<Value, ImportError> {
    let start = text.find('{').unwrap_or(0);
    let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter();
    match documents.next() {
        Some(Ok(document)) => Ok(document),
        Some(Err(error)) => Err(ImportError::damaged(format, error.to_string())),
        None => Err(ImportError::damaged(format, "it is empty")),
    }
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

/// A finite number.
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
