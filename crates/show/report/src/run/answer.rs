//! What a reader asks first, in one to three sentences: is it slow, compared with what, and can I trust it?

use plumb_analysis::{BaselineSource, Comparison, ExpectationVerdict};
use plumb_model::{FlagKind, Goal, Verdict};
use plumb_text::time::date;
use plumb_units::quantity;

use crate::comparison::proof_answer;
use crate::run::importance::{FlagWeight, by_importance};
use crate::run::levels::share_text;
use crate::run::right_answers::right_answers_text;
use crate::run::since_last::since_last_text;
use crate::run::view::{ResultRow, View, baseline_text};

/// Flags that are named in a sentence.
const MOST_NAMED: usize = 5;

/// The answer, a sentence a line.
pub(crate) fn answer(view: &View) -> Vec<String> {
    if view.rows.is_empty() {
        return vec!["Nothing was measured.".to_owned()];
    }
    let mut lines: Vec<String> = right_answers_text(view.finding).into_iter().collect();
    let expectation = expectation_answer(view);
    let ceilings = ceiling_answer(view);
    let compared = compared(view, expectation.is_none(), ceilings.is_some());
    lines.extend(expectation);
    lines.extend(match (compared, ceilings) {
        (Some(compared), Some(ceilings)) => Some(format!("{compared} {ceilings}")),
        (compared, ceilings) => compared.or(ceilings),
    });
    lines.extend(proof_answer(view.finding.proof.as_ref()));
    lines.extend(precision(view));
    lines.push(trust(view));
    lines
}

/// Whether the results that have an expectation reach it, with the one that is farthest below its own. None if no result has one.
#[must_use]
pub fn expectation_answer(view: &View) -> Option<String> {
    let mut below: Vec<(&ResultRow, f64)> = Vec::new();
    let mut open = 0;
    let mut all = 0;
    for row in view.brief_rows() {
        let Ok(of) = &row.finding.of_baseline else { continue };
        let Some(verdict) = of.verdict else { continue };
        all += 1;
        match verdict {
            ExpectationVerdict::Below => below.push((row, of.share.value)),
            ExpectationVerdict::Undecided => open += 1,
            ExpectationVerdict::Reached => {}
        }
    }
    below.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    if let Some((lowest, _)) = below.first() {
        let text = baseline_text(lowest.finding)?;
        let more = match open {
            0 => String::new(),
            _ => format!(" {open} cannot be judged yet."),
        };
        return Some(match all {
            1 => format!("The result with an expectation is below it: {text}."),
            _ => format!(
                "{} of {all} results with an expectation are below it; the lowest is {} at {text}.{more}",
                below.len(),
                lowest.finding.point.name
            ),
        });
    }
    match (all, open) {
        (0, _) => None,
        (1, 0) => Some("The result with an expectation reaches it.".to_owned()),
        (_, 0) => Some(format!("All {all} results with an expectation reach it.")),
        (1, _) => Some(
            "The result cannot be judged against its expectation yet: a longer run would be more precise."
                .to_owned(),
        ),
        _ if open == all => Some(format!(
            "None of the {all} results can be judged against its expectation yet: a longer run would be more precise."
        )),
        _ => Some(format!(
            "{} of {all} results with an expectation reach it; {open} cannot be judged yet.",
            all - open
        )),
    }
}

/// Which result is farthest below what this machine gave in the same run for the same work with another setting. None if no
/// result that was asked for has such a ceiling, an expectation says more, or the run is about something else.
#[must_use]
pub fn ceiling_answer(view: &View) -> Option<String> {
    let is_about_verdicts = matches!(view.finding.run.goal, Goal::Verdict(_));
    if is_about_verdicts || !view.is_crowded() || expectation_answer(view).is_some() {
        return None;
    }
    let shares = view.brief_rows().filter(|row| row.finding.primary).filter_map(|row| {
        let of = row.finding.of_baseline.as_ref().ok()?;
        // A whole is always slower than a part of it, which is no news.
        let BaselineSource::Ceiling { setting, .. } = &of.source else { return None };
        // Without an interval nobody knows whether it is below.
        of.share.interval.is_ok().then_some((row, of, setting))
    });
    let (lowest, of, setting) = shares
        .min_by(|(_, one, _), (_, other, _)| one.share.value.total_cmp(&other.share.value))?;
    Some(format!(
        "Furthest below its ceiling: {} reaches {} of the {} measured with {setting}.",
        lowest.finding.point.name,
        share_text(&of.share),
        quantity(of.value, &lowest.finding.unit),
    ))
}

