//! The charts of a run under way: how well its points are known, how that came about, and what ran
//! next to it.

use std::collections::VecDeque;

use plumb_chart::{Along, Axis, CHART_SCHEMA, Chart, Mark, MarkGroup, MarkLayer, Scale, Tone};
use plumb_model::{CounterKind, Decision, EndedInvocation, Goal, Interference, Plan};
use plumb_text::{clean, counted};

use crate::progress::{ProgressPoint, ProgressRatio, ProgressState, ProgressView};

/// Points that one chart has room for.
const MOST_POINTS: usize = 40;
/// Lines that one chart has room for.
const MOST_GROUPS: usize = 8;
/// Looks of a point that are kept; of more every other one goes.
const MOST_LOOKS: usize = 64;
/// Invocations next to which readings are kept.
const MOST_READINGS: usize = 240;
/// Stretches of interference that are kept.
const MOST_SPANS: usize = 100;

/// Nothing wider is drawn.
const WIDEST: f64 = 1.0;

/// A chart without marks, at `live/ID`.
fn chart(id: &str, title: &str, says: &str, x: Axis, y: Axis) -> Chart {
    Chart {
        schema: CHART_SCHEMA,
        id: format!("live/{id}"),
        title: title.into(),
        says: says.into(),
        x,
        y,
        colour: None,
        groups: Vec::new(),
        layers: Vec::new(),
        notes: Vec::new(),
        instead_of: None,
    }
}

fn axis(label: &str, unit: &str, per: f64, (low, high): (f64, f64)) -> Axis {
    Axis {
        label: label.into(),
        unit: unit.into(),
        per,
        scale: Scale::Linear,
        categories: Vec::new(),
        low,
        high,
    }
}

fn group(name: &str, tone: Tone) -> MarkGroup {
    MarkGroup { name: clean(name), tone }
}

/// How well every point is known: its interval around its estimate, or around equality where sides are
/// compared, next to what is wanted. None if nothing is wanted, before the first look.
pub(super) fn precision(view: &ProgressView) -> Option<Chart> {
    let compared = view.points.iter().any(|point| point.compared.is_some());
    let rows: Vec<IntervalRow> =
        shown(view).filter_map(|point| IntervalRow::of(point, compared)).collect();
    let widest = rows.iter().map(IntervalRow::reach).fold(0.0, f64::max);
    if rows.is_empty() || (widest <= 0.0 && rows.iter().all(|row| row.wanted.is_none())) {
        return None;
    }
    let wanted = rows.iter().filter_map(|row| row.wanted).reduce(f64::max);
    // What is wanted takes at most half of the width, so that it stays visible how far a point still has to go.
    let reach = (widest * 1.1).max(wanted.unwrap_or(0.0) * 2.0).min(WIDEST);
    let (title, label, says) = if compared { COMPARED } else { KNOWN };
    let categories: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    #[expect(clippy::cast_precision_loss, reason = "a few points")]
    let high = categories.len() as f64 - 0.5;
    let y = Axis { scale: Scale::Band, categories, ..axis("", "", 1.0, (-0.5, high)) };
    let mut chart = chart("precision", title, says, axis(label, "%", 0.01, (-reach, reach)), y);
    chart.groups = vec![group("interval", Tone::Plain), group("wanted", Tone::Equivalent)];
    let wanted = wanted.map(|wanted| Mark::Spans {
        along: Along::X,
        from: vec![-wanted],
        to: vec![wanted],
        share: vec![1.0],
        tips: vec![format!("±{}", plumb_units::percent(wanted))],
    });
    chart.layers.extend(wanted.map(|mark| MarkLayer { group: Some(1), mark }));
    chart.layers.push(MarkLayer { group: Some(0), mark: intervals(&rows) });
    let left_out = view.points.len().saturating_sub(MOST_POINTS);
    if left_out > 0 {
        chart.notes.push(format!("{} not drawn", counted(left_out, "point is", "points are")));
    }
    Some(chart)
}

/// Title, label of the axis and what it says.
const KNOWN: (&str, &str, &str) = (
    "Precision of each point",
    "distance from the estimate",
    "The interval of every point around its estimate. A point has the requested precision once its \
     interval lies inside the shaded band.",
);
const COMPARED: (&str, &str, &str) = (
    "How each side compares with the first",
    "cost relative to the first",
    "The interval of every side's cost relative to the first: right of 0 is slower. An interval inside \
     the shaded band means equivalent, one that excludes 0 means a difference.",
);

