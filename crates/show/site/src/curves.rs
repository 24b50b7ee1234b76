//! What curves over parameters say, on the page of a run and of a workload.

use plumb_report::run::View;

use crate::html::{Html, link};
use crate::names;
use crate::parts::{DataTable, cell, heading, list, name};

/// The curves of a run, each with a link to its chart; or those of one workload, on its own page.
pub(crate) fn curves(view: &View, workload: Option<&str>) -> Html {
    let mut table = DataTable::new(["Curve", "What it says"]);
    let all = view.finding.curves.iter().zip(&view.curves);
    let mut any = false;
    for (curve, text) in all.filter(|(it, _)| workload.is_none_or(|only| it.workload == only)) {
        let page = names::workload_page(view.finding.run.id, &curve.workload);
        let named = match workload {
            Some(_) => Html::text(&text.name),
            None => link(&format!("{page}.html"), text.name.as_str()).into(),
        };
        table.row([name(named), cell(list(text.lines.iter().map(String::as_str)))]);
        any = true;
    }
    if any { heading("curves", "Curves").and(table.build()) } else { Html::default() }
}
