//! The curves of a run, in words.

use plumb_analysis::{
    CacheLevel, Curve, CurveFound, Efficiency, Estimate, Finding, LinkFit, Plateau, ScalabilityLaw,
};
use plumb_model::{ParameterType, Value};
use plumb_text::counted;
use plumb_units::{percent_figure, rounded_size, whole_percent};

use crate::figure::figure;
use crate::run::link_text;

/// From here on a law does not hold, whatever its figures.
const MUCH_OFF: f64 = 0.1;

/// A curve in words, or points behind a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurveText {
    /// The subject: `memory.latency by size`.
    pub name: String,
    /// The workload's id.
    pub workload: String,
    /// Its figures, a line each.
    pub lines: Vec<String>,
    /// Whether these are the parts of a point. Among many results, the brief scorecard leaves them out.
    pub is_ladder: bool,
}

impl CurveText {
    /// The name contains the metric if several have a curve.
    pub(crate) fn new(curve: &Curve, has_several_metrics: bool) -> Self {
        let name = match has_several_metrics {
            true => format!("{} {} by {}", curve.of, curve.metric, curve.parameter.name),
            false => format!("{} by {}", curve.of, curve.parameter.name),
        };
        Self { name, workload: curve.workload.clone(), lines: lines(curve), is_ladder: false }
    }

    pub(crate) fn of_link(fit: &LinkFit, results: &[Finding]) -> Self {
        let name = format!("{} by {}", fit.of, fit.by.join(" and "));
        let lines = link_text::lines(fit, results);
        Self { name, workload: fit.workload.clone(), lines, is_ladder: false }
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
            all.iter().map(|found| efficiency(curve, found)).chain(law(curve)).collect()
        }
        // A curve may rise at every step, as with sizes that are far apart.
        CurveFound::Plateaus(all) if all.is_empty() => {
            vec!["no plateau: no two points have the same height".to_owned()]
        }
        CurveFound::Plateaus(all) => {
            let mut lines = plateaus(curve, all);
            lines.extend(curve.caches.iter().map(cache));
            lines
        }
        CurveFound::Flat => vec!["no knee: the curve does not grow".to_owned()],
        CurveFound::Unfinished => {
            let last = curve.points.last().map(|point| point.at).unwrap_or_default();
            vec![format!("no knee yet: the curve still grows at {}", place(curve, last))]
        }
        CurveFound::Undecided => {
            let last = curve.points.last().map(|point| point.at).unwrap_or_default();
            vec![format!(
                "no knee found: the intervals do not show whether the curve still grows at {}",
                place(curve, last)
            )]
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
fn efficiency(curve: &Curve, found: &Efficiency) -> String {
    let share = in_percent(&found.efficiency);
    let at = place(curve, whole(found.at));
    let times = figure(&found.speedup, "").estimate;
    let first = curve.points.first().map(|point| place(curve, point.at)).unwrap_or_default();
    let name = &curve.parameter.name;
    format!("{name}={at}: {times}× {name}={first}, efficiency {share}")
}

/// A share with its interval: `97 % [95, 99]`.
fn in_percent(share: &Estimate) -> String {
    let ends = share.interval.as_ref().map(|ends| (ends.low, ends.high));
    percent_figure(share.value, ends.map_err(String::as_str))
}

/// `contention 3 % [2, 4], coherency 0.05 % [0.04, 0.06], most at threads=44`, or why there is no such law.
fn law(curve: &Curve) -> Option<String> {
    let ScalabilityLaw { contention, coherency, most_at, off } = match curve.law.as_ref()? {
        Ok(law) => law,
        Err(why) => return Some(format!("contention and coherency not estimated: {why}")),
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
        text += &format!("; one point deviates by {}", whole_percent(*off));
    }
    Some(text)
}

/// `up to 32KiB: 1.3 [1.2, 1.4] ns`, a line a plateau.
fn plateaus(curve: &Curve, all: &[Plateau]) -> Vec<String> {
    let why = all
        .iter()
        .find_map(|plateau| plateau.height.interval.as_ref().err())
        .map_or_else(String::new, |why| format!(" (some without an interval: {why})"));
    let mut lines = vec![counted(all.len(), "plateau", "plateaus") + &why];
    lines.extend(all.iter().map(|plateau| {
        let height = figure(&plateau.height, &curve.unit);
        let shown = if height.interval.is_ok() { height.to_string() } else { height.quantity() };
        format!("{}: {shown}", stretch(curve, plateau))
    }));
    lines
}

/// Where a plateau lies. One that begins with the curve's first point may have begun before it: `up to 32KiB`.
fn stretch(curve: &Curve, plateau: &Plateau) -> String {
    let from = whole(plateau.from);
    let to = whole(plateau.to);
    let is_first = curve.points.first().is_some_and(|point| point.at == from);
    let is_last = curve.points.last().is_some_and(|point| point.at == to);
    match (is_first, is_last) {
        (true, true) => "everywhere".to_owned(),
        (true, false) => format!("up to {}", place(curve, to)),
        (false, true) => format!("from {}", place(curve, from)),
        (false, false) => format!("{} to {}", place(curve, from), place(curve, to)),
    }
}

/// `L3: 32MiB reported, 14MiB [11MiB, 16MiB] found`.
fn cache(level: &CacheLevel) -> String {
    let had = level.had.as_ref().and_then(|had| {
        let value = rounded_size(had.value);
        let low = rounded_size(had.low()?);
        let high = rounded_size(had.high()?);
        Some(format!("{value} [{low}, {high}] found"))
    });
    let name = &level.name;
    let claimed = plumb_units::show_bytes(level.claimed);
    format!("{name}: {claimed} reported, {}", had.unwrap_or_else(|| "no separate plateau".into()))
}

fn knee(curve: &Curve, at: &Estimate, level: &Estimate) -> String {
    let unit = if curve.parameter.kind == ParameterType::Bytes { "B" } else { "" };
    let level = figure(level, &curve.unit);
    format!("grows up to {}={}, {level} there", curve.parameter.name, figure(at, unit))
}

/// `45 [44, 46] ns a call + 80.1 [79.8, 80.4] ps × bytes; points deviate by up to 2 % from the line`.
fn line(curve: &Curve, fixed: &Estimate, each: &Estimate, off: f64) -> String {
    let fixed = figure(fixed, "s");
    let each = figure(each, "s");
    let off =
        if off < 0.01 { "up to 1 %".to_owned() } else { format!("up to {}", whole_percent(off)) };
    format!(
        "{fixed} per call + {each} × {}; points deviate by {off} from the line",
        curve.parameter.name
    )
}