/// The points in the plan's order; if there are too many, open ones first.
fn shown(view: &ProgressView) -> impl Iterator<Item = &ProgressPoint> {
    let mut order: Vec<usize> = (0..view.points.len()).collect();
    // Open ones survive the cut; then the plan's order again, so that rows keep their places while points end.
    order.sort_by_key(|&index| (view.points[index].state != ProgressState::Open, index));
    order.truncate(MOST_POINTS);
    order.sort_unstable();
    order.into_iter().map(|index| &view.points[index])
}

/// The interval of a point relative to what it is measured against.
struct IntervalRow {
    name: String,
    centre: f64,
    ends: Option<(f64, f64)>,
    wanted: Option<f64>,
    tip: String,
}

impl IntervalRow {
    fn of(point: &ProgressPoint, compared: bool) -> Option<Self> {
        let name = clean(&point.name);
        let tip = format!("{name}: {}", crate::terminal::standing(point));
        if compared {
            let ProgressRatio { ratio, ends, margin, .. } = point.compared?;
            let ends = ends
                .map(|(low, high)| (low - 1.0, high - 1.0))
                .filter(|(low, high)| low.is_finite() && high.is_finite());
            let centre = Some(ratio - 1.0).filter(|change| change.is_finite())?;
            return Some(Self { name, centre, ends, wanted: Some(margin), tip });
        }
        // Where only precision counts, every interval is drawn around 0: estimates have different units.
        let reached = point.reached.filter(|precision| precision.is_finite());
        let ends = reached.map(|reached| (-reached, reached));
        Some(Self { name, centre: 0.0, ends, wanted: point.wanted, tip })
    }

    /// How far it reaches.
    fn reach(&self) -> f64 {
        let (low, high) = self.ends.unwrap_or_default();
        self.centre.abs().max(low.abs()).max(high.abs())
    }
}

/// The intervals of those that have one.
#[expect(clippy::cast_precision_loss, reason = "a few points")]
fn intervals(rows: &[IntervalRow]) -> Mark {
    // A row without an interval keeps its name and its place.
    let known: Vec<(usize, &IntervalRow)> =
        rows.iter().enumerate().filter(|(_, row)| row.ends.is_some()).collect();
    Mark::Intervals {
        along: Along::X,
        at: known.iter().map(|(index, _)| *index as f64).collect(),
        low: known.iter().map(|(_, row)| row.ends.map(|ends| ends.0)).collect(),
        estimate: known.iter().map(|(_, row)| row.centre).collect(),
        high: known.iter().map(|(_, row)| row.ends.map(|ends| ends.1)).collect(),
        tips: known.iter().map(|(_, row)| row.tip.clone()).collect(),
    }
}

/// How the intervals narrowed.
#[derive(Debug, Clone)]
pub(super) struct PrecisionOverTime {
    /// Of every point: seconds since the start, and relative half-width.
    points: Vec<Vec<(f64, f64)>>,
    wanted: Option<f64>,
}

impl PrecisionOverTime {
    pub(super) fn of(plan: &Plan) -> Self {
        let wanted = match plan.goal {
            Goal::Rules(rules) => rules.precision,
            _ => None,
        };
        Self { points: vec![Vec::new(); plan.points.len()], wanted }
    }

