//! `plumb doctor --audit`: how small a change can this machine show?

use std::path::Path;

use plumb_analysis::{
    ClassAudit, Injected, LayoutFinding, audit_class, audit_injected, audit_layout,
};
use plumb_doctor::{AuditClock, audit_card, audit_document};
use plumb_machine::ClockMark;
use plumb_model::{AuditClass, Goal, Host, MARGIN, PlannedPoint, RunRecord, Target, VerdictGoal};
use plumb_stats::audit::wrong_by_chance;
use plumb_store::Store;

use crate::commands::doctor::relinked;
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::measuring::execute::execute;
use crate::measuring::job::MeasuringJob;
use crate::measuring::setup::Setup;
use crate::measuring::target::{FilesPlace, Folders, folders};
use crate::planning::arguments::ExecutionArgs;
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::{points, prepare};
use crate::ui::Ui;

/// A cheap point of every kind of work, compared with itself.
const CLASSES: [(AuditClass, &str); 4] = [
    (AuditClass::Cpu, "cpu.sieve:limit=100000"),
    (AuditClass::Memory, "memory.latency:size=1MiB"),
    (AuditClass::Scheduler, "scheduler.pipe"),
    (AuditClass::Process, "process.command"),
];
/// Slow-downs that are added on purpose, with the sieve that takes so much longer.
const INJECTED: [(f64, &str); 3] = [
    (0.01, "cpu.sieve:limit=101000"),
    (0.02, "cpu.sieve:limit=102000"),
    (0.05, "cpu.sieve:limit=105000"),
];

/// The kind of work that is a program next to relinked copies of itself.
const LAYOUT: &str = "layout";

/// The largest share of comparisons of equals that plumb may call different, by promise.
const PROMISED_WRONG: f64 = 0.05;

/// What is compared with itself, and how often.
pub struct AuditSettings<'a> {
    /// Kinds of work (`cpu`, or several with commas between) and points (`memory.read`), as they were typed.
    pub subjects: &'a [String],
    /// Comparisons of each.
    pub comparisons: usize,
    /// The name of this host, if one is given.
    pub host: Option<Host>,
    /// Whether it waits for another plumb that measures.
    pub lock: bool,
}

/// What an audit compares.
#[derive(Debug, PartialEq)]
struct Subjects {
    /// Kinds of work, in the order of [`CLASSES`].
    classes: Vec<(AuditClass, &'static str)>,
    /// Points that the user named.
    points: Vec<String>,
    /// Whether a program is compared with relinked copies of itself.
    layout: bool,
}

impl Subjects {
    /// A point has a dot in its name, and no kind of work has. A point may hold commas (`a.b:x=1,y=2`), so only kinds are
    /// split.
    fn read(typed: &[String]) -> Result<Self> {
        let mut kinds = Vec::new();
        let mut points = Vec::new();
        for text in typed {
            if text.contains('.') {
                points.push(text.clone());
            } else {
                kinds.extend(text.split(',').map(str::trim));
            }
        }
        let layout = kinds.contains(&LAYOUT);
        kinds.retain(|kind| *kind != LAYOUT);
        for kind in &kinds {
            if !CLASSES.iter().any(|(class, _)| class.word() == *kind) {
                let error = CommandError::usage(format!("--of {kind}: unknown kind of work"));
                return Err(error.hint(
                    "try cpu, memory, scheduler, process, layout, or a point such as memory.read",
                ));
            }
        }
        let asked = CLASSES.into_iter().filter(|(class, _)| kinds.contains(&class.word()));
        Ok(Self { classes: asked.collect(), points, layout })
    }

