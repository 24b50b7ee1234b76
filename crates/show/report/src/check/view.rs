//! The text of a check, for every output format.

use plumb_analysis::{
    BaselineTimes, CheckFinding, CheckProof, CheckState, CheckedSeries, RegressionCause,
    WhichBaseline,
};
use plumb_model::{Impact, Verdict, short_id};
use plumb_text::time::date;
use plumb_text::{Style, counted};
use plumb_units::length;
use plumb_units::{largest_of, percent, quantity, quantity_in_unit_of};

use crate::comparison::gate::{power_text, ratio_text};

/// A move of canaries from which on it is told.
const WORTH_SAYING: f64 = 0.01;
/// How much wider intervals are when that is told.
const WORTH_WIDENING: f64 = 1.05;

/// What a series was in the baseline and what it is now, in one unit.
pub(crate) fn both(series: &CheckedSeries) -> [String; 2] {
    let values = [series.baseline, series.now];
    let size = largest_of(values);
    values.map(|value| quantity_in_unit_of(size, value, &series.unit))
}

pub(crate) fn title(finding: &CheckFinding) -> String {
    let runs = counted(finding.baseline_runs, "run", "runs");
    let margin = percent(finding.margin);
    format!("Checked against {} ({runs}), margin {margin}", finding.baseline)
}

/// The remarks above the table.
pub(crate) fn remarks(finding: &CheckFinding) -> Vec<String> {
    let has_undecided = finding.undecided().next().is_some();
    let mut lines: Vec<String> =
        finding.baseline_times.iter().flat_map(|found| times(found, has_undecided)).collect();
    if finding.machines_differ {
        lines.push("The baseline was measured on another machine.".to_owned());
    }
    for difference in
        finding.differences.iter().filter(|difference| difference.impact > Impact::Harmless)
    {
        lines.push(format!(
            "{} {}: {}",
            difference.impact.word(),
            difference.field,
            difference.values.join(" | ")
        ));
    }
    let undecided = finding.undecided().count();
    if undecided > 0 {
        let series = counted(undecided, "series is", "series are");
        lines.push(format!(
            "{series} undecided: runs within an hour do not show how much this machine differs from hour to hour; plumb baseline set --every 1h learns it"
        ));
    }
    let busy = finding.series.iter().filter(|series| series.busy_clients).count();
    if busy > 0 {
        let series = counted(busy, "series has", "series have");
        lines.push(format!(
            "{series} busy clients, which may hide a slower server: use more clients, or set a rate"
        ));
    }
    lines.extend(finding.common_shift.map(|shift| {
        let shift = plumb_units::percent_change(shift, 1);
        format!("all series changed together, by {shift} in cost: suspect the machine or the build, not one series")
    }));
    lines.extend(finding.canary_shift.filter(|shift| *shift >= WORTH_SAYING).map(|shift| {
        let shift = percent(shift);
        format!(
            "the control workload drifted by {shift} during the check: plumb ignores smaller alerts"
        )
    }));
    let lost = finding.not_measured.iter();
    lines.extend(lost.map(|lost| format!("not measured: {}: {}", lost.series, lost.why)));
    lines.extend(finding.vetoes.iter().map(|why| format!("alerts are ignored: {why}")));
    lines.extend(finding.proof.iter().flat_map(proof_lines));
    lines
}

/// What the proof of a check shows.
fn proof_lines(proof: &CheckProof) -> Vec<String> {
    let planted = percent(proof.planted);
    let point = &proof.point;
    let mut lines = vec![
        format!("proof: {point} compared with itself: {}", ratio_text(proof.again.as_ref())),
        format!("proof: with {planted} extra work: {}", ratio_text(proof.slower.as_ref())),
    ];
    lines.extend(
        proof
            .power
            .map(|power| format!("this check reports +{planted} of {point} {}", power_text(power))),
    );
    lines.extend(proof.doubt.map(|doubt| format!("the check abstains: {}", doubt.why())));
    lines
}

