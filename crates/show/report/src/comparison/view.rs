//! One text for every fact, shared by terminal and Markdown; the document takes the same finding.

use plumb_analysis::{
    Arm, ByPairs, Comparison, ComparisonFinding, ForPrice, NoVerdict, NormalisedBy, OtherBuild,
    RuleOfOneSide, SeriesComparison,
};
use plumb_model::{Better, Impact};
use plumb_text::counted;
use plumb_units::percent;

use crate::comparison::levels::levels_text;
use crate::comparison::ranks::ranks_closing;
use crate::figure::{figure, in_brackets};
use crate::standing_out::{StandingOutResult, standing_out_text};

/// The verdict's word.
pub fn verdict(against: &Comparison) -> &'static str {
    against.verdict.as_ref().map_or("no verdict", |verdict| verdict.word())
}

/// `1.021 [0.994, 1.048]`.
pub fn ratio(against: &Comparison) -> String {
    let Some(ratio) = &against.ratio else { return "no ratio".to_owned() };
    let figure = figure(ratio, "");
    format!("{} {}", figure.estimate, figure.brackets()).trim_end().to_owned()
}

/// Everything that belongs next to a verdict, in one line.
pub fn remarks(against: &Comparison) -> String {
    let ratio = against.ratio.as_ref().map(|ratio| ratio.value);
    let pairs = against.by_pairs().map(pairs_text);
    let noise = against.by_runs().copied().unwrap_or_default();
    let open = against.verdict.is_err();
    let chance =
        noise.break_even.filter(|_| open).zip(ratio).map(|(sd, ratio)| break_even(sd, ratio));
    let allowed = noise.run_sd.map(|sd| format!("runs vary by {} on their own", percent(sd)));
    let turns = noise
        .blocks
        .map(|blocks| format!("measured in turns, {}", counted(blocks, "block", "blocks")));
    let remarks = against.remarks.iter().map(ToString::to_string);
    // Of stored runs at different times, the noise that could explain the difference says more than why it is not known.
    let is_said = |why: &NoVerdict| {
        noise.break_even.is_none() || matches!(why, NoVerdict::Uncalibrated { blocks: 2.. })
    };
    let why = against.verdict.err().filter(is_said).map(|why| why.to_string());
    let side_effects = against.by_pairs().and_then(side_effects);
    let build = against.by_pairs().and_then(|pairs| pairs.other_build).map(other_build);
    let all = pairs.into_iter().chain(remarks).chain(why).chain(side_effects).chain(build);
    let all = all.chain(chance).chain(allowed).chain(turns);
    let all = all.chain(settling(against)).chain(levels_text(against));
    all.collect::<Vec<_>>().join(", ")
}

/// `20 pairs`, and how many more are left out.
pub(crate) fn pairs_text(by_pairs: &ByPairs) -> String {
    let pairs = counted(by_pairs.pairs, "pair", "pairs");
    match by_pairs.left_out {
        0 => pairs,
        left_out => format!("{pairs}, and {left_out} excluded because of failures"),
    }
}

/// Work that a side causes outside the processes that plumb measures.
pub(crate) fn side_effects(by_pairs: &ByPairs) -> Option<String> {
    let RuleOfOneSide { rule, first, later, units } =
        by_pairs.side_effects.iter().max_by_key(|found| found.first.max(found.later))?;
    let side = if later > first { "this side" } else { "the first side" };
    Some(format!(
        "other processes work when {side} runs ({rule}: {later} of {units} invocations of this side alone, {first} of the \
         first), so no pair was excluded for it"
    ))
}

/// What a difference between two files does not say of their sources.
pub(crate) fn other_build(found: OtherBuild) -> String {
    match found.layout_effect {
        Some(effect) => format!(
            "of these two files; our test program differed by up to {} when it was linked again",
            percent(effect)
        ),
        None => "of these two files; another build of the same source can differ by a few percent (`plumb doctor --audit` \
                 measures how much here; `plumb ab --build` compares several builds)"
            .to_owned(),
    }
}

