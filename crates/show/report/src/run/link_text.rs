//! What points behind a link say, in words.

use plumb_analysis::{Binds, Ends, Estimate, LinkFit, LinkFound, LinkShares};
use plumb_text::counted;
use plumb_units::{quantity, whole_percent};

use crate::figure::figure;

/// The figures of points behind a link, a line each.
pub(super) fn lines(fit: &LinkFit) -> Vec<String> {
    let found = match &fit.found {
        Ok(found) => found,
        Err(why) => return vec![format!("round trips are not told apart: {why}")],
    };
    let points = fit.points.iter().zip(&found.shares);
    let shares = points.map(|(point, it)| format!("{}: {}", point.settings, shares(it)));
    std::iter::once(terms(found)).chain(shares).chain([left_out(&found.shares)]).collect()
}

/// `time = bytes / bandwidth + operations × round trip / depth + rest: depth 4.0 [3.6, 4.5]; rest 210 [150, 270] ms`.
fn terms(found: &LinkFound) -> String {
    let rest = figure(&found.rest, "s");
    let rest = if found.rest.interval.is_ok() { rest.to_string() } else { rest.quantity() };
    let depth = depth(found);
    format!(
        "time = bytes / bandwidth + operations × round trip / depth + rest: {depth}; rest {rest}"
    )
}

/// How many operations share a round trip: `depth 4.0 [3.6, 4.5]`, or `depth at least 12` where waiting was not seen
/// beyond doubt.
fn depth(found: &LinkFound) -> String {
    let depth = found.depth();
    match (&found.wait.interval, depth.value, (depth.low, depth.high)) {
        (Ok(_), Some(value), (Some(low), Some(high))) => {
            let depth = Estimate { value, interval: Ok(Ends { low, high }) };
            format!("depth {}", figure(&depth, ""))
        }
        (Ok(_), _, (Some(low), _)) => format!("depth at least {}", quantity(low, "")),
        (Ok(_), ..) => "no wait for round trips".to_owned(),
        (Err(why), Some(value), _) => format!("depth {} (no interval: {why})", quantity(value, "")),
        (Err(why), None, _) => format!("no wait for round trips (no interval: {why})"),
    }
}

/// `bandwidth 94 % [92, 97], round trips 2 % [0, 5], rest 4 % [1, 7]: bandwidth binds`.
fn shares(of: &LinkShares) -> String {
    let percent = |share: f64| format!("{:.0}", 100.0 * share);
    let share = |name: &str, it: &Estimate| {
        let ends = it.interval.as_ref().map_or_else(
            |_| String::new(),
            |ends| format!(" [{}, {}]", percent(ends.low), percent(ends.high)),
        );
        format!("{name} {} %{ends}", percent(it.value))
    };
    let terms = [
        share("bandwidth", &of.bandwidth),
        share("round trips", &of.round_trips),
        share("rest", &of.rest),
    ];
    format!("{}: {}", terms.join(", "), binds(of.binds))
}

fn binds(term: Binds) -> &'static str {
    match term {
        Binds::Bandwidth => "bandwidth binds",
        Binds::RoundTrips => "the round trip binds",
        Binds::Rest => "the link does not bind",
        Binds::NoTerm => "no term has half",
        Binds::Open => "which binds is open",
    }
}

/// How well each point is predicted from the others.
fn left_out(all: &[LinkShares]) -> String {
    let off: Vec<f64> = all.iter().filter_map(|it| it.left_out).collect();
    let most = off.iter().copied().fold(0.0, f64::max);
    let most = if most < 0.01 { "1 %".to_owned() } else { whole_percent(most) };
    match off.len() {
        0 => "no point is predicted by the others: it takes two round trips without it".to_owned(),
        some if some == all.len() => format!("the others predict each point to within {most}"),
        some => format!("the others predict {} to within {most}", counted(some, "point", "points")),
    }
}
