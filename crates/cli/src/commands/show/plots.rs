//! `plumb show --plots`: box plots of every workload.

use plumb_chart::{Chart, drawing};

use crate::error::{CommandError, Result};
use crate::reading::output::pretty;
use crate::ui::Ui;

/// What ends the names of charts of box plots; of metrics other than the first theirs follow.
const BOXES: &str = "/boxes";

/// The box plots of every workload.
pub fn plots(charts: &[Chart], all: bool, ui: &Ui) -> Result<String> {
    let is_wanted =
        |it: &&Chart| it.id.ends_with(BOXES) || (all && it.id.contains(&format!("{BOXES}/")));
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
