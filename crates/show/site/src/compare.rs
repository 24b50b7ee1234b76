//! The page on which runs are compared with the first of them.

use plumb_analysis::{Comparison, ComparisonFinding, SeriesComparison};
use plumb_chart::Chart;
use plumb_model::{FactKind, Verdict};
use plumb_report::comparison::covariates_text;
use plumb_report::comparison::{
    arm_ranks, closing, for_price, heading as lines, ratio_is_of, relative, remarks, series,
};
use plumb_report::{charts, figure};
use plumb_text::counted;

use crate::answer::verdict_counts;
use crate::frame::{Page, PageSubject};
use crate::html::{Html, Tag, link, tag, wrap};
use crate::names::{self, LinkedPages};
use crate::parts::{
    DataTable, breakable, cell, command, count, estimated, heading, list, name, nothing, paragraph,
    term, verdict, when,
};

/// Changes that are listed before the table is pointed at.
const MOST_LISTED: usize = 8;

/// The page of a comparison, called `own`.
#[must_use]
pub fn compare_page(
    own: String,
    finding: &ComparisonFinding,
    monitors: Vec<Chart>,
    links: &LinkedPages,
) -> Page {
    let runs: Vec<_> = finding.runs.iter().map(|run| run.run).collect();
    let title = format!("{} compared", finding.arms.join(", "));
    let mut page = Page::new(own.clone(), PageSubject::Compare, title).near(&own, "Comparison");
    let (first, later) =
        finding.arms.split_first().map_or(("", &[][..]), |(first, later)| (first.as_str(), later));
    page.add(wrap("h1", format!("{} against {first}", later.join(", "))));
    page.add(answer(finding));
    page.add(arms(finding, links));
    page.draw(charts::of_comparison(finding));
    page.add(results(finding));
    page.add(differences(finding));
    page.add(lacking(finding));
    if !monitors.is_empty() {
        page.add(heading("monitors", "Monitors over time"));
        page.draw(monitors);
    }
    let ids: Vec<String> =
        runs.iter().map(|run| run.simple().to_string().chars().take(12).collect()).collect();
    let by = finding.by.as_ref().map_or_else(String::new, |by| format!("--by {by} "));
    let typed = command(&format!("plumb compare {by}{}", ids.join(" ")));
    page.add(
        heading("next", "On a terminal")
            .and(paragraph(typed.and(" shows the same; add --json for a document"))),
    );
    page
}

/// Of every later arm how many series changed, and the largest changes.
fn answer(finding: &ComparisonFinding) -> Html {
    let mut out = Html::default();
    if finding.results.is_empty() {
        out.push(paragraph("These runs have no series in common."));
    }
    for (index, arm) in finding.arms.iter().skip(1).enumerate() {
        out.push(of_arm(finding, index, arm));
    }
    out.push(list(closing(finding)));
    let mut remarks = lines(finding);
    remarks.truncate(3);
    out.push(paragraph(remarks.join(" · ")));
    wrap("section", out).class("answer").into()
}

fn of_arm(finding: &ComparisonFinding, arm: usize, name: &str) -> Html {
    let all: Vec<(&SeriesComparison, &Comparison)> = finding
        .results
        .iter()
        .filter_map(|result| Some((result, result.against_first.get(arm)?.as_ref()?)))
        .collect();
    if all.is_empty() {
        return Html::default();
    }
    let counts = verdict_counts(all.iter().map(|(_, comparison)| *comparison));
    let of_all = format!(" of {}.", counted(all.len(), "series", "series"));
    let line = Html::text(name).and(": ").and(wrap("strong", counts)).and(of_all);
    paragraph(line).and(largest(&all))
}

/// The changes that matter, the largest first.
fn largest(all: &[(&SeriesComparison, &Comparison)]) -> Html {
    let mut changed: Vec<&(&SeriesComparison, &Comparison)> = all
        .iter()
        .filter(|(_, comparison)| {
            matches!(comparison.verdict, Ok(Verdict::Slower | Verdict::Faster))
        })
        .collect();
    changed.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
    let left_out = changed.len().saturating_sub(MOST_LISTED);
    let more =
        (left_out > 0).then(|| Html::text(&format!("and {left_out} more in the table below")));
    list(
        changed
            .iter()
            .take(MOST_LISTED)
            .map(|(result, comparison)| {
                let ratio = comparison
                    .ratio
                    .as_ref()
                    .map(|ratio| figure(ratio, ""))
                    .map_or_else(String::new, |shown| {
                        format!(" {}× {} the cost", shown.estimate, shown.brackets())
                    });
                verdict(&comparison.verdict).and(" ").and(series(result)).and(ratio)
            })
            .chain(more),
    )
}

