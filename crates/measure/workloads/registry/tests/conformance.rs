//! What holds for every built-in workload, whatever it does.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use plumb_model::{Description, MetricSource, ParameterType, QuantityKind, Role, SampleIs, Value};
use plumb_protocol::{Distribution, StartError, StartedWorkload, Workload, serve};
use plumb_workload_testing::{
    Lack, TestPoint, alone, assert_growth, example, fastest_ns, samples, skip_part, take,
};
use plumb_workloads::{builtin, manual_page};

/// Settings that make a workload quick; all others have their defaults.
const QUICK: [(&str, &str, &str); 23] = [
    ("compression.lz", "size", "64KiB"),
    ("crypto.kdf", "rounds", "1000"),
    ("memory.copy", "size", "1MiB"),
    ("memory.latency", "size", "1MiB"),
    ("memory.stream", "size", "1MiB"),
    ("memory.read", "size", "1MiB"),
    ("memory.write", "size", "1MiB"),
    ("memory.loaded", "size", "1MiB"),
    ("memory.fault", "size", "1MiB"),
    ("scheduler.messaging", "loops", "10"),
    ("scheduler.compile", "files", "2"),
    ("storage.sequential", "size", "4MiB"),
    ("storage.random", "size", "4MiB"),
    ("storage.files", "files", "50"),
    ("block.remote", "size", "4MiB"),
    ("block.mkfs", "size", "16MiB"),
    ("block.copy", "size", "1MiB"),
    ("storage.bonnie", "size", "4MiB"),
    ("storage.bonnie", "byte_size", "4KiB"),
    ("storage.bonnie", "files", "50"),
    ("datastore.batch", "entities", "50"),
    ("datastore.mix", "entities", "100"),
    ("language.loop", "limit", "100000"),
];

fn described() -> Vec<(&'static dyn Workload, Description)> {
    builtin().into_iter().map(|workload| (workload, workload.describe())).collect()
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'))
}

fn assert_distinct<'n>(id: &str, names: impl Iterator<Item = &'n String>) {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(is_word(name) && seen.insert(name), "{id}: `{name}`");
    }
}

#[test]
fn rungs_are_metrics_in_the_unit_of_what_they_are_compared_with() {
    let all = described();
    for (_, description) in &all {
        let primary = description.primary().unwrap();
        for rung in &description.rungs {
            let name = format!("{}: {}", description.id, rung.name);
            let (_, other) = all.iter().find(|(_, other)| other.id == rung.workload).expect(&name);
            let metric = other.metric(&rung.metric).expect(&name);
            assert_eq!((&metric.unit, metric.better), (&primary.unit, primary.better), "{name}");
            for parameter in rung.settings.keys() {
                assert!(other.parameter(parameter).is_some(), "{name}: {parameter}");
            }
            for parameter in rung.parameters() {
                assert!(description.parameter(parameter).is_some(), "{name}: {parameter}");
            }
            for (parameter, word) in &rung.only {
                let allowed = &description.parameter(parameter).unwrap().allowed;
                let is_possible = allowed.iter().any(|value| value.to_string() == *word);
                assert!(allowed.is_empty() || is_possible, "{name}: {parameter}={word}");
            }
        }
    }
}

