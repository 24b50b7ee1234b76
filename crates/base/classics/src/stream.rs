//! The table of STREAM (5.x).
//!
//! Above it stand the elements of an array, their bytes and the threads; each row is a loop: MB/s (10⁶) of its best pass,
//! then average, shortest and longest time in s. The last line says whether the arrays are right.

use plumb_model::Better::Higher;

use crate::numbers::positive;
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// How the heading of the table begins.
pub(crate) const HEAD: &str = "Function    Best Rate MB/s";

/// The loops, as the table names them.
const KERNELS: [&str; 4] = ["Copy", "Scale", "Add", "Triad"];

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    if !text.lines().any(|line| line.starts_with("Solution Validates")) {
        return Err(damaged("the line `Solution Validates` is missing"));
    }
    let mut import = Import::new(Format::Stream);
    import.version = after(text, "STREAM version $Revision: ").map(str::to_owned);
    let elements = after(text, "Array size = ").and_then(positive);
    let element_bytes = after(text, "This system uses ").and_then(positive);
    let bytes = elements.zip(element_bytes).map(|(elements, bytes)| elements * bytes);
    for line in text.lines() {
        let Some((name, figures)) = line.split_once(':') else { continue };
        let Some(kernel) = KERNELS.into_iter().find(|kernel| *kernel == name) else { continue };
        let figures: Vec<f64> = figures.split_whitespace().filter_map(positive).collect();
        let &[rate, _, shortest, _] = figures.as_slice() else {
            return Err(damaged(&format!("numbers are missing in the row of {kernel}")));
        };
        let mut series =
            ImportedSeries::new("stream.loop", "one loop of STREAM; 8 bytes count for each array");
        series.set("kernel", kernel.to_lowercase());
        series.set("size", bytes.map(|bytes| format!("{bytes:.0}")).unwrap_or_default());
        series.set("threads", after(text, "Number of Threads counted = ").unwrap_or("1"));
        series.notes.push("the best pass, excluding the first".to_owned());
        series.invocations.push(ImportedInvocation::lasting(shortest, 1));
        series.measured(
            ("bandwidth", "B/s", Higher),
            "bytes per second of the best pass",
            [rate * 1e6],
        );
        import.series.push(series);
    }
    Ok(vec![import])
}

fn damaged(why: &str) -> ImportError {
    ImportError::damaged(Format::Stream, why)
}

/// The first word after `before`.
fn after<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split_whitespace().next()
}