// In logarithms: half the cost is as large a change as twice the cost.
fn size(comparison: &Comparison) -> f64 {
    comparison.ratio.as_ref().map_or(0.0, |ratio| ratio.value.ln().abs())
}

/// The table of the runs, each with its labels.
fn arms(finding: &ComparisonFinding, links: &LinkedPages) -> Html {
    let mut table = DataTable::new(["Run", "Started", "Suite or command", "Labels", "plumb"]);
    for run in &finding.runs {
        let id: String = run.run.simple().to_string().chars().take(12).collect();
        let to = format!("{}.html", names::run_page(run.run));
        let run_name = if links.run(run.run) { link(&to, id).into() } else { Html::text(&id) };
        let labels =
            run.labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
        let what = run.suite.clone().unwrap_or_else(|| run.command.join(" "));
        table.row([
            name(run_name),
            when(run.started_unix_ns),
            cell(what).class("free"),
            cell(labels.join(" ")).class("free"),
            cell(run.plumb.as_str()),
        ]);
    }
    heading("runs", "Runs").and(table.build())
}

fn results(finding: &ComparisonFinding) -> Html {
    let titles: [Html; 9] = [
        term("Series", "series"),
        term("Arm", "arm"),
        "Median".into(),
        term("Interval", "interval"),
        term("Processes", "invocation"),
        term(&format!("× the {}", ratio_is_of(finding)), "ratio"),
        term("Verdict", "verdict"),
        "Remarks".into(),
        term("Also changed", "effect"),
    ];
    let mut table = DataTable::new(titles);
    for result in &finding.results {
        for (index, label) in finding.arms.iter().enumerate() {
            table.row(arm_row(finding, result, index, label));
        }
    }
    heading("results", "All series").and(table.build())
}

fn arm_row(
    finding: &ComparisonFinding,
    result: &SeriesComparison,
    index: usize,
    label: &str,
) -> Vec<Tag> {
    let shown = name(breakable(&series(result))).with("title", &result.series);
    let mut cells = vec![shown, cell(label)];
    let Some(arm) = result.arms.get(index).and_then(Option::as_ref) else {
        cells.push(cell("not measured"));
        // Every row has the same number of cells, or columns would shift when the table is sorted.
        cells.extend((0..6).map(|_| nothing()));
        return cells;
    };
    cells.extend(estimated(&arm.estimate, &result.unit));
    cells.push(count(arm.processes));
    let against = index.checked_sub(1).and_then(|at| result.against_first.get(at)?.as_ref());
    cells.push(ratio(against));
    cells.push(against.map_or_else(nothing, |comparison| cell(verdict(&comparison.verdict))));
    let mut notes: Vec<String> =
        against.map(remarks).into_iter().filter(|text| !text.is_empty()).collect();
    notes.extend(arm.for_price.as_ref().map(|price| for_price(result, price)));
    notes.extend(arm_ranks(finding, result, index));
    notes.extend(relative(finding, arm));
    cells.push(cell(notes.join(", ")));
    cells.push(cell(
        against.and_then(|comparison| covariates_text(&comparison.covariates)).unwrap_or_default(),
    ));
    cells
}

fn ratio(against: Option<&Comparison>) -> Tag {
    let Some(ratio) = against.and_then(|comparison| comparison.ratio.as_ref()) else {
        return nothing();
    };
    let shown = figure(ratio, "");
    crate::parts::number(ratio.value, "", &format!("{} {}", shown.estimate, shown.brackets()))
}

/// Other differences between the arms, the worst first.
fn differences(finding: &ComparisonFinding) -> Html {
    let head = heading("differences", "Other differences");
    if finding.differences.is_empty() {
        return head.and(paragraph(
            "plumb found no difference between their machines, environments and plans.",
        ));
    }
    let titles = ["Field".to_owned(), "Impact".to_owned(), "What it can affect".to_owned()];
    let mut table = DataTable::new(titles.into_iter().chain(finding.arms.iter().cloned()));
    for difference in &finding.differences {
        let why = FactKind::named(&difference.field).map_or("", |fact| fact.why);
        let impact = tag("span")
            .class(&format!("impact {}", difference.impact.word()))
            .add(difference.impact.word());
        let values = difference.values.iter().map(|value| cell(value.as_str()));
        table.row(
            [name(difference.field.as_str()), cell(impact), cell(why)].into_iter().chain(values),
        );
    }
    head.and(table.build())
}

fn lacking(finding: &ComparisonFinding) -> Html {
    if finding.not_in_all.is_empty() {
        return Html::default();
    }
    let mut table = DataTable::new(["Series", "Only in"]);
    for (series, arms) in &finding.not_in_all {
        table.row([name(series.as_str()), cell(arms.join(", "))]);
    }
    heading("lacking", "Missing in some runs").and(table.build())
}