/// The difference that an inconclusive comparison could have found, and the pairs that would settle it, if known.
pub(crate) fn settling(comparison: &Comparison) -> Option<String> {
    let by_pairs = comparison.by_pairs()?;
    let told = by_pairs.told_apart.map(|share| format!("could have found {}", percent(share)));
    let pairs = by_pairs
        .pairs_needed
        .map(|pairs| format!("about {} pairs would settle it", plumb_units::rounded_count(pairs)));
    let both: Vec<String> = told.into_iter().chain(pairs).collect();
    (!both.is_empty()).then(|| both.join(", "))
}

/// What may be said where too little is known about the noise between runs.
fn break_even(sd: f64, ratio: f64) -> String {
    if sd <= 0.0 {
        return "the runs differ by no more than their own samples do".to_owned();
    }
    let times = format!("{}×", plumb_units::quantity(ratio, ""));
    format!("{times}; this could be chance only if runs vary by more than {}", percent(sd))
}

/// The heading above the results.
pub fn heading(finding: &ComparisonFinding) -> Vec<String> {
    let first = finding.arms.first().map_or("", String::as_str);
    let margin = percent(finding.margin);
    let mut lines = vec![format!("Compared with {first}, margin {margin}")];
    if finding.machines_differ {
        lines.push(
            "These are different machines: any difference between them can explain the results."
                .to_owned(),
        );
    }
    let against = finding.results.iter().flat_map(|result| &result.against_first).flatten();
    let verdicts = against.filter(|comparison| comparison.verdict.is_ok()).count();
    lines.extend(finding.normalised_by.iter().flat_map(normalised_heading));
    if !finding.paired && verdicts >= 5 {
        #[expect(clippy::cast_precision_loss, reason = "a count of verdicts")]
        let expected = verdicts as f64 * (1.0 - finding.confidence);
        lines.push(format!(
            "{verdicts} verdicts: if there were no differences, about {expected:.1} would be wrong by \
             chance."
        ));
    }
    lines
}

/// What the ratios are relative to, and why that may mislead.
fn normalised_heading(by: &NormalisedBy) -> Vec<String> {
    let series = &by.series;
    let mut lines = vec![format!("Relative ratios: each ratio divided by that of {series}.")];
    if !by.changed_versions.is_empty() {
        lines.push(format!(
            "The code behind {series} changed too ({}), so its ratio is not only that of the machines.",
            by.changed_versions.join("; ")
        ));
    }
    lines
}

/// The ratio of an arm relative to that of the series that all are normalised by.
pub fn relative(finding: &ComparisonFinding, arm: &Arm) -> Option<String> {
    let by = finding.normalised_by.as_ref()?;
    let shown = figure(arm.normalised.as_ref()?, "");
    let estimate = format!("{}× {}", shown.estimate, shown.brackets());
    let of = ratio_is_of(finding);
    Some(format!("{} the {of} relative to {}", estimate.trim_end(), by.series))
}

/// Findings about all series together for every later arm: those that stand out, and the geometric mean.
pub fn closing(finding: &ComparisonFinding) -> Vec<String> {
    let mut lines = Vec::new();
    for arm in 1..finding.arms.len() {
        lines.extend(standing_out(finding, arm));
        lines.extend(mean(finding, arm));
        lines.extend(more_for_its_price(finding, arm));
    }
    lines.extend(ranks_closing(finding));
    lines
}

/// How much an arm gives for its price compared with the first: the geometric mean over the series of both.
fn more_for_its_price(finding: &ComparisonFinding, arm: usize) -> Option<String> {
    let mut logarithms = Vec::new();
    for result in &finding.results {
        let of_arm = |arm: usize| result.arms.get(arm)?.as_ref()?.for_price.as_ref();
        let (Some(first), Some(later)) = (of_arm(0), of_arm(arm)) else { continue };
        if first.currency != later.currency {
            continue;
        }
        match result.better {
            Better::Higher => logarithms.push((later.value.value / first.value.value).ln()),
            Better::Lower => logarithms.push((first.value.value / later.value.value).ln()),
            Better::Neither => {}
        }
    }
    if logarithms.is_empty() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of series")]
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    let series = counted(logarithms.len(), "series", "series");
    Some(format!(
        "{} gives {}× as much for its price as {} (geometric mean of {series})",
        finding.arms[arm],
        plumb_units::quantity(mean, ""),
        finding.arms[0]
    ))
}