    fn has(&self, class: AuditClass) -> bool {
        self.classes.iter().any(|(asked, _)| *asked == class)
    }
}

/// Audits the machine, and keeps the result.
///
/// Points that the user named are only reported: the margins of later verdicts rest on the kinds of work.
///
/// # Errors
/// When a comparison could not be made, or the store takes no audit.
pub fn audit(settings: &AuditSettings<'_>, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if settings.comparisons == 0 {
        return Err(CommandError::usage("--comparisons 0 compares nothing"));
    }
    let subjects = Subjects::read(settings.subjects)?;
    let mut auditor = Auditor { settings, store, ui, target: None };
    let grain = plumb_machine::clock_grain();
    let began = ClockMark::now();
    let mut classes = Vec::new();
    for (class, point) in &subjects.classes {
        classes.push(auditor.compare_with_itself(class.word(), point)?);
    }
    let mut named = Vec::new();
    for point in &subjects.points {
        named.push(auditor.compare_with_itself(point, point)?);
    }
    // A third mark, because only two stretches show whether the CPU's counter keeps its rate.
    let halfway = ClockMark::now();
    let injected = if subjects.has(AuditClass::Cpu) { auditor.inject()? } else { Vec::new() };
    let layout = if subjects.layout { Some(auditor.compare_links()?) } else { None };
    let drift = ClockMark::drift(began, halfway, ClockMark::now());
    let clock = AuditClock {
        resolution_ns: grain.resolution_ns,
        overhead_ns: grain.overhead_ns,
        slew_ppm: drift.map(|drift| drift.slew_ppm),
        counter_ppm: drift.and_then(|drift| drift.counter_ppm),
    };
    let Some(target) = auditor.target else {
        return Err(CommandError::nothing(nothing_compared(layout.as_ref())));
    };
    let layout = layout.as_ref();
    // Stored before the named points join them: the margins of verdicts rest on the kinds of work.
    if !classes.is_empty() || matches!(layout, Some(LayoutFinding::Measured(_))) {
        let kept = Store::open(locate::store(store)?)?;
        let text = document(&target, &classes, &injected, layout, clock)?;
        kept.add_audit(&target, plumb_machine::now().unix_ns, &text)?;
    }
    let promise = promise_line(&named);
    classes.extend(named);
    if ui.wants_json() {
        ui.out(&document(&target, &classes, &injected, layout, clock)?);
    } else {
        let card = audit_card(&classes, &injected, layout, clock, &ui.terminal());
        ui.out(&format!("{card}{promise}"));
    }
    Ok(Exit::Fine)
}

/// Why an audit has nothing to show.
fn nothing_compared(layout: Option<&LayoutFinding>) -> String {
    match layout {
        Some(LayoutFinding::Unsupported(why)) => format!("layout is unsupported: {why}"),
        _ => "nothing was compared".to_owned(),
    }
}

/// The JSON document of an audit, which is also what the store keeps.
fn document(
    target: &Target,
    classes: &[ClassAudit],
    injected: &[Injected],
    layout: Option<&LayoutFinding>,
    clock: AuditClock,
) -> Result<String> {
    let machine = &target.machine.fingerprint;
    let environment = &target.environment.fingerprint;
    let document = audit_document(machine, environment, classes, injected, layout, clock);
    serde_json::to_string(&document).map_err(|error| CommandError::bug(error.to_string()))
}

/// Whether the points that were named keep plumb's promise; empty without points.
fn promise_line(points: &[ClassAudit]) -> String {
    if points.is_empty() {
        return String::new();
    }
    let comparisons: usize = points.iter().map(|point| point.comparisons).sum();
    let wrong: usize = points.iter().map(|point| point.wrong).sum();
    let explained = wrong_by_chance(comparisons as u64, PROMISED_WRONG);
    let promised = plumb_units::percent(PROMISED_WRONG);
    format!(
        "points: {wrong} of {comparisons} comparisons are wrong; at the promised rate of at most {promised}, up to {explained} can be due to chance\n"
    )
}

/// Compares points as `ab` does.
struct Auditor<'a> {
    settings: &'a AuditSettings<'a>,
    store: Option<&'a Path>,
    ui: &'a Ui,
    /// Where the first comparison was made.
    target: Option<Target>,
}

