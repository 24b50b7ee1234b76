//! `plumb show --monitors`: what monitors counted during a run.

use plumb_analysis::rates_by_point;
use plumb_model::RunRecord;
use plumb_report::{counters_card, counters_document};
use plumb_store::Store;
use plumb_text::Terminal;

use crate::error::{CommandError, Result};
use crate::reading::output::pretty;
use crate::ui::Ui;

/// Shows what monitors counted per second during a run.
pub fn counted(record: &RunRecord, store: &Store, all: bool, ui: &Ui) -> Result<()> {
    let points = rates_by_point(record, &plumb_query::counters(store, [record])?);
    if points.is_empty() {
        return Err(CommandError::nothing("no monitor ran during this run")
            .hint("plumb run …      reads the default monitors, unless you give --monitor none"));
    }
    if ui.wants_json() {
        ui.out(&pretty(&counters_document(&record.run.to_string(), &points))?);
    } else {
        ui.out(&counters_card(&points, &Terminal { every_metric: all, ..ui.terminal() }));
    }
    Ok(())
}
