//! `plumb.counters/1` and `plumb.monitors/1`: what monitors counted, and what they cost, for machines.

use plumb_analysis::PointRates;
use plumb_model::CounterKind;
use serde::Serialize;

/// Name of the form of a run's counters.
pub const COUNTERS_SCHEMA: &str = "plumb.counters/1";

/// Name of the form of what monitors cost.
pub const MONITORS_SCHEMA: &str = "plumb.monitors/1";

/// The counters next to a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.counters/1"))]
pub struct CountersDocument {
    /// The name of this form, always `plumb.counters/1`.
    #[cfg_attr(test, schemars(extend("const" = COUNTERS_SCHEMA)))]
    pub schema: &'static str,
    /// The run's UUIDv7.
    pub run: String,
    /// Every point that monitors read next to it.
    pub points: Vec<CountersPart>,
}

/// The counters next to a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountersPart {
    /// The point, as people write it.
    pub point: String,
    /// Invocations next to which monitors read.
    pub invocations: usize,
    /// Every counter that moved next to any of them.
    pub counters: Vec<CounterPart>,
}

/// A counter next to a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CounterPart {
    /// The counter's name with its monitor: `stat.ctxt`.
    pub counter: String,
    /// Unit of the figures, in SI base units: `s/s`, `events/s`, `B`.
    pub unit: String,
    /// `counter`: figures are a second; `gauge`: figures are levels.
    #[cfg_attr(test, schemars(extend("enum" = ["counter", "gauge"])))]
    pub kind: &'static str,
    /// Median over invocations.
    pub median: f64,
    /// The lowest of all invocations.
    pub low: f64,
    /// The highest of all invocations.
    pub high: f64,
}

/// The counters of a run as a document.
#[must_use]
pub fn counters_document(run: &str, points: &[PointRates]) -> CountersDocument {
    let points = points
        .iter()
        .map(|point| CountersPart {
            point: point.point.name.clone(),
            invocations: point.invocations,
            counters: point
                .rates
                .iter()
                .map(|rate| CounterPart {
                    counter: rate.counter.name.clone(),
                    unit: rate.counter.rate_unit(),
                    kind: kind(rate.counter.kind),
                    median: rate.median,
                    low: rate.low,
                    high: rate.high,
                })
                .collect(),
        })
        .collect();
    CountersDocument { schema: COUNTERS_SCHEMA, run: run.to_owned(), points }
}

pub(crate) fn kind(kind: CounterKind) -> &'static str {
    match kind {
        CounterKind::Counter => "counter",
        CounterKind::Gauge => "gauge",
    }
}

/// The cost of the monitors.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.monitors/1"))]
pub struct MonitorsDocument {
    /// The name of this form, always `plumb.monitors/1`.
    #[cfg_attr(test, schemars(extend("const" = MONITORS_SCHEMA)))]
    pub schema: &'static str,
    /// The cost of each monitor, including those that this machine does not support.
    pub monitors: Vec<MonitorPart>,
    /// CPU time of all default monitors at their default rates, as a share of one core, wake-ups and all.
    pub cpu_share: f64,
    /// Time over which that was measured, in seconds.
    pub seconds: f64,
    /// The effect of monitors on a workload; null if it was not measured.
    pub effect: Option<EffectPart>,
}

/// The cost of a monitor.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MonitorPart {
    /// The monitor's name, as `--monitors` takes it.
    pub name: &'static str,
    /// What it reads.
    pub summary: &'static str,
    /// Readings a second by default; null if it reads only when it is asked for.
    pub default_hz: Option<f64>,
    /// Readings a second here.
    pub hz: f64,
    /// CPU time of a reading, in microseconds; null if it is unsupported.
    pub read_us: Option<f64>,
    /// CPU time at that rate, as a share of one core; null if it is unsupported.
    pub cpu_share: Option<f64>,
    /// Why this machine does not have it.
    pub unsupported: Option<String>,
}

/// The same workload with all default monitors and with none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EffectPart {
    /// The point that was measured both ways, as people write it.
    pub workload: String,
    /// Cost with monitors over cost without.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Pairs that were compared.
    pub pairs: usize,
}
