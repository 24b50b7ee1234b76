//! Charts of all arms of a comparison in one figure, workload by workload: curves, bars, stacks, a heat map.

use std::collections::{BTreeMap, BTreeSet};

use plumb_analysis::{Arm, ComparisonFinding, Estimate, SeriesComparison, ShownParameter};
use plumb_chart::{Along, AxisFit, AxisSpec, Chart, Draft, Mark, Tone, place};
use plumb_model::ParameterType;

use super::parameters::{ChartCurvePoint, line_with_band};
use super::parts::{better, without_interval};
use crate::figure::figure;

/// More bars in one figure are a blur.
const MOST_BARS: usize = 60;
/// More lines in one figure can't be distinguished.
const MOST_LINES: usize = 12;

/// The first metric of a workload, at all of its points, in every arm.
struct WorkloadArms<'f> {
    name: &'f str,
    /// Whether the arms are points themselves.
    of_points: bool,
    arms: &'f [String],
    series: Vec<&'f SeriesComparison>,
}

/// The result of one arm at one point.
struct Given<'f> {
    point: String,
    arm: usize,
    given: &'f Arm,
}

impl<'f> WorkloadArms<'f> {
    fn all(finding: &'f ComparisonFinding) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for result in &finding.results {
            // Only the first metric of each workload: others have their own units.
            match all.iter_mut().find(|known| known.name == result.point.workload) {
                Some(known) if known.series[0].metric == result.metric => known.series.push(result),
                Some(_) => {}
                None => all.push(Self {
                    name: &result.point.workload,
                    of_points: finding.paired,
                    arms: &finding.arms,
                    series: vec![result],
                }),
            }
        }
        all
    }

    fn metric(&self) -> String {
        self.series[0].metric.replace('_', " ")
    }

    fn values(&self, fit: AxisFit) -> AxisSpec {
        AxisSpec::values(&self.metric(), &self.series[0].unit, fit)
    }

    fn better(&self) -> &'static str {
        better(self.series[0].better)
    }

    /// Whether another point has another value of a parameter.
    fn differs(&self, parameter: &ShownParameter) -> bool {
        self.series
            .iter()
            .flat_map(|series| &series.point.parameters)
            .filter(|other| other.name == parameter.name)
            .any(|other| other.value != parameter.value)
    }

    /// The point if its workload is known.
    fn point(&self, series: &SeriesComparison) -> String {
        match series.point.key.as_str() {
            // Where the arms are points, the arm already says which one it is.
            _ if self.of_points => String::new(),
            _ if series.point.titled => series.point.name.clone(),
            "" if self.series.len() > 1 => "default".to_owned(),
            key => key.to_owned(),
        }
    }

    /// Every arm at every point, point by point.
    fn given(&self) -> Vec<Given<'f>> {
        self.series
            .iter()
            .flat_map(|series| {
                let point = self.point(series);
                series.arms.iter().enumerate().filter_map(move |(arm, given)| {
                    Some(Given { point: point.clone(), arm, given: given.as_ref()? })
                })
            })
            .collect()
    }

    /// A name for each of these: point and arm.
    fn names(&self, all: &[Given]) -> AxisSpec {
        AxisSpec::Names(all.iter().map(|row| self.name(row)).collect())
    }

    fn name(&self, of: &Given) -> String {
        match of.point.as_str() {
            "" => self.arms[of.arm].clone(),
            point => format!("{point} · {}", self.arms[of.arm]),
        }
    }
}

/// A line an arm over every parameter that takes several numbers.
pub(super) fn curves(finding: &ComparisonFinding) -> Vec<Chart> {
    let workloads = WorkloadArms::all(finding);
    workloads
        .iter()
        .flat_map(|workload| {
            numbers(workload).into_iter().filter_map(move |by| curve(workload, &by))
        })
        .collect()
}

/// The parameters whose points have different numbers.
fn numbers(of: &WorkloadArms) -> Vec<(String, ParameterType)> {
    of.series[0]
        .point
        .parameters
        .iter()
        .filter(|parameter| is_numeric(parameter.kind) && takes_several(of, &parameter.name))
        .map(|parameter| (parameter.name.clone(), parameter.kind))
        .collect()
}

fn is_numeric(kind: ParameterType) -> bool {
    matches!(kind, ParameterType::Integer | ParameterType::Bytes | ParameterType::Threads)
}

fn takes_several(of: &WorkloadArms, parameter: &str) -> bool {
    let numbers: BTreeSet<u64> =
        of.series.iter().filter_map(|series| series.point.number(parameter)).collect();
    numbers.len() > 1
}

