//! The energy of results: what the counters of the CPU packages moved during each invocation, next to what they moved while
//! the machine was idle. The counters cover all that runs on a package, and so does the idle power that is subtracted.

use plumb_model::{
    CounterAmount, ENERGY_KNOB, IdlePower, InvocationRecord, MetricSource, PlannedPoint, RunRecord,
    SampleIs,
};
use plumb_stats::describe::mean_of;

use crate::comparison::covariates::CounterMeans;
use crate::estimate::{Estimate, median_of_processes};
use crate::method::level;
use crate::one_run::finding::{ResultEnergy, RunFinding};

/// With fewer updates of the counters in an invocation, its energy is too coarse.
const FEWEST_UPDATES: f64 = 10.0;
const NS_PER_S: f64 = 1e9;

/// Whether the run measured the power of the idle machine.
pub(crate) fn is_measured(record: &RunRecord) -> bool {
    record.preparations.iter().any(|made| made.prepared.setting == ENERGY_KNOB)
}

/// Adds the energy to the first metric of every point.
pub(crate) fn add_energy(finding: &mut RunFinding, record: &RunRecord, counters: &CounterMeans) {
    let energy = record.preparations.iter().filter(|made| made.prepared.setting == ENERGY_KNOB);
    let idle: Vec<IdlePower> =
        energy.filter_map(|made| made.prepared.became.parse().ok()).collect();
    for result in finding.results.iter_mut().filter(|result| result.primary) {
        let planned = &record.plan.points[result.point.index];
        let invocations: Vec<&InvocationRecord> =
            record.good_invocations(result.point.index).collect();
        let level = level(record, planned);
        result.energy = Some(of_point(planned, &invocations, &idle, counters, level));
    }
}

/// What the counters say of one invocation.
struct InvocationEnergy {
    joules: f64,
    seconds: f64,
    work: f64,
}

impl InvocationEnergy {
    /// Mean power, in watts.
    fn watts(&self) -> f64 {
        self.joules / self.seconds
    }

    /// The energy beyond that of an idle machine, in joules.
    fn net_joules(&self, idle_w: f64) -> f64 {
        self.joules - idle_w * self.seconds
    }
}

/// The median over invocations, with its interval.
fn median(values: impl Iterator<Item = f64>, level: f64) -> Result<Estimate, String> {
    let values: Vec<f64> = values.collect();
    let processes: Vec<&[f64]> = values.iter().map(std::slice::from_ref).collect();
    let found = median_of_processes(&processes, level).ok_or("no invocation counts")?;
    Ok(found.estimate)
}

fn of_point(
    planned: &PlannedPoint,
    invocations: &[&InvocationRecord],
    idle: &[IdlePower],
    counters: &CounterMeans,
    level: f64,
) -> Result<ResultEnergy, String> {
    let first = idle.first().ok_or("the idle power was not measured")?;
    let idle_w = mean_of(&idle.iter().map(|idle| idle.watts).collect::<Vec<_>>());
    let mut each = Vec::new();
    let mut refused = "no invocation counts".to_owned();
    for invocation in invocations {
        let amounts = counters.get(&invocation.invocation).map(Vec::as_slice).unwrap_or_default();
        match of_invocation(planned, invocation, amounts, first) {
            Ok(energy) => each.push(energy),
            Err(why) => refused = why,
        }
    }
    if each.is_empty() {
        return Err(refused);
    }
    Ok(ResultEnergy {
        power: median(each.iter().map(InvocationEnergy::watts), level)?,
        idle_w,
        per_work: median(each.iter().map(|one| one.joules / one.work), level)?,
        net_per_work: median(each.iter().map(|one| one.net_joules(idle_w) / one.work), level)?,
        unit: unit(planned),
    })
}

/// The sum of the counters that may be added, and the work that was done meanwhile, warm-up included.
#[expect(clippy::cast_precision_loss, reason = "energies and counts stay far below 2^53")]
fn of_invocation(
    planned: &PlannedPoint,
    invocation: &InvocationRecord,
    amounts: &[CounterAmount],
    idle: &IdlePower,
) -> Result<InvocationEnergy, String> {
    let mut joules = 0.0;
    let mut length_ns = 0;
    for counter in &idle.counters {
        let name = format!("powercap.{counter}.energy");
        let Some(amount) = amounts.iter().find(|amount| amount.counter.name == name) else {
            return Err(format!("the counter {name} did not move, or was not read"));
        };
        joules += amount.amount as f64 * amount.counter.base().0;
        length_ns = length_ns.max(amount.duration_ns);
    }
    let seconds = length_ns as f64 / NS_PER_S;
    let updates = seconds / idle.update_s;
    if updates < FEWEST_UPDATES {
        let enough_ms = (2.0 * FEWEST_UPDATES * idle.update_s * 1e3).ceil();
        let fix = match planned.description.sample_is {
            SampleIs::Process => "the command is too short".to_owned(),
            SampleIs::Iteration => format!("use --invocation-time {enough_ms}ms"),
        };
        return Err(format!(
            "the counters were updated {updates:.1} times in an invocation, {FEWEST_UPDATES} are needed: {fix}"
        ));
    }
    let metric = planned.description.metrics.first();
    let work = metric.and_then(|metric| invocation.ready.work.get(&metric.name)).unwrap_or(&1.0);
    let iterations: u64 = invocation.samples.iterations.iter().sum();
    Ok(InvocationEnergy { joules, seconds, work: work * iterations as f64 })
}

