//! `plumb doctor`: what is wrong with this machine, and how small a change can it show?

use std::path::Path;

use plumb_analysis::{ClassAudit, Injected, audit_class, audit_injected};
use plumb_machine::ClockMark;
use plumb_model::{AuditClass, Goal, MARGIN, PlannedPoint, RunRecord};
use plumb_report::{AuditClock, audit_card, audit_document};
use plumb_store::Store;
use serde_json::Value;

use crate::cli::{DoctorArgs, PrepareArgs, WayArgs};
use crate::commands::doctor::diagnose::diagnose;
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::measuring::measure::{Bench, Job, Place, carry_out};
use crate::planning::plan;
use crate::planning::prepare;
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

/// Audits the machine, or says what is wrong with it.
pub fn doctor(args: &DoctorArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if args.monitors {
        return crate::commands::doctor::monitors::costs(&args.length, args.no_lock, store, ui);
    }
    if !args.audit {
        return diagnose(args.dir.as_deref(), store, ui);
    }
    if args.comparisons == 0 {
        return Err(CommandError::usage("--comparisons 0 compares nothing"));
    }
    let auditor = Auditor { args, store, ui };
    let (grain, began) = (plumb_machine::clock_grain(), ClockMark::now());
    let mut classes: Vec<ClassAudit> = Vec::new();
    let mut target = None;
    let asked = |class: AuditClass| args.of.iter().any(|of| of == class.word());
    for (class, point) in CLASSES.into_iter().filter(|(class, _)| asked(*class)) {
        let mut records = Vec::new();
        for number in 1..=args.comparisons {
            ui.say(&format!("{point} with itself: {number} of {}", args.comparisons));
            records.push(auditor.compare(class, point, point)?);
        }
        target = target.or(records.first().and_then(|it| it.targets.first().cloned()));
        classes.push(audit_class(class.word(), &records));
    }
    let halfway = ClockMark::now();
    let mut injected: Vec<Injected> = Vec::new();
    for (share, slower) in INJECTED.into_iter().filter(|_| asked(CLASSES[0].0)) {
        ui.say(&format!("{} with {slower}", CLASSES[0].1));
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
    args: &'a DoctorArgs,
    store: Option<&'a Path>,
    ui: &'a Ui,
}

impl Auditor<'_> {
    fn compare(&self, class: AuditClass, one: &str, other: &str) -> Result<RunRecord> {
        let mut bench = Bench::set_up()?;
        let all = bench.all_threads();
        let mut points: Vec<PlannedPoint> = Vec::new();
        for name in [one, other] {
            let name = [name.to_owned()];
            points.extend(plan::resolve(&mut bench.keeper, &name, &[], all, self.ui)?.points);
        }
        let metric = points.first().and_then(|point| point.description.primary());
        let metric = metric.map(|metric| metric.name.clone()).unwrap_or_default();
        let goal =
            Goal::Verdict { margin: MARGIN, metric, quad: false, max_pairs: 40, noise_floor: None };
        let way = WayArgs {
            budget: None,
            labels: vec![format!("audit={}", class.word())],
            seed: None,
            no_lock: self.args.no_lock,
            monitors: Vec::new(),
            on_interference: None,
            prepare: PrepareArgs::default(),
        };
        // As `ab` measures, whose margin this is to bound.
        let prepare = prepare::wanted(&mut bench.keeper, &way.prepare, None, all)?;
        let plan = plan::plan_of(points, goal, &way, prepare)?;
        let lock = !self.args.no_lock;
        let quiet = self.ui.without_progress();
        let job = Job { lock, ..Job::new(plan, Place::Scratch, self.store) };
        let measured = carry_out(bench, job, &quiet)?;
        if measured.ended.interrupted {
            return Err(CommandError::interrupted("interrupted; no audit was kept"));
        }
        Ok(measured.record)
    }
}

/// What this machine shows of equal programs of this kind, by its last audit.
///
/// # Errors
/// When the store can't be read.
pub fn noise_floor(store: Option<&Path>, class: AuditClass) -> Result<Option<f64>> {
    let path = locate::store(store)?;
    if !path.exists() {
        return Ok(None);
    }
    let store = Store::open(&path)?;
    let machine = plumb_machine::machine(&locate::root()).fingerprint;
    let Some(audit) = store.audits(&machine)?.pop() else { return Ok(None) };
    let floors = floors(&audit.json);
    Ok(floors.into_iter().find(|(of, _)| of == class.word()).map(|(_, floor)| floor))
}

/// The noise floor of every kind of work in a kept audit.
pub fn floors(json: &str) -> Vec<(String, f64)> {
    let document: Value = serde_json::from_str(json).unwrap_or_default();
    let classes = document["classes"].as_array().cloned().unwrap_or_default();
    let one =
        |class: &Value| Some((class["class"].as_str()?.to_owned(), class["noise_floor"].as_f64()?));
    classes.iter().filter_map(one).collect()
}