fn curve(of: &WorkloadArms, (parameter, kind): &(String, ParameterType)) -> Option<Chart> {
    let unit = if *kind == ParameterType::Bytes { "B" } else { "" };
    let mut draft = Draft::new(
        format!("comparison/by-{parameter}/{}", of.name),
        format!("{}: {} by {parameter}", of.name, of.metric()),
        format!(
            "The median at each {parameter}, a line for each of {}; bands are 95 % intervals. {}",
            of.arms.join(", "),
            of.better()
        ),
        AxisSpec::values(parameter, unit, AxisFit::Log),
        of.values(AxisFit::Free),
    );
    // One line for what differs in nothing but this parameter.
    let mut lines: BTreeMap<(String, usize), Vec<ChartCurvePoint>> = BTreeMap::new();
    for series in &of.series {
        let Some(at) = series.point.number(parameter) else { continue };
        let others: Vec<String> = series
            .point
            .parameters
            .iter()
            .filter(|other| other.name != *parameter && of.differs(other))
            .map(|other| format!(" {}={}", other.name, other.value))
            .collect();
        for (arm, given) in series.arms.iter().enumerate() {
            let Some(given) = given else { continue };
            let tip = format!("{}: {}", of.arms[arm], figure(&given.estimate, &series.unit));
            let point = ChartCurvePoint { at, estimate: given.estimate.clone(), tip };
            lines.entry((others.concat(), arm)).or_default().push(point);
        }
    }
    // A line needs two points; single ones are in the bars.
    lines.retain(|_, line| line.len() > 1);
    let left_out = lines.len().saturating_sub(MOST_LINES);
    for ((others, arm), mut line) in lines.into_iter().take(MOST_LINES) {
        line.sort_by_key(|point| point.at);
        let group = draft.group(&format!("{}{others}", of.arms[arm]), Tone::Plain);
        line_with_band(&mut draft, group, &line);
    }
    without_interval(&mut draft, of.given().iter().map(|row| (of.name(row), &row.given.estimate)));
    if left_out > 0 {
        draft.note(format!("{left_out} more lines are not shown"));
    }
    draft.finish()
}

/// Bars with intervals, every arm in its colour and hatching.
pub(super) fn bars(finding: &ComparisonFinding) -> Vec<Chart> {
    WorkloadArms::all(finding).iter().filter_map(bar).collect()
}

fn bar(of: &WorkloadArms) -> Option<Chart> {
    let all = of.given();
    // A bar from 0 has no meaning for a value below it.
    let fits = all.len() <= MOST_BARS && all.iter().all(|row| row.given.estimate.value >= 0.0);
    if !fits {
        return None;
    }
    let mut draft = Draft::new(
        format!("comparison/bars/{}", of.name),
        format!("{}: {}", of.name, of.metric()),
        format!("The median as a bar from 0, with its 95 % interval. {}", of.better()),
        of.values(AxisFit::FromZero),
        of.names(&all),
    );
    for (arm, name) in of.arms.iter().enumerate() {
        let own: Vec<(usize, &Given)> =
            all.iter().enumerate().filter(|(_, row)| row.arm == arm).collect();
        let group = draft.group(name, Tone::Plain);
        let at: Vec<f64> = own.iter().map(|(index, _)| place(*index)).collect();
        let to = own.iter().map(|(_, row)| row.given.estimate.value).collect();
        draft.layer(Some(group), Mark::Bars { along: Along::X, from: vec![0.0; at.len()], at, to });
    }
    let estimates: Vec<&Estimate> = all.iter().map(|row| &row.given.estimate).collect();
    let mark = Mark::Intervals {
        along: Along::X,
        at: (0..all.len()).map(place).collect(),
        low: estimates.iter().map(|estimate| estimate.low()).collect(),
        estimate: estimates.iter().map(|estimate| estimate.value).collect(),
        high: estimates.iter().map(|estimate| estimate.high()).collect(),
        tips: estimates
            .iter()
            .map(|estimate| figure(estimate, &of.series[0].unit).to_string())
            .collect(),
    };
    draft.layer(None, mark);
    without_interval(&mut draft, all.iter().map(|row| (of.name(row), &row.given.estimate)));
    draft.finish()
}

/// Stacked shares of wall time in user mode, in kernel mode and waiting.
pub(super) fn shares(finding: &ComparisonFinding) -> Vec<Chart> {
    WorkloadArms::all(finding).iter().filter_map(cpu).collect()
}

