//! A history as Markdown, for a ticket or a pull request.

use plumb_analysis::HistoryFinding;
use plumb_text::time::date;

use crate::figure::figure;
use crate::history::view::{closing, events_before, label_keys, label_of, short, title};
use plumb_text::markdown::{code, escape};

/// The history as Markdown; `label` is the key of the label that names runs.
#[must_use]
pub fn history_markdown(finding: &HistoryFinding, label: Option<&str>) -> String {
    let keys = label_keys(finding, label);
    let mut out = format!("### plumb: {}\n\n", escape(&title(finding)));
    for line in closing(finding) {
        out.push_str(&format!("- {}\n", escape(&line)));
    }
    out.push_str("\n| run | started | label | estimate | interval | processes |\n");
    out.push_str("| :-- | :-- | :-- | --: | :-- | --: |\n");
    for (index, run) in finding.runs.iter().enumerate() {
        for event in events_before(finding, index) {
            out.push_str(&format!("| | | **{}** | | | |\n", escape(&event.text)));
        }
        let shown = figure(&run.estimate, &finding.unit);
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            code(&short(run)),
            date(run.run.started_unix_ns),
            escape(&label_of(run, &keys)),
            escape(&shown.quantity()),
            shown.interval.as_ref().map_or_else(|why| escape(why), |_| shown.brackets()),
            run.process_medians.len(),
        ));
    }
    out
}
