//! Charts of the machines of a fleet.

use plumb_analysis::{KindFinding, SeriesOfKind};
use plumb_chart::{AxisSpec, Chart, Draft, Mark, place};
use plumb_text::counted;

use crate::fleet::kind_title;

/// More rows in one figure are a blur.
const MOST_MACHINES: usize = 60;

/// Machines from top to bottom, results from left to right, coloured by the cost relative to the median of the machines. None for one
/// machine.
pub(super) fn map(kind: &KindFinding) -> Option<Chart> {
    if kind.machines.len() < 2 || kind.series.is_empty() {
        return None;
    }
    let shown = most_unusual(kind);
    let fingerprint = kind.machine.as_ref().map_or("unknown", |machine| &machine.fingerprint);
    let mut draft = Draft::new(
        format!("fleet/map/{fingerprint}"),
        format!("Cost relative to the median: {}", kind_title(kind)),
        "The cost of each result (left to right) on each machine (top to bottom) over the median of the machines, as colour; more is slower."
            .to_owned(),
        AxisSpec::Names(kind.series.iter().map(|series| series.point.name.clone()).collect()),
        AxisSpec::Names(shown.iter().map(|index| kind.machines[*index].name.clone()).collect()),
    );
    draft.colour = Some(("cost over the median".to_owned(), String::new()));
    let mut x = Vec::new();
    let mut y = Vec::new();
    let mut value = Vec::new();
    for (row, machine) in shown.iter().enumerate() {
        for (column, series) in kind.series.iter().enumerate() {
            let Some(ratio) = ratio(series, *machine) else { continue };
            x.push(place(column));
            y.push(place(row));
            value.push(ratio);
        }
    }
    draft.layer(None, Mark::Cells { x, y, value });
    let hidden = kind.machines.len() - shown.len();
    if hidden > 0 {
        let hidden = counted(hidden, "machine is", "machines are");
        draft.note(format!("{hidden} not shown, which are nearer to the median."));
    }
    draft.finish()
}

/// The machines that lie farthest from the median in any result, in the order in which they were asked.
fn most_unusual(kind: &KindFinding) -> Vec<usize> {
    let mut machines: Vec<usize> = (0..kind.machines.len()).collect();
    machines.sort_by(|one, two| farthest(kind, *two).total_cmp(&farthest(kind, *one)));
    machines.truncate(MOST_MACHINES);
    machines.sort_unstable();
    machines
}

/// The largest log ratio of a machine to the median, in either direction.
fn farthest(kind: &KindFinding, machine: usize) -> f64 {
    let ratios = kind.series.iter().filter_map(|series| ratio(series, machine));
    ratios.map(|ratio| ratio.ln().abs()).fold(0.0, f64::max)
}

fn ratio(series: &SeriesOfKind, machine: usize) -> Option<f64> {
    series.values[machine].map(|value| series.cost_ratio(value))
}
