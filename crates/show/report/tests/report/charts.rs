//! Charts: that they hold what was measured, whole and in order.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use plumb_analysis::testing::{Builder, Spec, compared as compared_records, exec, first_look};
use plumb_analysis::{
    Asked, CompareSettings, ComparisonFinding, SinceLast, Traces, summarise, time_series,
};
use plumb_chart::{Along, Axis, Chart, Mark, Scale, Tone, drawing};
use plumb_model::{
    Better, Counter, CounterKind, Metric, MetricSource, ParameterType, Reading, RunRecord, Trace,
};
use plumb_report::charts::{
    CHARTS, Monitored, charts_of_run, of_comparison, of_monitors, of_run, of_workload,
};
use plumb_report::{
    NextSteps, View, comparison_card, comparison_document, comparison_markdown, document, markdown,
    scorecard,
};
use plumb_text::Terminal;
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

/// The charts of a run and of all its workloads.
fn charts(record: &RunRecord) -> Vec<Chart> {
    let finding = summarise(record);
    let view = View::new(&finding);
    let mut workloads: Vec<&str> = Vec::new();
    for planned in &record.plan.points {
        if !workloads.contains(&planned.point.workload.as_str()) {
            workloads.push(&planned.point.workload);
        }
    }
    let mut all = of_run(&view);
    all.extend(workloads.iter().flat_map(|workload| of_workload(&view, record, workload)));
    all
}

/// Lengths of every column of numbers and words.
fn lengths(mark: &Mark) -> Vec<usize> {
    let document = serde_json::to_value(mark).unwrap();
    let columns = document.as_object().unwrap().values();
    columns.filter_map(|column| Some(column.as_array()?.len())).collect()
}

fn covers(axis: &Axis, places: &[f64]) -> bool {
    axis.low < axis.high && places.iter().all(|place| (axis.low..=axis.high).contains(place))
}

/// What every drawer relies on.
fn check(chart: &Chart) {
    let id = &chart.id;
    assert!(chart.layers.iter().all(|layer| !layer.mark.is_empty()), "{id}: an empty layer");
    for layer in &chart.layers {
        let lengths = lengths(&layer.mark);
        assert!(lengths.iter().all(|length| *length == layer.mark.len()), "{id}: {lengths:?}");
        assert!(layer.group.is_none_or(|group| group < chart.groups.len()), "{id}");
        for (axis, along) in [(&chart.x, Along::X), (&chart.y, Along::Y)] {
            let places = layer.mark.places(along);
            assert!(places.iter().all(|place| place.is_finite()), "{id}: {places:?}");
            assert!(covers(axis, &places), "{id}: {places:?} on {axis:?}");
        }
    }
    for axis in [&chart.x, &chart.y] {
        assert!(axis.per > 0.0 && axis.low.is_finite() && axis.high.is_finite(), "{id}: {axis:?}");
        assert_eq!(axis.scale == Scale::Band, !axis.categories.is_empty(), "{id}");
        assert!(axis.scale != Scale::Log || axis.low > 0.0, "{id}: {axis:?}");
    }
    assert!(!chart.title.is_empty() && !chart.says.is_empty(), "{id}");
}

fn of<'c>(charts: &'c [Chart], id: &str) -> &'c Chart {
    let found = charts.iter().find(|chart| chart.id == id);
    found.unwrap_or_else(|| panic!("no {id} in {:?}", ids(charts)))
}

fn ids(charts: &[Chart]) -> Vec<&str> {
    charts.iter().map(|chart| chart.id.as_str()).collect()
}

#[test]
fn a_first_look_has_charts_of_every_family_and_workload() {
    let charts = charts(&first_look());
    charts.iter().for_each(check);
    let mut ids = ids(&charts);
    for id in ["memory/bandwidth", "run/precision", "memory.copy/boxes", "memory.copy/ecdf"] {
        assert!(ids.contains(&id), "no {id} in {ids:?}");
    }
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "two charts of one name");
    let boxes = of(&charts, "memory.copy/boxes");
    assert_eq!(boxes.x.unit, "GB/s");
    assert_eq!(boxes.y.categories, ["copy libc", "copy loop", "copy block", "copy nt"]);
}

