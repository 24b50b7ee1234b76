//! A comparison as Markdown tables, for a ticket or a pull request.

use plumb_analysis::ComparisonFinding;

use crate::comparison::covariates::covariates_text;
use crate::comparison::ranks::arm_ranks;
use crate::comparison::view::{
    DifferenceLine, closing, difference_lines, for_price, heading, ratio, ratio_is_of, relative,
    remarks, series, verdict,
};
use crate::figure::figure_of_arm;
use plumb_text::markdown::{code, escape};

/// The comparison as Markdown.
#[must_use]
pub fn comparison_markdown(finding: &ComparisonFinding) -> String {
    let mut lines = heading(finding);
    let mut out = format!("### plumb: {}\n", escape(&lines.remove(0)));
    let more = !lines.is_empty() || !finding.differences.is_empty();
    out.push_str(if more { "\n" } else { "" });
    for line in lines {
        out.push_str(&format!("- {}\n", escape(&line)));
    }
    let (lines, harmless) = difference_lines(finding);
    for DifferenceLine { lead, values, .. } in lines {
        out.push_str(&format!("- {}: {}\n", escape(&lead), escape(&values)));
    }
    if !harmless.is_empty() {
        out.push_str(&format!("- harmless: {}\n", escape(&harmless)));
    }
    let of = ratio_is_of(finding);
    out.push_str(&format!("\n| series | arm | median | interval | × {of} | verdict | remarks |\n"));
    out.push_str("| :-- | :-- | --: | :-- | :-- | :-- | :-- |\n");
    for result in &finding.results {
        for (index, (name, arm)) in finding.arms.iter().zip(&result.arms).enumerate() {
            let Some(arm) = arm else { continue };
            let against = index
                .checked_sub(1)
                .and_then(|index| result.against_first.get(index))
                .and_then(Option::as_ref);
            let shown = figure_of_arm(arm, &result.arms, &result.unit);
            let mut notes: Vec<String> = against.map(remarks).into_iter().collect();
            notes.extend(arm.for_price.as_ref().map(|price| for_price(result, price)));
            notes.extend(arm_ranks(finding, result, index));
            notes.extend(relative(finding, arm));
            notes.extend(against.and_then(|comparison| covariates_text(&comparison.covariates)));
            let cells = [
                code(&series(result)),
                escape(name),
                escape(&shown.quantity()),
                shown.brackets(),
                against.map_or_else(String::new, ratio),
                against
                    .map_or_else(String::new, |comparison| format!("**{}**", verdict(comparison))),
                escape(&notes.join(", ")),
            ];
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
    }
    closing(finding).iter().for_each(|line| out.push_str(&format!("\n{}\n", escape(line))));
    out
}
