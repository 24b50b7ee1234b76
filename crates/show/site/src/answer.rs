//! What stands first on a page: is it slow, and can you trust it?

use std::cmp::Ordering;

use plumb_analysis::{BaselineSource, Comparison, SinceLast};
use plumb_model::{Goal, RunStatus, Verdict};
use plumb_report::comparison::levels_text;
use plumb_report::figure;
use plumb_report::run::{FlagNote, Row, View, baseline_text, comparison_text, since_last_text};
use plumb_text::counted;
use plumb_text::time::date;

use crate::anchors;
use crate::html::{Html, link, tag, wrap};
use crate::names::{self, Links};
use crate::parts::{command, flag, list, paragraph, some, verdict};

/// Series that are named in a sentence.
const MOST_NAMED: usize = 3;
/// Findings that are listed before the tables are pointed at.
const MOST_LISTED: usize = 5;

/// The section that answers.
pub(crate) fn answer(view: &View, links: &Links) -> Html {
    let mut out = unfinished(view);
    let sides = sides(view);
    let (expected, ceilings) = (shares(view, true), shares(view, false));
    let since =
        view.finding.since_last.found().map_or_else(Html::default, |it| since(view, it, links));
    let alone = sides.is_empty() && expected.is_empty() && since.is_empty();
    for part in [sides, expected, since] {
        out.push(part);
    }
    if alone {
        out.push(nothing_to_compare(view));
    }
    out.push(ceilings);
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
    let line = |it: &plumb_analysis::PointComparison| {
        let names = format!(" {} against {}: ", it.point.name, it.first.name);
        let levels = levels_text(&it.found).map_or_else(String::new, |text| format!("; {text}"));
        let text = comparison_text(it) + &levels;
        Html::all([verdict(&it.found.verdict), names.into(), text.into()])
    };
    list(view.comparisons().iter().map(line))
}

/// Results beside what they should be, the worst first: what people expect, or what the machine gives.
fn shares(view: &View, expected: bool) -> Html {
    let source = |row: &&Row| {
        let of = row.finding.of_baseline.as_ref();
        of.is_some_and(|of| matches!(of.source, BaselineSource::Expectation) == expected)
    };
    let mut rows: Vec<&Row> =
        view.rows.iter().filter(|row| row.finding.primary).filter(source).collect();
    let share = |row: &&Row| row.finding.of_baseline.as_ref().map_or(1.0, |of| of.share.value);
    rows.sort_by(|one, other| share(one).total_cmp(&share(other)));
    let line = |row: &&Row| {
        let text = baseline_text(row.finding).unwrap_or_default();
        let name = link(&format!("#{}", anchors::of_result(row)), row.finding.point.name.as_str());
        wrap("span", Html::all([name.into(), Html::text(" gives "), text.into()]))
    };
    let most = if expected { MOST_LISTED } else { 1 };
    list(rows.iter().take(most).map(line))
}

/// What changed since the last comparable run.
fn since(view: &View, previous: &SinceLast, links: &Links) -> Html {
    let rows = || view.rows.iter().zip(&previous.against).filter(|(row, _)| row.finding.primary);
    let judged: Vec<(&Row, &Comparison)> =
        rows().filter_map(|(row, against)| Some((row, against.as_ref()?))).collect();
    if judged.is_empty() {
        return Html::default();
    }
    let of =
        |wanted: &dyn Fn(&Comparison) -> bool| judged.iter().filter(|(_, it)| wanted(it)).count();
    let is = |verdict: Verdict| move |it: &Comparison| it.verdict == Ok(verdict);
    let counts = [
        (of(&is(Verdict::Slower)), "slower"),
        (of(&is(Verdict::Faster)), "faster"),
        (of(&is(Verdict::Equivalent)), "equivalent"),
        (of(&is(Verdict::Inconclusive)), "inconclusive"),
        (of(&|it: &Comparison| it.verdict.is_err()), "without a verdict"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    let when = date(previous.started_unix_ns);
    let before = match links.run(previous.run) {
        true => link(&format!("{}.html", names::run_page(previous.run)), when).into(),
        false => Html::text(&when),
    };
    let pair = [previous.run, view.finding.run.id];
    let compare = format!("{}.html", names::compare_page(&pair));
    let more = Html::text("; ").and(link(&compare, "what differs and what else changed"));
    let more = if links.comparison(&pair) { more } else { Html::default() };
    let of_all = counted(judged.len(), "point", "points");
    let counts = Html::from(wrap("strong", counts.join(", "))).and(format!(" of {of_all}"));
    let line = Html::text("Compared with the last comparable run, ").and(before).and(": ");
    let mut stands_out = since_last_text(view.finding).into_iter();
    let Some(usual) = stands_out.next() else {
        return paragraph(line.and(counts).and(more).and(".")).and(worst(judged));
    };
    let mut out = paragraph(line.and(wrap("strong", usual)).and(more).and("."));
    out.push(list(stands_out));
    if judged.iter().any(|(_, it)| it.verdict.is_ok()) {
        out.push(paragraph(counts.and(".")));
    }
    out.and(worst(judged))
}

/// The changes that matter, slower ones first, the largest first.
fn worst(mut judged: Vec<(&Row, &Comparison)>) -> Html {
    judged.retain(|(_, it)| matches!(it.verdict, Ok(Verdict::Slower | Verdict::Faster)));
    let rank = |it: &Comparison| it.ratio.as_ref().map_or(1.0, |ratio| ratio.value);
    judged.sort_by(|(_, one), (_, other)| {
        rank(other).partial_cmp(&rank(one)).unwrap_or(Ordering::Equal)
    });
    let line = |(row, it): &(&Row, &Comparison)| {
        let name = link(&format!("#{}", anchors::of_result(row)), row.finding.point.name.as_str());
        let ratio = it.ratio.as_ref().map(|ratio| figure(ratio, ""));
        let ratio = ratio.map_or_else(String::new, |it| {
            format!(": {}× {} the cost", it.estimate, it.brackets())
        });
        verdict(&it.verdict).and(" ").and(name).and(ratio)
    };
    let mut lines: Vec<Html> = judged.iter().take(MOST_LISTED).map(line).collect();
    let more = judged.len().saturating_sub(MOST_LISTED);
    if more > 0 {
        lines.push(format!("and {more} more in the table below").into());
    }
    list(lines)
}

/// What to type where a run stands alone.
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
            "There is no earlier comparable run, so plumb cannot tell whether this one is slow. Run ",
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
    let one = |note: &FlagNote| {
        let mut names: Vec<String> = note.evidence.iter().map(|(point, _)| point.clone()).collect();
        names.dedup();
        let on = if note.everywhere { "everywhere".to_owned() } else { some(&names, MOST_NAMED) };
        flag(&note.flag).and(format!(" {on}"))
    };
    // The first page has the answer of a run, too.
    let to = format!("{}.html#distrust", names::run_page(view.finding.run.id));
    let head = link(&to, "Reasons to distrust").into();
    let mut line = Html::all([head, Html::text(": ")]);
    for (index, note) in flags.iter().enumerate() {
        line = line.and(if index > 0 { "; " } else { "" }).and(one(note));
    }
    tag("p").class("distrust").add(line).add(".").into()
}
