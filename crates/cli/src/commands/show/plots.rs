//! `plumb show --plots`: box plots of every workload.

use plumb_chart::{Chart, drawing};

use crate::error::{CommandError, Result};
use crate::reading::output::pretty;
use crate::ui::Ui;

/// What ends the names of charts of box plots; of metrics other than the first theirs follow.
const BOXES: &str = "/boxes";
/// How those of sides begin, which are the same samples once more.
const SIDES: &str = "sides/";

/// The box plots of every workload.
pub fn plots(charts: &[Chart], all: bool, ui: &Ui) -> Result<String> {
    let is_boxes =
        |it: &&Chart| it.id.ends_with(BOXES) || (all && it.id.contains(&format!("{BOXES}/")));
    let is_wanted = |it: &&Chart| is_boxes(it) && !it.id.starts_with(SIDES);
    let wanted: Vec<&Chart> = charts.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        return Err(CommandError::nothing("this run measured nothing that can be drawn"));
    }
    if ui.wants_json() {
        return pretty(&wanted);
    }
    let drawn: Vec<String> = wanted.iter().map(|it| drawing(it, &ui.terminal())).collect();
    Ok(drawn.join("\n"))
}
