//! Other changes that came with a difference, in one line and as a document.

use plumb_analysis::{Asked, Covariate, CovariateChange};
use plumb_units::change;
use serde::Serialize;

/// So many are told in a line; a document has all.
const MOST: usize = 4;

/// `also changed: own system time 0.02 → 0.18 CPU (+1.00), …`; None when nothing did, or nobody asked.
pub fn covariates_text(covariates: &Asked<Vec<Covariate>>) -> Option<String> {
    Some(format!("also changed: {}", covariates_list(covariates.items())?))
}

/// The same without the first words.
pub(crate) fn covariates_list(covariates: &[Covariate]) -> Option<String> {
    let told: Vec<String> = covariates.iter().take(MOST).map(one).collect();
    let more = match covariates.len().saturating_sub(told.len()) {
        0 => String::new(),
        count => format!(" · {count} more in --json"),
    };
    (!told.is_empty()).then(|| told.join(" · ") + &more)
}

fn one(covariate: &Covariate) -> String {
    let what = &covariate.what;
    match &covariate.how {
        CovariateChange::Fact { from, to, .. } => format!("{what} {from} → {to}"),
        CovariateChange::Rate { from, to, unit } => {
            format!("{what} {} ({:+.2})", change(*from, *to, unit), covariate.effect)
        }
    }
}

/// Something that changed with a difference.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MovedPart {
    /// A counter, a rate of the work's own resource use, or a fact of machine or environment.
    pub what: String,
    /// Median over the first arm's invocations, or the fact's value there.
    pub from: MovedValue,
    /// The same of the later arm.
    pub to: MovedValue,
    /// Unit of a rate; null for a fact.
    pub unit: Option<String>,
    /// How bad a difference of this fact is; null for a rate.
    #[cfg_attr(test, schemars(extend("enum" = ["harmless", "relevant", "fatal", null])))]
    pub grade: Option<&'static str>,
    /// Cliff's delta, from -1 (all below) to 1 (all above); 1 for a fact.
    pub effect: f64,
}

/// A rate or a fact.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum MovedValue {
    /// A rate or a level, in the unit of this change.
    Rate(f64),
    /// A fact in words.
    Fact(String),
}

/// The part of a document.
pub(crate) fn covariate_part(covariate: &Covariate) -> MovedPart {
    let what = covariate.what.clone();
    let effect = covariate.effect;
    match &covariate.how {
        CovariateChange::Rate { from, to, unit } => MovedPart {
            what,
            from: MovedValue::Rate(*from),
            to: MovedValue::Rate(*to),
            unit: Some(unit.clone()),
            grade: None,
            effect,
        },
        CovariateChange::Fact { from, to, impact } => MovedPart {
            what,
            from: MovedValue::Fact(from.clone()),
            to: MovedValue::Fact(to.clone()),
            unit: None,
            grade: Some(impact.word()),
            effect,
        },
    }
}
