//! A chart's place in a page. All that stands in it is in a file of its own: the page's script says what it is and
//! how to read it, draws it, and makes a table of its numbers.

use plumb_chart::Chart;

use crate::html::{Html, tag};

/// The places of charts. Those that show the same as another one share its place: there the reader switches.
pub(crate) fn places(charts: &[Chart]) -> impl Iterator<Item = Html> {
    // Only if that other chart is on this page, too.
    charts
        .iter()
        .filter(|chart| !charts.iter().any(|other| chart.instead_of.as_ref() == Some(&other.id)))
        .map(figure)
}

/// The place of a chart.
fn figure(chart: &Chart) -> Html {
    let made = tag("figure").class("chart").with("id", &local(&chart.id));
    made.with("data-chart", &chart.id).add(tag("div").class("plot")).into()
}

/// The address of a chart in its page.
fn local(id: &str) -> String {
    format!(
        "chart-{}",
        id.chars()
            .map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' })
            .collect::<String>()
    )
}