#[test]
fn charts_mark_both_levels() {
    let charts = charts(&first_look());
    let groups = |id: &str| -> Vec<String> {
        of(&charts, id).groups.iter().map(|group| group.name.clone()).collect()
    };
    let boxes = groups("scheduler.pipe/boxes");
    assert!(boxes.iter().any(|name| name.starts_with("two levels")), "{boxes:?}");
    let drawn = intervals(of(&charts, "scheduler.pipe/boxes"));
    assert_eq!(drawn.len(), 4, "two medians and two levels: {drawn:?}");
    assert!(drawn[2].3.ends_with("in 62 % [32, 84] of the processes"), "{drawn:?}");
    assert!(groups("scheduler.pipe:placement=across/invocations").contains(&"two levels".into()));
    assert!(!groups("memory.copy/boxes").iter().any(|name| name.starts_with("two levels")));
}

/// The intervals of a chart: estimate, ends, and the words.
fn intervals(chart: &Chart) -> Vec<(f64, Option<f64>, Option<f64>, String)> {
    let mut all: Vec<_> = Vec::new();
    for layer in &chart.layers {
        let Mark::Intervals { estimate, low, high, tips, .. } = &layer.mark else { continue };
        for row in 0..tips.len() {
            all.push((estimate[row], low[row], high[row], tips[row].clone()));
        }
    }
    all
}

/// The lines of a text with one space between columns, and without what Markdown escapes.
fn rows(text: &str) -> Vec<String> {
    let text = text.replace('\\', "");
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    rows.collect()
}

/// The rows that hold these words: at least one.
fn holding<'r>(rows: &'r [String], words: &str) -> Vec<&'r String> {
    let found: Vec<&String> = rows.iter().filter(|row| row.contains(words)).collect();
    assert!(!found.is_empty(), "no row with {words} in {rows:#?}");
    found
}

#[test]
fn terminal_document_markdown_and_chart_show_the_same_numbers_of_a_run() {
    let record = first_look();
    let finding = summarise(&record);
    let view = View::new(&finding);
    let wide = Terminal { every_metric: true, ..Terminal::plain(200) };
    let card = rows(&scorecard(&view, &wide, &NextSteps::default()));
    let markdown = rows(&markdown(&view));
    let document = serde_json::to_value(document(&view)).unwrap();
    let charts = charts(&record);
    let mut seen = 0;
    for workload in ["memory.copy", "storage.sequential", "process.command", "cpu.sieve"] {
        let boxes = of(&charts, &format!("{workload}/boxes"));
        let results = document["results"].as_array().unwrap().iter();
        let results =
            results.filter(|result| result["workload"] == workload && result["primary"] == true);
        let drawn = intervals(boxes);
        let csv = boxes.csv();
        for (result, (estimate, low, high, words)) in results.zip(&drawn) {
            assert_eq!(result["estimate"].as_f64(), Some(*estimate), "{words}");
            let end = |name: &str| result[format!("shown_{name}")].as_f64();
            assert_eq!((end("low"), end("high")), (*low, *high), "{words}");
            // A session that is too short to describe the machine has its length in place of an interval.
            let (words, _) = words.split_once(" in these ").unwrap_or((words.as_str(), ""));
            let (figure, unit) = words.split_once(" (").unwrap_or(words.rsplit_once(' ').unwrap());
            // A figure, its interval and its unit stand on one line, next to the name of the result.
            let short = result["workload"].as_str().unwrap().split_once('.').unwrap().1;
            let is_named = |row: &&String| row.contains(short) || short == "command";
            assert!(holding(&card, figure).iter().any(is_named), "{figure} {unit}: {card:#?}");
            let number = figure.split(' ').next().unwrap();
            holding(&markdown, number);
            assert!(csv.contains(&estimate.to_string()) || *estimate < 1e-5, "{csv}");
            seen += 1;
        }
    }
    assert_eq!(seen, 8);
}

