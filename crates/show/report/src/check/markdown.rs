//! A check as Markdown, for a pull request.

use plumb_analysis::CheckFinding;
use plumb_text::Style;

use crate::check::view::{both, cause, closing, name, note, remarks, standing, title};
use crate::figure::figure;
use plumb_text::markdown::{code, escape};

/// The check as Markdown.
#[must_use]
pub fn check_markdown(finding: &CheckFinding) -> String {
    let mut out = format!("### plumb: {}\n\n**{}**\n\n", escape(&title(finding)), closing(finding));
    remarks(finding).iter().for_each(|line| out.push_str(&format!("- {}\n", escape(line))));
    out.push_str("\n| series | baseline | now | × cost | |\n| :-- | --: | --: | :-- | :-- |\n");
    for series in &finding.series {
        let shown = figure(&series.ratio, "");
        let [baseline, now] = both(series);
        let notes = note(series, finding).into_iter().chain(cause(series));
        let notes: String = notes.map(|note| format!("<br>{}", escape(&note))).collect();
        let (word, style) = standing(series, finding);
        let word = if style == Style::Bad { format!("**{word}**") } else { word };
        out.push_str(&format!(
            "| {}{} | {} | {} | {} {} | {word} |\n",
            code(&name(series)),
            notes,
            escape(&baseline),
            escape(&now),
            shown.estimate,
            shown.brackets(),
        ));
    }
    out
}
