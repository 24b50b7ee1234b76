//! `classic.stream`: STREAM, built from a source that the user names.

use std::fs;
use std::path::Path;

use plumb_classics::{Format, ImportedSeries};
use plumb_model::{Better, Metric, Parameter};
use plumb_protocol::{Failure, Start, StartError};

use plumb_workload_kit::declare::{between, bytes, choice, path, reported, text, threads};

use crate::build::built;
use crate::named::{ToolNames, value_names};
use crate::tool::{Call, Tool};
use crate::version;

/// The loops, as memory.stream calls them.
const KERNELS: [&str; 4] = ["triad", "copy", "scale", "add"];

/// McCalpin's STREAM, built from a source file that the user names.
#[derive(Clone)]
pub(crate) struct ClassicStream;

impl Tool for ClassicStream {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.stream",
            summary: "STREAM: loops over long arrays, built from your copy of its source",
            manual: include_str!("stream.md"),
            program: "cc",
            package: "gcc",
            format: Some(Format::Stream),
            prints: "bandwidth",
            values: const { &value_names("bandwidth") },
        }
    }

    fn metric(&self) -> Metric {
        reported(
            "bandwidth",
            "B/s",
            Better::Higher,
            "bytes per second of the best pass, as STREAM \
                counts them",
        )
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            path("source", "absolute path of STREAM's stream.c"),
            text("flags", "-O3 -march=native", "compiler options, separated by spaces"),
            choice("kernel", &KERNELS, "loop whose result is reported"),
            between(1 << 16, 1 << 30, bytes("size", 64 << 20, "bytes per array and thread")),
            between(1, 1024, threads("threads that share the arrays")),
        ]
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        version::of_compiler(path)
    }

    fn call(&self, start: &Start, _version: &str) -> Result<Call, StartError> {
        let source = start.text("source");
        if source.is_empty() {
            let fix = "download stream.c from https://www.cs.virginia.edu/stream/FTP/Code and pass it as source=/…/stream.c";
            return Err(StartError::unsupported("STREAM's source is not set", fix));
        }
        let size = start.size("size");
        let threads = start.size("threads");
        let elements = format!("-DSTREAM_ARRAY_SIZE={}", size / 8 * threads);
        // Its arrays are static: of more than 2 GiB they need another model of code.
        let fixed = ["-fopenmp", "-mcmodel=medium", "-DNTIMES=10", &elements];
        let options: Vec<&str> = start.text("flags").split_whitespace().chain(fixed).collect();
        let text = fs::read_to_string(source)
            .map_err(|error| Failure::io(format!("reading {source}"), &error))?;
        let built = built(start, &text, &options)?;
        let variable = Some(format!("OMP_NUM_THREADS={threads}"));
        Ok(Call { built: Some(built), variable, ..Call::default() })
    }

    fn is_asked(&self, start: &Start, series: &ImportedSeries) -> bool {
        series.settings.contains(&("kernel".to_owned(), start.text("kernel").to_owned()))
    }
}
