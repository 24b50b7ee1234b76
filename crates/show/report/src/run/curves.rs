//! What the curves of a run say, in words.

use plumb_analysis::{
    CacheLevel, Curve, CurveFound, Efficiency, Ends, Estimate, LinkFit, Plateau, ScalabilityLaw,
};
use plumb_model::{ParameterType, Value};
use plumb_text::counted;
use plumb_units::whole_percent;

use crate::figure::figure;
use crate::run::link_text;

const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;
/// From here on a law does not hold, whatever its figures.
const MUCH_OFF: f64 = 0.1;

/// A curve in words, or points behind a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurveText {
    /// What it is of: `memory.latency by size`.
    pub name: String,
    /// The workload's id.
    pub workload: String,
    /// Its figures, a line each.
    pub lines: Vec<String>,
}

impl CurveText {
    pub(crate) fn new(curve: &Curve) -> Self {
        let name = format!("{} by {}", curve.of, curve.parameter.name);
        Self { name, workload: curve.workload.clone(), lines: lines(curve) }
    }

    pub(crate) fn of_link(fit: &LinkFit) -> Self {
        let name = format!("{} by {}", fit.of, fit.by.join(" and "));
        Self { name, workload: fit.workload.clone(), lines: link_text::lines(fit) }
    }
}

/// The figures of a curve, a line each.
fn lines(curve: &Curve) -> Vec<String> {
    let found = match &curve.found {
        Ok(found) => found,
        Err(why) => return vec![format!("no {}: {why}", curve.kind.word())],
    };
    match found {
        CurveFound::Scaling(all) => {
            all.iter().map(|it| efficiency(curve, it)).chain(law(curve)).collect()
        }
        CurveFound::Plateaus(all) if all.is_empty() => {
            vec!["no plateau: nowhere two points are at one height".to_owned()]
        }
        CurveFound::Plateaus(all) => {
            let mut lines = plateaus(curve, all);
            lines.extend(curve.caches.iter().map(cache));
            lines
        }
        CurveFound::Flat => vec!["no knee: it does not grow".to_owned()],
        CurveFound::Unfinished => {
            let last = curve.points.last().map(|it| it.at).unwrap_or_default();
            vec![format!("no knee yet: it still grows at {}", place(curve, last))]
        }
        CurveFound::Knee { at, level } => vec![knee(curve, at, level)],
        CurveFound::Line { fixed, each, off } => vec![line(curve, fixed, each, *off)],
    }
}

/// A value of the parameter as people write it.
fn place(curve: &Curve, at: u64) -> String {
    curve.parameter.show(&Value::Integer(at))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "values of a parameter, which is a whole number"
)]
fn whole(at: f64) -> u64 {
    at.round() as u64
}

/// `threads=2: 1.94× threads=1, efficiency 97 % [95, 99]`.
fn efficiency(curve: &Curve, it: &Efficiency) -> String {
    let share = in_percent(&it.efficiency);
    let (at, times) = (place(curve, whole(it.at)), figure(&it.speedup, "").estimate);
    let first = curve.points.first().map(|it| place(curve, it.at)).unwrap_or_default();
    let name = &curve.parameter.name;
    format!("{name}={at}: {times}× {name}={first}, efficiency {share}")
}

/// `97 % [95, 99]`.
fn in_percent(share: &Estimate) -> String {
    let percent = |value: f64| value * 100.0;
    let ends = share.interval.clone();
    let in_percent = Estimate {
        value: percent(share.value),
        interval: ends.map(|ends| Ends { low: percent(ends.low), high: percent(ends.high) }),
    };
    let shown = figure(&in_percent, "");
    let interval = match &shown.interval {
        Ok(_) => shown.brackets(),
        Err(why) => format!("(no interval: {why})"),
    };
    format!("{} % {interval}", shown.estimate)
}