#[test]
fn descriptions_are_well_formed() {
    let all = described();
    let ids: BTreeSet<&str> = all.iter().map(|(_, description)| description.id.as_str()).collect();
    assert_eq!(ids.len(), all.len(), "ids are distinct");
    for (_, description) in &all {
        let id = &description.id;
        let (_, name) = id.split_once('.').unwrap();
        assert!(
            is_word(description.family()) && name.chars().all(|c| c.is_ascii_alphanumeric()),
            "{id}"
        );
        assert!(description.version >= 1 && description.roles.contains(&Role::Workload), "{id}");
        assert!(description.audit_class.is_some(), "{id}: no noise floor counts for it");
        assert_distinct(id, description.parameters.iter().map(|parameter| &parameter.name));
        assert_distinct(id, description.metrics.iter().map(|metric| &metric.name));
        assert!(
            description.primary().is_some_and(|metric| metric.kind != QuantityKind::Histogram),
            "{id}"
        );
        let keys = description.fixture.iter().flatten().chain(&description.ceiling);
        keys.for_each(|name| assert!(description.parameter(name).is_some(), "{id}: `{name}`"));
        let ceiling = description.ceiling.as_ref().and_then(|name| description.parameter(name));
        assert!(ceiling.is_none_or(|parameter| parameter.kind == ParameterType::Choice), "{id}");
        let summaries = description.parameters.iter().map(|parameter| &parameter.summary);
        let summaries = summaries.chain(description.metrics.iter().map(|metric| &metric.summary));
        for summary in summaries.chain([&description.summary]) {
            assert!(!summary.is_empty() && !summary.ends_with('.'), "{id}: `{summary}`");
        }
        for possible in &description.bottlenecks {
            let name = format!("{id}: {}", possible.name);
            let (_, other) =
                all.iter().find(|(_, other)| other.id == possible.workload).expect(&name);
            assert!(other.metric(&possible.metric).is_some(), "{name}: {}", possible.metric);
            let settings = possible.settings.keys();
            settings.for_each(|setting| {
                assert!(other.parameter(setting).is_some(), "{name}: {setting}")
            });
            let mut own = possible.parameters();
            assert!(own.all(|own| description.parameter(own).is_some()), "{name}");
        }
        for needed in &description.requirements {
            assert!(!needed.why.is_empty() && !needed.fix.is_empty(), "{id}: {needed:?}");
        }
        let text = serde_json::to_string(description).unwrap();
        assert_eq!(serde_json::from_str::<Description>(&text).unwrap(), *description, "{id}");
    }
}

#[test]
fn manuals_name_everything() {
    for (workload, description) in described() {
        let id = &description.id;
        let manual = manual_page(workload);
        assert!(manual.starts_with(&format!("# {id}\n")), "{id}: the manual begins with its name");
        let parameters = description.parameters.iter().map(|parameter| &parameter.name);
        for name in parameters.chain(description.metrics.iter().map(|metric| &metric.name)) {
            assert!(manual.contains(&format!("`{name}`")), "{id}: `{name}` is not in the manual");
        }
        for value in description.parameters.iter().flat_map(|parameter| &parameter.allowed) {
            assert!(manual.contains(&value.to_string()), "{id}: {value} is not in the manual");
        }
    }
}

/// The quick point of a workload, with fixture and far end; none if it says that it can't run here, why,
/// and what to do. Then its name and the reason are listed as skipped.
fn quick(description: &Description, folder: &Path) -> Option<TestPoint<'static>> {
    let settings = QUICK
        .iter()
        .filter(|(id, ..)| *id == description.id)
        .map(|&(_, name, value)| (name, value));
    let all: &'static [&'static dyn Workload] = builtin().leak();
    let point = TestPoint::new(all, &description.id, &settings.collect::<Vec<_>>());
    let mut point = point.in_folder(folder);
    point.start.facts.plumb = example("registry_ssh_sink").display().to_string();
    let prepared = if description.fixture.is_some() { point.prepare() } else { Ok(()) };
    let served = prepared
        .and_then(|()| if description.can_be(Role::Server) { point.serve() } else { Ok(()) });
    runs_here(description, served).map(|()| point)
}

fn runs_here<T>(description: &Description, result: Result<T, StartError>) -> Option<T> {
    match result {
        Ok(started) => Some(started),
        Err(StartError::Unsupported { why, fix }) => {
            assert!(!why.is_empty() && !fix.is_empty(), "{}: {why}; {fix}", description.id);
            skip_part(&description.id, Lack::of_reason(&why));
            None
        }
        Err(StartError::Failed(why)) => panic!("{}: {why}", description.id),
    }
}

/// What is asserted of a workload with its quick point, and of that point when it has started.
fn for_each_quick_point(
    assert: impl Fn(&dyn Workload, &Description, &mut TestPoint<'static>, StartedWorkload),
) {
    for (workload, description) in described() {
        let folder = tempfile::tempdir().unwrap();
        let Some(mut point) = quick(&description, folder.path()) else { continue };
        if let Some(started) = runs_here(&description, point.try_start()) {
            assert(workload, &description, &mut point, started);
        }
        point.clean();
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 0, "{}: something is left behind", description.id);
    }
}

