//! `plumb doctor --monitors`: what monitors cost.

use std::path::Path;
use std::time::Duration;

use plumb_model::{Goal, MARGIN, OnInterference, VerdictGoal};
use plumb_monitors::{Monitor, MonitorCost, MonitorThreads, PacedMonitor};
use plumb_report::{EffectPart, MONITORS_SCHEMA, MonitorPart, MonitorsDocument, monitors_card};
use plumb_suite::time_ns;
use rustix::time::{ClockId, clock_gettime};

use crate::error::{CommandError, Exit, Result};
use crate::measuring::execute::execute;
use crate::measuring::job::MeasuringJob;
use crate::measuring::setup::Setup;
use crate::measuring::target::{FilesPlace, folders};
use crate::planning::arguments::ExecutionArgs;
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::points;
use crate::planning::prepare::Prepare;
use crate::reading::output::pretty;
use crate::ui::Ui;
use crate::{interrupt, locate};

/// What is measured with monitors and without: short samples, so that a reading is a large part of one.
const WORKLOAD: &str = "cpu.sieve:limit=100000";
/// The comparison takes at most so many times as long as the monitors read alone.
const COMPARISON: u64 = 6;
/// Pieces in which that is waited for, so that Ctrl-C is heard.
const PIECE: Duration = Duration::from_millis(200);

/// Measures what every monitor costs, and what all default ones do to a workload.
pub fn costs(length: &str, lock: bool, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let length_ns = time_ns(length)?;
    let length = Duration::from_nanos(length_ns);
    ui.say(&format!("reading all monitors for {} s", length.as_secs()));
    let every: Vec<PacedMonitor> = plumb_monitors::ALL
        .iter()
        .map(|monitor| PacedMonitor { monitor, hz: monitor.default_hz.unwrap_or(1.0) })
        .collect();
    let (costs, gaps, ..) = alone(&every, length)?;
    // Measured again and not summed up: monitors that are read together share their wake-ups.
    let default: Vec<PacedMonitor> =
        every.into_iter().filter(|paced| paced.monitor.default_hz.is_some()).collect();
    ui.say(&format!("reading the default monitors for {} s", length.as_secs()));
    let (_, _, cpu_ns, seconds) = alone(&default, length)?;
    let mut monitors = Vec::new();
    for monitor in plumb_monitors::ALL {
        let cost = costs.iter().find(|cost| cost.monitor == monitor.name);
        let gap = gaps.iter().find(|gap| gap.monitor == monitor.name);
        monitors.push(part(monitor, cost, gap.map(|gap| gap.why.clone()), seconds));
    }
    let effect = effect(length_ns * COMPARISON, lock, store, ui)?;
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of some seconds")]
    let cpu_share = cpu_ns as f64 * 1e-9 / seconds;
    let document =
        MonitorsDocument { schema: MONITORS_SCHEMA, monitors, cpu_share, seconds, effect };
    let text =
        if ui.wants_json() { pretty(&document)? } else { monitors_card(&document, &ui.terminal()) };
    ui.out(&text);
    Ok(Exit::Fine)
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of some seconds")]
fn part(
    monitor: &Monitor,
    cost: Option<&MonitorCost>,
    unsupported: Option<String>,
    seconds: f64,
) -> MonitorPart {
    let cost = cost.filter(|cost| cost.reads > 0 && unsupported.is_none());
    MonitorPart {
        name: monitor.name,
        summary: monitor.summary,
        default_hz: monitor.default_hz,
        hz: monitor.default_hz.unwrap_or(1.0),
        read_us: cost.map(|cost| cost.cpu_ns as f64 * 1e-3 / cost.reads as f64),
        cpu_share: cost.map(|cost| cost.cpu_ns as f64 * 1e-9 / seconds),
        unsupported,
    }
}

/// What these monitors cost if nothing else runs: by monitor; what is not here; CPU time of all of plumb, in
/// nanoseconds; and the time, in seconds.
fn alone(
    wanted: &[PacedMonitor],
    length: Duration,
) -> Result<(Vec<MonitorCost>, Vec<plumb_model::Gap>, u64, f64)> {
    let mut recorder = MonitorThreads::start(&locate::root(), wanted);
    let mut gaps = recorder.unsupported().to_vec();
    let began = std::time::Instant::now();
    let cpu_began_ns = process_cpu_ns();
    recorder.begin(Some(std::process::id()));
    while began.elapsed() < length {
        if interrupt::is_interrupted() {
            return Err(CommandError::interrupted("interrupted"));
        }
        std::thread::sleep(PIECE);
    }
    gaps.extend(recorder.end().gaps);
    let cpu_ns = process_cpu_ns().saturating_sub(cpu_began_ns);
    let seconds = began.elapsed().as_secs_f64();
    Ok((recorder.finish(), gaps, cpu_ns, seconds))
}

fn process_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// Compares a workload without monitors with itself with them, as `ab` does.
fn effect(budget_ns: u64, lock: bool, store: Option<&Path>, ui: &Ui) -> Result<Option<EffectPart>> {
    ui.say(&format!("comparing {WORKLOAD} with and without monitors"));
    let mut setup = Setup::start()?;
    let all = setup.all_threads();
    let point = points::resolve(&mut setup.keeper, &[WORKLOAD.to_owned()], &[], all)?.points;
    let Some(point) = point.into_iter().next() else { return Ok(None) };
    let metric = point.description.primary().map(|metric| metric.name.clone()).unwrap_or_default();
    let goal = Goal::Verdict(VerdictGoal::new(&metric, MARGIN, 200));
    let labels = vec!["doctor=monitors".to_owned()];
    let execution = ExecutionArgs { labels, ..ExecutionArgs::default() };
    let sides = vec![point.clone(), point];
    let request = PlanRequest {
        budget_ns: Some(budget_ns),
        // Monitors read one side only. If interference excluded invocations, it would exclude those of this side alone.
        on_interference: OnInterference::Keep,
        ..PlanRequest::new(sides, goal, Prepare::default())
    };
    let folders = folders(&mut setup.keeper, &FilesPlace::Scratch)?;
    let plan = plan(request, &execution, &folders.dir)?;
    let job = MeasuringJob { lock, watched: Some(1), ..MeasuringJob::new(plan, folders, store) };
    let measured = execute(setup, job, &ui.without_progress())?;
    if measured.ended.interrupted {
        return Err(CommandError::interrupted("interrupted"));
    }
    let found = measured.finding.against_first.into_iter().next();
    Ok(found.and_then(|compared| {
        let pairs = compared.found.by_pairs()?.pairs;
        let ratio = compared.found.ratio?;
        Some(EffectPart {
            workload: WORKLOAD.into(),
            ratio: ratio.value,
            low: ratio.low(),
            high: ratio.high(),
            pairs,
        })
    }))
}
