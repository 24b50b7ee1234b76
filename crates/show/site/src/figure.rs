//! A chart's place in a page. All that stands in it is in its own file: the page's script says what it is and
//! how to read it, draws it, and makes a table of its numbers. A picture that is seen without the script may stand
//! there until then.

use plumb_chart::Chart;

use crate::html::{Html, Tag, tag};

/// A chart of more names than this is as wide as the page (`MANY` in `web/src/figure.ts`).
const MANY: usize = 12;

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
    place(chart, "chart", tag("div").class("plot"))
}

/// The place of a chart with its picture, for the first thing that a reader sees: it needs no script, and the script
/// draws the live chart in its stead.
pub(crate) fn with_picture(chart: &Chart) -> Html {
    // As wide as the script makes a chart of many names, so that nothing jumps when it is drawn.
    let class = if chart.y.categories.len() > MANY { "chart wide" } else { "chart" };
    let picture = tag("img")
        .with("src", &data_url(&chart.svg()))
        .with("alt", &format!("{}. {}", chart.title, chart.says));
    place(chart, class, tag("div").class("plot").add(picture))
}

fn place(chart: &Chart, class: &str, plot: Tag) -> Html {
    tag("figure")
        .class(class)
        .with("id", &local(&chart.id))
        .with("data-chart", &chart.id)
        .add(plot)
        .into()
}

/// An SVG file as the address of a picture. The page's policy allows pictures of data and no markup from elsewhere.
fn data_url(svg: &str) -> String {
    let mut url = "data:image/svg+xml,".to_owned();
    for byte in svg.bytes() {
        match byte {
            // What RFC 3986 allows in a path, and blanks and slashes as they are, which every browser takes.
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => url.push(char::from(byte)),
            b' ' | b'/' | b':' | b'.' | b',' | b'-' | b'_' | b'=' | b';' | b'(' | b')' => {
                url.push(char::from(byte));
            }
            byte => url.push_str(&format!("%{byte:02x}")),
        }
    }
    url
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