/// A whole run of a fixed shape may take long; the family `process` has such a conversation.
#[test]
fn every_workload_keeps_to_the_protocol() {
    let _alone = alone();
    for_each_quick_point(|workload, description, point, started| {
        let without = started.ready.without.clone();
        let is_fixed = started.instance.fixed_iterations();
        assert_metrics_are_reported(description, started);
        if !is_fixed {
            assert_an_invocation_goes_over_the_line_protocol(workload, description, point);
        }
        assert_a_load_streams_its_metrics(workload, description, point, &without);
        assert_a_count_of_none_works_or_is_refused(description, point);
    });
}

#[test]
fn iterations_of_every_workload_take_time() {
    let _alone = alone();
    for_each_quick_point(|_, description, _, started| {
        if !started.instance.fixed_iterations() {
            assert_iterations_take_time(description, started);
        }
    });
}

#[test]
fn defaults_start_or_say_why_not() {
    let _alone = alone();
    let all: &'static [&'static dyn Workload] = builtin().leak();
    // A fixture of the default size takes long to lay out; its quick point is started below.
    for (_, description) in
        described().iter().filter(|(_, description)| description.fixture.is_none())
    {
        let mut point = TestPoint::new(all, &description.id, &[]).in_folder(&std::env::temp_dir());
        if description.can_be(Role::Server) {
            point.serve().unwrap_or_else(|error| panic!("{}: {error:?}", description.id));
        }
        let _started = runs_here(description, point.try_start());
    }
}

fn assert_metrics_are_reported(description: &Description, mut started: StartedWorkload) {
    let mut names: BTreeSet<&str> = started.instance.value_names().iter().copied().collect();
    names.extend(started.instance.distributions().iter().map(Distribution::name));
    let without = started.ready.without.clone();
    let lacks = |name: &String| without.contains(name);
    let declared = description.metrics.iter().filter(|metric| metric.source == MetricSource::Value);
    let declared = declared.filter(|metric| !lacks(&metric.name));
    let declared: BTreeSet<&str> = declared.map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, declared, "{}", description.id);
    if description.id.starts_with("classic.bonnie") {
        // bonnie++ rates nothing that takes less than half a second: on a quick disk it says no figure here.
        return;
    }
    let fixed = started.instance.fixed_iterations();
    // Operations of each kind have a distribution of their own, and a single one is of one kind.
    let least = match started.instance.distributions().len() {
        0 | 1 => 1,
        _ => started.instance.least_iterations(),
    };
    let asked: &[u64] = if fixed { &[1] } else { &[least, 2 * least] };
    let taken = samples(&mut started, asked);
    assert_eq!(taken.iterations, asked, "{}", description.id);
    assert!(fixed || description.sample_is == SampleIs::Iteration, "{}", description.id);
    for metric in description.metrics.iter().filter(|metric| !lacks(&metric.name)) {
        if metric.kind == QuantityKind::Histogram {
            let counted =
                taken.histograms[&metric.name].iter().map(|histogram| histogram.counts().unwrap());
            assert!(
                counted.clone().all(|counts| !counts.is_empty()),
                "{}/{}",
                description.id,
                metric.name
            );
            continue;
        }
        // It is of the trials of a search, not of samples.
        if metric.source == MetricSource::Search {
            continue;
        }
        let work = started.ready.work.get(&metric.name).copied().unwrap_or(1.0);
        let values = taken.metric(metric, work).unwrap();
        assert!(values.iter().all(|value| value.is_finite()), "{}/{}", description.id, metric.name);
    }
}

fn assert_iterations_take_time(description: &Description, mut started: StartedWorkload) {
    // At a rate, what became due during a stall is done at once, so a sample of one iteration may take no time.
    let has_rate = description.parameters.iter().any(|parameter| {
        parameter.kind == ParameterType::Rate && matches!(parameter.default, Value::Integer(1..))
    });
    let least = if has_rate { 16 } else { 1 };
    let mut k = started.instance.least_iterations().max(least);
    while fastest_ns(&mut started, k) < 500_000.0 {
        k *= 2;
    }
    assert_growth(&format!("{}: {k} iterations", description.id), 2.5..6.0, &mut started, k, 4);
}