/// `contention 3 % [2, 4], coherency 0.05 % [0.04, 0.06], most at threads=44`, or why there is no such law.
fn law(curve: &Curve) -> Option<String> {
    let ScalabilityLaw { contention, coherency, most_at, off } = match curve.law.as_ref()? {
        Ok(law) => law,
        Err(why) => return Some(format!("no contention and coherency: {why}")),
    };
    let mut text =
        format!("contention {}, coherency {}", in_percent(contention), in_percent(coherency));
    // Far beyond what was measured it is a guess.
    let last = curve.points.last().map_or(0, |point| point.at);
    let seen = most_at.map(whole).filter(|most| *most <= last.saturating_mul(2));
    text += &seen.map_or_else(String::new, |most| {
        format!(", most at {}={}", curve.parameter.name, place(curve, most))
    });
    if *off > MUCH_OFF {
        text += &format!("; a point lies {} off", whole_percent(*off));
    }
    Some(text)
}

/// `up to 32KiB: 1.3 [1.2, 1.4] ns`, a line a plateau.
fn plateaus(curve: &Curve, all: &[Plateau]) -> Vec<String> {
    let place = |at: f64| place(curve, whole(at));
    let ends = |it: &PointEnds| match (it.first, it.last) {
        (true, true) => "everywhere".to_owned(),
        (true, false) => format!("up to {}", place(it.to)),
        (false, true) => format!("from {}", place(it.from)),
        (false, false) => format!("{} to {}", place(it.from), place(it.to)),
    };
    let (first, last) = (curve.points.first(), curve.points.last());
    let at_end = |end: Option<&plumb_analysis::PointOfCurve>, at: f64| {
        end.is_some_and(|point| point.at == whole(at))
    };
    let without = all.iter().find_map(|it| it.height.interval.as_ref().err());
    let why = without.map_or_else(String::new, |why| format!(" (some without an interval: {why})"));
    let mut lines = vec![counted(all.len(), "plateau", "plateaus") + &why];
    lines.extend(all.iter().map(|it| {
        let (from, to) = (it.from, it.to);
        let ends =
            ends(&PointEnds { from, to, first: at_end(first, from), last: at_end(last, to) });
        let height = figure(&it.height, &curve.unit);
        let known = height.interval.is_ok();
        format!("{ends}: {}", if known { height.to_string() } else { height.quantity() })
    }));
    lines
}

/// `L3: 32MiB claimed, 14MiB [11MiB, 16MiB] had`.
fn cache(level: &CacheLevel) -> String {
    // Whole MiB, or KiB of what is small.
    let step = |bytes: f64| if bytes < 8.0 * MIB { KIB } else { MIB };
    let show =
        |bytes: f64| plumb_units::show_bytes(whole((bytes / step(bytes)).round() * step(bytes)));
    let had = level.had.as_ref().and_then(|had| {
        let (value, low, high) = (show(had.value), show(had.low()?), show(had.high()?));
        Some(format!("{value} [{low}, {high}] had"))
    });
    let (name, claimed) = (&level.name, plumb_units::show_bytes(level.claimed));
    format!("{name}: {claimed} claimed, {}", had.unwrap_or_else(|| "no plateau of its own".into()))
}

/// Where a plateau begins and ends, and whether the curve does there.
struct PointEnds {
    from: f64,
    to: f64,
    first: bool,
    last: bool,
}

fn knee(curve: &Curve, at: &Estimate, level: &Estimate) -> String {
    let unit = if curve.parameter.kind == ParameterType::Bytes { "B" } else { "" };
    let level = figure(level, &curve.unit);
    format!("grows up to {}={}, {level} there", curve.parameter.name, figure(at, unit))
}

/// `45 [44, 46] ns a call + 80.1 [79.8, 80.4] ps × bytes; points lie up to 2 % off the line`.
fn line(curve: &Curve, fixed: &Estimate, each: &Estimate, off: f64) -> String {
    let (fixed, each) = (figure(fixed, "s"), figure(each, "s"));
    let off =
        if off < 0.01 { "up to 1 %".to_owned() } else { format!("up to {}", whole_percent(off)) };
    format!("{fixed} a call + {each} × {}; the points lie {off} off the line", curve.parameter.name)
}
