//! The page of a workload that `plumb explain` prints.

use plumb_model::{Metric, Parameter, ParameterType};
use plumb_protocol::Workload;

/// Sections with a generated list; the manual's own text of that section follows the list.
const PARAMETERS: &str = "Parameters";
const METRICS: &str = "Metrics";

/// Columns of a line of the manuals.
const WIDTH: usize = 118;

/// The manual of a workload with everything that its description says: the lists of parameters and metrics, and the
/// text of its family. Manuals add only what these lists do not say, so that nothing is written twice.
#[must_use]
pub fn manual_page(workload: &dyn Workload) -> String {
    let description = workload.describe();
    let mut introduction = Vec::new();
    let mut rest = Vec::new();
    let mut parameters = String::new();
    let mut metrics = String::new();
    for section in workload.manual().trim_end().split("\n## ") {
        let (title, text) = section.split_once('\n').unwrap_or((section, ""));
        match title {
            PARAMETERS => parameters = text.trim_end().to_owned(),
            METRICS => metrics = text.trim_end().to_owned(),
            _ if introduction.len() < 2 => introduction.push(section.trim_end().to_owned()),
            _ => rest.push(section.trim_end().to_owned()),
        }
    }
    let mut sections = introduction;
    sections.push(listed(
        PARAMETERS,
        description.parameters.iter().map(parameter_item),
        &parameters,
    ));
    let metric_items = description
        .metrics
        .iter()
        .enumerate()
        // The first metric is the primary one.
        .map(|(index, metric)| metric_item(metric, index == 0));
    sections.push(listed(METRICS, metric_items, &metrics));
    sections.extend(rest);
    if description.family() == plumb_workload_classic::FAMILY {
        sections
            .push(plumb_workload_classic::OF_ALL.trim_start_matches("## ").trim_end().to_owned());
    }
    sections.join("\n\n## ") + "\n"
}

/// A section: its title, a list, and the manual's notes below it.
fn listed(title: &str, items: impl Iterator<Item = String>, notes: &str) -> String {
    let mut lines: Vec<String> = items.map(|item| wrapped(&item)).collect();
    if lines.is_empty() {
        lines.push(format!("There are no {}.", title.to_lowercase()));
    }
    if !notes.is_empty() {
        lines.push(format!("\n{notes}"));
    }
    format!("{title}\n{}", lines.join("\n"))
}

/// A parameter with its values and its default.
fn parameter_item(parameter: &Parameter) -> String {
    let default = match parameter.show(&parameter.default) {
        text if text.is_empty() => "no default".to_owned(),
        text => format!("default {text}"),
    };
    let words: Vec<String> = parameter.allowed.iter().map(ToString::to_string).collect();
    let values = match (parameter.kind, words.as_slice()) {
        (_, []) => default,
        (ParameterType::Choice, words) => format!("{}; {default}", words.join(", ")),
        (_, words) => format!("a value or {}; {default}", words.join(", ")),
    };
    format!("- `{}` ({values}): {}.", parameter.name, parameter.summary)
}

/// A metric with its unit.
fn metric_item(metric: &Metric, is_primary: bool) -> String {
    let marks = match (metric.unit.as_str(), is_primary) {
        ("", false) => String::new(),
        ("", true) => " (primary)".to_owned(),
        (unit, false) => format!(" ({unit})"),
        (unit, true) => format!(" ({unit}, primary)"),
    };
    format!("- `{}`{marks}: {}.", metric.name, metric.summary)
}

/// An item of a list in lines of [`WIDTH`] columns, the second and further ones indented.
fn wrapped(item: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in item.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(line);
            line = format!("  {word}");
        } else if line.is_empty() {
            line.push_str(word);
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.push(line);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::manual_page;

    #[test]
    fn lists_stand_between_the_measurement_and_what_follows() {
        let page = manual_page(crate::find("classic.dd").unwrap());
        let titles: Vec<&str> =
            page.lines().filter_map(|line| line.strip_prefix("## ")).take(3).collect();
        assert_eq!(titles, ["Measurement", "Parameters", "Metrics"], "{page}");
        assert!(
            page.contains("\n- `direct` (no, yes; default no): bypass the page cache"),
            "{page}"
        );
        assert!(
            page.contains("\n- `bandwidth` (B/s, primary): bytes copied per second.\n"),
            "{page}"
        );
        assert!(page.contains("\n## All classic tools\n"), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 120), "{page}");
    }
}