/// What a worker answers to these requests, after `start`.
fn conversation(
    workload: &dyn Workload,
    point: &TestPoint,
    requests: &[&str],
) -> Vec<serde_json::Value> {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let start = serde_json::to_string(&point.start).unwrap();
    writeln!(writer, "{}", start.replacen('{', r#"{"id":1,"type":"start","#, 1)).unwrap();
    for request in requests {
        writeln!(writer, "{request}").unwrap();
    }
    let mut output = Vec::new();
    serve(workload, reader, &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn assert_an_invocation_goes_over_the_line_protocol(
    workload: &dyn Workload,
    description: &Description,
    point: &TestPoint,
) {
    let replies = conversation(
        workload,
        point,
        &[
            r#"{"id":2,"type":"calibrate","target_ns":100000}"#,
            r#"{"id":3,"type":"sample","iterations":[1,2]}"#,
            r#"{"id":4,"type":"stop"}"#,
        ],
    );
    let types: Vec<&str> = replies.iter().filter_map(|line| line["type"].as_str()).collect();
    assert_eq!(
        types,
        ["ready", "calibrated", "samples", "done"],
        "{}: {replies:?}",
        description.id
    );
}

/// All declared metrics, except those that the workload went without when it started.
fn assert_a_load_streams_its_metrics(
    workload: &dyn Workload,
    description: &Description,
    point: &TestPoint,
    without: &[String],
) {
    if !description.can_be(Role::Load) {
        return;
    }
    let replies = stream(workload, point);
    let samples: Vec<_> = replies.iter().filter(|reply| reply["type"] == "samples").collect();
    assert!(!samples.is_empty(), "{}: {replies:?}", description.id);
    let declared = description.metrics.iter().filter(|metric| metric.source == MetricSource::Value);
    for metric in declared.filter(|metric| !without.contains(&metric.name)) {
        for sample in &samples {
            if metric.kind == QuantityKind::Histogram {
                let text = &sample["histograms"][&metric.name][0];
                assert!(text.is_string(), "{}/{}: {sample}", description.id, metric.name);
                continue;
            }
            let value = sample["values"][&metric.name][0].as_f64();
            assert!(
                value.is_some_and(f64::is_finite),
                "{}/{}: {sample}",
                description.id,
                metric.name
            );
        }
    }
}

/// One interval of a load. The next request would end the stream at once, so it waits for its end.
fn stream(workload: &dyn Workload, point: &TestPoint) -> Vec<serde_json::Value> {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let start = serde_json::to_string(&point.start).unwrap();
    writeln!(writer, "{}", start.replacen('{', r#"{"id":1,"type":"start","#, 1)).unwrap();
    writeln!(writer, r#"{{"id":2,"type":"stream","interval_ns":2000000,"duration_ns":1000000}}"#)
        .unwrap();
    let (output, told) = std::io::pipe().unwrap();
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || serve(workload, reader, told));
        let mut replies = Vec::new();
        for line in std::io::BufRead::lines(std::io::BufReader::new(output)) {
            let reply: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            let ends = reply["type"] == "done" || reply["type"] == "failed";
            replies.push(reply);
            if ends {
                break;
            }
        }
        // In words: a process that the workload forked here keeps the pipe open.
        writeln!(writer, r#"{{"id":3,"type":"stop"}}"#).unwrap();
        // Its last reply finds nobody who reads.
        drop(worker.join().unwrap());
        replies
    })
}

fn assert_a_count_of_none_works_or_is_refused(description: &Description, point: &mut TestPoint) {
    let numbers = description.parameters.iter().filter(|parameter| {
        use ParameterType::{Bytes, Integer, Threads};
        let is_count = matches!(parameter.kind, Integer | Bytes | Threads);
        // What is out of range is refused before a workload gets it.
        let is_taken = parameter.out_of_range(&Value::Integer(0)).is_none();
        is_count && is_taken && parameter.default != Value::Integer(0)
    });
    for parameter in numbers {
        let before = point.start.params.insert(parameter.name.clone(), Value::Integer(0));
        match point.try_start() {
            Ok(mut started) => drop(take(started.instance.as_mut(), &[1])),
            Err(StartError::Failed(why) | StartError::Unsupported { why, .. }) => {
                assert!(!why.is_empty(), "{}: {}=0", description.id, parameter.name);
            }
        }
        point.start.params.insert(parameter.name.clone(), before.unwrap());
    }
}
