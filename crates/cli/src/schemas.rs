//! The committed schemas are those of the documents that no other crate makes.

use std::path::Path;

use schemars::generate::SchemaSettings;

use crate::commands::explain::ExplainDocument;
use crate::planning::dry_run::DryRun;

/// With `UPDATE_SCHEMAS` set, the committed schema is written anew instead.
fn is_committed<T: schemars::JsonSchema>(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas").join(name);
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&file, serde_json::to_string_pretty(&schema).unwrap() + "\n").unwrap();
    }
    let committed: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(committed == schema, "run this with UPDATE_SCHEMAS=1 and look at what changed");
}

#[test]
fn the_committed_schemas_are_those_of_the_documents() {
    is_committed::<ExplainDocument<'_>>("plumb.explain-1.json");
    is_committed::<DryRun>("plumb.dry-run-1.json");
}