impl Auditor<'_> {
    /// All comparisons of one point with itself, under the name of its kind of work or its own.
    fn compare_with_itself(&mut self, name: &str, point: &str) -> Result<ClassAudit> {
        let comparisons = self.settings.comparisons;
        let mut records = Vec::new();
        for number in 1..=comparisons {
            self.ui.say(&format!("comparing {point} with itself: {number} of {comparisons}"));
            records.push(self.compare(name, point, point)?);
        }
        if self.target.is_none() {
            self.target = records.first().and_then(|record| record.targets.first().cloned());
        }
        Ok(audit_class(name, &records))
    }

    /// Compares the point of the CPU with slower versions of itself.
    fn inject(&self) -> Result<Vec<Injected>> {
        let (class, point) = CLASSES[0];
        let mut injected = Vec::new();
        for (share, slower) in INJECTED {
            self.ui.say(&format!("comparing {point} with {slower}"));
            injected.push(audit_injected(share, &self.compare(class.word(), point, slower)?));
        }
        Ok(injected)
    }

    /// Compares a program with relinked copies of itself; the reason if none can be linked.
    fn compare_links(&mut self) -> Result<LayoutFinding> {
        let comparisons = self.settings.comparisons;
        let mut records = Vec::new();
        for number in 1..=comparisons {
            self.ui.say(&format!("comparing relinked copies: {number} of {comparisons}"));
            let mut setup = Setup::start()?;
            let folders = folders(&mut setup.keeper, &FilesPlace::Scratch)?;
            // The same seeds in every audit, so that audits of two machines compare the same copies.
            let files = match relinked::build(&folders.scratch, number as u64) {
                Ok(files) => files,
                Err(error) => return Ok(LayoutFinding::Unsupported(error.to_string())),
            };
            records.push(self.measure(setup, folders, LAYOUT, relinked::sides(&files)?)?);
        }
        if self.target.is_none() {
            self.target = records.first().and_then(|record| record.targets.first().cloned());
        }
        Ok(LayoutFinding::Measured(audit_layout(&records)))
    }

    fn compare(&self, name: &str, one: &str, other: &str) -> Result<RunRecord> {
        let mut setup = Setup::start()?;
        let all = setup.all_threads();
        let mut points: Vec<PlannedPoint> = Vec::new();
        for point in [one, other] {
            let typed = [point.to_owned()];
            points.extend(points::resolve(&mut setup.keeper, &typed, &[], all)?.points);
        }
        let folders = folders(&mut setup.keeper, &FilesPlace::Scratch)?;
        self.measure(setup, folders, name, points)
    }

    fn measure(
        &self,
        mut setup: Setup,
        folders: Folders,
        name: &str,
        points: Vec<PlannedPoint>,
    ) -> Result<RunRecord> {
        let all = setup.all_threads();
        let primary = points.first().and_then(|point| point.description.primary());
        let metric = primary.map(|metric| metric.name.clone()).unwrap_or_default();
        let goal = Goal::Verdict(VerdictGoal::new(&metric, MARGIN, 40));
        let execution =
            ExecutionArgs { labels: vec![format!("audit={name}")], ..ExecutionArgs::default() };
        // As `ab` measures, whose margin this is to bound.
        let prepare = prepare::wanted(&mut setup.keeper, &execution.prepare, None, all)?;
        let plan = plan(PlanRequest::new(points, goal, prepare), &execution, &folders.dir)?;
        let job = MeasuringJob {
            lock: self.settings.lock,
            host: self.settings.host.clone(),
            ..MeasuringJob::new(plan, folders, self.store)
        };
        let measured = execute(setup, job, &self.ui.without_progress())?;
        if measured.ended.interrupted {
            return Err(CommandError::interrupted("interrupted; the audit was not stored"));
        }
        Ok(measured.record)
    }
}

#[cfg(test)]
mod tests {
    use super::{AuditClass, Subjects};

    #[test]
    fn kinds_are_split_and_points_are_not() {
        let typed = ["process,cpu", "cpu.integer:operation=mul,chain=dependent"];
        let subjects = Subjects::read(&typed.map(str::to_owned)).unwrap();
        let classes: Vec<AuditClass> = subjects.classes.iter().map(|(class, _)| *class).collect();
        assert_eq!(classes, [AuditClass::Cpu, AuditClass::Process]);
        assert_eq!(subjects.points, [typed[1]]);
        assert!(!subjects.layout);
        assert!(Subjects::read(&["process,layout".to_owned()]).unwrap().layout);
        let error = Subjects::read(&["cpu,disk".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("--of disk"), "{error}");
    }
}