fn cpu(of: &WorkloadArms) -> Option<Chart> {
    let all = with(of, |arm| arm.samples.found().is_some_and(|samples| samples.cpu.is_some()));
    let draft = Draft::new(
        format!("comparison/cpu/{}", of.name),
        format!("{}: CPU and I/O time", of.name),
        "CPU time in user mode and in kernel mode, and time that CPUs were idle waiting for I/O, as shares of the \
         time of all batches, including warm-up. Several threads add up to more than 100 %."
            .to_owned(),
        AxisSpec::values("share of wall time", "%", AxisFit::FromZero),
        of.names(&all),
    );
    stacked(draft, &all, cpu_parts)
}

fn cpu_parts(arm: &Arm) -> Vec<(String, f64)> {
    let samples = arm.samples.found();
    let Some(cpu) = samples.and_then(|samples| samples.cpu) else { return Vec::new() };
    [("user", cpu.user), ("system", cpu.system), ("iowait", cpu.iowait)]
        .map(|(name, share)| (name.to_owned(), share))
        .to_vec()
}

/// A metric that is made of others, as a time of its phases: these, stacked.
pub(super) fn parts(finding: &ComparisonFinding) -> Vec<Chart> {
    WorkloadArms::all(finding)
        .iter()
        .filter_map(|of| {
            let all =
                with(of, |arm| arm.samples.found().is_some_and(|samples| samples.parts.len() > 1));
            let draft = Draft::new(
                format!("comparison/parts/{}", of.name),
                format!("{}: the parts of {}", of.name, of.metric()),
                format!("The median of each part, stacked. {}", of.better()),
                of.values(AxisFit::FromZero),
                of.names(&all),
            );
            stacked(draft, &all, metric_parts)
        })
        .collect()
}

fn metric_parts(arm: &Arm) -> Vec<(String, f64)> {
    arm.samples.found().map(|samples| samples.parts.clone()).unwrap_or_default()
}

/// What arms give that have something.
fn with<'f>(of: &WorkloadArms<'f>, has: fn(&Arm) -> bool) -> Vec<Given<'f>> {
    let mut all = of.given();
    all.retain(|row| has(row.given));
    all.truncate(MOST_BARS);
    all
}

fn stacked(
    mut draft: Draft,
    all: &[Given],
    parts: impl Fn(&Arm) -> Vec<(String, f64)>,
) -> Option<Chart> {
    let all: Vec<Vec<(String, f64)>> = all.iter().map(|row| parts(row.given)).collect();
    let mut from = vec![0.0; all.len()];
    for (name, _) in all.first()? {
        // Parts are matched by name: an arm of another version may lack one or have them in another order.
        let to: Vec<f64> = from
            .iter()
            .zip(&all)
            .map(|(from, own)| {
                from + own.iter().find(|part| part.0 == *name).map_or(0.0, |part| part.1)
            })
            .collect();
        let group = draft.group(name, Tone::Plain);
        let at = (0..all.len()).map(place).collect();
        draft.layer(Some(group), Mark::Bars { along: Along::X, at, from, to: to.clone() });
        from = to;
    }
    draft.finish()
}

/// Points from top to bottom, arms from left to right.
pub(super) fn maps(finding: &ComparisonFinding) -> Vec<Chart> {
    WorkloadArms::all(finding).iter().filter_map(map).collect()
}

fn map(of: &WorkloadArms) -> Option<Chart> {
    if of.series.len() < 2 {
        return None;
    }
    let mut draft = Draft::new(
        format!("comparison/map/{}", of.name),
        format!("{}: {} of every point and arm", of.name, of.metric()),
        format!(
            "The median of each point (top to bottom) in each arm (left to right), as colour. {}",
            of.better()
        ),
        AxisSpec::Names(of.arms.to_vec()),
        AxisSpec::Names(of.series.iter().map(|series| of.point(series)).collect()),
    );
    draft.colour = Some((of.metric(), of.series[0].unit.clone()));
    let mut x = Vec::new();
    let mut y = Vec::new();
    let mut value = Vec::new();
    for (row, series) in of.series.iter().enumerate() {
        for (arm, given) in series.arms.iter().enumerate() {
            let Some(given) = given else { continue };
            x.push(place(arm));
            y.push(place(row));
            value.push(given.estimate.value);
        }
    }
    draft.layer(None, Mark::Cells { x, y, value });
    draft.finish()
}
