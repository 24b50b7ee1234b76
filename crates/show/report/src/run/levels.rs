//! The two levels of a result, which stand in place of a median between them.

use plumb_analysis::{Estimate, Level, LevelsOf, TwoLevels};
use plumb_units::{Figure, percent_with_ends};
use serde::Serialize;

use crate::comparison::covariates::{MovedPart, covariate_part, covariates_list};
use crate::figure::figure;
use crate::json_parts::estimate::{EstimatePart, estimate};

/// Two levels as text. The one with the larger share comes first, everywhere.
#[derive(Debug, Clone)]
pub struct LevelsText {
    /// The one with the larger share.
    pub first: Figure,
    /// The one with the smaller share.
    pub second: Figure,
    /// `53 % [36, 69] of the processes`: how much lies on the first one.
    first_share: String,
    /// The differences at the upper level.
    pub beside: Option<String>,
    switches: usize,
}

impl LevelsText {
    /// The levels of a result with this unit.
    #[must_use]
    pub fn new(levels: &TwoLevels, unit: &str) -> Self {
        let [first, second] = levels.by_share();
        let upper = figure(&levels.upper.estimate, unit);
        let told = covariates_list(levels.covariates.items());
        Self {
            first: figure(&first.estimate, unit),
            second: figure(&second.estimate, unit),
            first_share: format!("{} of the {}", share_text(&first.share), levels.unit()),
            beside: told.map(|told| format!("also different at {}: {told}", upper.quantity())),
            switches: levels.switches,
        }
    }

    /// `385 ms in 53 % [36, 69] of the processes, 487 ms in the others`.
    #[must_use]
    pub fn shares(&self) -> String {
        self.sentence(&self.first.quantity(), &self.second.quantity())
    }

    /// The same with the intervals of both: `385 [380, 391] ms in 53 % [36, 69] of the processes, …`.
    #[must_use]
    pub fn whole(&self) -> String {
        self.sentence(&full(&self.first), &full(&self.second))
    }

    fn sentence(&self, first: &str, second: &str) -> String {
        // One switch is a change at a time; many are a lottery from process to process.
        let once = if self.switches == 1 { "; it changed once" } else { "" };
        format!("{first} in {}, {second} in the others{once}", self.first_share)
    }

    /// `385 or 487`: something of both levels, once if it is the same.
    #[must_use]
    pub fn both(&self, of: impl Fn(&Figure) -> String) -> String {
        let first = of(&self.first);
        let second = of(&self.second);
        if first == second { first } else { format!("{first} or {second}") }
    }
}

/// A figure with its interval, if it has one.
fn full(of: &Figure) -> String {
    let parts = [of.estimate.clone(), of.brackets(), of.unit.clone()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A share with its interval: `53 % [36, 69]`.
pub(crate) fn share_text(share: &Estimate) -> String {
    percent_with_ends(share.value, share.interval.as_ref().ok().map(|ends| (ends.low, ends.high)))
}

/// Two levels in a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LevelsPart {
    /// The things on two levels: `processes`, each by its median, or `samples`.
    #[cfg_attr(test, schemars(extend("enum" = ["processes", "samples"])))]
    pub of: &'static str,
    /// Values up to this are of the lower level.
    pub boundary: f64,
    /// How often neighbours in time lie on different levels.
    pub switches: usize,
    /// The lower level.
    pub lower: LevelPart,
    /// The upper level.
    pub upper: LevelPart,
    /// The differences at the upper level, the farthest apart first.
    pub beside: Vec<MovedPart>,
}

/// One of two levels.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LevelPart {
    /// The median of what lies on it.
    pub median: EstimatePart,
    /// The share of the processes, or samples, that lie on it; its interval is at 95 %.
    pub share: EstimatePart,
    /// How many lie on it.
    pub count: usize,
}

/// The part of a document.
pub(crate) fn levels_part(levels: &TwoLevels) -> LevelsPart {
    LevelsPart {
        of: match levels.of {
            LevelsOf::Processes => "processes",
            LevelsOf::Samples => "samples",
        },
        boundary: levels.boundary,
        switches: levels.switches,
        lower: level(&levels.lower),
        upper: level(&levels.upper),
        beside: levels.covariates.items().iter().map(covariate_part).collect(),
    }
}

fn level(level: &Level) -> LevelPart {
    LevelPart {
        median: estimate(&level.estimate),
        share: estimate(&level.share),
        count: level.count,
    }
}