/// How old the runs of the baseline are and how wide apart, and what follows from that.
fn times(times: &BaselineTimes, has_undecided: bool) -> Vec<String> {
    let span = length(times.span_s);
    let age = length(times.age_s);
    let mut lines = vec![format!("the baseline's runs began within {span}, {age} ago")];
    // The remark on undecided series gives the same advice.
    if times.widened >= WORTH_WIDENING && !has_undecided {
        let widened = quantity(times.widened, "");
        lines.push(format!(
            "they do not cover changes over {age}, so intervals are {widened}× as wide; plumb baseline set --every spreads runs"
        ));
    }
    lines
}

/// The text below it.
pub(crate) fn closing(finding: &CheckFinding) -> String {
    let confirmed = finding.regressions().count();
    let undecided = finding.undecided().count();
    let first = match confirmed {
        _ if finding.abstains().is_some() => "abstained".to_owned(),
        0 if undecided > 0 => format!("no confirmed regression, {undecided} undecided"),
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
        n => format!(", {n} not measured"),
    };
    format!("{first} in {series}, {runs}{lost}{few}")
}

/// What the table says of a series in one or two words.
pub(crate) fn standing(series: &CheckedSeries, finding: &CheckFinding) -> (String, Style) {
    match (series.state, series.verdict) {
        _ if finding.is_doubted(series) => ("ignored".to_owned(), Style::Flag),
        (CheckState::Confirmed, Verdict::Slower) => ("slower".to_owned(), Style::Bad),
        (CheckState::Confirmed, Verdict::Faster) => ("faster".to_owned(), Style::Good),
        (CheckState::Undecided, _) => ("undecided".to_owned(), Style::Flag),
        (CheckState::Clean, _) if series.busy_clients => ("clients busy".to_owned(), Style::Flag),
        (_, Verdict::Equivalent) => ("equivalent".to_owned(), Style::Estimate),
        (state, _) => (state.word().to_owned(), Style::Plain),
    }
}

pub(crate) fn name(series: &CheckedSeries) -> String {
    if series.point.titled {
        return series.point.name.clone();
    }
    series.point.typed_series(&series.series)
}

/// Where a regression comes from, if that was asked.
pub(crate) fn cause(series: &CheckedSeries) -> Option<String> {
    let found = series.cause.found()?;
    let answer = match found.cause {
        RegressionCause::Code => "the code",
        RegressionCause::Environment => "the machine or its environment",
        RegressionCause::Both => "both the code and the machine or its environment",
        RegressionCause::Undecided => "undecided whether the code or the machine",
    };
    if let Some(why) = &found.why {
        return Some(format!("cause: {answer}: {why}"));
    }
    let code = ratio_text(found.code.as_ref());
    let environment = ratio_text(found.environment.as_ref());
    Some(format!(
        "cause: {answer}: {code} of the kept program, both now; the kept program now: {environment} of the baseline"
    ))
}

/// The note on a change that is confirmed, or that is one from the first baseline.
pub(crate) fn note(series: &CheckedSeries, finding: &CheckFinding) -> Option<String> {
    let first = match series.against {
        WhichBaseline::Current => String::new(),
        WhichBaseline::First => {
            let set = finding.first_baseline_unix_ns.map_or(String::new(), date);
            format!("compared with the first baseline of this name ({set}); ")
        }
    };
    if series.state != CheckState::Confirmed {
        return (!first.is_empty()).then(|| first.trim_end_matches("; ").to_owned());
    }
    let noise = format!("runs vary by {} on their own", percent(series.run_sd));
    let runs = counted(series.fresh_runs, "fresh run", "fresh runs");
    let since = series.since.found().map(|since| {
        format!(", since {} (run {})", date(since.started_unix_ns), short_id(since.run))
    });
    let sessions = match series.sessions {
        0 | 1 => String::new(),
        sessions => format!(" in {sessions} sessions"),
    };
    Some(format!("{first}confirmed by {runs}{sessions}; {noise}{}", since.unwrap_or_default()))
}
