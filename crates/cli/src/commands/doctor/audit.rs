//! `plumb doctor --audit`: how small a change can this machine show?

use std::path::Path;

use plumb_analysis::{ClassAudit, Injected, audit_class, audit_injected};
use plumb_doctor::{AuditClock, audit_card, audit_document};
use plumb_machine::ClockMark;
use plumb_model::{AuditClass, Goal, Host, MARGIN, PlannedPoint, RunRecord, VerdictGoal};
use plumb_store::Store;

use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::measuring::execute::execute;
use crate::measuring::job::Job;
use crate::measuring::setup::Setup;
use crate::measuring::target::{Place, folders};
use crate::planning::arguments::ExecutionArgs;
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::{points, prepare};
use crate::ui::Ui;

/// What is compared with itself: a cheap point of every kind of work.
const CLASSES: [(AuditClass, &str); 4] = [
    (AuditClass::Cpu, "cpu.sieve:limit=100000"),
    (AuditClass::Memory, "memory.latency:size=1MiB"),
    (AuditClass::Scheduler, "scheduler.pipe"),
    (AuditClass::Process, "process.command"),
];
/// Slow-downs that are put in, with the sieve that is so much longer.
const INJECTED: [(f64, &str); 3] = [
    (0.01, "cpu.sieve:limit=101000"),
    (0.02, "cpu.sieve:limit=102000"),
    (0.05, "cpu.sieve:limit=105000"),
];

/// What is compared with itself, and how often.
pub struct AuditSettings<'a> {
    /// Kinds of work.
    pub classes: &'a [String],
    /// Comparisons of each.
    pub comparisons: usize,
    /// The name of this host, where one is given.
    pub host: Option<Host>,
    /// Whether it waits for other plumbs that measure.
    pub lock: bool,
}

/// Audits the machine, and keeps what that shows.
///
/// # Errors
/// When a comparison could not be made, or the store takes no audit.
pub fn audit(settings: &AuditSettings<'_>, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if settings.comparisons == 0 {
        return Err(CommandError::usage("--comparisons 0 compares nothing"));
    }
    let auditor = Auditor { settings, store, ui };
    let (grain, began) = (plumb_machine::clock_grain(), ClockMark::now());
    let mut classes: Vec<ClassAudit> = Vec::new();
    let mut target = None;
    let asked = |class: AuditClass| settings.classes.iter().any(|of| of == class.word());
    for (class, point) in CLASSES.into_iter().filter(|(class, _)| asked(*class)) {
        let mut records = Vec::new();
        for number in 1..=settings.comparisons {
            ui.say(&format!("comparing {point} with itself: {number} of {}", settings.comparisons));
            records.push(auditor.compare(class, point, point)?);
        }
        target = target.or(records.first().and_then(|it| it.targets.first().cloned()));
        classes.push(audit_class(class.word(), &records));
    }
    let halfway = ClockMark::now();
    let mut injected: Vec<Injected> = Vec::new();
    for (share, slower) in INJECTED.into_iter().filter(|_| asked(CLASSES[0].0)) {
        ui.say(&format!("comparing {} with {slower}", CLASSES[0].1));
        injected.push(audit_injected(share, &auditor.compare(CLASSES[0].0, CLASSES[0].1, slower)?));
    }
    let drift = ClockMark::drift(began, halfway, ClockMark::now());
    let clock = AuditClock {
        resolution_ns: grain.resolution_ns,
        overhead_ns: grain.overhead_ns,
        slew_ppm: drift.map(|drift| drift.slew_ppm),
        counter_ppm: drift.and_then(|drift| drift.counter_ppm),
    };
    let Some(target) = target else { return Err(CommandError::nothing("nothing was compared")) };
    let machine = &target.machine.fingerprint;
    let document =
        audit_document(machine, &target.environment.fingerprint, &classes, &injected, clock);
    let text = serde_json::to_string(&document).map_err(|e| CommandError::bug(e.to_string()))?;
    let kept = Store::open(locate::store(store)?)?;
    kept.add_audit(&target, plumb_machine::now().unix_ns, &text)?;
    ui.out(&if ui.wants_json() {
        text
    } else {
        audit_card(&classes, &injected, clock, &ui.terminal())
    });
    Ok(Exit::Fine)
}

/// Compares points as `ab` does.
struct Auditor<'a> {
    settings: &'a AuditSettings<'a>,
    store: Option<&'a Path>,
    ui: &'a Ui,
}

impl Auditor<'_> {
    fn compare(&self, class: AuditClass, one: &str, other: &str) -> Result<RunRecord> {
        let mut setup = Setup::start()?;
        let all = setup.all_threads();
        let mut points: Vec<PlannedPoint> = Vec::new();
        for name in [one, other] {
            let name = [name.to_owned()];
            points.extend(points::resolve(&mut setup.keeper, &name, &[], all)?.points);
        }
        let metric = points.first().and_then(|point| point.description.primary());
        let metric = metric.map(|metric| metric.name.clone()).unwrap_or_default();
        let goal = Goal::Verdict(VerdictGoal::new(&metric, MARGIN, 40));
        let execution = ExecutionArgs {
            labels: vec![format!("audit={}", class.word())],
            ..ExecutionArgs::default()
        };
        // As `ab` measures, whose margin this is to bound.
        let prepare = prepare::wanted(&mut setup.keeper, &execution.prepare, None, all)?;
        let folders = folders(&mut setup.keeper, &Place::Scratch)?;
        let plan = plan(PlanRequest::new(points, goal, prepare), &execution, &folders.dir)?;
        let quiet = self.ui.without_progress();
        let (lock, host) = (self.settings.lock, self.settings.host.clone());
        let job = Job { lock, host, ..Job::new(plan, folders, self.store) };
        let measured = execute(setup, job, &quiet)?;
        if measured.ended.interrupted {
            return Err(CommandError::interrupted("interrupted; the audit was not stored"));
        }
        Ok(measured.record)
    }
}
