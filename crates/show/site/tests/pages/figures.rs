//! One run has one interval and one ± per result, wherever it is shown.

use plumb_analysis::{Ends, Estimate, summarise, testing};
use plumb_model::RunRecord;
use plumb_report::{View, brief_scorecard, document, figure, in_words, markdown, scorecard};
use plumb_site::{Links, run_page};
use plumb_text::Terminal;
use plumb_units::percent;

use crate::html::Document;

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
                anchor: format!(
                    "point-{}-{}",
                    row.finding.point.index,
                    result.metric.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
                ),
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

fn every_output_agrees(record: &RunRecord) -> usize {
    let finding = summarise(record);
    let view = View::new(&finding);
    let terminal = Terminal::plain(200);
    let full = scorecard(&view, &terminal, &Default::default());
    let brief = brief_scorecard(&view, &terminal, &Default::default());
    let table = markdown(&view);
    let sentences = in_words(&view).join("\n");
    let page = Document::parse(&run_page(&view, Vec::new(), &Links::All).render().html);
    let all = expected(&view);
    for result in &all {
        let Expected { estimate, quantity, brackets, unit, half_width, .. } = result;
        let figure = format!("{estimate} {brackets}");
        assert!(has_line(&full, &[&figure, unit, half_width]), "{figure} ± {half_width}\n{full}");
        let cells = format!("| {estimate} | {brackets} | {unit} | {half_width} |");
        assert!(table.contains(&cells), "{cells}\n{table}");
        let row = page
            .elements
            .iter()
            .find(|element| element.attributes.get("id").is_some_and(|id| *id == result.anchor));
        let row = &row.unwrap_or_else(|| panic!("no row {}", result.anchor)).text;
        assert!(row.contains(&format!("{quantity}{brackets}")), "{quantity} {brackets}: {row}");
        assert!(row.contains(half_width.as_str()), "±{half_width}: {row}");
        if result.primary {
            assert!(has_line(&brief, &[&figure, unit, half_width]), "{figure}\n{brief}");
            let words = format!("{quantity} {brackets}");
            assert!(sentences.contains(&words), "{words}\n{sentences}");
        }
    }
    all.len()
}

#[test]
fn every_output_shows_the_same_interval_and_half_width() {
    assert!(every_output_agrees(&testing::first_look()) > 15);
    assert!(every_output_agrees(&testing::exec()) >= 3);
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
