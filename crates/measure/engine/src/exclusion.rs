//! Which invocations of a round do not count, by what disturbed them and never by their times.

use plumb_model::{Goal, Interference, OnInterference, Plan};

/// The rules that an invocation met, in one text; empty when nothing disturbed it.
pub fn rules(found: &[Interference]) -> String {
    let rules: Vec<&str> = found.iter().map(|interference| interference.rule.as_str()).collect();
    rules.join(", ")
}

/// The names of the rules in such a text.
pub fn names(rules: &str) -> impl Iterator<Item = &str> {
    rules.split(", ").filter(|rule| !rule.is_empty())
}

/// The rules by which each invocation of a round does not count, of the rules that each met. Where sides
/// are compared, a neighbour that disturbs all of a round is no reason to repeat it: one that was there
/// for some of it could be taken for a difference between the sides, and then the whole round goes
/// (docs/method.md, *Order*).
pub fn exclusions(plan: &Plan, round: &[&str]) -> Vec<Option<String>> {
    match (plan.on_interference, &plan.goal) {
        (OnInterference::Keep, _) => vec![None; round.len()],
        (OnInterference::Retry, Goal::Verdict(_)) => {
            let all_alike = round.windows(2).all(|pair| pair[0].is_empty() == pair[1].is_empty());
            if all_alike {
                return vec![None; round.len()];
            }
            let mut by = Vec::new();
            for own in round {
                by.push(Some(stated(own).unwrap_or_else(|| "the other side's".to_owned())));
            }
            by
        }
        (OnInterference::Retry, _) => round.iter().map(|own| stated(own)).collect(),
    }
}

/// The rules that an invocation met; None if nothing disturbed it.
fn stated(rules: &str) -> Option<String> {
    (!rules.is_empty()).then(|| rules.to_owned())
}
