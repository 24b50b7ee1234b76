//! The outlook of a comparison, in a sentence that is printed once, as soon as it is known.

use plumb_model::{Decision, Goal, Outlook, Plan};
use plumb_text::clean;
use plumb_units::length;
use plumb_units::percent;

/// After the first pair of slow points, how long theirs take; after the first look that leaves a comparison open, what
/// changes it can tell in what time.
#[must_use]
pub fn outlook_line(plan: &Plan, decision: &Decision) -> Option<String> {
    let Goal::Verdict(goal) = &plan.goal else { return None };
    if decision.stop.is_some() {
        return None;
    }
    let says = match (&decision.compared, decision.outlook) {
        (None, _) => slow(decision.remaining_ns?),
        (Some(_), outlook) => takes(&outlook?, goal.margin),
    };
    let of = plan.points.get(decision.point).filter(|_| plan.points.len() > 2);
    Some(clean(&of.map_or(says.clone(), |point| format!("{}: {says}", point.name()))))
}

fn slow(remaining_ns: u64) -> String {
    let takes = about(remaining_ns, 1);
    format!(
        "invocations take over 2 s: 18 pairs or more take about {takes}; use --budget to stop earlier"
    )
}

/// `pairs vary by 6.0 % here: finding 2 % takes about 40 s; finding 1 % takes about 3 min`.
fn takes(outlook: &Outlook, margin: f64) -> String {
    let differ = percent(outlook.scale.exp_m1());
    let [twice, once] = outlook.to_tell;
    let twice = time_of_pairs(outlook.pair_ns, twice);
    let once = time_of_pairs(outlook.pair_ns, once);
    let large = percent(2.0 * margin);
    let small = percent(margin);
    format!(
        "pairs vary by {differ} here: finding {large} takes {twice}; finding {small} takes {once}"
    )
}

fn time_of_pairs(pair_ns: u64, pairs: Option<usize>) -> String {
    pairs.map_or_else(
        || "more pairs than the limit".to_owned(),
        |pairs| format!("about {}", about(pair_ns, pairs)),
    )
}

/// So many times so long, as exactly as it can be foreseen.
#[expect(clippy::cast_precision_loss, reason = "a time in words")]
fn about(each_ns: u64, times: usize) -> String {
    let seconds = each_ns as f64 * 1e-9 * times as f64;
    // A forecast is good for about two digits; more would promise too much.
    let step = match seconds {
        seconds if seconds < 10.0 => 0.1,
        seconds if seconds < 60.0 => 1.0,
        seconds if seconds < 600.0 => 10.0,
        _ => 60.0,
    };
    length((seconds / step).round() * step)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use plumb_model::Outlook;

    use super::{slow, takes};

    #[test]
    fn what_takes_how_long() {
        let of = |to_tell| takes(&Outlook { scale: 0.058, pair_ns: 61_000_000, to_tell }, 0.01);
        assert_snapshot!(of([Some(675), Some(2_250)]), @"pairs vary by 6.0 % here: finding 2 % takes about 41 s; finding 1 % takes about 2 min 20 s");
        assert_snapshot!(of([Some(12), None]), @"pairs vary by 6.0 % here: finding 2 % takes about 700 ms; finding 1 % takes more pairs than the limit");
        assert_snapshot!(slow(163_000_000_000), @"invocations take over 2 s: 18 pairs or more take about 2 min 40 s; use --budget to stop earlier");
    }
}