#[test]
fn terminal_document_markdown_and_chart_show_the_same_ratios() {
    let finding = compared();
    let chart = &of_comparison(&finding)[0];
    let card = rows(&comparison_card(&finding, &Terminal::plain(200)));
    let markdown = rows(&comparison_markdown(&finding));
    let document = serde_json::to_value(comparison_document(&finding)).unwrap();
    let against = document["results"].as_array().unwrap().iter();
    let mut told: Vec<f64> =
        against.filter_map(|result| result["against_first"][0]["ratio"].as_f64()).collect();
    let mut drawn: Vec<f64> = intervals(chart).iter().map(|interval| interval.0).collect();
    told.sort_by(f64::total_cmp);
    drawn.sort_by(f64::total_cmp);
    assert!(drawn.len() > 5 && told == drawn, "{told:?} {drawn:?}");
    for (.., words) in intervals(chart) {
        let (ratio, verdict) = words.split_once("× the cost").unwrap();
        let number = ratio.split(' ').next().unwrap();
        // The ratio and its verdict stand on one line.
        let verdict = verdict.trim_start_matches(": ");
        assert!(holding(&card, number).iter().any(|row| row.contains(verdict)), "{words}");
        holding(&markdown, number);
    }
}

#[test]
fn charts_fit_an_ordinary_terminal() {
    let mut all = charts(&first_look());
    all.extend(of_comparison(&compared()));
    for terminal in [Terminal::plain(80), Terminal { unicode: false, ..Terminal::plain(80) }] {
        for chart in &all {
            let drawn = drawing(chart, &terminal);
            for line in drawn.lines() {
                assert!(plumb_text::width(line) <= 80, "{}:\n{drawn}", chart.id);
            }
            assert!(terminal.unicode || drawn.is_ascii(), "{}:\n{drawn}", chart.id);
        }
    }
    let copy = of(&all, "memory.copy/boxes");
    insta::assert_snapshot!(drawing(copy, &Terminal::plain(80)), @"
    memory.copy: steady samples of every point · bandwidth (GB/s)
      copy libc                        •├────▒▒┃▒▒───┤  ••
                                       ├───────●────────┤
      copy loop     •••├───▒┃▒▒───┤
                         ├──●───┤
      copy block         ••├───▒▒┃▒▒────┤•
                      ├──────────●────────────┤
      copy nt                                              ├─────▒▒┃▒▒─────┤••
                                                       ├───────────●─────────────┤
                  ───┴──────────┴──────────┴──────────┴──────────┴──────────┴───────
                     9         10         11         12         13         14
      • steady samples · ● median over processes, 95 % interval
      shows 448 of 1,040 samples: the smallest and the largest of each point, and
      evenly spaced ranks between; boxes and intervals use all samples
    ");
    let memory = of(&all, "comparison/ratios/memory");
    insta::assert_snapshot!(drawing(memory, &Terminal::plain(80)), @r"
    memory: cost relative to 019aa82151c0 · × the cost of the first
      memory.copy/bandwidth                  ░░│░░░                  ├─○─┤
      memory.copy:method=loop/bandwid…       ░░│░░░                   ├○┤
      memory.copy:method=block/bandwi…       ░░│░░░                  ├─○─┤
      memory.copy:method=nt/bandwidth        ░░│░░░                  ├─○─┤
      memory.latency:size=16KiB/laten…       ░░│░░░                   ├○┤
      memory.latency/latency                 ░░│░░░             ├──────○──────┤
                                        ───────┴────────────┴──────────┴──────────┴─
                                             1.00         1.05       1.10       1.15
      ░ margin · │ equal · ○ inconclusive, or no verdict
      no verdict: measured at different times, with too little history
    ");
}

const COPY: Spec = Spec {
    id: "memory.copy",
    metric: "bandwidth",
    unit: "B/s",
    parameters: &[("method", ParameterType::Choice, "libc", "")],
    value: 11.4e9,
    within: 0.02,
    between: 0.01,
    processes: 12,
    samples: 20,
    cpu: (99, 1, 0),
    memory_mib: 132,
};

#[test]
fn many_samples_are_thinned_and_that_is_said() {
    let record = Builder::new(None).measured(&Spec { samples: 1_000, ..COPY }).build();
    let charts = charts(&record);
    for id in ["memory.copy/boxes", "memory.copy/warmup"] {
        let chart = of(&charts, id);
        check(chart);
        let dots = |mark: &Mark| if let Mark::Dots { x, .. } = mark { x.len() } else { 0 };
        let shown: usize = chart.layers.iter().map(|layer| dots(&layer.mark)).sum();
        assert!((200..=500).contains(&shown), "{id}: {shown}");
        let said = |note: &String| note.starts_with("shows ") && note.contains(" samples");
        assert!(chart.notes.iter().any(said), "{:?}", chart.notes);
    }
    // The least and the greatest of all are among them.
    let finding = summarise(&record);
    let all = plumb_analysis::samples(&record, "memory.copy")[0].steady();
    let most = all.iter().copied().fold(f64::MIN, f64::max);
    let drawn = of(&charts, "memory.copy/boxes").layers[1].mark.places(Along::X);
    assert!(drawn.contains(&most) && finding.results[0].samples == 12_000);
}

#[test]
fn excluded_and_warm_samples_have_groups_of_their_own() {
    let record = Builder::new(None)
        .measured(&Spec { processes: 9, ..COPY })
        .invocations(|i, invocation| invocation.excluded_by = (i == 2).then(|| "steal".to_owned()))
        .build();
    let charts = charts(&record);
    let warmup = of(&charts, "memory.copy/warmup");
    let tones: Vec<Tone> = warmup.groups.iter().map(|group| group.tone).collect();
    assert_eq!(tones, [Tone::Excluded, Tone::Warmup, Tone::Steady]);
    let counts: Vec<usize> = warmup.layers.iter().map(|layer| layer.mark.len()).collect();
    assert_eq!(counts, [22, 8 * 2, 8 * 20, 22]);
    let boxes = of(&charts, "memory.copy/invocations");
    let counts: Vec<usize> = boxes.layers.iter().map(|layer| layer.mark.len()).collect();
    assert_eq!(counts, [8, 1]);
}

#[test]
fn commands_are_compared_with_the_first_around_the_margin() {
    let charts = charts(&exec());
    charts.iter().for_each(check);
    let ratios = of(&charts, "run/against-first");
    assert!(matches!(ratios.layers[0].mark, Mark::Spans { .. }));
    assert!(ratios.x.low < 1.0 && ratios.x.high > 1.0 && ratios.x.scale == Scale::Log);
}

/// A run and a tenth slower one.
fn compared() -> ComparisonFinding {
    let settings = CompareSettings::default();
    let mut slower = first_look();
    slower.run = plumb_model::Id::from_u128(7);
    for invocation in &mut slower.invocations {
        invocation.samples.elapsed_ns.iter_mut().for_each(|elapsed| *elapsed = *elapsed * 11 / 10);
    }
    compared_records(&[first_look(), slower], &[], None, &settings)
}

#[test]
fn runs_are_compared_in_one_chart_a_family() {
    let finding = compared();
    let charts = of_comparison(&finding);
    charts.iter().for_each(check);
    let all = of(&charts, "comparison/ratios");
    let memory = of(&charts, "comparison/ratios/memory");
    assert!(memory.y.categories.len() > 2 && all.y.categories.len() > memory.y.categories.len());
    let places = memory.layers.last().unwrap().mark.places(Along::X);
    assert!(places.iter().any(|place| (place - 1.1).abs() < 0.05), "{places:?}");
}

#[test]
fn every_arm_of_a_workload_is_in_one_figure() {
    let charts = of_comparison(&compared());
    let map = of(&charts, "comparison/map/memory.copy");
    assert_eq!((map.layers[0].mark.len(), map.x.categories.len()), (8, 2));
    let bars = of(&charts, "comparison/bars/memory.copy");
    assert_eq!((bars.groups.len(), bars.y.categories.len()), (2, 8));
    let cpu = of(&charts, "comparison/cpu/memory.copy");
    assert_eq!(cpu.layers[1].mark.places(Along::Y).len(), 8);
    let arms = of(&charts, "memory.copy/bandwidth/arms");
    let kinds: Vec<&str> = arms.layers.iter().map(|layer| layer.mark.word()).collect();
    assert_eq!(kinds, ["boxes", "dots", "dots", "intervals", "intervals"]);
    assert_eq!(arms.layers[0].mark.len(), 2);
}

#[test]
fn the_whole_run_is_in_one_picture() {
    let mut finding = summarise(&first_look());
    let compared = compared();
    let mut against = vec![None; finding.results.len()];
    against[0] = compared.results[0].against_first[0].clone();
    let standing_out = compared.standing_out[0].clone().unwrap();
    let run = plumb_model::Id::from_u128(7);
    let started_unix_ns = 0;
    finding.since_last = Asked::Found(SinceLast { run, started_unix_ns, against, standing_out });
    let view = View::new(&finding);
    let charts = of_run(&view);
    let overview = of(&charts, plumb_report::charts::OVERVIEW);
    check(overview);
    assert_eq!(overview.id, charts[0].id);
    let headlines = view.rows.iter().filter(|row| row.finding.headline).count();
    let drawn = intervals(overview);
    assert_eq!(drawn.len(), headlines);
    assert!(drawn[0].3.contains("the cost in the last comparable run"), "{drawn:?}");
    assert!(drawn.iter().any(|interval| interval.0 == 1.0) && overview.groups.len() >= 2);
}

const SIZES: [&[(&str, ParameterType, &str, &str)]; 4] = [
    &[("size", ParameterType::Bytes, "64KiB", ""), ("threads", ParameterType::Threads, "1", "")],
    &[
        ("size", ParameterType::Bytes, "64KiB", "8MiB"),
        ("threads", ParameterType::Threads, "1", ""),
    ],
    &[("size", ParameterType::Bytes, "64KiB", ""), ("threads", ParameterType::Threads, "1", "2")],
    &[
        ("size", ParameterType::Bytes, "64KiB", "8MiB"),
        ("threads", ParameterType::Threads, "1", "2"),
    ],
];

#[test]
fn numbers_give_curves_and_a_map() {
    let measured = |builder: Builder, parameters| builder.measured(&Spec { parameters, ..COPY });
    let record = SIZES.into_iter().fold(Builder::new(None), measured).build();
    let charts = charts(&record);
    charts.iter().for_each(check);
    let curve = of(&charts, "memory.copy/by-size");
    let groups: Vec<&str> = curve.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!((curve.x.scale, groups), (Scale::Log, vec!["threads=1", "threads=2"]));
    let map = of(&charts, "memory.copy/by-size-and-threads");
    assert_eq!(map.layers[0].mark.len(), 4);
    assert_eq!(map.colour.as_ref().unwrap().unit, "GB/s");
    assert_eq!(map.x.categories, ["size=64KiB", "size=8MiB"]);
}

/// A point of memory.copy with a time next to the rate.
fn with_time(builder: Builder, spec: &Spec) -> Builder {
    builder.measured(spec).last_point(|point| {
        let rate = point.description.metrics[0].clone();
        let name = "time".to_owned();
        let unit = "s".to_owned();
        let better = Better::Lower;
        let source = MetricSource::Time;
        point.description.metrics.push(Metric { name, unit, better, source, ..rate });
    })
}

#[test]
fn what_is_computed_of_another_metric_is_shown_in_its_place() {
    let record = SIZES.into_iter().fold(Builder::new(None), |builder, parameters| {
        with_time(builder, &Spec { parameters, ..COPY })
    });
    let charts = charts(&record.build());
    let instead = |id: &str| of(&charts, id).instead_of.clone();
    for kind in ["boxes", "bars", "by-size", "by-size-and-threads"] {
        let id = format!("memory.copy/{kind}");
        assert_eq!((instead(&id), instead(&format!("{id}/time"))), (None, Some(id)));
    }
}

#[test]
fn metrics_of_their_own_have_charts_of_their_own() {
    let charts = charts(&exec());
    assert!(charts.iter().any(|chart| chart.id == "process.command/boxes"));
    assert!(charts.iter().all(|chart| chart.instead_of.is_none()));
}

#[test]
fn the_sides_of_a_run_are_side_by_side() {
    let record = exec();
    let charts = charts_of_run(&summarise(&record), &record);
    let boxes = of(&charts, "sides/boxes");
    check(boxes);
    assert_eq!(boxes.y.categories, of(&charts, "process.command/boxes").y.categories);
    let kinds: Vec<&str> = boxes.layers.iter().map(|layer| layer.mark.word()).collect();
    assert_eq!(kinds.first(), Some(&"boxes"));
    let bars = of(&charts, "sides/bars");
    assert_eq!((bars.y.categories.clone(), bars.x.low), (boxes.y.categories.clone(), 0.0));
    assert!(charts.iter().any(|chart| chart.id == "sides/cpu"));
    let alone = Builder::new(None).measured(&COPY).build();
    let charts = charts_of_run(&summarise(&alone), &alone);
    assert!(charts.iter().all(|chart| !chart.id.starts_with("sides/")));
}

/// Readings of two counters every 20 ms next to every invocation.
fn traces(record: &RunRecord) -> Traces {
    let of = |invocation: &plumb_model::InvocationRecord| {
        let from = invocation.samples.start_ns[0] - 50_000_000;
        let trace = |name: &str, unit: &str, kind, each: u64| {
            let counter = Counter { name: name.into(), unit: unit.into(), kind };
            let reading = |i| Reading { at_ns: from + i * 20_000_000, value: 1_000 + each * i };
            Trace { counter, readings: (0..=12).map(reading).collect() }
        };
        let context_switches = trace("stat.ctxt", "", CounterKind::Counter, 7);
        let cached = trace("meminfo.Cached", "kB", CounterKind::Gauge, 64);
        (invocation.invocation, vec![context_switches, cached])
    };
    record.invocations.iter().map(of).collect()
}

#[test]
fn monitors_are_drawn_over_the_time_of_the_samples() {
    let record = Builder::new(None).measured(&COPY).build();
    let monitored = |run: &str| {
        let time_series = time_series(&record, &traces(&record), "memory.copy");
        Monitored { run: run.to_owned(), time_series }
    };
    let charts = of_monitors("memory.copy", &[monitored("6.1"), monitored("6.12")], false);
    charts.iter().for_each(check);
    let ids = ["samples", "stat.ctxt", "meminfo.Cached"]
        .map(|name| format!("memory.copy/monitor/{name}"));
    assert_eq!(self::ids(&charts), ids);
    assert!(charts.iter().all(|chart| chart.x == charts[0].x));
    let switches = of(&charts, &ids[1]);
    let groups: Vec<&str> = switches.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!((switches.y.unit.as_str(), groups), ("events/s", vec!["6.1", "6.12"]));
    let rates = switches.layers[2].mark.places(Along::Y);
    assert!(rates.iter().all(|rate| (rate - 350.0).abs() < 1e-6), "{rates:?}");
    let cached = of(&charts, &ids[2]);
    assert_eq!((cached.y.unit.as_str(), cached.y.low), ("MiB", 0.0));
}

#[test]
fn pictures_are_whole_and_light() {
    for chart in charts(&first_look()) {
        let svg = chart.svg();
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
        assert!(svg.contains("role=\"img\"") && svg.contains("<title id=\"title\">"));
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{}", chart.id);
        assert!(svg.len() < 400_000, "{} is {} bytes", chart.id, svg.len());
        for group in &chart.groups {
            assert!(svg.contains(&group.name), "{} lacks {}", chart.id, group.name);
        }
    }
    let charts = charts(&first_look());
    let boxes = of(&charts, "memory.copy/boxes");
    let png = boxes.png().unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 20_000);
    assert_eq!(png, boxes.png().unwrap());
    assert_eq!(boxes.csv().lines().filter(|line| line.contains(",boxes,")).count(), 4);
}

#[test]
fn every_kind_of_chart_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/charts.md");
    let page = std::fs::read_to_string(page).unwrap();
    let record = first_look();
    let mut all = charts(&record);
    let sizes = SIZES.into_iter().fold(Builder::new(None), |builder, parameters| {
        builder.measured(&Spec { parameters, ..COPY })
    });
    all.extend(charts(&sizes.build()));
    all.extend(of_comparison(&compared()));
    let families = ["cpu", "memory", "storage", "crypto", "language", "ssh", "network", "process"];
    for id in ids(&all) {
        let (of, kind) = id.rsplit_once('/').unwrap();
        let (of, kind) = match of.rsplit_once('/') {
            Some((before, middle)) if kind != "arms" => (before, middle),
            _ => (of, kind),
        };
        let documented = match (of, kind) {
            ("comparison", kind) if kind.starts_with("by-") => {
                page.contains("`comparison/by-PARAMETER")
            }
            ("run" | "comparison", _) => page.contains(&format!("`{of}/{kind}")),
            (family, _) if families.contains(&family) => page.contains("`FAMILY/METRIC`"),
            (_, kind) if kind.contains("-and-") => page.contains("/by-PARAMETER-and-PARAMETER`"),
            (_, kind) if kind.starts_with("by-") => page.contains("/by-PARAMETER`"),
            (_, kind) => page.contains(&format!("/{kind}`")) || page.contains(&format!("/{kind}/")),
        };
        assert!(documented, "docs/charts.md lacks {id}");
    }
}

