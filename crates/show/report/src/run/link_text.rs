//! Points behind a link, in words.

use plumb_analysis::{Binds, Ends, Estimate, Finding, LinkFit, LinkFound, LinkShares, PointFacts};
use plumb_text::counted;
use plumb_units::{quantity, whole_percent};

use crate::figure::figure;
use crate::run::levels::share_text;

/// The figures of points behind a link, which are among these results, a line each.
pub(super) fn lines(fit: &LinkFit, results: &[Finding]) -> Vec<String> {
    let found = match &fit.found {
        Ok(found) => found,
        Err(why) => return vec![format!("round trips cannot be distinguished: {why}")],
    };
    let shares = fit.points.iter().zip(&found.shares).map(|(point, found)| {
        let settings = settings_of(&results[point.result].point, &fit.by);
        format!("{settings}: {}", shares(found))
    });
    std::iter::once(terms(found)).chain(shares).chain([left_out(&found.shares)]).collect()
}

/// Those of these parameters that the point has: `up=1Mbit/s,rtt=37.5ms`.
fn settings_of(point: &PointFacts, parameters: &[String]) -> String {
    let shown = point.parameters.iter().filter(|shown| parameters.contains(&shown.name));
    let settings: Vec<String> =
        shown.map(|shown| format!("{}={}", shown.name, shown.value)).collect();
    settings.join(",")
}

/// `time = bytes / bandwidth + operations × round trip / depth + rest: depth 4.0 [3.6, 4.5]; rest 210 [150, 270] ms`.
fn terms(found: &LinkFound) -> String {
    let shown = figure(&found.rest, "s");
    let rest = if found.rest.interval.is_ok() { shown.to_string() } else { shown.quantity() };
    let depth = depth(found);
    format!(
        "time = bytes / bandwidth + operations × round trip / depth + rest: {depth}; rest {rest}"
    )
}

/// How many operations share a round trip: `depth 4.0 [3.6, 4.5]`, or `depth at least 12` if waiting was not seen
/// beyond doubt.
fn depth(found: &LinkFound) -> String {
    let depth = found.depth();
    // Depth is 1 / wait: if the interval of wait reaches to 0, depth has no upper end.
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
    let terms = [
        share("bandwidth", &of.bandwidth),
        share("round trips", &of.round_trips),
        share("rest", &of.rest),
    ];
    format!("{}: {}", terms.join(", "), binds(of.binds))
}

/// One term's share of the time: `bandwidth 94 % [92, 97]`.
fn share(name: &str, estimate: &Estimate) -> String {
    format!("{name} {}", share_text(estimate))
}

fn binds(term: Binds) -> &'static str {
    match term {
        Binds::Bandwidth => "bandwidth is the bottleneck",
        Binds::RoundTrips => "the round trip is the bottleneck",
        Binds::Rest => "the link is not the bottleneck",
        Binds::NoTerm => "no term takes more than half of the time",
        Binds::Open => "the intervals are too wide to name the bottleneck",
    }
}

/// How well each point is predicted from the others.
fn left_out(all: &[LinkShares]) -> String {
    let off: Vec<f64> = all.iter().filter_map(|point| point.left_out).collect();
    let farthest = off.iter().copied().fold(0.0, f64::max);
    // "Within 0 %" would claim more than a prediction from a few points can.
    let most = if farthest < 0.01 { "1 %".to_owned() } else { whole_percent(farthest) };
    match off.len() {
        0 => "no point can be predicted from the others: that needs points with two other round-trip times"
            .to_owned(),
        some if some == all.len() => format!("the others predict each point to within {most}"),
        some => format!("the others predict {} to within {most}", counted(some, "point", "points")),
    }
}
