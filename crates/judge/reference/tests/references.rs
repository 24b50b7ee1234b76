//! Files of references, and results next to them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{
    Better, Ends, Estimate, Host, Machine, MeasuredOn, ParameterType, PointFacts, Role,
    RunCompanion, RunOfSeries, SeriesInRun, Settings, ShownParameter, Value,
};
use plumb_reference::{
    MergeError, Reference, ReferenceError, ReferenceFigure, SCHEMA, SHIPPED, compare, merge,
    of_runs,
};
use proptest::prelude::*;

const SMALL: &str = r#"
schema = "plumb.reference/1"
name = "small"
summary = "a small one"
source = "a page"
machine = "a machine"

[[figure]]
name = "copy"
printed = "100 MB/s"
value = 1e8
unit = "B/s"
workload = "memory.copy"
metric = "bandwidth"
settings = { method = "libc" }

[[figure]]
name = "boot"
value = 71
unit = "s"
not-comparable = "nothing boots"
"#;

/// A series of one run on a host.
fn series(host: &str, name: &str, value: f64, better: Better) -> SeriesInRun {
    let place = MeasuredOn {
        machine: Arc::new(Machine { fingerprint: "fp1:0".into(), facts: BTreeMap::new() }),
        host: host.parse::<Host>().unwrap(),
        environment: Arc::default(),
    };
    let point = PointFacts {
        workload: "memory.copy".into(),
        version: 1,
        name: "memory.copy".into(),
        settings: Settings::from([("method".to_owned(), Value::Text("libc".into()))]),
        ..PointFacts::default()
    };
    SeriesInRun {
        run: Arc::new(RunOfSeries { place: Some(place), ..RunOfSeries::default() }),
        environment: Arc::default(),
        point: Arc::new(point),
        name: name.into(),
        clock: "monotonic".into(),
        metric: "bandwidth".into(),
        unit: "B/s".into(),
        better,
        primary: true,
        versions: BTreeMap::new(),
        is_side_of_knob: false,
        points: Vec::new(),
        process_medians: Vec::new(),
        ends: plumb_model::CommandEnds::default(),
        busy_clients: false,
        samples: 10,
        estimate: Estimate { value, interval: Ok(Ends { low: 0.9 * value, high: 1.1 * value }) },
    }
}

fn settings(figure: &ReferenceFigure) -> Settings {
    figure.settings.clone()
}

#[test]
fn a_result_is_as_many_times_as_fast_and_other_figures_say_why_not() {
    let reference = Reference::parse(SMALL).unwrap();
    let results = [series("a", "memory.copy/bandwidth", 2e8, Better::Higher)];
    let found = compare(&reference, &results, &settings);
    assert_eq!(found.compared.len(), 1);
    let performance = &found.compared[0].performance;
    assert!((performance.value - 2.0).abs() < 1e-12);
    assert!((performance.low().unwrap() - 1.8).abs() < 1e-12);
    assert_eq!(found.not_compared.len(), 1);
    assert_eq!(found.not_compared[0].why, "nothing boots");
    // Of a cost, half is twice as fast, and the ends of the interval change places.
    let results = [series("a", "memory.copy/bandwidth", 2e8, Better::Lower)];
    let performance = compare(&reference, &results, &settings).compared[0].performance.clone();
    assert!((performance.value - 0.5).abs() < 1e-12);
    assert!(performance.low() < performance.high());
    let found = compare(&reference, &[], &settings);
    assert_eq!(found.not_compared[0].why, "not measured: plumb run memory.copy -p method=libc");
}

#[test]
fn a_run_next_to_a_load_is_neither_compared_nor_exported() {
    let reference = Reference::parse(SMALL).unwrap();
    let mut loaded = series("a", "memory.copy/bandwidth", 2e8, Better::Higher);
    let load = RunCompanion { role: Role::Load, name: "cpu.sieve".into() };
    Arc::make_mut(&mut loaded.run).companions.push(load);
    let found = compare(&reference, std::slice::from_ref(&loaded), &settings);
    assert_eq!(found.compared, []);
    assert!(found.not_compared[0].why.contains("next to a load"), "{found:?}");
    assert_eq!(of_runs(&[loaded]), []);
    let mut nice = series("a", "memory.copy:set=nice=1/bandwidth", 2e8, Better::Higher);
    Arc::make_mut(&mut nice.point).parameters.push(ShownParameter {
        name: "set".into(),
        value: "nice=1".into(),
        kind: ParameterType::Text,
        default: false,
    });
    assert_eq!(of_runs(&[nice]), []);
}

#[test]
fn results_without_a_direction_other_settings_and_sides_of_knobs_are_not_compared() {
    let reference = Reference::parse(SMALL).unwrap();
    let neither = series("a", "x", 2e8, Better::Neither);
    let mut side = series("a", "x", 2e8, Better::Higher);
    side.is_side_of_knob = true;
    let mut other_unit = series("a", "x", 2e8, Better::Higher);
    other_unit.unit = "ops/s".into();
    let mut other_method = series("a", "x", 2e8, Better::Higher);
    Arc::make_mut(&mut other_method.point)
        .settings
        .insert("method".into(), Value::Text("loop".into()));
    let found = compare(&reference, &[neither, side, other_unit, other_method], &settings);
    assert_eq!(found.compared, []);
}

