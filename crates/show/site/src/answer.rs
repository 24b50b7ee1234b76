//! What stands first on a page: is it slow, and can you trust it?

use std::cmp::Ordering;

use plumb_analysis::{BaselineSource, Comparison, ExpectationVerdict, ShareOfBaseline, SinceLast};
use plumb_model::{Goal, RunStatus, Verdict};
use plumb_report::comparison::{levels_text, proof_answer};
use plumb_report::figure;
use plumb_report::run::{
    FlagNote, ResultRow, View, baseline_text, comparison_text, expectation_answer,
    right_answers_text, since_last_text,
};
use plumb_text::counted;
use plumb_text::time::date;

use crate::anchors;
use crate::html::{Html, link, tag, wrap};
use crate::names::{self, LinkedPages};
use crate::parts::{command, flag, list, paragraph, some, verdict};

/// Series that are named in a sentence.
const MOST_NAMED: usize = 3;
/// Findings that are listed before the tables are pointed at.
const MOST_LISTED: usize = 5;

/// The section that answers.
pub(crate) fn answer(view: &View, links: &LinkedPages) -> Html {
    // What was asked for comes first: sides, then expectations; the last run is what plumb adds by itself.
    let mut out = unfinished(view);
    let sides = sides(view);
    let expected = expected(view);
    let since = view
        .finding
        .since_last
        .found()
        .map_or_else(Html::default, |previous| since(view, previous, links));
    let alone = sides.is_empty() && expected.is_empty() && since.is_empty();
    if let Some(proof) = proof_answer(view.finding.proof.as_ref()) {
        out.push(paragraph(proof.as_str()));
    }
    if let Some(right) = right_answers_text(view.finding) {
        out.push(paragraph(right.as_str()));
    }
    for part in [sides, expected, since] {
        out.push(part);
    }
    if alone {
        out.push(nothing_to_compare(view));
    }
    out.push(ceilings(view));
    out.push(distrust(view));
    wrap("section", out).class("answer").into()
}

fn unfinished(view: &View) -> Html {
    match view.finding.run.status {
        RunStatus::Complete => Html::default(),
        RunStatus::Running => {
            paragraph("This run is still in progress. These are its results so far.")
        }
        RunStatus::Interrupted => {
            let text = "This run was interrupted. To complete it: ";
            paragraph(Html::all([
                Html::text(text),
                command(&format!("plumb run --resume {}", view.header.run)),
            ]))
        }
    }
}

/// What the sides of a comparison came to.
fn sides(view: &View) -> Html {
    list(view.comparisons().iter().map(|comparison| {
        let names = format!(" {} against {}: ", comparison.name(), comparison.first_name());
        let levels =
            levels_text(&comparison.found).map_or_else(String::new, |text| format!("; {text}"));
        let text = comparison_text(comparison) + &levels;
        Html::all([verdict(&comparison.found.verdict), names.into(), text.into()])
    }))
}

/// Whether results are as expected, and those that are not, the worst first.
fn expected(view: &View) -> Html {
    let Some(answer) = expectation_answer(view) else { return Html::default() };
    let below = with_share(view, |of| of.verdict == Some(ExpectationVerdict::Below));
    paragraph(answer.as_str()).and(listed(&below, MOST_LISTED))
}

/// The lowest share of a ceiling: most results lie far below one, and that is no news.
fn ceilings(view: &View) -> Html {
    listed(&with_share(view, is_below_ceiling), 1)
}

/// Whether a result is below what the same work gave in another way. A whole is always slower than a part of it.
fn is_below_ceiling(of: &ShareOfBaseline) -> bool {
    matches!(of.source, BaselineSource::Ceiling { .. }) && of.share.interval.is_ok()
}

/// The first metrics whose baseline is wanted, the lowest share first.
fn with_share<'v>(
    view: &'v View<'v>,
    is_wanted: impl Fn(&ShareOfBaseline) -> bool,
) -> Vec<&'v ResultRow<'v>> {
    let mut rows: Vec<&ResultRow> = view
        .brief_rows()
        .filter(|row| row.finding.primary)
        .filter(|row| row.finding.of_baseline.as_ref().ok().is_some_and(&is_wanted))
        .collect();
    rows.sort_by(|one, other| share_of_baseline(one).total_cmp(&share_of_baseline(other)));
    rows
}

/// `memory.copy gives 81 % [78, 84] of the expected 105 MB/s`, an item each.
fn listed(rows: &[&ResultRow], most: usize) -> Html {
    list(rows.iter().take(most).map(|row| {
        let text = baseline_text(row.finding).unwrap_or_default();
        let name = link(&format!("#{}", anchors::of_result(row)), row.finding.point.name.as_str());
        wrap("span", Html::all([name.into(), Html::text(" gives "), text.into()]))
    }))
}

fn share_of_baseline(row: &ResultRow) -> f64 {
    row.finding.of_baseline.as_ref().ok().map_or(1.0, |of| of.share.value)
}

