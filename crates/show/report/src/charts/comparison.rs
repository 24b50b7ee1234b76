//! Charts of a comparison: ratios of costs around the margin, and the arms of each series.

use plumb_analysis::{Arm, ComparisonFinding, Estimate, NoVerdict, SeriesComparison};
use plumb_chart::{
    Along, AxisFit, AxisSpec, Chart, Draft, MOST_DOTS, Mark, Tone, place, ranks_and_extremes,
};
use plumb_model::Verdict;
use plumb_units::percent;

use super::parts::{better, without_interval};
use super::spread::{BESIDE, boxes_at, not_all, scattered};
use crate::figure::figure;
use crate::run::labels::family;

/// Dots that every arm has at least, however many arms there are.
const FEWEST_DOTS: usize = 40;

/// One ratio of a chart of ratios.
pub(super) struct Ratio {
    pub(super) name: String,
    pub(super) ratio: Estimate,
    pub(super) verdict: Result<Verdict, NoVerdict>,
}

impl Ratio {
    fn tip(&self) -> String {
        let word = self.verdict.as_ref().map_or("no verdict", |verdict| verdict.word());
        format!("{}× the cost: {word}", figure(&self.ratio, ""))
    }
}

/// The ratios of each family, if there are several families.
pub(super) fn ratios_of_families(finding: &ComparisonFinding) -> Vec<Chart> {
    let mut families: Vec<&str> = Vec::new();
    for name in finding.results.iter().map(|result| family(&result.point.workload)) {
        if !families.contains(&name) {
            families.push(name);
        }
    }
    families
        .iter()
        .filter(|_| families.len() > 1)
        .filter_map(|family| ratios_of(finding, Some(family)))
        .collect()
}

/// What every arm gives, a chart for every series.
pub(super) fn arms_of_series(finding: &ComparisonFinding) -> Vec<Chart> {
    finding.results.iter().filter_map(|result| arms(result, finding)).collect()
}

/// The ratios of all series, or of those of one family.
pub(crate) fn ratios_of(finding: &ComparisonFinding, of: Option<&str>) -> Option<Chart> {
    let first = finding.arms.first().map_or("", String::as_str);
    let all: Vec<Ratio> = finding
        .results
        .iter()
        .filter(|result| of.is_none_or(|of| family(&result.point.workload) == of))
        .flat_map(|result| of_series(result, finding))
        .collect();
    let (id, what) = match of {
        None => ("comparison/ratios".to_owned(), "All series"),
        Some(family) => (format!("comparison/ratios/{family}"), family),
    };
    ratios(id, format!("{what}: cost relative to {first}"), &all, finding.margin).finish()
}

/// The ratios of all series relative to that of the series that they are divided by, a group for each arm.
pub(super) fn relative_ratios(finding: &ComparisonFinding) -> Option<Chart> {
    let by = finding.normalised_by.as_ref()?;
    let rows: Vec<&SeriesComparison> =
        finding.results.iter().filter(|result| result.series != by.series).collect();
    let first = finding.arms.first().map_or("", String::as_str);
    let mut draft = Draft::new(
        "comparison/relative".to_owned(),
        format!("All series: ratios relative to that of {}", by.series),
        format!(
            "The cost of each series relative to {first}, divided by that of {}: left of 1, a series gained more than \
             that one, right of 1 less.",
            by.series
        ),
        AxisSpec::values("× the ratio of that series", "", AxisFit::Log),
        AxisSpec::Names(rows.iter().map(|result| series(result)).collect()),
    );
    let equal = draft.group("equal", Tone::Baseline);
    let rule = Mark::Rules { along: Along::X, at: vec![1.0], tips: vec!["equal".to_owned()] };
    draft.layer(Some(equal), rule);
    for (index, arm) in finding.arms.iter().enumerate().skip(1) {
        let ratio_of =
            |result: &SeriesComparison| result.arms.get(index)?.as_ref()?.normalised.clone();
        let own: Vec<(usize, Estimate)> = rows
            .iter()
            .enumerate()
            .filter_map(|(row, result)| Some((row, ratio_of(result)?)))
            .collect();
        let group = draft.group(arm, Tone::Plain);
        draft.layer(
            Some(group),
            Mark::Intervals {
                along: Along::X,
                at: own.iter().map(|(row, _)| place(*row)).collect(),
                low: own.iter().map(|(_, ratio)| ratio.low()).collect(),
                estimate: own.iter().map(|(_, ratio)| ratio.value).collect(),
                high: own.iter().map(|(_, ratio)| ratio.high()).collect(),
                tips: own
                    .iter()
                    .map(|(_, ratio)| format!("{arm}: {}×", figure(ratio, "")))
                    .collect(),
            },
        );
        without_interval(
            &mut draft,
            own.iter().map(|(row, ratio)| (format!("{} · {arm}", series(rows[*row])), ratio)),
        );
    }
    if !by.changed_versions.is_empty() {
        draft.note(format!(
            "The code behind {} changed too ({}), so its ratio is not only that of the machines.",
            by.series,
            by.changed_versions.join("; ")
        ));
    }
    draft.finish()
}

