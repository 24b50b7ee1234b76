//! Changes of two levels, in one line and as a document.

use plumb_analysis::{Comparison, LevelShift, LevelsCompared};
use serde::Serialize;

use crate::figure::figure;
use crate::json_parts::estimate::{EstimatePart, estimate};
use crate::run::levels::share_text;

/// `two levels: the faster costs 1.00× [0.99, 1.01] as much as on the first side, the slower 1.05× …; on the slower level
/// are 31 % [15, 50] of the first side's processes and 66 % [47, 82] of this side's: only the shares moved`; None if neither
/// arm has two levels.
#[must_use]
pub fn levels_text(comparison: &Comparison) -> Option<String> {
    let levels = comparison.levels.as_ref()?;
    let mut ratios: Vec<String> = Vec::new();
    for (what, ratio) in [("faster", &levels.faster), ("slower", &levels.slower)] {
        let Some(ratio) = ratio else { continue };
        let shown = figure(ratio, "");
        let times = format!("{}× {}", shown.estimate, shown.brackets());
        ratios.push(match ratios.is_empty() {
            true => format!("the {what} costs {} as much as on the first side", times.trim_end()),
            false => format!("the {what} {}", times.trim_end()),
        });
    }
    let ratios = if ratios.is_empty() { String::new() } else { format!("{}; ", ratios.join(", ")) };
    let [first, later] = &levels.slower_share;
    let first = share_text(first);
    let later = share_text(later);
    let conclusion = conclusion(levels, comparison.by_pairs().is_some());
    Some(format!(
        "two levels{}: {ratios}on the slower level are {first} of the first side's processes and {later} of this \
         side's: {conclusion}",
        in_which(levels)
    ))
}

fn in_which(levels: &LevelsCompared) -> &'static str {
    match levels.found {
        [true, false] => " on the first side",
        [false, true] => " on this side",
        _ => "",
    }
}

/// The parts that moved, as words.
fn moved(of: LevelShift) -> Vec<&'static str> {
    let all = [
        (of.faster, "the faster level"),
        (of.slower, "the slower level"),
        (of.shares, "the shares"),
    ];
    all.into_iter().filter(|(moved, _)| *moved).map(|(_, words)| words).collect()
}

/// Which level moved, or that only the shares did. What runs at other times show is not for certain of their programs.
fn conclusion(levels: &LevelsCompared, in_pairs: bool) -> String {
    let verb = if in_pairs { "moved" } else { "differ between these runs" };
    match moved(levels.moved).as_slice() {
        [] => "no difference beyond chance and margin".to_owned(),
        ["the shares"] => format!("only the shares {verb}"),
        [one] if in_pairs => format!("{one} moved"),
        [one] => format!("{one} differs between these runs"),
        several => format!("{} {verb}", several.join(" and ")),
    }
}

/// The levels of two arms in a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LevelsComparedPart {
    /// Whether the first arm has two levels; if one arm has not, it is parted if the other is.
    pub first: bool,
    /// Whether the later arm has two levels.
    pub later: bool,
    /// Cost of the faster level over the first's; null if one has nothing there.
    pub faster: Option<EstimatePart>,
    /// Cost of the slower level over the first's.
    pub slower: Option<EstimatePart>,
    /// Share of the processes on the slower level: of the first arm, and of the later one.
    pub slower_share: [EstimatePart; 2],
    /// The differences beyond chance and margin: `faster` and `slower` for the levels, and `shares`.
    pub moved: Vec<&'static str>,
}

/// The part of a document.
pub(crate) fn levels_part(levels: &LevelsCompared) -> LevelsComparedPart {
    let LevelShift { faster, slower, shares } = levels.moved;
    let moved = [(faster, "faster"), (slower, "slower"), (shares, "shares")];
    LevelsComparedPart {
        first: levels.found[0],
        later: levels.found[1],
        faster: levels.faster.as_ref().map(estimate),
        slower: levels.slower.as_ref().map(estimate),
        slower_share: levels.slower_share.each_ref().map(estimate),
        moved: moved.into_iter().filter(|(moved, _)| *moved).map(|(_, word)| word).collect(),
    }
}
