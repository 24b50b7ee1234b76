//! The counters and the cost of monitors next to a run, on a terminal.

use plumb_analysis::{CounterRate, PointRates};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, clean, counted};
use plumb_units::quantity;

use crate::monitors::json::{EffectPart, MonitorsDocument};
use crate::monitors::view::{matters, place};

/// The counters of a run as a table a point, the ones that matter first; all with
/// [`Terminal::every_metric`].
#[must_use]
pub fn counters_card(points: &[PointRates], terminal: &Terminal) -> String {
    let mut table = Table::new(vec![
        TableColumn::left("counter"),
        TableColumn::right("median").gap(2),
        TableColumn::right("lowest").gap(2),
        TableColumn::right("highest").gap(2),
    ])
    .indented(2);
    for point in points {
        let of = counted(point.invocations, "invocation", "invocations");
        table.heading(TextLine::new(Style::Name, &format!("{} · {of}", clean(&point.point.name))));
        let mut shown: Vec<&CounterRate> =
            // vmstat and diskstats alone have hundreds of counters.
            point.rates.iter().filter(|rate| terminal.every_metric || matters(rate)).collect();
        shown.sort_by_key(|rate| place(rate));
        for rate in shown {
            let unit = rate.counter.rate_unit();
            let name = clean(&rate.counter.name);
            let figures = [rate.median, rate.low, rate.high].map(|value| quantity(value, &unit));
            let cells = std::iter::once(&name).chain(&figures);
            table.row(cells.map(|text| TextLine::new(Style::Plain, text)).collect());
        }
    }
    terminal.table(&table)
}

/// The costs as a table.
#[must_use]
pub fn monitors_card(document: &MonitorsDocument, terminal: &Terminal) -> String {
    let mut table = Table::new(vec![
        TableColumn::left("monitor"),
        TableColumn::right("/s").gap(2),
        TableColumn::right("per reading").gap(2),
        TableColumn::right("of one core").gap(2),
        TableColumn::left("").gap(2).wrapping(),
    ]);
    for monitor in &document.monitors {
        let why = monitor.unsupported.as_ref().map(|why| format!("unsupported: {why}"));
        let asked = if monitor.default_hz.is_none() { " (only on request)" } else { "" };
        let text = why.unwrap_or_else(|| format!("{}{asked}", monitor.summary));
        let cells = [
            monitor.name.to_owned(),
            format!("{}", monitor.hz),
            monitor.read_us.map_or_else(|| "–".to_owned(), |us| format!("{us:.0} µs")),
            monitor.cpu_share.map_or_else(|| "–".to_owned(), fine),
            clean(&text),
        ];
        table.row(cells.iter().map(|text| TextLine::new(Style::Plain, text)).collect());
    }
    let all = format!(
        "\nall default monitors together: {} of one core, measured over {:.0} s\n",
        fine(document.cpu_share),
        document.seconds
    );
    let effect = document.effect.as_ref().map(effect_line).unwrap_or_default();
    terminal.table(&table) + &all + &effect
}

/// The line about what monitors do to a workload.
fn effect_line(effect: &EffectPart) -> String {
    let interval = effect.low.zip(effect.high).map_or_else(
        || "no interval".to_owned(),
        |(low, high)| format!("[{}, {}]", change(low), change(high)),
    );
    let pairs = counted(effect.pairs, "pair", "pairs");
    let name = clean(&effect.workload);
    format!("cost of {name} with monitors: {} {interval}, {pairs}\n", change(effect.ratio))
}

// Two decimals: the effect is a few hundredths of a percent, which fewer would round to 0.
fn change(ratio: f64) -> String {
    plumb_units::percent_change(ratio - 1.0, 2)
}

fn fine(share: f64) -> String {
    plumb_units::percent_to(share, 3)
}

#[cfg(test)]
mod tests {
    use super::{counters_card, monitors_card};
    use crate::monitors::json::{EffectPart, MONITORS_SCHEMA, MonitorPart, MonitorsDocument};
    use plumb_analysis::{CounterRate, PointFacts, PointRates};
    use plumb_model::{Counter, CounterKind};
    use plumb_text::Terminal;

    fn rate(name: &str, unit: &str, kind: CounterKind, median: f64) -> CounterRate {
        let counter = Counter { name: name.into(), unit: unit.into(), kind };
        CounterRate { counter, median, low: 0.0, high: median * 2.0 }
    }

    #[test]
    fn counters_that_matter_come_first_and_the_rest_when_asked_for() {
        let point = PointFacts { name: "cpu.sieve".into(), ..PointFacts::default() };
        let rates = vec![
            rate("softirqs.RCU", "", CounterKind::Counter, 300.0),
            rate("stat.user", "tick", CounterKind::Counter, 0.995),
            rate("worker.threads", "", CounterKind::Gauge, 1.0),
        ];
        let points = [PointRates { point, invocations: 8, rates }];
        let plain = Terminal::plain(80);
        insta::assert_snapshot!(counters_card(&points, &plain), @"
          counter         median  lowest  highest

        cpu.sieve · 8 invocations
          worker.threads    1.00       0     2.00
          stat.user       99.5 %     0 %    199 %
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
        monitor  /s  per reading  of one core
        stat     10        30 µs      0.030 %  what it reads
        perf     10         5 µs      0.005 %  what it reads (only on request)
        cpufreq  10            –            –  unsupported: no CPU tells its frequency

        all default monitors together: 0.120 % of one core, measured over 10 s
        cost of cpu.sieve with monitors: +0.10 % [-0.10 %, +0.30 %], 40 pairs
        ");
    }
}
