//! The committed schema is that of the document.

use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::LiveDocument;

/// With `UPDATE_SCHEMAS` set, the committed schema is written again instead.
#[test]
fn the_committed_schema_is_that_of_the_document() {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/schemas/plumb.live-1.json");
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<LiveDocument>().to_value();
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        std::fs::write(&file, text).unwrap();
    }
    let committed: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(committed == schema, "run this with UPDATE_SCHEMAS=1 and look at what changed");
}