/// Names as a plug-in could choose them.
fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        Just("<script>alert(1)</script>".to_owned()),
        Just("\u{1b}[31m\u{202e}]]>&amp;\"'".to_owned()),
        Just(String::new()),
    ]
}

proptest! {
    #[test]
    fn any_names_and_numbers_give_sound_charts(
        names in prop::collection::vec(names(), 1..5),
        value in prop_oneof![1e-12..1e15_f64, Just(1.0)],
        within in prop_oneof![Just(0.0), 0.0..3.0_f64],
        processes in 1_usize..6,
        samples in 1_usize..30,
    ) {
        let spec = Spec { value, within, processes, samples, ..COPY };
        let titled = |builder: Builder, name: &String| {
            builder.measured(&spec).last_point(|point| point.title = Some(name.clone()))
        };
        let record = names.iter().fold(Builder::new(None), titled).build();
        let charts = charts(&record);
        charts.iter().for_each(check);
        let boxes = of(&charts, "memory.copy/boxes");
        let svg = boxes.svg();
        assert!(!svg.contains("<script") && !svg.chars().any(|c| c.is_control() && c != '\n'));
        let cleaned: Vec<String> = names.iter().map(|name| plumb_text::clean(name)).collect();
        assert_eq!(boxes.y.categories, cleaned);
        let mut ids = ids(&charts);
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }
}

#[test]
fn the_page_about_charts_lists_every_kind() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/charts.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut listed: Vec<&str> = rows.collect();
    let mut known: Vec<&str> = CHARTS.iter().map(|kind| kind.name).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}
