//! `classic.mbw`: mbw copies one array to another.

use std::path::Path;

use plumb_classics::{Format, ImportedSeries};
use plumb_model::{Better, Metric, Parameter};
use plumb_protocol::{Start, StartError};

use plumb_units::whole_size;
use plumb_workload_kit::declare::{between, bytes, choice, integer, reported, time_bound};

use crate::named::{ToolNames, value_names};
use crate::runs::{MOST_SETTLING_NS, Settling};
use crate::tool::{Call, Tool};
use crate::version;

const MIB: usize = 1 << 20;

/// Versions before 1.4 do not name themselves in their help; their labels are swapped.
const OLD: &str = "1.2";

#[derive(Clone)]
pub(crate) struct Mbw;

impl Tool for Mbw {
    fn named(&self) -> ToolNames {
        ToolNames {
            id: "classic.mbw",
            summary: "mbw: copies one array to another",
            manual: include_str!("mbw.md"),
            program: "mbw",
            package: "mbw",
            format: Some(Format::Mbw),
            prints: "bandwidth",
            values: const { &value_names("bandwidth") },
        }
    }

    fn metric(&self) -> Metric {
        reported("bandwidth", "B/s", Better::Higher, "bytes copied per second, each counted once")
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            choice(
                "method",
                &["libc", "loop", "block"],
                "libc: memcpy; loop: word by word; block: memcpy in blocks of 256 KiB",
            ),
            between(
                MIB,
                usize::MAX >> 1,
                bytes("size", 64 << 20, "size of each of the two arrays, in whole MiB"),
            ),
            between(1, 1000, integer("passes", "passes", 5, "copies per process (-n)")),
            between(
                0,
                MOST_SETTLING_NS,
                time_bound("settle", 0, "copies that begin in this time of a process do not count"),
            ),
        ]
    }

    fn version(&self, path: &Path) -> Result<String, StartError> {
        let help = version::asked(path, &["-h"])?;
        if !help.contains("-t0") {
            let why = format!(
                "{} does not print mbw's help, so it is a different program",
                path.display()
            );
            return Err(StartError::Failed(why));
        }
        let named = help.lines().find_map(|line| line.strip_prefix("mbw memory benchmark v"));
        let word = named.map(|rest| rest.split(',').next().unwrap_or(rest).to_owned());
        Ok(word.unwrap_or_else(|| OLD.to_owned()))
    }

    fn call(&self, start: &Start, version: &str) -> Result<Call, StartError> {
        let size = start.size("size");
        if !size.is_multiple_of(MIB) {
            return Err(StartError::Failed(format!("`size` must be whole MiB, not {size} bytes")));
        }
        let memory = start.facts.memory_bytes;
        if memory > 0 && 2 * size as u64 > memory / 2 {
            let why = format!(
                "two arrays of {} take more than half of the memory",
                whole_size(size as u64)
            );
            return Err(StartError::unsupported(why, "set a smaller `size`"));
        }
        let old = version == OLD;
        let test = match (start.text("method"), old) {
            ("block", true) => {
                let why = "mbw before 1.4 may read the same block repeatedly";
                return Err(StartError::unsupported(why, "install mbw 1.4 or newer"));
            }
            ("block", false) => "-t2",
            ("libc", false) | ("loop", true) => "-t0",
            _ => "-t1",
        };
        let passes = start.size("passes");
        let words =
            ["-n".to_owned(), passes.to_string(), test.to_owned(), (size / MIB).to_string()];
        let mut call = Call::with(words);
        if old {
            call.notes
                .push("mbw before 1.4 swaps labels: DUMB is memcpy, MEMCPY is the loop".into());
        }
        Ok(call)
    }

    fn settling(&self, start: &Start) -> Option<Settling> {
        Settling::of(start.integer("settle"), start.integer("size"))
    }

    fn is_asked(&self, start: &Start, series: &ImportedSeries) -> bool {
        let method = ("method".to_owned(), start.text("method").to_owned());
        series.settings.contains(&method)
    }
}
