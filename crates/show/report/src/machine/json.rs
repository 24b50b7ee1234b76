//! `plumb.machine/1`: the document for machines. Fields may be added, never changed.

use serde::Serialize;

use crate::comparison::json::{DifferencePart, difference};
use crate::json_parts::target::{FactsPart, target};
use crate::machine::view::{MachineSnapshot, differences};

/// Name of the document's form.
pub const MACHINE_SCHEMA: &str = "plumb.machine/1";

/// Machines as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.machine/1"))]
pub struct MachineDocument {
    /// The name of this form, always `plumb.machine/1`.
    #[cfg_attr(test, schemars(extend("const" = MACHINE_SCHEMA)))]
    pub schema: &'static str,
    /// One machine, or the two that are compared.
    pub targets: Vec<SnapshotPart>,
    /// The differences between two; a fact that one of them did not read is not a difference.
    pub differences: Vec<DifferencePart>,
}

/// A machine, and when it was that.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SnapshotPart {
    /// The run that found it so; null for now.
    pub run: Option<String>,
    /// Which one of the machines of its kind: a name that somebody gave it, or `id1:` and a hash of its
    /// machine id; null when that is unknown.
    pub host: Option<String>,
    /// Of which kind it is.
    pub machine: FactsPart,
    /// The facts that may change.
    pub environment: FactsPart,
}

/// Machines as a document.
#[must_use]
pub fn machine_document(snapshots: &[MachineSnapshot]) -> MachineDocument {
    MachineDocument {
        schema: MACHINE_SCHEMA,
        targets: snapshots
            .iter()
            .map(|snapshot| {
                let target = target(&snapshot.target);
                SnapshotPart {
                    run: snapshot.run.clone(),
                    host: target.host,
                    machine: target.machine,
                    environment: target.environment,
                }
            })
            .collect(),
        differences: differences(snapshots).iter().map(difference).collect(),
    }
}