    pub(super) fn take(&mut self, at_ns: u64, decision: &Decision) {
        let reached = decision
            .look
            .and_then(|look| look.relative_half_width())
            .filter(|precision| precision.is_finite() && *precision > 0.0);
        let (Some(looks), Some(reached)) = (self.points.get_mut(decision.point), reached) else {
            return;
        };
        looks.push((seconds(at_ns), reached));
        // Every other look goes, the oldest among them: the line keeps its length in time, at half the detail.
        if looks.len() > MOST_LOOKS {
            let mut keep = false;
            looks.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    /// A line a point, of those that are widest now. None before there is one.
    pub(super) fn chart(&self, view: &ProgressView) -> Option<Chart> {
        // One look is a dot and not a line.
        let mut drawn: Vec<usize> =
            (0..self.points.len()).filter(|&index| self.points[index].len() > 1).collect();
        // The widest now are those that decide how long the run takes.
        drawn.sort_by(|a, b| self.last_half_width(*b).total_cmp(&self.last_half_width(*a)));
        let left_out = drawn.len().saturating_sub(MOST_GROUPS);
        drawn.truncate(MOST_GROUPS);
        drawn.sort_unstable();
        let looks: Vec<(f64, f64)> =
            drawn.iter().flat_map(|&index| &self.points[index]).copied().collect();
        let low = looks.iter().map(|look| look.1).chain(self.wanted).reduce(f64::min)?;
        let high = looks.iter().map(|look| look.1).chain(self.wanted).reduce(f64::max)?;
        let time = (0.0, looks.iter().map(|look| look.0).fold(1.0, f64::max));
        let half_widths = axis("half-width of the interval", "%", 0.01, (low * 0.8, high * 1.25));
        let x = axis("since the start", "s", 1.0, time);
        let says = "The relative half-width of each point's interval whenever plumb checked it. It shrinks \
                    with the square root of the number of invocations; the horizontal line marks the target.";
        // On a logarithmic axis, a fall with the root of the number of invocations looks the same at every precision.
        let y = Axis { scale: Scale::Log, ..half_widths };
        let mut chart = chart("narrowing", "How the intervals narrow", says, x, y);
        for &index in &drawn {
            chart.groups.push(group(&view.points.get(index)?.name, Tone::Plain));
            let (x, y) = self.points[index].iter().map(|&(x, y)| (x, Some(y))).unzip();
            let mark = Mark::Line { x, y, steps: false };
            chart.layers.push(MarkLayer { group: Some(chart.groups.len() - 1), mark });
        }
        chart.layers.extend(self.wanted.map(wanted_rule));
        if drawn.is_empty() {
            return None;
        }
        if left_out > 0 {
            let left_out = counted(left_out, "point is", "points are");
            chart.notes.push(format!("{left_out} more precise and not shown"));
        }
        Some(chart)
    }

    fn last_half_width(&self, index: usize) -> f64 {
        self.points[index].last().map_or(0.0, |look| look.1)
    }
}

fn wanted_rule(wanted: f64) -> MarkLayer {
    let tips = vec![format!("wanted: ±{}", plumb_units::percent(wanted))];
    MarkLayer { group: None, mark: Mark::Rules { along: Along::Y, at: vec![wanted], tips } }
}

/// The readings of monitors next to the run.
#[derive(Debug, Clone, Default)]
pub(super) struct MonitorReadings {
    readings: VecDeque<InvocationReading>,
    left_out: usize,
    spans: VecDeque<(f64, f64, String)>,
}

/// What was read next to one invocation.
#[derive(Debug, Clone)]
struct InvocationReading {
    from: f64,
    to: f64,
    /// Of each panel's lines, in order; None if the counter was not read.
    values: Vec<Vec<Option<f64>>>,
}

/// Counters that share a chart.
struct Panel {
    id: &'static str,
    title: &'static str,
    says: &'static str,
    unit: &'static str,
    /// What one such unit is of the counters' rates.
    per: f64,
    /// Counters and what they are called in the legend.
    lines: &'static [(&'static str, &'static str)],
}

const PANELS: [Panel; 3] = [
    Panel {
        id: "cpu",
        title: "CPU time",
        says: "The number of CPUs busy in programs and in the kernel, waiting for I/O, or taken by the \
               host, in every invocation.",
        unit: "CPUs",
        per: 1.0,
        lines: &[
            ("stat.user", "programs"),
            ("stat.system", "kernel"),
            ("stat.iowait", "waiting for I/O"),
            ("stat.steal", "taken by the host"),
        ],
    },
    Panel {
        id: "pressure",
        title: "Waiting",
        says: "Share of time during which some task waited for a CPU, for memory or for I/O.",
        unit: "%",
        per: 0.01,
        lines: &[
            ("psi.cpu.some", "for a CPU"),
            ("psi.memory.some", "for memory"),
            ("psi.io.some", "for I/O"),
        ],
    },
    Panel {
        id: "switches",
        title: "Context switches and interrupts",
        says: "Context switches and interrupts per second, over all CPUs.",
        unit: "1/s",
        per: 1.0,
        lines: &[("stat.ctxt", "context switches"), ("stat.intr", "interrupts")],
    },
];

impl MonitorReadings {
    pub(super) fn take(&mut self, ended: &EndedInvocation) {
        let from = seconds(ended.began_ns);
        let to = seconds(ended.at_ns);
        for Interference { rule, evidence, .. } in &ended.interference {
            self.spans.push_back((from, to, clean(&format!("{rule}: {evidence}"))));
        }
        if !ended.amounts.is_empty() {
            let values = PANELS.iter().map(|panel| values(panel, ended)).collect();
            self.readings.push_back(InvocationReading { from, to, values });
        }
        let surplus = self.readings.len().saturating_sub(MOST_READINGS);
        self.readings.drain(..surplus);
        self.left_out += surplus;
        let surplus = self.spans.len().saturating_sub(MOST_SPANS);
        self.spans.drain(..surplus);
    }

    pub(super) fn charts(&self) -> impl Iterator<Item = Chart> {
        PANELS.iter().enumerate().filter_map(|(index, panel)| self.chart(index, panel))
    }

    /// A line a counter that was ever read. None without any.
    fn chart(&self, index: usize, panel: &Panel) -> Option<Chart> {
        let first = self.readings.front()?;
        let last = self.readings.back()?;
        let high = self
            .readings
            .iter()
            .flat_map(|reading| reading.values[index].iter().flatten())
            .copied()
            .reduce(f64::max)?
            // If all values are 0, the axis still needs some length.
            .max(panel.per * 0.01);
        let x = axis("since the start", "s", 1.0, (first.from, last.to.max(first.from + 1.0)));
        let y = axis("", panel.unit, panel.per, (0.0, high * 1.05));
        let mut chart = chart(panel.id, panel.title, panel.says, x, y);
        self.shade(first.from, &mut chart);
        for (line, (_, name)) in panel.lines.iter().enumerate() {
            let y: Vec<Option<f64>> =
                self.readings.iter().map(|reading| reading.values[index][line]).collect();
            // A counter that never moved, as steal on a physical machine, only takes a colour.
            if y.iter().all(|value| value.is_none_or(|value| value == 0.0)) {
                continue;
            }
            chart.groups.push(group(name, Tone::Plain));
            let x = self.readings.iter().map(|reading| reading.from.midpoint(reading.to)).collect();
            let mark = Mark::Line { x, y, steps: false };
            chart.layers.push(MarkLayer { group: Some(chart.groups.len() - 1), mark });
        }
        if self.left_out > 0 {
            let before = counted(self.left_out, "invocation", "invocations");
            chart.notes.push(format!("{before} earlier ones are not drawn"));
        }
        Some(chart)
    }

    /// Marks where something else ran.
    fn shade(&self, since: f64, chart: &mut Chart) {
        let spans: Vec<_> = self.spans.iter().filter(|(_, to, _)| *to >= since).collect();
        if spans.is_empty() {
            return;
        }
        chart.groups.push(group("interference", Tone::Interference));
        let mark = Mark::Spans {
            along: Along::X,
            from: spans.iter().map(|span| span.0.max(since)).collect(),
            to: spans.iter().map(|span| span.1).collect(),
            share: vec![1.0; spans.len()],
            tips: spans.iter().map(|span| span.2.clone()).collect(),
        };
        chart.layers.push(MarkLayer { group: Some(0), mark });
    }
}

/// What the counters of a panel came to a second. A counter that did not move is not stored: 0, where
/// another of its monitor was read.
fn values(panel: &Panel, ended: &EndedInvocation) -> Vec<Option<f64>> {
    panel
        .lines
        .iter()
        .map(|(name, _)| {
            match ended.amounts.iter().find(|amount| amount.counter.name == *name) {
                Some(amount) if amount.counter.kind == CounterKind::Counter => amount.rate(),
                Some(_) => None,
                // Not stored is not unread: a monitor that stored another counter also read this one.
                None => was_read(monitor_of(name), ended).then_some(0.0),
            }
        })
        .collect()
}

fn was_read(monitor: &str, ended: &EndedInvocation) -> bool {
    ended.amounts.iter().any(|amount| monitor_of(&amount.counter.name) == monitor)
}

/// The monitor of a counter: `psi` of `psi.cpu.some`.
fn monitor_of(counter: &str) -> &str {
    counter.split('.').next().unwrap_or(counter)
}

#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53")]
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