fn of_series(result: &SeriesComparison, finding: &ComparisonFinding) -> Vec<Ratio> {
    let several = finding.arms.len() > 2;
    finding
        .arms
        .iter()
        .skip(1)
        .zip(&result.against_first)
        .filter_map(|(arm, against)| {
            let against = against.as_ref()?;
            let series = series(result);
            // With two arms the title names the only ratio.
            let name = if several { format!("{series} · {arm}") } else { series };
            Some(Ratio { name, ratio: against.ratio.clone()?, verdict: against.verdict })
        })
        .collect()
}

fn series(result: &SeriesComparison) -> String {
    match result.point.titled {
        true => format!("{}/{}", result.point.name, result.metric),
        false => result.series.clone(),
    }
}

/// Ratios of costs with their intervals around the margin.
pub(super) fn ratios(id: String, title: String, all: &[Ratio], margin: f64) -> Draft {
    let mut draft = Draft::new(
        id,
        title,
        format!(
            "Cost relative to the first: right of 1 is slower, left of 1 faster, whatever the metric's \
             direction. An interval inside the shaded margin of {} means that any difference is too small to matter; \
             one that contains 1 and extends beyond the margin is inconclusive.",
            percent(margin)
        ),
        AxisSpec::values("× the cost of the first", "", AxisFit::Log),
        AxisSpec::Names(all.iter().map(|row| row.name.clone()).collect()),
    );
    // The margin is symmetric for ratios: 1/1.02 to 1.02, so that swapping the sides changes no verdict.
    let inside = draft.group("margin", Tone::Equivalent);
    draft.layer(
        Some(inside),
        Mark::Spans {
            along: Along::X,
            from: vec![1.0 / (1.0 + margin)],
            to: vec![1.0 + margin],
            share: vec![1.0],
            tips: vec![format!("margin of {}", percent(margin))],
        },
    );
    let equal = draft.group("equal", Tone::Baseline);
    let rule = Mark::Rules { along: Along::X, at: vec![1.0], tips: vec!["equal".to_owned()] };
    draft.layer(Some(equal), rule);
    let kinds = [
        (Tone::Slower, "slower"),
        (Tone::Faster, "faster"),
        (Tone::Equivalent, "equivalent"),
        (Tone::Inconclusive, "inconclusive, or no verdict"),
    ];
    for (tone, name) in kinds {
        let own: Vec<(usize, &Ratio)> =
            all.iter().enumerate().filter(|(_, row)| self::tone(&row.verdict) == tone).collect();
        let group = draft.group(name, tone);
        draft.layer(
            Some(group),
            Mark::Intervals {
                along: Along::X,
                at: own.iter().map(|(index, _)| place(*index)).collect(),
                low: own.iter().map(|(_, row)| row.ratio.low()).collect(),
                estimate: own.iter().map(|(_, row)| row.ratio.value).collect(),
                high: own.iter().map(|(_, row)| row.ratio.high()).collect(),
                tips: own.iter().map(|(_, row)| row.tip()).collect(),
            },
        );
    }
    for row in all {
        if let Err(why) = &row.verdict {
            draft.note(format!("no verdict: {why}"));
        }
    }
    draft
}