/// The unit of energy per work: a rate in `ops/s` counts ops.
fn unit(planned: &PlannedPoint) -> String {
    let metric = planned.description.metrics.first();
    let rate = metric.filter(|metric| metric.source == MetricSource::Rate);
    match rate.and_then(|metric| metric.unit.strip_suffix("/s")) {
        Some("B") => "J/B".to_owned(),
        Some(work) => format!("J/{}", work.strip_suffix('s').unwrap_or(work)),
        None => "J".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use plumb_model::{
        Counter, CounterAmount, CounterKind, IdlePower, PreparationRecord, Prepared, RunRecord,
    };

    use super::{CounterMeans, ResultEnergy, add_energy, is_measured};
    use crate::summarise;
    use crate::testing::{Builder, COPY};

    const PACKAGES: [&str; 2] = ["intel-rapl:0-package-0", "intel-rapl:1-package-1"];

    /// A run on two packages that use 10 W together when idle.
    fn record() -> RunRecord {
        let idle = IdlePower {
            watts: 10.0,
            length_s: 5.0,
            update_s: 0.001,
            counters: PACKAGES.map(str::to_owned).to_vec(),
        };
        let prepared =
            Prepared { setting: "energy".into(), was: String::new(), became: idle.to_string() };
        let made = PreparationRecord { prepared, segment: 0, at_ns: 0, restored_at_ns: None };
        Builder::new(None).measured(&COPY).with(|run| run.preparations.push(made)).build()
    }

    /// The energy if each of these counters moves by so many microjoules in an invocation of so many nanoseconds.
    fn found(
        record: &RunRecord,
        moved: &[(&str, u64)],
        duration_ns: u64,
    ) -> Result<ResultEnergy, String> {
        let mut counters = CounterMeans::new();
        for invocation in &record.invocations {
            let amount = |&(zone, amount): &(&str, u64)| CounterAmount {
                counter: Counter {
                    name: format!("powercap.{zone}.energy"),
                    unit: "uJ".into(),
                    kind: CounterKind::Counter,
                },
                amount,
                duration_ns,
            };
            counters.insert(invocation.invocation, moved.iter().map(amount).collect());
        }
        let mut finding = summarise(record);
        add_energy(&mut finding, record, &counters);
        finding.results[0].energy.clone().unwrap()
    }

    #[test]
    fn packages_are_added_and_what_contains_them_is_not() {
        let record = record();
        assert!(is_measured(&record) && !is_measured(&Builder::new(None).measured(&COPY).build()));
        // 30 J and 20 J in 2 s; the platform and a part of a package count for nothing.
        let moved = [
            (PACKAGES[0], 30_000_000),
            (PACKAGES[1], 20_000_000),
            ("intel-rapl:2-psys", 99_000_000),
            ("intel-rapl:0:0-core", 25_000_000),
        ];
        let found = found(&record, &moved, 2_000_000_000).unwrap();
        assert!((found.power.value - 25.0).abs() < 1e-9, "{found:?}");
        let invocation = &record.invocations[0];
        let iterations: u64 = invocation.samples.iterations.iter().sum();
        let bytes = iterations as f64 * invocation.ready.work.values().next().unwrap_or(&1.0);
        // Invocations do not work equally long, and the result is their median.
        assert!((found.per_work.value * bytes / 50.0 - 1.0).abs() < 0.05, "{found:?}");
        let net_share = found.net_per_work.value / found.per_work.value;
        assert!((net_share - 30.0 / 50.0).abs() < 1e-6, "{found:?}");
        assert_eq!(found.unit, "J/B");
    }

    #[test]
    fn under_ten_updates_there_is_no_figure() {
        let moved = [(PACKAGES[0], 300_000), (PACKAGES[1], 200_000)];
        let why = found(&record(), &moved, 9_000_000).unwrap_err();
        assert!(why.contains("updated 9.0 times") && why.contains("--invocation-time"), "{why}");
        assert!(found(&record(), &moved, 11_000_000).is_ok());
    }

    #[test]
    fn a_package_that_was_not_read_leaves_no_sum() {
        let why = found(&record(), &[(PACKAGES[0], 300_000)], 1_000_000_000).unwrap_err();
        assert!(why.contains("powercap.intel-rapl:1-package-1.energy did not move"), "{why}");
    }
}
