//! What monitors counted beside a run, and what they cost: tables for people, documents for machines.

use plumb_analysis::{CounterRate, PointRates};
use plumb_model::CounterKind;
use plumb_text::units::quantity;
use plumb_text::{Column, Line, Style, Table, Terminal, clean, counted};
use serde::Serialize;

/// Name of the form of a run's counters.
pub const COUNTERS_SCHEMA: &str = "plumb.counters/1";
/// Name of the form of what monitors cost.
pub const MONITORS_SCHEMA: &str = "plumb.monitors/1";

/// Beginnings of the names of counters that are shown where not all are asked for.
const FIRST: [&str; 15] = [
    "worker.",
    "stat.",
    "psi.",
    "cgroup.",
    "cpufreq.",
    "perf.",
    "latency.",
    "powercap.",
    "tree.",
    "vmstat.pgfault",
    "vmstat.pgmajfault",
    "vmstat.pgp",
    "vmstat.psw",
    "thermal.",
    "kmsg.",
];

/// The counters beside a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.counters/1"))]
pub struct CountersDocument {
    /// `plumb.counters/1`.
    #[cfg_attr(test, schemars(extend("const" = COUNTERS_SCHEMA)))]
    pub schema: &'static str,
    /// The run's UUIDv7.
    pub run: String,
    /// Every point that monitors read beside.
    pub points: Vec<CountersPart>,
}

/// The counters beside a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CountersPart {
    /// The point, as people write it.
    pub point: String,
    /// Invocations beside which monitors read.
    pub invocations: usize,
    /// Every counter that moved beside any of them.
    pub counters: Vec<CounterPart>,
}

/// A counter beside a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CounterPart {
    /// `monitor.name`.
    pub counter: String,
    /// Unit of the figures, in SI base units: `s/s`, `events/s`, `B`.
    pub unit: String,
    /// `counter`: figures are a second; `gauge`: figures are levels.
    #[cfg_attr(test, schemars(extend("enum" = ["counter", "gauge"])))]
    pub kind: &'static str,
    /// Median over invocations.
    pub median: f64,
    /// Least.
    pub low: f64,
    /// Most.
    pub high: f64,
}

/// The counters of a run as a document.
#[must_use]
pub fn counters_document(run: &str, points: &[PointRates]) -> CountersDocument {
    let part = |it: &CounterRate| CounterPart {
        counter: it.counter.name.clone(),
        unit: it.counter.rate_unit(),
        kind: kind(it.counter.kind),
        median: it.median,
        low: it.low,
        high: it.high,
    };
    let point = |it: &PointRates| CountersPart {
        point: it.point.name.clone(),
        invocations: it.invocations,
        counters: it.rates.iter().map(part).collect(),
    };
    let points = points.iter().map(point).collect();
    CountersDocument { schema: COUNTERS_SCHEMA, run: run.to_owned(), points }
}

fn kind(kind: CounterKind) -> &'static str {
    match kind {
        CounterKind::Counter => "counter",
        CounterKind::Gauge => "gauge",
    }
}

/// The counters of a run as a table a point, the ones that matter first; all with
/// [`Terminal::every_metric`].
#[must_use]
pub fn counters_card(points: &[PointRates], terminal: &Terminal) -> String {
    let mut table = Table::new(vec![
        Column::left("counter"),
        Column::right("median").gap(2),
        Column::right("least").gap(2),
        Column::right("most").gap(2),
    ])
    .indented(2);
    for point in points {
        let of = counted(point.invocations, "invocation", "invocations");
        table.heading(Line::new(Style::Name, &format!("{} · {of}", clean(&point.point.name))));
        let shown =
            point.rates.iter().filter(|it| terminal.every_metric || place(it) < FIRST.len());
        let mut shown: Vec<&CounterRate> = shown.collect();
        shown.sort_by_key(|it| place(it));
        for it in shown {
            let unit = it.counter.rate_unit();
            let cells = [it.median, it.low, it.high].map(|value| quantity(value, &unit));
            let name = Line::new(Style::Plain, &clean(&it.counter.name));
            let cells = cells.iter().map(|text| Line::new(Style::Plain, text));
            table.row(std::iter::once(name).chain(cells).collect());
        }
    }
    terminal.table(&table)
}

/// Where a counter stands among those that are shown first.
pub fn place(rate: &CounterRate) -> usize {
    let name = &rate.counter.name;
    FIRST.iter().position(|first| name.starts_with(first)).unwrap_or(FIRST.len())
}

/// What the monitors cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.monitors/1"))]
pub struct MonitorsDocument {
    /// `plumb.monitors/1`.
    #[cfg_attr(test, schemars(extend("const" = MONITORS_SCHEMA)))]
    pub schema: &'static str,
    /// Every monitor.
    pub monitors: Vec<MonitorPart>,
    /// CPU time of all default monitors at their default rates, as a share of one core, wake-ups and all.
    pub cpu_share: f64,
    /// Time over which that was measured, in seconds.
    pub seconds: f64,
    /// What they do to a workload; null where that was not measured.
    pub effect: Option<EffectPart>,
}

/// What a monitor costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MonitorPart {
    /// Its name.
    pub name: &'static str,
    /// What it reads.
    pub summary: &'static str,
    /// Readings a second by default; null where it reads only when it is asked for.
    pub default_hz: Option<f64>,
    /// Readings a second here.
    pub hz: f64,
    /// CPU time of a reading, in microseconds; null where it is unsupported.
    pub read_us: Option<f64>,
    /// CPU time at that rate, as a share of one core; null where it is unsupported.
    pub cpu_share: Option<f64>,
    /// Why this machine does not have it.
    pub unsupported: Option<String>,
}

