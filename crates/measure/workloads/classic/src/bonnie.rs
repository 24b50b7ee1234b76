//! `classic.bonnie` and `classic.bonniefiles`: phases of bonnie++.

use std::path::Path;

use plumb_classics::{Format, Series};
use plumb_model::{Better, Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::declare::{bytes, integer, reported, within};

use crate::named::{Named, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// Which of its phases is the figure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bonnie {
    /// A file is written block by block.
    Blocks,
    /// Files are created in order.
    Files,
}

impl Tool for Bonnie {
    fn named(&self) -> Named {
        let (id, summary, manual, prints, values) = match self {
            Self::Blocks => (
                "classic.bonnie",
                "bonnie++: writes a file block by block, fsync included",
                include_str!("bonnie.md"),
                "write_block",
                const { &value_names("write_block") },
            ),
            Self::Files => (
                "classic.bonniefiles",
                "bonnie++: creates files in order, sync(2) included",
                include_str!("bonniefiles.md"),
                "rate",
                const { &value_names("create_sequential") },
            ),
        };
        let program = "bonnie++";
        let package = "bonnie++";
        let format = Some(Format::Bonnie);
        Named { id, summary, manual, program, package, format, prints, values }
    }

    fn metric(&self) -> Metric {
        match self {
            Self::Blocks => {
                reported("write_block", "B/s", Better::Higher, "bytes written a second")
            }
            Self::Files => {
                reported("create_sequential", "ops/s", Better::Higher, "files created a second")
            }
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Blocks => vec![bytes("size", 2 << 30, "size of the file (-s)")],
            Self::Files => vec![integer("files", "files", 65_536, "files (-n, in 1024)")],
        }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["-h"], "Version: ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let mut words = ["-q", "-r", "0", "-d", &start.dir].map(str::to_owned).to_vec();
        let (size, files) = match self {
            Self::Blocks => (within(start, "size", 1 << 20, usize::MAX)? >> 20, 0),
            Self::Files => (0, within(start, "files", 1024, 1 << 18)? >> 10),
        };
        words.extend(["-f".to_owned(), "-s".to_owned(), size.to_string()]);
        words.extend(["-n".to_owned(), files.to_string()]);
        if rustix::process::geteuid().is_root() {
            // It refuses to work as root unless it is told so.
            words.extend(["-u", "root"].map(str::to_owned));
        }
        Ok(Call::with(words))
    }

    fn is_asked(&self, _start: &Start, series: &Series) -> bool {
        match self {
            Self::Blocks => series.workload == "bonnie.pass",
            Self::Files => series.workload == "bonnie.create_sequential",
        }
    }
}
