//! A check against a baseline: on a terminal, as Markdown for a pull request, and as a document.

use std::collections::BTreeMap;

use plumb_analysis::{CheckFinding, CheckState, CheckedSeries};
use plumb_model::{Impact, Verdict};
use plumb_text::time::date;
use plumb_text::units::{percent, quantity};
use plumb_text::{Column, Line, Style, Table, Terminal, counted};
use serde::Serialize;

use crate::comparison::covariates::{MovedPart, covariate_part, covariates_text};
use crate::figure::figure;
use crate::run::markdown::{code, escape};

/// Name of the document's form.
pub const CHECK_SCHEMA: &str = "plumb.check/1";

/// A move of canaries from which on it is told.
const WORTH_SAYING: f64 = 0.01;

/// The check in lines of a terminal's width.
#[must_use]
pub fn check_card(finding: &CheckFinding, terminal: &Terminal) -> String {
    let plain = |line: &str| {
        let line = Line::new(Style::Plain, line);
        terminal.lines(0, &line)
    };
    let mut out = terminal.lines(0, &Line::new(Style::Heading, &title(finding)));
    remarks(finding).iter().for_each(|line| out.push_str(&plain(line)));
    let mut table = Table::new(vec![
        Column::left("").wrapping(),
        Column::right("baseline"),
        Column::right("now"),
        Column::right("× cost"),
        Column::left(""),
    ])
    .indented(2);
    for series in &finding.series {
        table.row(cells(series, finding));
        for note in note(series).into_iter().chain(covariates_text(&series.covariates)) {
            table.across(4, Line::default(), Line::new(Style::Muted, &note));
        }
    }
    out.push_str(&terminal.table(&table));
    out.push_str(&plain(&closing(finding)));
    terminal.signs(out)
}

fn title(finding: &CheckFinding) -> String {
    let runs = counted(finding.baseline_runs, "run", "runs");
    let margin = percent(finding.margin);
    format!("Checked against {} ({runs}), margin {margin}", finding.baseline)
}

/// What stands above the table.
fn remarks(finding: &CheckFinding) -> Vec<String> {
    let mut lines = Vec::new();
    if finding.machines_differ {
        lines.push("This is another machine than the baseline's.".to_owned());
    }
    for it in finding.differences.iter().filter(|it| it.impact > Impact::Harmless) {
        lines.push(format!("{} {}: {}", it.impact.word(), it.field, it.values.join(" | ")));
    }
    lines.extend(finding.common_shift.map(|shift| {
        let shift = format!("{:+.1} %", shift * 100.0);
        format!("everything moved together, by {shift} in cost: the machine or the build, not one series")
    }));
    lines.extend(finding.canary_shift.filter(|shift| *shift >= WORTH_SAYING).map(|shift| {
        let shift = percent(shift);
        format!(
            "work that nothing has changed moved by {shift} meanwhile: smaller alerts do not count"
        )
    }));
    let lost = finding.not_measured.iter();
    lines.extend(lost.map(|it| format!("not measured now: {}: {}", it.series, it.why)));
    lines.extend(finding.vetoes.iter().map(|why| format!("alerts do not count: {why}")));
    lines
}

/// What stands below it.
fn closing(finding: &CheckFinding) -> String {
    let confirmed = finding.regressions().count();
    let first = match confirmed {
        0 if finding.is_inconclusive() => "no verdict".to_owned(),
        0 => "no regression".to_owned(),
        n => counted(n, "confirmed regression", "confirmed regressions"),
    };
    let series = counted(finding.series.len(), "series", "series");
    let runs = counted(finding.runs.len(), "fresh run", "fresh runs");
    let few = match finding.uncalibrated.len() {
        0 => String::new(),
        n => format!(", {n} left out: fewer than six runs in the baseline"),
    };
    let lost = match finding.not_measured.len() {
        0 => String::new(),
        n => format!(", {n} not measured now"),
    };
    format!("{first} in {series}, {runs}{lost}{few}")
}

/// What the table says of a series in one or two words.
fn standing(series: &CheckedSeries, finding: &CheckFinding) -> (String, Style) {
    match (series.state, series.verdict) {
        _ if finding.is_doubted(series) => ("does not count".to_owned(), Style::Flag),
        (CheckState::Confirmed, Verdict::Slower) => ("slower".to_owned(), Style::Bad),
        (CheckState::Confirmed, Verdict::Faster) => ("faster".to_owned(), Style::Good),
        (_, Verdict::Equivalent) => ("equivalent".to_owned(), Style::Estimate),
        (state, _) => (state.word().to_owned(), Style::Plain),
    }
}

fn cells(series: &CheckedSeries, finding: &CheckFinding) -> Vec<Line> {
    let shown = figure(&series.ratio, "");
    let (word, style) = standing(series, finding);
    let ratio = format!("{} {}", shown.estimate, shown.brackets());
    vec![
        Line::new(Style::Name, &name(series)),
        Line::new(Style::Plain, &quantity(series.baseline, &series.unit)),
        Line::new(Style::Plain, &quantity(series.now, &series.unit)),
        Line::new(Style::Estimate, &ratio),
        Line::new(style, &word),
    ]
}

fn name(series: &CheckedSeries) -> String {
    if series.point.titled { series.point.name.clone() } else { series.series.clone() }
}