/// The same workload with all default monitors and with none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EffectPart {
    /// The workload.
    pub workload: String,
    /// Cost with monitors over cost without.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Pairs.
    pub pairs: usize,
}

/// The costs as a table.
#[must_use]
pub fn monitors_card(document: &MonitorsDocument, terminal: &Terminal) -> String {
    let mut table = Table::new(vec![
        Column::left("monitor"),
        Column::right("/s").gap(2),
        Column::right("a reading").gap(2),
        Column::right("of a core").gap(2),
        Column::left("").gap(2).wrapping(),
    ]);
    for it in &document.monitors {
        let why = it.unsupported.as_ref().map(|why| format!("unsupported: {why}"));
        let asked = if it.default_hz.is_none() { " (only when asked for)" } else { "" };
        let text = why.unwrap_or_else(|| format!("{}{asked}", it.summary));
        let cells = [
            it.name.to_owned(),
            format!("{}", it.hz),
            it.read_us.map_or_else(|| "–".to_owned(), |us| format!("{us:.0} µs")),
            it.cpu_share.map_or_else(|| "–".to_owned(), fine),
            clean(&text),
        ];
        table.row(cells.iter().map(|text| Line::new(Style::Plain, text)).collect());
    }
    let all = format!(
        "\nall default monitors together: {} of one core, over {:.0} s\n",
        fine(document.cpu_share),
        document.seconds
    );
    let effect = document.effect.as_ref().map(EffectPart::words).unwrap_or_default();
    terminal.table(&table) + &all + &effect
}

impl EffectPart {
    fn words(&self) -> String {
        let percent = |ratio: f64| format!("{:+.2} %", (ratio - 1.0) * 100.0);
        let interval = self.low.zip(self.high).map_or_else(
            || "no interval".to_owned(),
            |(low, high)| format!("[{}, {}]", percent(low), percent(high)),
        );
        let pairs = counted(self.pairs, "pair", "pairs");
        let name = clean(&self.workload);
        format!("cost of {name} with them: {} {interval}, {pairs}\n", percent(self.ratio))
    }
}

fn fine(share: f64) -> String {
    format!("{:.3} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::{
        EffectPart, MONITORS_SCHEMA, MonitorPart, MonitorsDocument, counters_card, monitors_card,
    };
    use plumb_analysis::{CounterRate, PointFacts, PointRates};
    use plumb_model::{Counter, CounterKind};
    use plumb_text::Terminal;

    fn rate(name: &str, unit: &str, kind: CounterKind, median: f64) -> CounterRate {
        let counter = Counter { name: name.into(), unit: unit.into(), kind };
        CounterRate { counter, median, low: 0.0, high: median * 2.0 }
    }

    #[test]
    fn counters_that_matter_come_first_and_the_rest_when_asked_for() {
        let point = PointFacts {
            index: 0,
            name: "cpu.sieve".into(),
            workload: "cpu.sieve".into(),
            version: 1,
            key: String::new(),
            titled: false,
            settings: plumb_model::Settings::new(),
            parameters: Vec::new(),
        };
        let rates = vec![
            rate("softirqs.RCU", "", CounterKind::Counter, 300.0),
            rate("stat.user", "tick", CounterKind::Counter, 0.995),
            rate("worker.threads", "", CounterKind::Gauge, 1.0),
        ];
        let points = [PointRates { point, invocations: 8, rates }];
        let plain = Terminal::plain(80);
        insta::assert_snapshot!(counters_card(&points, &plain), @"
          counter         median  least   most

        cpu.sieve · 8 invocations
          worker.threads    1.00      0   2.00
          stat.user       99.5 %    0 %  199 %
        ");
        let all = counters_card(&points, &Terminal { every_metric: true, ..plain });
        assert!(all.contains("softirqs.RCU"));
    }

    #[test]
    fn costs_stand_beside_what_is_not_there() {
        let part = |name, read_us: Option<f64>, unsupported: Option<&str>| MonitorPart {
            name,
            summary: "what it reads",
            default_hz: (name != "perf").then_some(10.0),
            hz: 10.0,
            read_us,
            cpu_share: read_us.map(|us| us * 1e-5),
            unsupported: unsupported.map(str::to_owned),
        };
        let document = MonitorsDocument {
            schema: MONITORS_SCHEMA,
            monitors: vec![
                part("stat", Some(30.4), None),
                part("perf", Some(5.0), None),
                part("cpufreq", None, Some("no CPU tells its frequency")),
            ],
            cpu_share: 0.0012,
            seconds: 10.0,
            effect: Some(EffectPart {
                workload: "cpu.sieve".into(),
                ratio: 1.001,
                low: Some(0.999),
                high: Some(1.003),
                pairs: 40,
            }),
        };
        insta::assert_snapshot!(monitors_card(&document, &Terminal::plain(90)), @"
        monitor  /s  a reading  of a core
        stat     10      30 µs    0.030 %  what it reads
        perf     10       5 µs    0.005 %  what it reads (only when asked for)
        cpufreq  10          –          –  unsupported: no CPU tells its frequency

        all default monitors together: 0.120 % of one core, over 10 s
        cost of cpu.sieve with them: +0.10 % [-0.10 %, +0.30 %], 40 pairs
        ");
    }
}
