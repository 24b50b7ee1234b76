//! The table of rankings: a row per variant.

use plumb_analysis::{Estimate, RankedVariant, VariantRanking};
use plumb_report::run::View;

use crate::tables::{TableCell, optional, whole};

pub(crate) const RANKING_COLUMNS: &[&str] = &[
    "run",
    "points",
    "parameter",
    "value",
    "status",
    "metric",
    "best_rank",
    "worst_rank",
    "speed",
    "loops",
    "user_s",
    "system_s",
    "cpu_s",
    "cpu_low_s",
    "cpu_high_s",
    "peak_memory_bytes",
    "first",
    "above_first",
    "above_first_low",
    "above_first_high",
    "above_previous",
    "above_previous_low",
    "above_previous_high",
    "version",
];

/// A row a variant, the fastest first, then those without a result; in the order of [`RANKING_COLUMNS`].
pub(crate) fn ranking_rows<'a>(view: &'a View) -> Vec<Vec<TableCell<'a>>> {
    let mut rows = Vec::new();
    for ranking in &view.finding.rankings {
        let variants = ranking.variants.iter();
        rows.extend(variants.map(|variant| measured(view, ranking, variant)));
        for missing in ranking.implementations.iter().flat_map(|of| &of.unmeasured) {
            let status = if missing.failed { "failed" } else { "unsupported" };
            let mut row = names(view, ranking, &missing.value, status);
            row.resize(RANKING_COLUMNS.len(), TableCell::Empty);
            rows.push(row);
        }
    }
    rows
}

fn names<'a>(
    view: &View,
    ranking: &'a VariantRanking,
    value: &'a str,
    status: &'a str,
) -> Vec<TableCell<'a>> {
    vec![
        view.finding.run.id.to_string().into(),
        ranking.of.as_str().into(),
        ranking.parameter.as_str().into(),
        value.into(),
        status.into(),
        ranking.metric.as_str().into(),
    ]
}

fn measured<'a>(
    view: &View,
    ranking: &'a VariantRanking,
    variant: &'a RankedVariant,
) -> Vec<TableCell<'a>> {
    let mut row = names(view, ranking, &variant.value, "measured");
    row.push(variant.ranks.map_or(TableCell::Empty, |ranks| whole(ranks.best)));
    row.push(variant.ranks.map_or(TableCell::Empty, |ranks| whole(ranks.worst)));
    row.push(variant.speed.into());
    if let (Some(of), Some(costs)) = (&ranking.implementations, &variant.costs) {
        row.push(TableCell::Whole(of.loops.into()));
        row.push(optional(costs.user_s));
        row.push(optional(costs.system_s));
        row.extend(ends(Some(&costs.cpu_s)));
        row.push(optional(costs.peak_memory_bytes));
        row.push(of.first.as_str().into());
        row.extend(ends(costs.above_first.as_ref()));
        row.extend(ends(costs.above_previous.as_ref()));
        row.push(costs.version.as_str().into());
    }
    row.resize(RANKING_COLUMNS.len(), TableCell::Empty);
    row
}

/// The estimate and the ends of its interval.
fn ends(estimate: Option<&Estimate>) -> [TableCell<'static>; 3] {
    [
        optional(estimate.map(|estimate| estimate.value)),
        optional(estimate.and_then(Estimate::low)),
        optional(estimate.and_then(Estimate::high)),
    ]
}