pub(super) fn tone(verdict: &Result<Verdict, NoVerdict>) -> Tone {
    match verdict {
        Ok(Verdict::Faster) => Tone::Faster,
        Ok(Verdict::Slower) => Tone::Slower,
        Ok(Verdict::Equivalent) => Tone::Equivalent,
        Ok(Verdict::Inconclusive) | Err(_) => Tone::Inconclusive,
    }
}

/// The samples of every arm of a series, their box, and the arm's estimate next to it.
fn arms(result: &SeriesComparison, finding: &ComparisonFinding) -> Option<Chart> {
    let arms: Vec<(&String, &Arm)> = finding
        .arms
        .iter()
        .zip(&result.arms)
        .filter_map(|(name, arm)| Some((name, arm.as_ref()?)))
        .collect();
    let mut draft = Draft::new(
        format!("{}/arms", result.series),
        series(result),
        format!(
            "The steady samples of each arm with their box plot (Tukey), and next to it the median over processes with \
             its 95 % interval. {}",
            better(result.better)
        ),
        AxisSpec::values(&result.metric, &result.unit, AxisFit::Free),
        AxisSpec::Names(arms.iter().map(|(name, _)| (*name).clone()).collect()),
    );
    let mut boxes = Vec::new();
    for (index, (_, arm)) in arms.iter().enumerate() {
        let drawn = arm.samples.found().and_then(|samples| samples.box_plot);
        boxes.extend(drawn.map(|drawn| (place(index), drawn)));
    }
    draft.layer(None, boxes_at(Along::X, &boxes));
    let samples = draft.group("steady samples", Tone::Steady);
    // Dots are shared out among the arms, so that a chart of ten is no heavier than one of two.
    let most = (MOST_DOTS / arms.len().max(1)).max(FEWEST_DOTS);
    let mut shown = 0;
    let mut all = 0;
    for (index, (_, arm)) in arms.iter().enumerate() {
        let sorted = arm.samples.found().map_or(&[][..], |samples| &samples.sorted);
        let ranks = ranks_and_extremes(sorted.len(), most);
        let drawn: Vec<f64> = ranks.into_iter().map(|rank| sorted[rank]).collect();
        shown += drawn.len();
        all += sorted.len();
        draft.layer(Some(samples), scattered(index, &drawn));
    }
    without_interval(&mut draft, arms.iter().map(|(name, arm)| ((*name).clone(), &arm.estimate)));
    not_all(shown, all, "arm").into_iter().for_each(|note| draft.note(note));
    for (index, (_, arm)) in arms.iter().enumerate() {
        let verdict =
            index.checked_sub(1).and_then(|before| result.against_first.get(before)?.as_ref());
        let (group, tone) = match verdict {
            None => ("the first", Tone::Baseline),
            Some(against) => match tone(&against.verdict) {
                Tone::Inconclusive => ("inconclusive, or no verdict", Tone::Inconclusive),
                tone => (against.verdict.as_ref().map_or("", |verdict| verdict.word()), tone),
            },
        };
        let group = draft.group(group, tone);
        draft.layer(
            Some(group),
            Mark::Intervals {
                along: Along::X,
                at: vec![place(index) + BESIDE],
                low: vec![arm.estimate.low()],
                estimate: vec![arm.estimate.value],
                high: vec![arm.estimate.high()],
                tips: vec![figure(&arm.estimate, &result.unit).to_string()],
            },
        );
    }
    draft.finish()
}
