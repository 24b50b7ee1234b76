//! Stopping rules as they are typed: on the command line, for a suite, for one point of it.

use clap::Args;
use plumb_model::StoppingRules;

use crate::UsageError;
use crate::quantity::{share, time_ns};

/// The rules that are stated; what is not stated stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct TypedRules {
    /// Stop when the interval is ± this share of the estimate [default: 1%]
    ///
    /// A suite may set another default. No precision is required if you give --min-invocations or --min-time.
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<String>,
    /// Run at least this many invocations of each point
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub min_invocations: Option<usize>,
    /// Run at most this many invocations of each point
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub max_invocations: Option<usize>,
    /// Spend at least this long on each point
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub min_time: Option<String>,
    /// Spend at most this long on each point
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<String>,
}

impl TypedRules {
    /// Whether nothing but a precision is stated.
    pub fn are_precision_only(&self) -> bool {
        *self == Self { precision: self.precision.clone(), ..Self::default() }
    }

    /// `rules` with what is stated here.
    ///
    /// # Errors
    /// When a word is no share or no length of time.
    pub fn applied_to(&self, rules: StoppingRules) -> Result<StoppingRules, UsageError> {
        let precision = self.precision.as_deref().map(share).transpose()?;
        let min_time_ns = self.min_time.as_deref().map(time_ns).transpose()?;
        let max_time_ns = self.max_time.as_deref().map(time_ns).transpose()?;
        Ok(StoppingRules {
            precision: precision.or(rules.precision),
            min_invocations: self.min_invocations.unwrap_or(rules.min_invocations),
            max_invocations: self.max_invocations.or(rules.max_invocations),
            min_time_ns: min_time_ns.unwrap_or(rules.min_time_ns),
            describe_machine: rules.describe_machine,
            max_time_ns: max_time_ns.or(rules.max_time_ns),
        })
    }
}

/// The rules, if they can hold together.
///
/// # Errors
/// When a maximum is below its minimum.
pub fn checked(rules: StoppingRules) -> Result<StoppingRules, UsageError> {
    match rules.contradiction() {
        Some(what) => Err(UsageError::new(format!("no point can finish: {what}"))
            .hint("raise the maximum (--max-invocations, --max-time) or lower the minimum")),
        None => Ok(rules),
    }
}

#[cfg(test)]
mod tests {
    use super::{TypedRules, checked};
    use plumb_model::StoppingRules;

    #[test]
    fn what_is_stated_wins_and_the_rest_stays() {
        let suite = TypedRules {
            precision: Some("2%".into()),
            max_time: Some("1m".into()),
            ..TypedRules::default()
        };
        let typed = TypedRules {
            precision: Some("0.5%".into()),
            min_invocations: Some(5),
            ..TypedRules::default()
        };
        let of_suite = suite.applied_to(StoppingRules::default()).unwrap();
        let rules = typed.applied_to(of_suite).unwrap();
        let wanted = StoppingRules {
            precision: Some(0.005),
            max_time_ns: Some(60_000_000_000),
            ..StoppingRules::fixed(5)
        };
        assert_eq!(rules, wanted);
        assert!(suite.applied_to(rules).is_ok() && !typed.are_precision_only());
    }

    #[test]
    fn nonsense_is_refused() {
        let typed = TypedRules { min_time: Some("soon".into()), ..TypedRules::default() };
        assert!(typed.applied_to(StoppingRules::default()).is_err());
        let rules = StoppingRules { max_invocations: Some(4), ..StoppingRules::fixed(5) };
        assert!(checked(rules).is_err());
    }
}
