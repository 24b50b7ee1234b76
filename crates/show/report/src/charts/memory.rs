//! How much memory the points of a workload take.

use plumb_chart::{Along, AxisSpec, Chart, Draft, Fit, Mark, Tone, place};

use super::subject::Subject;

/// The largest peak of each point's processes as bars from 0.
pub(super) fn peaks(of: &Subject) -> Option<Chart> {
    let rows = of.rows();
    let peak = |(index, bytes): (usize, u64)| (place(index), bytes as f64);
    let peaks =
        rows.iter().filter_map(|(index, row)| Some((*index, row.finding.peak_memory_bytes?)));
    let (at, to): (Vec<f64>, Vec<f64>) = peaks.map(peak).unzip();
    let mut draft = Draft::new(
        of.id("memory"),
        of.title("peak memory"),
        "The largest amount of memory that one of the point's processes held.".to_owned(),
        AxisSpec::values("peak memory", "B", Fit::FromZero),
        of.names(),
    );
    let group = draft.group("largest of all processes", Tone::Plain);
    let from = vec![0.0; to.len()];
    draft.layer(Some(group), Mark::Bars { along: Along::X, at, from, to });
    draft.finish()
}
