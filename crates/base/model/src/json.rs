//! Plans, events and records as JSON, for the crates that store and send them. The code that serde makes for them is large: here it is
//! made once, and not in each of these crates.

use serde_json::{Result, Value};

use crate::event::Stamped;
use crate::plan::Plan;
use crate::record::RunRecord;

/// Something that travels between machines or is stored as JSON.
pub trait AsJson: Sized {
    /// Its JSON value.
    ///
    /// # Errors
    /// When a part of it is not JSON, such as a map with keys that are not texts.
    fn to_json(&self) -> Result<Value>;

    /// What has this JSON value.
    ///
    /// # Errors
    /// When the value is of another form.
    fn of_json(value: Value) -> Result<Self>;
}

impl AsJson for Plan {
    fn to_json(&self) -> Result<Value> {
        serde_json::to_value(self)
    }

    fn of_json(value: Value) -> Result<Self> {
        serde_json::from_value(value)
    }
}

impl AsJson for Stamped {
    fn to_json(&self) -> Result<Value> {
        serde_json::to_value(self)
    }

    fn of_json(value: Value) -> Result<Self> {
        serde_json::from_value(value)
    }
}

impl AsJson for RunRecord {
    fn to_json(&self) -> Result<Value> {
        serde_json::to_value(self)
    }

    fn of_json(value: Value) -> Result<Self> {
        serde_json::from_value(value)
    }
}
