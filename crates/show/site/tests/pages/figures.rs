//! One run has one interval and one ± per result, wherever it is shown.

use plumb_analysis::{Ends, Estimate, summarise, testing};
use plumb_model::RunRecord;
use plumb_report::run::ResultRow;
use plumb_report::{View, brief_scorecard, document, figure, in_words, markdown, scorecard};
use plumb_site::{LinkedPages, run_page};
use plumb_text::Terminal;
use plumb_units::percent;

use crate::html::HtmlPage;

/// A result as the JSON document has it, in the words that the other outputs must have.
struct Expected {
    anchor: String,
    primary: bool,
    estimate: String,
    quantity: String,
    brackets: String,
    unit: String,
    half_width: String,
}

fn expected(view: &View) -> Vec<Expected> {
    document(view)
        .results
        .iter()
        .zip(&view.rows)
        .filter(|(result, _)| result.headline && result.levels.is_none())
        .filter_map(|(result, row)| {
            let ends = Ends { low: result.shown_low?, high: result.shown_high? };
            let estimate = Estimate { value: result.estimate, interval: Ok(ends) };
            let shown = figure(&estimate, &result.unit);
            Some(Expected {
                anchor: anchor(row),
                primary: result.primary,
                quantity: shown.quantity(),
                brackets: shown.brackets(),
                half_width: percent(result.shown_half_width?),
                estimate: shown.estimate,
                unit: shown.unit,
            })
        })
        .collect()
}

fn has_line(text: &str, parts: &[&str]) -> bool {
    text.lines().any(|line| parts.iter().all(|part| line.contains(part)))
}

/// Every form in which a run's results are shown.
struct Outputs {
    full: String,
    brief: String,
    table: String,
    sentences: String,
    page: HtmlPage,
}

impl Outputs {
    fn of(view: &View) -> Self {
        let terminal = Terminal::plain(200);
        Self {
            full: scorecard(view, &terminal, &Default::default()),
            brief: brief_scorecard(view, &terminal, &Default::default()),
            table: markdown(view),
            sentences: in_words(view).join("\n"),
            page: HtmlPage::parse(&run_page(view, Vec::new(), &LinkedPages::All).render().html),
        }
    }

    /// The text of a result's row of the page.
    fn row(&self, anchor: &str) -> &str {
        let mut elements = self.page.elements.iter();
        let row =
            elements.find(|element| element.attributes.get("id").is_some_and(|id| *id == anchor));
        &row.unwrap_or_else(|| panic!("no row {anchor}")).text
    }
}

fn anchor(row: &ResultRow) -> String {
    let metric = row.finding.metric.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!("point-{}-{metric}", row.finding.point.index)
}

/// Every headline result without an interval shows the same figure and the same reason everywhere; how many there are.
fn results_without_interval_agree(record: &RunRecord) -> usize {
    let finding = summarise(record);
    let view = View::new(&finding);
    let outputs = Outputs::of(&view);
    let mut count = 0;
    for (result, row) in document(&view).results.iter().zip(&view.rows) {
        let Some(why) = result.no_interval.clone() else { continue };
        if !result.headline || result.levels.is_some() || result.shown_low.is_some() {
            continue;
        }
        count += 1;
        let shown =
            figure(&Estimate { value: result.estimate, interval: Err(why.clone()) }, &result.unit);
        let estimate = shown.estimate.as_str();
        let quantity = shown.quantity();
        let unit = shown.unit.as_str();
        let cell = shown.interval_cell();
        let cell = cell.as_str();
        let reason = match shown.missing() {
            Some(why) => {
                let line = format!("no interval: {why}");
                assert!(outputs.full.contains(&line), "{line}\n{}", outputs.full);
                format!("none: {why}")
            }
            None => cell.to_owned(),
        };
        assert!(has_line(&outputs.full, &[estimate, cell, unit]), "{quantity}\n{}", outputs.full);
        let cells = format!("| {estimate} | {reason} | {unit} |");
        assert!(outputs.table.contains(&cells), "{cells}\n{}", outputs.table);
        let row_text = outputs.row(&anchor(row));
        assert!(row_text.contains(&format!("{quantity}{reason}")), "{quantity}: {row_text}");
        if result.primary {
            assert!(has_line(&outputs.brief, &[estimate, cell, unit]), "{}", outputs.brief);
            let words = format!("{quantity} {}", plumb_units::without_interval(&why));
            assert!(outputs.sentences.contains(&words), "{words}\n{}", outputs.sentences);
        }
    }
    count
}

