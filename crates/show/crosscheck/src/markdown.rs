//! A crosscheck as a page of the documentation.

use std::fmt::Write as _;

use plumb_analysis::RunFinding;

use crate::finding::Crosschecked;
use crate::view::{band, closing, is_measured, place, ratio, remarks, side};

/// The page; `found` are the runs of the rows, for date and machine.
#[must_use]
pub fn crosscheck_page(all: &[Crosschecked], found: &[RunFinding]) -> String {
    let place = found.first().map(place).unwrap_or_default();
    let mut out = format!(
        "# plumb compared with the classic tools\n\n\
         `make crosscheck` (`plumb crosscheck --markdown FILE`) rewrites this page. Measured {place}.\n\n\
         Each row is a `plumb ab` comparison of a classic tool with the plumb workload that should give the same \
         figure. Parameters match; the margin is the band. The ratio is the cost measured by plumb over the \
         cost measured by the classic tool, with a 95 % interval that allows for interim analyses. A row *agrees* if \
         the whole interval lies inside the band, *disagrees* if all of it lies outside, and is *inconclusive* \
         otherwise. Rows without a band do different work on each side: both figures are *shown*, with the \
         reason for the difference.\n\n\
         Most classic tools print one mean per run, so plumb's samples here are means over 200 ms instead of \
         a few milliseconds, and disturbed invocations count, because other work affects both sides alike.\n\n\
         | plumb workload | classic tool | classic figure | plumb figure | ratio | band | outcome |\n\
         | :-- | :-- | --: | --: | :-- | --: | :-- |\n"
    );
    for checked in all {
        let word = match checked.outcome.word() {
            // The one outcome that asks for work.
            "disagrees" => "**disagrees**",
            word => word,
        };
        let _ = writeln!(
            out,
            "| `{}` | `{}` | {} | {} | {} | {} | {word} |",
            checked.row.ours,
            checked.row.classic,
            side(checked, 0),
            side(checked, 1),
            ratio(checked),
            band(checked),
        );
    }
    let _ = writeln!(out, "\n{}.\n\n## Remarks\n", closing(all));
    for checked in all {
        for remark in remarks(checked) {
            let _ = writeln!(out, "- `{}`: {remark}.", checked.row.ours);
        }
    }
    let mut tools: Vec<&str> = all
        .iter()
        .filter(|checked| is_measured(checked))
        .map(|checked| checked.tool.as_str())
        .collect();
    tools.sort_unstable();
    tools.dedup();
    let _ = writeln!(out, "\nTools: {}.", tools.join(", "));
    out
}
