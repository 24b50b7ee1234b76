//! `classic.ioping`: one request after another, at random offsets of a file.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Better, Description, Metric, Parameter, Ready};
use plumb_protocol::{Held, Start, StartError};

use plumb_workload_kit::declare::{between, bytes, choice, integer, reported, shared};

use crate::laid_out::{self, LaidOut};
use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// The file that it works on.
const FILE: &str = "classic-ioping";

#[derive(Clone)]
pub(crate) struct Ioping;

impl Tool for Ioping {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.ioping",
            summary: "ioping: single requests at random offsets of a file",
            manual: include_str!("ioping.md"),
            program: "ioping",
            package: "ioping",
            format: Some(Format::Ioping),
            prints: "rate",
            values: const { &value_names("rate") },
        }
    }

    fn metric(&self) -> Metric {
        reported("rate", "ops/s", Better::Higher, "requests per second")
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            bytes("size", 256 << 20, "size of the file"),
            between(512, 1 << 30, bytes("block", 4096, "size of one request (-s)")),
            choice("operation", &["read", "write"], "operation on each block (-W)"),
            between(
                100,
                1 << 30,
                integer("count", "requests", 10_000, "requests per process (-c)"),
            ),
        ]
    }

    fn describe(&self, description: Description) -> Description {
        let fixture_of = Some(shared("storage.random", &[]));
        Description { fixture: Some(vec!["size".into()]), fixture_of, ..description }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["-v"], "ioping ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let file = laid_out::path(start)?;
        let count = start.size("count");
        let block = start.size("block");
        let mut words = ["-D", "-B", "-i", "0"].map(str::to_owned).to_vec();
        words.extend(["-c".to_owned(), count.to_string(), "-s".to_owned(), block.to_string()]);
        if start.text("operation") == "write" {
            // It asks for it three times before it writes to a file that it did not make.
            words.push("-WWW".to_owned());
        }
        words.push(file.to_owned());
        Ok(Call::with(words))
    }

    fn prepare(&self, _path: &Path, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        LaidOut::random(start, FILE)
    }
}
