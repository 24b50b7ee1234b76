//! An import as the events of a run, which a store keeps like any other.
//!
//! Identities follow from the content: the same file gives the same run in every store, so that
//! importing it twice, or merging two stores that both have it, changes nothing. For the same reason
//! nothing in the events may depend on when or where the import happens, but for what the user says of the
//! file; the store notes that apart.

use std::collections::BTreeMap;

use plumb_model::{
    Description, Environment, Event, Goal, Host, Id, InvocationEnd, Machine, Metric, MetricSource,
    Missing, Outcome, Owner, Parameter, ParameterType, Plan, PlannedPoint, Point, Program, Ready,
    Role, Samples, Settings, Stamped, StoppingRules, Target, Value,
};
use uuid::Uuid;

use crate::{Counting, CountingMatch, Import, ImportedInvocation, ImportedSeries, counting};

/// Rises when the same file gives other events.
const IMPORT_VERSION: u32 = 4;

/// The word for facts that a file does not report.
const UNKNOWN: &str = "unknown";

/// Digits of a run's identity that are shown.
const MACHINE_DIGITS: usize = 12;

/// What gives the description of a workload of plumb, by its id.
pub type Describe<'a> = &'a dyn Fn(&str) -> Option<Description>;

/// The user's details of a file that the file itself lacks.
#[derive(Debug, Clone, Default)]
pub struct ImportDetails {
    /// Labels of the runs.
    pub labels: BTreeMap<String, String>,
    /// The host that was measured.
    pub host: Host,
}

/// The run that an import is; `content` is what it was read from.
#[must_use]
pub fn events(
    import: &Import,
    content: &[u8],
    details: &ImportDetails,
    describe: Describe,
) -> Vec<Stamped> {
    let run = identity(import, content);
    let mut points = Vec::new();
    let mut happened = Vec::new();
    for (series, why, fix) in &import.missing {
        let point = place(&mut points, planned(series, describe).0);
        let missing = Missing { point, why: why.clone(), fix: fix.clone() };
        happened.push(Event::Unsupported(missing));
    }
    let mut process = Process { run, number: 0, clock_ns: 0 };
    for series in &import.series {
        let (planned, is_ours) = planned(series, describe);
        let point = place(&mut points, planned);
        for invocation in &series.invocations {
            let ready = ready(import, series, invocation, is_ours);
            let declared = &points[point].description.metrics;
            happened.extend(process.events(point, ready, invocation, declared));
        }
    }
    let started_unix_ns = import.started_unix_ns.unwrap_or(0);
    let mut events = begin(import, run, details, started_unix_ns, points);
    events.append(&mut happened);
    let took = i64::try_from(process.clock_ns).unwrap_or(i64::MAX);
    let ended_unix_ns = started_unix_ns.saturating_add(took);
    events.push(Event::RunEnded { ended_unix_ns, interrupted: false });
    events.into_iter().map(|event| Stamped { at_ns: 0, event }).collect()
}

/// A file with several machines, versions or dates gives several runs.
fn identity(import: &Import, content: &[u8]) -> Id {
    let machine: Vec<String> = import.machine.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let version = import.version.as_deref().unwrap_or("");
    let tool = import.format.word();
    let machine = machine.join("\n");
    // The date tells the results of one file apart.
    let date = import.started_unix_ns.map(|date| date.to_string()).unwrap_or_default();
    let head = format!("plumb import {IMPORT_VERSION}\n{tool}\n{version}\n{date}\n{machine}\n");
    // From the content, so that a file that is imported twice is stored once.
    Uuid::new_v5(&Uuid::NAMESPACE_OID, &[head.as_bytes(), content].concat())
}

fn begin(
    import: &Import,
    run: Id,
    details: &ImportDetails,
    started_unix_ns: i64,
    points: Vec<PlannedPoint>,
) -> Vec<Event> {
    let tool = import.format.word();
    let mut labels = details.labels.clone();
    labels.insert("tool".to_owned(), tool.to_owned());
    let measured_by = match &import.version {
        Some(version) => format!("{tool} {version}"),
        None => tool.to_owned(),
    };
    let plan = Plan {
        suite: None,
        points,
        companions: Vec::new(),
        goal: Goal::Rules(StoppingRules::default()),
        budget_ns: None,
        spread_ns: None,
        seed: 0,
        dir: String::new(),
        labels,
        against_first: false,
        expectations: Vec::new(),
        preparation: Vec::new(),
        monitors: Vec::new(),
        on_interference: plumb_model::OnInterference::Keep,
        hides_secrets: true,
    };
    let target = Target {
        name: UNKNOWN.to_owned(),
        host: details.host.clone(),
        machine: machine(import, run, &details.host),
        environment: Environment { fingerprint: UNKNOWN.to_owned(), facts: BTreeMap::new() },
    };
    vec![
        Event::RunStarted {
            run,
            started_unix_ns,
            plumb: String::new(),
            command: vec!["plumb".to_owned(), "import".to_owned(), measured_by],
            plan: Box::new(plan),
        },
        Event::SegmentStarted {
            run,
            segment: 0,
            started_unix_ns,
            monotonic_ns: 0,
            owner: Owner { pid: 0, start_ticks: 0, boot_id: String::new() },
        },
        Event::TargetReady { target: 0, description: Box::new(target) },
    ]
}

/// A machine that nobody knows is never the same as another: each import has its own, unless its host is
/// known.
fn machine(import: &Import, run: Id, host: &Host) -> Machine {
    let (id, which) = match host.known() {
        Some(name) => {
            let id = shortened(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()));
            (id, format!("host {name}"))
        }
        None => (shortened(run), format!("import {}", shortened(run))),
    };
    let mut facts = import.machine.clone();
    facts.insert("machine".to_owned(), format!("unknown ({which})"));
    Machine { fingerprint: format!("{UNKNOWN}:{id}"), facts }
}

