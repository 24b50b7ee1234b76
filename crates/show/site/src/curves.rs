//! Curves over parameters and points behind links, on the page of a run and of a workload.

use plumb_report::run::View;

use crate::html::{Html, link};
use crate::names;
use crate::parts::{DataTable, cell, heading, list, name};

/// The curves of a run, each with a link to its chart; or those of one workload, on its own page.
pub(crate) fn curves(view: &View, workload: Option<&str>) -> Html {
    let mut table = DataTable::new(["Points", "Result"]);
    let mut any = false;
    for text in
        view.curves.iter().filter(|curve| workload.is_none_or(|only| curve.workload == only))
    {
        let page = names::workload_page(view.finding.run.id, &text.workload);
        let named = match workload {
            Some(_) => Html::text(&text.name),
            None => link(&format!("{page}.html"), text.name.as_str()).into(),
        };
        table.row([name(named), cell(list(text.lines.iter().map(String::as_str)))]);
        any = true;
    }
    if any { heading("curves", "Curves and rankings").and(table.build()) } else { Html::default() }
}
