//! The facts that were read, by their names.

use std::collections::BTreeMap;

use crate::root::Root;

/// Facts by their names.
#[derive(Default)]
pub struct RecordedFacts(pub BTreeMap<String, String>);

impl RecordedFacts {
    pub fn put(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value);
        }
    }

    pub fn put_file(&mut self, root: &Root, name: &str, file: &str) {
        self.put(name, root.text(file));
    }
}