/// The first characters of an identity.
fn shortened(id: Id) -> String {
    id.simple().to_string().chars().take(MACHINE_DIGITS).collect()
}

/// The index of a point; one that is there already has its metrics joined.
fn place(points: &mut Vec<PlannedPoint>, planned: PlannedPoint) -> usize {
    let Some(index) = points.iter().position(|known| known.point == planned.point) else {
        points.push(planned);
        return points.len() - 1;
    };
    let known = &mut points[index].description;
    for metric in planned.description.metrics {
        if known.metric(&metric.name).is_none() {
            known.metrics.push(metric);
        }
    }
    index
}

/// The point of a test, and whether it is one of plumb's workloads.
fn planned(series: &ImportedSeries, describe: Describe) -> (PlannedPoint, bool) {
    let ours = ours(series, describe);
    let is_ours = ours.is_some();
    let (description, point) = ours.unwrap_or_else(|| own(series));
    let mut planned = PlannedPoint::new(point, description, Program { argv: Vec::new() });
    planned.title.clone_from(&series.title);
    (planned, is_ours)
}

/// The point of plumb's own workload that counts the same.
fn ours(series: &ImportedSeries, describe: Describe) -> Option<(Description, Point)> {
    let ours = series.ours.as_ref()?;
    let counting = counting::of(&series.workload)?;
    if !matches!(counting.rule, CountingMatch::Same(_)) || counting.ours != ours.workload {
        return None;
    }
    let description = describe(ours.workload)?;
    let texts = ours.settings.iter();
    let given: Settings =
        texts.map(|(name, value)| ((*name).to_owned(), Value::Text(value.clone()))).collect();
    let point = Point::new(&description, &given, 1).ok()?;
    Some((description, point))
}

/// A description made of what the file says.
fn own(series: &ImportedSeries) -> (Description, Point) {
    let description = Description {
        parameters: series.settings.iter().map(|(name, _)| parameter(name)).collect(),
        metrics: series.metrics.clone(),
        sample_is: series.sample_is,
        ..Description::new(series.workload.clone(), series.summary.clone())
    };
    let key: Vec<String> = series.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let mut settings = Settings::new();
    for (name, value) in &series.settings {
        settings.insert(name.clone(), Value::Text(value.clone()));
    }
    let point = Point {
        workload: series.workload.clone(),
        settings,
        key: key.join(","),
        conditions: Vec::new(),
    };
    (description, point)
}

/// A parameter of a workload that only the tool has: a text, because nobody says which values it may have.
fn parameter(name: &str) -> Parameter {
    Parameter::new(name, ParameterType::Text, Value::Text(String::new()), "")
}

fn ready(
    import: &Import,
    series: &ImportedSeries,
    invocation: &ImportedInvocation,
    is_ours: bool,
) -> Ready {
    let version = import.version.iter();
    let versions = version.map(|version| (import.format.word().to_owned(), version.clone()));
    let mut notes = series.notes.clone();
    // A test that could count the same and does not, because of its settings, says nothing.
    let counting = counting::of(&series.workload)
        .filter(|counting| is_ours || matches!(counting.rule, CountingMatch::Other(_)));
    notes.extend(counting.map(Counting::sentence));
    Ready {
        versions: versions.collect(),
        notes,
        work: if is_ours { invocation.work.clone() } else { BTreeMap::new() },
        flags: invocation.flags.clone(),
        ..Ready::default()
    }
}

/// Tells the processes of a tool, one after the other.
struct Process {
    run: Id,
    number: u32,
    clock_ns: u64,
}

impl Process {
    fn events(
        &mut self,
        point: usize,
        ready: Ready,
        told: &ImportedInvocation,
        declared: &[Metric],
    ) -> Vec<Event> {
        let invocation = Uuid::new_v5(&self.run, &self.number.to_le_bytes());
        let outcome = told.failed.clone().map_or(Outcome::Done, Outcome::Failed);
        let started = Event::InvocationStarted {
            invocation,
            point,
            role: Role::Workload,
            round: self.number,
            position: 0,
            segment: 0,
            target: 0,
            seed: 0,
            ready: Box::new(ready),
        };
        let samples = Box::new(self.samples(told, declared));
        self.number += 1;
        let batch =
            Event::Batch { invocation, samples, usage: told.usage.clone(), flags: Vec::new() };
        let end = InvocationEnd {
            outcome,
            steady_start: 0,
            warmup: String::new(),
            method: 0,
            peak_memory_bytes: 0,
            log: String::new(),
        };
        let mut events = vec![started];
        // A process that failed may have no figures.
        if !told.elapsed_ns.is_empty() {
            events.push(batch);
        }
        events.push(Event::InvocationEnded { invocation, end: Box::new(end) });
        events
    }

    /// Back to back from where the last process ended, with what the workload reports by itself.
    fn samples(&mut self, told: &ImportedInvocation, declared: &[Metric]) -> Samples {
        let mut samples = Samples::default();
        for &elapsed_ns in &told.elapsed_ns {
            samples.start_ns.push(self.clock_ns);
            samples.elapsed_ns.push(elapsed_ns);
            samples.iterations.push(told.iterations);
            samples.cpu.push(-1);
            self.clock_ns = self.clock_ns.saturating_add(elapsed_ns);
        }
        // A time or rate follows from the times above: a column for it would be a second truth.
        for metric in declared.iter().filter(|metric| metric.source == MetricSource::Value) {
            if let Some(column) = told.values.get(&metric.name) {
                samples.values.insert(metric.name.clone(), column.clone());
            }
        }
        samples
    }
}