/// Changes since the last comparable run.
fn since(view: &View, previous: &SinceLast, links: &LinkedPages) -> Html {
    let judged: Vec<(&ResultRow, &Comparison)> = view
        .rows
        .iter()
        .zip(&previous.against)
        .filter(|(row, _)| row.finding.primary)
        .filter_map(|(row, against)| Some((row, against.as_ref()?)))
        .collect();
    if judged.is_empty() {
        return Html::default();
    }
    let when = date(previous.started_unix_ns);
    let before = match links.run(previous.run) {
        true => link(&format!("{}.html", names::run_page(previous.run)), when).into(),
        false => Html::text(&when),
    };
    let pair = [previous.run, view.finding.run.id];
    let compare = format!("{}.html", names::compare_page(&pair));
    let more = if links.comparison(&pair) {
        Html::text("; ").and(link(&compare, "what differs and what else changed"))
    } else {
        Html::default()
    };
    let of_all = counted(judged.len(), "point", "points");
    let counts = verdict_counts(judged.iter().map(|(_, comparison)| *comparison));
    let counted_verdicts = Html::from(wrap("strong", counts)).and(format!(" of {of_all}"));
    let line = Html::text("Compared with the last comparable run, ").and(before).and(": ");
    let mut stands_out = since_last_text(view.finding).into_iter();
    let Some(usual) = stands_out.next() else {
        return paragraph(line.and(counted_verdicts).and(more).and(".")).and(worst(judged));
    };
    let mut out = paragraph(line.and(wrap("strong", usual)).and(more).and("."));
    out.push(list(stands_out));
    if judged.iter().any(|(_, comparison)| comparison.verdict.is_ok()) {
        out.push(paragraph(counted_verdicts.and(".")));
    }
    out.and(worst(judged))
}

/// How many comparisons came to which verdict, those that none came to left out: `2 slower, 3 equivalent`.
pub(crate) fn verdict_counts<'c>(all: impl Iterator<Item = &'c Comparison> + Clone) -> String {
    let kinds = [
        (Some(Verdict::Slower), "slower"),
        (Some(Verdict::Faster), "faster"),
        (Some(Verdict::Equivalent), "equivalent"),
        (Some(Verdict::Inconclusive), "inconclusive"),
        (None, "without a verdict"),
    ];
    let counts: Vec<String> = kinds
        .into_iter()
        .map(|(wanted, word)| {
            (all.clone().filter(|comparison| comparison.verdict.ok() == wanted).count(), word)
        })
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    counts.join(", ")
}

/// The changes that matter, slower ones first, the largest first.
fn worst(mut judged: Vec<(&ResultRow, &Comparison)>) -> Html {
    judged.retain(|(_, comparison)| {
        matches!(comparison.verdict, Ok(Verdict::Slower | Verdict::Faster))
    });
    // Costs: the largest ratio is the worst news, and all slower ones come before the faster ones.
    judged.sort_by(|(_, one), (_, other)| {
        cost(other).partial_cmp(&cost(one)).unwrap_or(Ordering::Equal)
    });
    let mut lines: Vec<Html> = judged
        .iter()
        .take(MOST_LISTED)
        .map(|(row, comparison)| {
            let name =
                link(&format!("#{}", anchors::of_result(row)), row.finding.point.name.as_str());
            let ratio = comparison
                .ratio
                .as_ref()
                .map(|ratio| figure(ratio, ""))
                .map_or_else(String::new, |ratio| {
                    format!(": {}× {} the cost", ratio.estimate, ratio.brackets())
                });
            verdict(&comparison.verdict).and(" ").and(name).and(ratio)
        })
        .collect();
    let more = judged.len().saturating_sub(MOST_LISTED);
    if more > 0 {
        lines.push(format!("and {more} more in the table below").into());
    }
    list(lines)
}

fn cost(comparison: &Comparison) -> f64 {
    comparison.ratio.as_ref().map_or(1.0, |ratio| ratio.value)
}

/// What to type if there is no run to compare with.
fn nothing_to_compare(view: &View) -> Html {
    if view.rows.is_empty() {
        return paragraph("Nothing was measured.");
    }
    if matches!(view.finding.run.goal, Goal::Verdict(_)) {
        return Html::default();
    }
    let again = match &view.finding.run.suite {
        Some(suite) => format!("plumb run {suite}"),
        None => "plumb run".to_owned(),
    };
    let run = &view.header.run;
    paragraph(
        Html::text(
            "There is no earlier comparable run, so plumb does not know whether this one is slow. Run ",
        )
        .and(command(&again))
        .and(" again to see how much results vary by chance, or ")
        .and(command(&format!("plumb baseline set NAME {run}")))
        .and(" to check later runs against this one."),
    )
}

/// The reasons to distrust, in a sentence.
fn distrust(view: &View) -> Html {
    let flags = &view.flags;
    if flags.is_empty() {
        return paragraph("plumb found no reason to distrust these numbers.");
    }
    // The first page has the answer of a run, too, but not its list of reasons: the link needs the page's name.
    let to = format!("{}.html#distrust", names::run_page(view.finding.run.id));
    let head = link(&to, "Reasons to distrust").into();
    let mut line = Html::all([head, Html::text(": ")]);
    for (index, note) in flags.iter().enumerate() {
        line = line.and(if index > 0 { "; " } else { "" }).and(flag_with_names(note));
    }
    tag("p").class("distrust").add(line).add(".").into()
}

fn flag_with_names(note: &FlagNote) -> Html {
    let mut names: Vec<String> = note.evidence.iter().map(|(point, _)| point.clone()).collect();
    names.dedup();
    let on = if note.everywhere { "everywhere".to_owned() } else { some(&names, MOST_NAMED) };
    flag(&note.flag).and(format!(" {on}"))
}
