//! `classic.dd`: a file written or read block by block by dd.

use std::path::Path;

use plumb_classics::Format;
use plumb_model::{Better, Description, Metric, Parameter, Ready};
use plumb_protocol::{Failure, Held, Start, StartError};

use plumb_workload_kit::declare::{between, bytes, choice, reported, shared};

use crate::laid_out::{self, LaidOut};
use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// The file that it works on.
const FILE: &str = "classic-dd";

#[derive(Clone)]
pub(crate) struct Dd;

impl Tool for Dd {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.dd",
            summary: "dd: writes or reads a file block by block",
            manual: include_str!("dd.md"),
            program: "dd",
            package: "coreutils",
            format: Some(Format::Dd),
            prints: "bandwidth",
            values: const { &value_names("bandwidth") },
        }
    }

    fn metric(&self) -> Metric {
        reported("bandwidth", "B/s", Better::Higher, "bytes copied per second")
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            between(1 << 20, usize::MAX, bytes("size", 256 << 20, "size of the file (bs × count)")),
            between(512, 1 << 30, bytes("block", 1 << 20, "size of one read or write (bs)")),
            choice("operation", &["write", "read"], "operation on the file (of, if)"),
            choice("direct", &["no", "yes"], "bypass the page cache (oflag, iflag)"),
            choice(
                "sync",
                &["none", "sample"],
                "sample: writes end with fdatasync, included in dd's time (conv)",
            ),
        ]
    }

    fn describe(&self, description: Description) -> Description {
        let fixture_of = Some(shared("storage.sequential", &[("operation", "read")]));
        Description { fixture: Some(vec!["size".into()]), fixture_of, ..description }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["--version"], "dd (coreutils) ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let file = laid_out::path(start)?;
        let block = start.size("block");
        let size = start.size("size");
        if !size.is_multiple_of(block) {
            let why = format!("`size` ({size}) must be a multiple of `block` ({block})");
            return Err(Failure(why).into());
        }
        let direct = start.text("direct") == "yes";
        let sync = start.text("sync") == "sample";
        let mut words = vec![format!("bs={block}"), format!("count={}", size / block)];
        if start.text("operation") == "write" {
            let conversions = if sync { "notrunc,fdatasync" } else { "notrunc" };
            words.extend([
                "if=/dev/zero".into(),
                format!("of={file}"),
                format!("conv={conversions}"),
            ]);
            words.extend(direct.then(|| "oflag=direct".to_owned()));
        } else {
            words.extend([format!("if={file}"), "of=/dev/null".to_owned()]);
            words.extend(direct.then(|| "iflag=direct".to_owned()));
        }
        // Its line is of the C locale, and on stderr.
        let variable = Some("LC_ALL=C".to_owned());
        Ok(Call { variable, on_stderr: true, ..Call::with(words) })
    }

    fn prepare(&self, _path: &Path, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        LaidOut::random(start, FILE)
    }
}
