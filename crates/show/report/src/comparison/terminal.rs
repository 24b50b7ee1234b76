//! A comparison on a terminal.

use plumb_analysis::{Comparison, ComparisonFinding, SeriesComparison};
use plumb_chart::{Chart, drawing};
use plumb_model::{Impact, Verdict};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine};
use plumb_units::Figure;

use crate::charts::ratios_of;
use crate::comparison::covariates::covariates_text;
use crate::comparison::ranks::arm_ranks;
use crate::comparison::view::{
    DifferenceLine, closing, difference_lines, for_price, heading, ratio, ratio_is_of, relative,
    remarks, series, verdict,
};
use crate::figure::figure_of_arm;

/// The comparison in lines of a terminal's width.
#[must_use]
pub fn comparison_card(finding: &ComparisonFinding, terminal: &Terminal) -> String {
    let mut chapters = vec![differences(finding, terminal), results(finding, terminal)];
    chapters.push(plot(finding, terminal));
    chapters.push(lacking(finding, terminal));
    chapters.retain(|chapter| !chapter.is_empty());
    terminal.signs(chapters.join("\n"))
}

fn text(indent: usize, lead: &TextLine, line: &str, terminal: &Terminal) -> String {
    terminal.hanging(indent, lead, &TextLine::new(Style::Plain, line))
}

fn title(line: &str, terminal: &Terminal) -> String {
    let line = TextLine::new(Style::Heading, line);
    terminal.lines(0, &line)
}

fn differences(finding: &ComparisonFinding, terminal: &Terminal) -> String {
    let (lines, harmless) = difference_lines(finding);
    let mut out = String::new();
    for DifferenceLine { impact, lead, values } in lines {
        let style = if impact == Impact::Fatal { Style::Bad } else { Style::Flag };
        out.push_str(&text(
            2,
            &TextLine::new(style, &lead).and(Style::Plain, "  "),
            &values,
            terminal,
        ));
    }
    if !harmless.is_empty() {
        out.push_str(&text(2, &TextLine::new(Style::Muted, "harmless  "), &harmless, terminal));
    }
    if out.is_empty() { out } else { title("Other differences", terminal) + &out }
}

fn results(finding: &ComparisonFinding, terminal: &Terminal) -> String {
    let mut lines = heading(finding);
    let mut out = title(&lines.remove(0), terminal);
    for line in lines {
        out.push_str(&text(0, &TextLine::default(), &line, terminal));
    }
    let mut table = Table::new(vec![
        TableColumn::left("").wrapping(),
        TableColumn::right("median"),
        TableColumn::left("95 % interval").gap(1),
        TableColumn::left("unit"),
        TableColumn::right(&format!("× {}", ratio_is_of(finding))),
        TableColumn::left("verdict"),
    ])
    .indented(2);
    for result in &finding.results {
        rows(result, finding, &mut table);
    }
    out.push_str(&terminal.table(&table));
    closing(finding)
        .iter()
        .for_each(|line| out.push_str(&text(2, &TextLine::default(), line, terminal)));
    out
}

fn rows(result: &SeriesComparison, finding: &ComparisonFinding, table: &mut Table) {
    table.across(0, TextLine::default(), TextLine::new(Style::Name, &series(result)));
    for (index, (name, arm)) in finding.arms.iter().zip(&result.arms).enumerate() {
        let Some(arm) = arm else { continue };
        let later = |all: &[Option<Comparison>]| {
            index.checked_sub(1).and_then(|index| all.get(index).cloned()).flatten()
        };
        let against = later(&result.against_first);
        let shown = figure_of_arm(arm, &result.arms, &result.unit);
        table.row(cells(name, &shown, against.as_ref()));
        let mut notes: Vec<String> =
            against.iter().map(remarks).filter(|remark| !remark.is_empty()).collect();
        let previous = later(&result.against_previous).filter(|_| index > 1);
        notes.extend(previous.map(|comparison| {
            format!("against the previous arm: {}, {}", ratio(&comparison), verdict(&comparison))
        }));
        notes.extend(arm.for_price.as_ref().map(|price| for_price(result, price)));
        notes.extend(arm_ranks(finding, result, index));
        notes.extend(relative(finding, arm));
        table.across(4, TextLine::default(), TextLine::new(Style::Muted, &notes.join(" · ")));
        let also_changed =
            against.as_ref().and_then(|comparison| covariates_text(&comparison.covariates));
        table.across(
            4,
            TextLine::default(),
            TextLine::new(Style::Muted, &also_changed.unwrap_or_default()),
        );
    }
}

fn cells(name: &str, shown: &Figure, against: Option<&Comparison>) -> Vec<TextLine> {
    let word = against.map_or("", verdict);
    let style = match against.map(|comparison| comparison.verdict) {
        Some(Ok(Verdict::Slower)) => Style::Bad,
        Some(Ok(Verdict::Faster)) => Style::Good,
        Some(Ok(Verdict::Equivalent)) => Style::Estimate,
        Some(Ok(Verdict::Inconclusive) | Err(_)) | None => Style::Flag,
    };
    vec![
        TextLine::new(Style::Plain, &format!("  {name}")),
        TextLine::new(Style::Estimate, &shown.estimate),
        TextLine::new(Style::Plain, &shown.brackets()),
        TextLine::new(Style::Plain, &shown.unit),
        TextLine::new(Style::Plain, &against.map_or_else(String::new, ratio)),
        TextLine::new(style, word),
    ]
}

/// The ratios on one scale. Why one has no verdict stands next to its figures.
fn plot(finding: &ComparisonFinding, terminal: &Terminal) -> String {
    let chart = ratios_of(finding, None).map(|chart| Chart { notes: Vec::new(), ..chart });
    chart.map_or_else(String::new, |chart| drawing(&chart, terminal))
}

fn lacking(finding: &ComparisonFinding, terminal: &Terminal) -> String {
    let line = |(series, arms): &(String, Vec<String>)| {
        let lead = TextLine::new(Style::Name, series).and(Style::Plain, "  only in ");
        text(2, &lead, &arms.join(", "), terminal)
    };
    let lines: String = finding.not_in_all.iter().map(line).collect();
    if lines.is_empty() { lines } else { title("Missing in some arms", terminal) + &lines }
}