/// Both levels of every headline result that has two are the same everywhere; how many results have two.
fn levels_agree(record: &RunRecord) -> usize {
    let finding = summarise(record);
    let view = View::new(&finding);
    let outputs = Outputs::of(&view);
    let mut count = 0;
    for (result, row) in document(&view).results.iter().zip(&view.rows) {
        let Some(levels) = result.levels.as_ref().filter(|_| result.headline) else { continue };
        count += 1;
        for level in [&levels.lower, &levels.upper] {
            let ends = level.median.low.zip(level.median.high);
            let interval = ends.map(|(low, high)| Ends { low, high });
            let value = level.median.estimate;
            let shown = figure(
                &Estimate { value, interval: interval.ok_or_else(String::new) },
                &result.unit,
            );
            let brackets = if ends.is_some() { shown.brackets() } else { "none".to_owned() };
            let estimate = shown.estimate.as_str();
            let parts = [estimate, brackets.as_str(), shown.unit.as_str()];
            assert!(has_line(&outputs.full, &parts), "{parts:?}\n{}", outputs.full);
            let row_text = outputs.row(&anchor(row));
            let quantity = shown.quantity();
            assert!(row_text.contains(&quantity), "{quantity}: {row_text}");
            assert!(row_text.contains(&brackets), "{brackets}: {row_text}");
            assert!(has_line(&outputs.table, &[estimate, &brackets]), "{}", outputs.table);
            if result.primary {
                assert!(has_line(&outputs.brief, &[estimate, "two levels"]), "{}", outputs.brief);
                let full = format!("{estimate} ");
                assert!(outputs.sentences.contains(&full), "{full}\n{}", outputs.sentences);
            }
        }
    }
    count
}

#[test]
fn every_output_shows_the_same_figure_and_reason_without_an_interval() {
    assert!(results_without_interval_agree(&testing::first_look()) >= 2);
}

#[test]
fn every_output_shows_the_same_two_levels() {
    assert!(levels_agree(&testing::first_look()) >= 1);
}

fn every_output_agrees(record: &RunRecord) -> usize {
    let finding = summarise(record);
    let view = View::new(&finding);
    let outputs = Outputs::of(&view);
    let Outputs { full, brief, table, sentences, .. } = &outputs;
    let all = expected(&view);
    for result in &all {
        let Expected { estimate, quantity, brackets, unit, half_width, .. } = result;
        let figure = format!("{estimate} {brackets}");
        assert!(has_line(full, &[&figure, unit, half_width]), "{figure} ± {half_width}\n{full}");
        let cells = format!("| {estimate} | {brackets} | {unit} | {half_width} |");
        assert!(table.contains(&cells), "{cells}\n{table}");
        let row = outputs.row(&result.anchor);
        assert!(row.contains(&format!("{quantity}{brackets}")), "{quantity} {brackets}: {row}");
        assert!(row.contains(half_width.as_str()), "±{half_width}: {row}");
        if result.primary {
            assert!(has_line(brief, &[&figure, unit, half_width]), "{figure}\n{brief}");
            let words = format!("{quantity} {brackets}");
            assert!(sentences.contains(&words), "{words}\n{sentences}");
        }
    }
    all.len()
}

#[test]
fn every_output_shows_the_same_interval_and_half_width() {
    let of_first_look = every_output_agrees(&testing::first_look());
    let of_exec = every_output_agrees(&testing::exec());
    assert!(of_first_look > 12 && of_exec >= 3, "{of_first_look} {of_exec}");
}

#[test]
fn the_machine_s_interval_differs_from_the_session_s_in_what_is_compared() {
    let finding = summarise(&testing::first_look());
    let view = View::new(&finding);
    let differ = document(&view)
        .results
        .iter()
        .filter(|result| result.shown_of == "machine" && result.shown_low != result.low)
        .count();
    assert!(differ > 3, "{differ}");
}
