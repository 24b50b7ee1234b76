//! A chart's place in a page: its title, and room for the drawing. Everything else of it stands in a file of its
//! own: the page's script says how to read it, draws it, and makes a table of its numbers.

use plumb_chart::Chart;

use crate::html::{Html, tag, wrap};

/// The place of a chart.
pub(crate) fn figure(chart: &Chart) -> Html {
    let caption = wrap("figcaption", wrap("b", chart.title.as_str()));
    let made = tag("figure").class("chart").with("id", &local(&chart.id));
    made.with("data-chart", &chart.id).add(caption).add(tag("div").class("plot")).into()
}

/// The address of a chart in its page.
fn local(id: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
    format!("chart-{}", id.chars().map(safe).collect::<String>())
}
