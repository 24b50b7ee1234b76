//! The committed schemas are those of the documents.

use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::{
    CheckDocument, ComparisonDocument, GateDocument, HistoryDocument, MachineDocument, RunDocument,
    SessionsDocument,
};

/// With `UPDATE_SCHEMAS` set, the committed schema is written again instead.
fn is_committed<T: schemars::JsonSchema>(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/schemas");
    let file = folder.join(name);
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        std::fs::write(&file, text).unwrap();
    }
    let committed: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(committed == schema, "run this with UPDATE_SCHEMAS=1 and look at what changed");
}

#[test]
fn the_committed_schemas_are_those_of_the_documents() {
    is_committed::<RunDocument>("plumb.run-1.json");
    is_committed::<ComparisonDocument>("plumb.comparison-1.json");
    is_committed::<CheckDocument>("plumb.check-1.json");
    is_committed::<crate::ChecksDocument>("plumb.checks-1.json");
    is_committed::<crate::QuickCheckDocument>("plumb.quick-check-1.json");
    is_committed::<crate::QuickChecksDocument>("plumb.quick-checks-1.json");
    is_committed::<GateDocument>("plumb.gate-1.json");
    is_committed::<SessionsDocument>("plumb.sessions-1.json");
    is_committed::<crate::FleetDocument>("plumb.fleet-1.json");
    is_committed::<crate::FleetsDocument>("plumb.fleets-1.json");
    is_committed::<crate::FleetStatusDocument>("plumb.fleet-status-1.json");
    is_committed::<crate::WhyDocument>("plumb.why-1.json");
    is_committed::<crate::AdviceDocument>("plumb.advice-1.json");
    is_committed::<crate::ReferencesDocument>("plumb.references-1.json");
    is_committed::<crate::ReferenceComparisonDocument>("plumb.reference-comparison-1.json");
    is_committed::<HistoryDocument>("plumb.history-1.json");
    is_committed::<crate::CountersDocument>("plumb.counters-1.json");
    is_committed::<crate::MonitorsDocument>("plumb.monitors-1.json");
    is_committed::<MachineDocument>("plumb.machine-1.json");
    is_committed::<plumb_chart::Chart>("plumb.chart-1.json");
}