#[test]
fn faulty_files_are_refused_with_the_reason() {
    let wrong = |from: &str, to: &str| Reference::parse(&SMALL.replace(from, to)).unwrap_err();
    assert_eq!(
        wrong("reference/1", "reference/2"),
        ReferenceError::Schema("plumb.reference/2".into())
    );
    assert_eq!(wrong("name = \"small\"", "name = \"a b\""), ReferenceError::Name("a b".into()));
    assert_eq!(wrong("1e8", "-1.0"), ReferenceError::Value("copy".into()));
    assert_eq!(wrong("1e8", "nan"), ReferenceError::Value("copy".into()));
    assert_eq!(
        wrong("not-comparable = \"nothing boots\"", ""),
        ReferenceError::Incomparable("boot".into())
    );
    assert!(wrong("machine =", "machina =").to_string().contains("machina"));
    assert!(matches!(Reference::parse("value"), Err(ReferenceError::Toml(_))));
}

#[test]
fn a_host_with_many_runs_counts_once() {
    let name = "memory.copy/bandwidth";
    let values = [("a", 1.0), ("a", 1.0), ("a", 1.0), ("b", 3.0), ("c", 4.0)];
    let all: Vec<SeriesInRun> =
        values.iter().map(|(host, value)| series(host, name, *value, Better::Higher)).collect();
    let figures = of_runs(&all);
    assert_eq!(figures.len(), 1);
    assert!((figures[0].value - 3.0).abs() < 1e-12);
    assert_eq!(figures[0].hosts, [vec![1.0, 1.0, 1.0], vec![3.0], vec![4.0]]);
    assert_eq!(figures[0].range(), Some((1.0, 4.0)));
    let single = of_runs(&all[..1]);
    assert_eq!(single[0].range(), None);
}

/// A reference whose only figure has these runs by host.
fn of_hosts(hosts: &[Vec<f64>]) -> Reference {
    let mut all = Vec::new();
    for (index, runs) in hosts.iter().enumerate() {
        let host = format!("h{index}");
        all.extend(runs.iter().map(|value| series(&host, "x", *value, Better::Higher)));
    }
    Reference {
        schema: SCHEMA.into(),
        name: "x".into(),
        summary: String::new(),
        date: String::new(),
        source: String::new(),
        machine: String::new(),
        kind: Some("fp1:0".into()),
        prepared: None,
        method: String::new(),
        remarks: Vec::new(),
        figures: of_runs(&all),
    }
}

#[test]
fn merging_keeps_other_versions_and_refuses_what_does_not_belong_together() {
    let one = of_hosts(&[vec![1.0, 2.0]]);
    let mut older = of_hosts(&[vec![3.0]]);
    older.figures[0].version = Some(0);
    let both = merge(one.clone(), &older).unwrap();
    assert_eq!(both.figures.len(), 2);
    assert_eq!(both.figures[1].hosts, [vec![3.0]]);
    let again = merge(one.clone(), &one).unwrap_err();
    assert!(matches!(again, MergeError::SameRuns { .. }), "{again}");
    let other = Reference { kind: Some("fp1:1".into()), ..of_hosts(&[vec![3.0]]) };
    assert!(matches!(merge(one.clone(), &other), Err(MergeError::OtherKind { .. })));
    let published = Reference { kind: None, ..of_hosts(&[vec![3.0]]) };
    assert!(matches!(merge(one.clone(), &published), Err(MergeError::NotMeasured(_))));
    let tuned = Reference { prepared: Some("nice=1".into()), ..of_hosts(&[vec![3.0]]) };
    assert!(matches!(merge(one, &tuned), Err(MergeError::OtherPreparation { .. })));
}

fn hosts() -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(prop::collection::vec(1e-9..1e12, 1..4), 1..5)
}

proptest! {
    #[test]
    fn a_file_that_is_written_is_read_as_it_was(hosts in hosts()) {
        let reference = of_hosts(&hosts);
        let text = reference.to_toml().unwrap();
        prop_assert_eq!(Reference::parse(&text).unwrap(), reference);
    }

    #[test]
    fn the_order_of_merging_does_not_matter(one in hosts(), other in hosts()) {
        // Runs that are equal to the last digit are the same runs.
        prop_assume!(one.iter().all(|runs| !other.contains(runs)));
        let first = merge(of_hosts(&one), &of_hosts(&other)).unwrap();
        let second = merge(of_hosts(&other), &of_hosts(&one)).unwrap();
        prop_assert_eq!(first.figures[0].value.to_bits(), second.figures[0].value.to_bits());
        prop_assert_eq!(first.figures[0].range(), second.figures[0].range());
        prop_assert_eq!(first.hosts(), one.len() + other.len());
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in ".*") {
        let _ = Reference::parse(&text);
        let _ = Reference::parse(&format!("{SMALL}\n{text}"));
    }
}

#[test]
fn shipped_references_are_in_the_order_of_their_names() {
    let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
}