/// How the run compares with the last comparable one; `alone` if nothing says what it should be, `has_ceilings` if something says
/// what it could be.
fn compared(view: &View, alone: bool, has_ceilings: bool) -> Option<String> {
    // The sides of one run are compared with each other, in their own chapter.
    if matches!(view.finding.run.goal, Goal::Verdict(_)) || !view.comparisons().is_empty() {
        return None;
    }
    let Some(since) = view.finding.since_last.found() else {
        return alone.then(|| match has_ceilings {
            true => "No earlier comparable run.".to_owned(),
            false => "No earlier comparable run: plumb cannot say whether this is slow.".to_owned(),
        });
    };
    let when = date(since.started_unix_ns);
    match since_last_text(view.finding).first() {
        Some(usual) => Some(format!("Compared with the last comparable run, {when}: {usual}.")),
        None => {
            let judged: Vec<&Comparison> = view
                .rows
                .iter()
                .zip(&since.against)
                .filter(|(row, _)| !row.finding.point.is_ceiling)
                .filter_map(|(_, against)| against.as_ref())
                .collect();
            let slower = judged.iter().filter(|found| found.verdict == Ok(Verdict::Slower)).count();
            Some(format!(
                "Compared with the last comparable run, {when}: {slower} of {} results are slower.",
                judged.len()
            ))
        }
    }
}

fn precision(view: &View) -> Option<String> {
    let goal = view.header.goal.as_str();
    // A soak and an import have no goal that can be reached, and say what they did instead.
    match goal.strip_prefix("goal: ") {
        Some(wanted) => {
            let all = view.rows.iter().filter(|row| row.finding.primary).count();
            let ceilings = all - view.brief_rows().filter(|row| row.finding.primary).count();
            let hidden = match ceilings {
                0 => String::new(),
                _ => format!(", {ceilings} of them for comparison"),
            };
            Some(format!("Goal: {wanted}{hidden}.").replace(" measured points", " points"))
        }
        None if goal.is_empty() => None,
        None => Some(format!("{goal}.")),
    }
}

fn trust(view: &View) -> String {
    let primary: Vec<&ResultRow> = view.brief_rows().filter(|row| row.finding.primary).collect();
    let flagged: Vec<&FlagKind> =
        primary.iter().flat_map(|row| &row.finding.flags).map(|flag| &flag.flag).collect();
    if flagged.is_empty() && !view.finding.failed.is_empty() {
        return "No figure is flagged, but some invocations failed: see below.".to_owned();
    }
    if flagged.is_empty() {
        return "plumb found no reason to distrust these figures.".to_owned();
    }
    let changes: Vec<&FlagKind> = by_importance(flagged.iter().copied())
        .into_iter()
        .filter(|flag| FlagWeight::of(flag).changes_reading())
        .collect();
    if changes.is_empty() {
        let count = primary.iter().filter(|row| !row.finding.flags.is_empty()).count();
        return format!(
            "No flag affects the meaning of a result; {count} of {} are less precise than requested ({}).",
            primary.len(),
            words(&by_importance(flagged))
        );
    }
    let count = primary
        .iter()
        .filter(|row| {
            row.finding.flags.iter().any(|flag| FlagWeight::of(&flag.flag).changes_reading())
        })
        .count();
    format!(
        "Caution: flags affect the meaning of {count} of {} results ({}).",
        primary.len(),
        words(&changes)
    )
}

fn words(flags: &[&FlagKind]) -> String {
    let shown: Vec<&str> = flags.iter().take(MOST_NAMED).map(|flag| flag.word()).collect();
    let more = if flags.len() > MOST_NAMED { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