/// How the ratios are called: next to prices, a cost would be taken for money.
pub fn ratio_is_of(finding: &ComparisonFinding) -> &'static str {
    let mut arms = finding.results.iter().flat_map(|result| &result.arms).flatten();
    if arms.any(|arm| arm.for_price.is_some()) { "time" } else { "cost" }
}

/// The series that stand out in an arm.
fn standing_out(finding: &ComparisonFinding, arm: usize) -> Vec<String> {
    let Some(Some(found)) = finding.standing_out.get(arm - 1) else { return Vec::new() };
    let named = |place: usize| {
        let result = finding.results.get(place)?;
        let ratio = result.against_first.get(arm - 1)?.as_ref()?.ratio.as_ref()?.value;
        Some(StandingOutResult {
            name: series(result),
            unit: &result.unit,
            better: result.better,
            ratio,
        })
    };
    let then = format!("as in {}", finding.arms[0]);
    let lines = standing_out_text(found, ("series", "series"), &then, named);
    lines.into_iter().map(|line| format!("{}: {line}", finding.arms[arm])).collect()
}

/// The geometric mean of an arm.
fn mean(finding: &ComparisonFinding, arm: usize) -> Option<String> {
    let overall = finding.overall.get(arm - 1)?.as_ref()?;
    let shown = figure(overall, "");
    let ends = match &overall.interval {
        Ok(_) => shown.brackets() + " ",
        Err(_) => String::new(),
    };
    let why = overall.interval.as_ref().err();
    let why = why.map_or_else(String::new, |why| format!("; no interval: {why}"));
    let arm = &finding.arms[arm];
    let ratio = &shown.estimate;
    let of = ratio_is_of(finding);
    Some(format!("{arm}: {ratio}× {ends}the {of} across these series (geometric mean{why})"))
}

/// A difference that is worth a line.
pub(crate) struct DifferenceLine {
    /// Its possible effect on numbers.
    pub(crate) impact: Impact,
    /// Its impact and its field.
    pub(crate) lead: String,
    /// Its value in every arm.
    pub(crate) values: String,
}

/// The differences that are worth a line: harmless ones only by their names.
pub(crate) fn difference_lines(finding: &ComparisonFinding) -> (Vec<DifferenceLine>, String) {
    let (harmless, others): (Vec<_>, Vec<_>) =
        finding.differences.iter().partition(|difference| difference.impact == Impact::Harmless);
    let lines = others.into_iter().map(|difference| DifferenceLine {
        impact: difference.impact,
        lead: format!("{} {}", difference.impact.word(), difference.field),
        values: difference.values.join(" | "),
    });
    let names: Vec<&str> = harmless.iter().map(|difference| difference.field.as_str()).collect();
    (lines.collect(), names.join(", "))
}

/// `memory.copy:method=nt/bandwidth`, or what a person called it.
pub fn series(result: &SeriesComparison) -> String {
    if result.point.titled {
        return format!("{}/{}", result.point.name, result.metric);
    }
    result.point.typed_series(&result.series)
}

/// The performance of an arm for its price: `17.4 [17.1, 17.6] MB/s per USD`.
pub fn for_price(result: &SeriesComparison, price: &ForPrice) -> String {
    let currency = if price.currency.is_empty() { "unit of price" } else { &price.currency };
    let shown = in_brackets(&price.value, &result.unit);
    match result.better {
        Better::Higher => format!("{shown} per {currency}"),
        Better::Lower | Better::Neither => format!("{shown} × {currency}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{OtherBuild, other_build};

    #[test]
    fn a_difference_of_two_files_is_said_to_be_of_these_files() {
        assert_eq!(
            other_build(OtherBuild { layout_effect: Some(0.025) }),
            "of these two files; our test program differed by up to 2.5 % when it was linked again"
        );
        let unknown = other_build(OtherBuild { layout_effect: None });
        assert!(unknown.contains("by a few percent (`plumb doctor --audit`"), "{unknown}");
    }
}