/// What a confirmed change deserves to be told.
fn note(series: &CheckedSeries) -> Option<String> {
    if series.state != CheckState::Confirmed {
        return None;
    }
    let noise = format!("runs differ by {} by themselves", percent(series.run_sd));
    let runs = counted(series.fresh_runs, "fresh run", "fresh runs");
    let since = series.since.as_ref().map(|(run, at)| {
        format!(
            ", since {} (run {})",
            date(*at),
            run.replace('-', "").chars().take(12).collect::<String>()
        )
    });
    Some(format!("found by {runs} again; {noise}{}", since.unwrap_or_default()))
}

/// The check as Markdown.
#[must_use]
pub fn check_markdown(finding: &CheckFinding) -> String {
    let mut out = format!("### plumb: {}\n\n**{}**\n\n", escape(&title(finding)), closing(finding));
    remarks(finding).iter().for_each(|line| out.push_str(&format!("- {}\n", escape(line))));
    out.push_str("\n| series | baseline | now | × cost | |\n| :-- | --: | --: | :-- | :-- |\n");
    for series in &finding.series {
        let shown = figure(&series.ratio, "");
        let notes = note(series).map(|note| format!("<br>{}", escape(&note)));
        let (word, style) = standing(series, finding);
        let word = if style == Style::Bad { format!("**{word}**") } else { word };
        out.push_str(&format!(
            "| {}{} | {} | {} | {} {} | {word} |\n",
            code(&name(series)),
            notes.unwrap_or_default(),
            escape(&quantity(series.baseline, &series.unit)),
            escape(&quantity(series.now, &series.unit)),
            shown.estimate,
            shown.brackets(),
        ));
    }
    out
}

/// A check as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.check/1"))]
pub struct CheckDocument {
    /// `plumb.check/1`.
    #[cfg_attr(test, schemars(extend("const" = CHECK_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// The baseline's name.
    pub baseline: String,
    /// Runs of the baseline.
    pub baseline_runs: usize,
    /// Ids of the fresh runs; the first screened, the others confirmed.
    pub runs: Vec<String>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// `regression`, `clean` or `inconclusive`.
    #[cfg_attr(test, schemars(extend("enum" = ["regression", "clean", "inconclusive"])))]
    pub outcome: &'static str,
    /// The relative shift of all series, where they moved together.
    pub common_shift: Option<f64>,
    /// Why alerts do not count.
    pub vetoes: Vec<String>,
    /// By how much unchanged work moved meanwhile, relative: smaller alerts do not count.
    pub canary_shift: Option<f64>,
    /// Every series, what matters most first.
    pub series: Vec<CheckedPart>,
    /// Series that the baseline has in too few runs.
    pub uncalibrated: Vec<String>,
    /// Series of the baseline that could not be measured now, with the reason.
    pub not_measured: BTreeMap<String, String>,
}

/// One series of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedPart {
    /// Its name.
    pub series: String,
    /// What people call the point.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The geometric mean of the baseline's runs.
    pub baseline: f64,
    /// That of the fresh runs that decided.
    pub now: f64,
    /// Fresh runs that decided.
    pub fresh_runs: usize,
    /// Cost over the baseline's: over 1 is slower.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// What the interval says by itself.
    #[cfg_attr(test, schemars(extend("enum" = ["faster", "slower", "equivalent", "inconclusive"])))]
    pub verdict: &'static str,
    /// `confirmed`, `not confirmed` or `as usual`.
    #[cfg_attr(test, schemars(extend("enum" = ["confirmed", "not confirmed", "as usual"])))]
    pub state: &'static str,
    /// The run with which a confirmed change began, where history tells.
    pub since_run: Option<String>,
    /// What else changed, where the change is confirmed: facts first, then rates, the farthest apart first.
    pub moved: Vec<MovedPart>,
}

/// The check as a document.
#[must_use]
pub fn check_document(finding: &CheckFinding) -> CheckDocument {
    let outcome = if finding.regressions().next().is_some() {
        "regression"
    } else if finding.is_inconclusive() {
        "inconclusive"
    } else {
        "clean"
    };
    CheckDocument {
        schema: CHECK_SCHEMA,
        method: finding.method,
        baseline: finding.baseline.clone(),
        baseline_runs: finding.baseline_runs,
        runs: finding.runs.iter().map(|run| run.id.to_string()).collect(),
        margin: finding.margin,
        outcome,
        common_shift: finding.common_shift,
        vetoes: finding.vetoes.clone(),
        canary_shift: finding.canary_shift,
        series: finding.series.iter().map(part).collect(),
        uncalibrated: finding.uncalibrated.iter().map(|(name, _)| name.clone()).collect(),
        not_measured: finding
            .not_measured
            .iter()
            .map(|it| (it.series.clone(), it.why.clone()))
            .collect(),
    }
}

fn part(series: &CheckedSeries) -> CheckedPart {
    CheckedPart {
        series: series.series.clone(),
        name: series.point.name.clone(),
        unit: series.unit.clone(),
        baseline: series.baseline,
        now: series.now,
        fresh_runs: series.fresh_runs,
        ratio: series.ratio.value,
        low: series.ratio.low(),
        high: series.ratio.high(),
        verdict: series.verdict.word(),
        state: series.state.word(),
        since_run: series.since.as_ref().map(|(run, _)| run.clone()),
        moved: series.covariates.iter().map(covariate_part).collect(),
    }
}

/// The document as text.
///
/// # Errors
/// When it can't be written as JSON.
pub fn check_json(finding: &CheckFinding) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&check_document(finding)).map(|text| text + "\n")
}
