//! `classic.bonnie` and `classic.bonniefiles`: phases of bonnie++.

use std::path::Path;

use plumb_classics::bonnie::parameter::{FILES, SIZE};
use plumb_classics::bonnie::{
    CREATE_SEQUENTIAL, IMPORTED_PASS, PHASES, Phase, WRITE_BLOCK, imported_phase,
};
use plumb_classics::{Format, ImportedSeries};
use plumb_model::{Better, Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_workload_kit::declare::{between, bytes, integer, reported};

use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// The program, and the Debian package that has it.
const PROGRAM: &str = "bonnie++";

/// The phase that `classic.bonnie` runs.
const WRITE: &Phase = &PHASES[WRITE_BLOCK];

/// The phase that `classic.bonniefiles` runs.
const CREATE: &Phase = &PHASES[CREATE_SEQUENTIAL];

/// Which of its phases is the figure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClassicBonnie {
    /// A file is written block by block.
    Blocks,
    /// Files are created in order.
    Files,
}

impl Tool for ClassicBonnie {
    fn named(&self) -> ToolNames {
        match self {
            Self::Blocks => ToolNames {
                id: "classic.bonnie",
                summary: "bonnie++: writes a file block by block, including fsync",
                manual: include_str!("bonnie.md"),
                program: PROGRAM,
                package: PROGRAM,
                format: Some(Format::Bonnie),
                prints: WRITE.name,
                values: const { &value_names(WRITE.name) },
            },
            Self::Files => ToolNames {
                id: "classic.bonniefiles",
                summary: "bonnie++: creates files in order, including sync(2)",
                manual: include_str!("bonniefiles.md"),
                program: PROGRAM,
                package: PROGRAM,
                format: Some(Format::Bonnie),
                prints: "rate",
                values: const { &value_names(CREATE.name) },
            },
        }
    }

    fn metric(&self) -> Metric {
        match self {
            Self::Blocks => reported(WRITE.name, "B/s", Better::Higher, "bytes written per second"),
            Self::Files => {
                reported(CREATE.name, "ops/s", Better::Higher, "files created per second")
            }
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        match self {
            Self::Blocks => {
                vec![between(1 << 20, usize::MAX, bytes(SIZE, 2 << 30, "size of the file (-s)"))]
            }
            Self::Files => {
                vec![between(
                    1 << 10,
                    1 << 18,
                    integer(FILES, "files", 65_536, "files, a multiple of 1024 (-n)"),
                )]
            }
        }
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::after(path, &["-h"], "Version: ")
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let mut words = ["-q", "-r", "0", "-d", &start.dir].map(str::to_owned).to_vec();
        // Zero leaves the phases of the other kind out.
        let mut size_mib = 0;
        let mut files = 0;
        match self {
            Self::Blocks => size_mib = start.size(SIZE) >> 20,
            Self::Files => files = start.size(FILES) >> 10,
        }
        words.extend(["-f".to_owned(), "-s".to_owned(), size_mib.to_string()]);
        words.extend(["-n".to_owned(), files.to_string()]);
        if rustix::process::geteuid().is_root() {
            // It refuses to work as root unless it is told so.
            words.extend(["-u", "root"].map(str::to_owned));
        }
        Ok(Call::with(words))
    }

    fn is_asked(&self, _start: &Start, series: &ImportedSeries) -> bool {
        match self {
            Self::Blocks => series.workload == IMPORTED_PASS,
            Self::Files => series.workload == imported_phase(CREATE.name),
        }
    }
}
