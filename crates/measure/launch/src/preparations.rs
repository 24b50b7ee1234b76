//! Sets knobs in their slots, and has them undone: settings of the machine through the keeper's journal,
//! plug-ins by conversation, processes by the options with which they are started.

use std::collections::BTreeMap;

use plumb_keeper::preparation::{
    Assignment, GroupLimit, Resolved, Unusable, check, control_group, resolve,
};
use plumb_keeper::{
    Keeper, KeeperError, ON, Settled, SpawnOption, SpawnOptions, SystemSetting, Unchanged,
};
use plumb_machine::Root;
use plumb_model::{Flag, FlagKind, PlannedPoint, Preparation, PreparationSlot, Prepared, Role};
use plumb_protocol::MOST_PADDING;

use crate::refusal::LaunchRefusal;
use crate::slot_report::SlotReport;

/// The preparations of a run.
#[derive(Debug)]
pub struct Preparations {
    root: Root,
    planned: Vec<Preparation>,
    interrupted: fn() -> bool,
    /// How workloads and monitors of this run are started.
    workload: SpawnOptions,
    monitor: SpawnOptions,
    /// The control groups of points that have their own, by the preparations of the point.
    groups_of_points: BTreeMap<String, Vec<String>>,
    /// The current slots: the slot, the journal's changes before it, and the names.
    holding: Vec<(PreparationSlot, usize, Vec<String>)>,
}

/// The name of a run's own control group.
fn group_name() -> String {
    format!("plumb-{}", std::process::id())
}

/// The limit that a preparation sets by a control group; None if it needs none.
fn limit_of(root: &Root, preparation: &Preparation) -> Option<GroupLimit> {
    match resolve(root, preparation) {
        Ok(Resolved::Spawn(_, option)) => GroupLimit::of(&option, &preparation.value),
        _ => None,
    }
}

/// The preparations of a point alone, as text.
fn own_preparations(point: &PlannedPoint) -> String {
    let names: Vec<String> = point.preparation.iter().map(Preparation::name).collect();
    names.join(" ")
}

impl Preparations {
    /// What is planned, for the machine below `root`.
    #[must_use]
    pub fn new(root: Root, planned: Vec<Preparation>, interrupted: fn() -> bool) -> Self {
        Self {
            root,
            planned,
            interrupted,
            workload: SpawnOptions::default(),
            monitor: SpawnOptions::default(),
            groups_of_points: BTreeMap::new(),
            holding: Vec::new(),
        }
    }

    /// Sets what holds for the whole run, and tries all that is set later: what the user named must be
    /// possible before anything is measured.
    ///
    /// # Errors
    /// When something that the user named is not.
    pub fn begin(
        &mut self,
        keeper: &mut Keeper,
        points: &[PlannedPoint],
    ) -> Result<SlotReport, LaunchRefusal> {
        let (now, later): (Vec<_>, Vec<_>) = self
            .planned
            .clone()
            .into_iter()
            .partition(|preparation| preparation.slot == PreparationSlot::Run);
        let before = keeper.changes();
        let mut done = SlotReport::default();
        for preparation in &now {
            done.extend(self.make(keeper, preparation, PreparationStage::Begin)?);
        }
        self.holding.push((PreparationSlot::Run, before, done.to_undo.clone()));
        for preparation in later.iter().chain(points.iter().flat_map(|point| &point.preparation)) {
            self.try_out(keeper, preparation)?;
        }
        for point in points {
            self.make_groups_of(keeper, point)?;
        }
        Ok(done)
    }

    /// The control groups that a point has for itself. They stay until the end of the run.
    fn make_groups_of(
        &mut self,
        keeper: &mut Keeper,
        point: &PlannedPoint,
    ) -> Result<(), LaunchRefusal> {
        let key = own_preparations(point);
        if self.groups_of_points.contains_key(&key) {
            return Ok(());
        }
        if !point.preparation.iter().any(|own| limit_of(&self.root, own).is_some()) {
            return Ok(());
        }
        // In version 2 all limits of a point share a folder; different points must not. A process is in one group there, so
        // that the limits of the run belong into it, too; those of the point come last and win.
        let name = format!("{}-{}", group_name(), self.groups_of_points.len());
        let of_run = self.planned.iter().filter(|planned| planned.slot == PreparationSlot::Run);
        let mut folders = Vec::new();
        for own in of_run.chain(&point.preparation) {
            let Some(limit) = limit_of(&self.root, own) else { continue };
            match make_group(&self.root, keeper, &name, &limit) {
                Ok(folder) if folders.contains(&folder) => {}
                Ok(folder) => folders.push(folder),
                // Optional ones are left out, as for the run.
                Err(unusable) => {
                    skipped(own, unusable)?;
                }
            }
        }
        self.groups_of_points.insert(key, folders);
        Ok(())
    }

    /// Sets what holds from here to the end of the slot, the point's own included.
    ///
    /// # Errors
    /// When something that the user named can't be had.
    pub fn apply(
        &mut self,
        keeper: &mut Keeper,
        slot: PreparationSlot,
        point: Option<&PlannedPoint>,
    ) -> Result<SlotReport, LaunchRefusal> {
        let own = point.map(|point| point.preparation.clone()).unwrap_or_default();
        let all = self
            .planned
            .clone()
            .into_iter()
            .filter(|preparation| preparation.slot == slot)
            .chain(own);
        // Settings of the whole run are made by now.
        let stage = if slot == PreparationSlot::Run {
            PreparationStage::Actions
        } else {
            PreparationStage::Slot
        };
        let before = keeper.changes();
        let mut done = SlotReport::default();
        for preparation in all {
            done.extend(self.make(keeper, &preparation, stage)?);
        }
        if slot != PreparationSlot::Run {
            self.holding.push((slot, before, done.to_undo.clone()));
        }
        Ok(done)
    }

    /// Undoes what holds for a slot, and what was set after it.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn undo(
        &mut self,
        keeper: &mut Keeper,
        slot: PreparationSlot,
    ) -> Result<SlotReport, LaunchRefusal> {
        let mut done = SlotReport::default();
        while self.holding.iter().any(|(held, _, _)| *held == slot)
            && let Some((_, before, names)) = self.holding.pop()
        {
            let settled = keeper.restore(before)?;
            done.restored.extend(names.into_iter().rev());
            for one in &settled {
                if !matches!(one, Settled::Restored { .. }) {
                    done.notes.push(one.to_string());
                }
            }
        }
        Ok(done)
    }

    /// How a process of a role is started; a point's own preparations win.
    pub fn spawn_options(&self, role: Role, point: &PlannedPoint, seed: u64) -> SpawnOptions {
        let mut options = match role {
            Role::Workload => self.workload.clone(),
            Role::Monitor => self.monitor.clone(),
            Role::Server | Role::Preparation | Role::Load => return SpawnOptions::default(),
        };
        if role != Role::Workload {
            return options;
        }
        let mut chance = self.planned.iter().any(Preparation::is_only_chance);
        for own in &point.preparation {
            chance = if own.knob == "env-size" { own.is_only_chance() } else { chance };
            if let Ok(Resolved::Spawn(_, option)) = resolve(&self.root, own) {
                put(&mut options, option, None);
            }
        }
        let groups = self.groups_of_points.get(&own_preparations(point));
        options.groups.extend(groups.into_iter().flatten().cloned());
        if chance {
            options.padding = usize::try_from(mixed(seed) % MOST_PADDING as u64).ok();
            options.same_padding = false;
        }
        options
    }

    /// The CPUs that workloads are kept to; None for all.
    #[must_use]
    pub fn cpus(&self) -> Option<&[u32]> {
        (!self.workload.cpus.is_empty()).then_some(&self.workload.cpus)
    }

    fn make(
        &mut self,
        keeper: &mut Keeper,
        preparation: &Preparation,
        stage: PreparationStage,
    ) -> Result<SlotReport, LaunchRefusal> {
        let outcome = match resolve(&self.root, preparation) {
            Ok(Resolved::Settings(assignments)) if stage != PreparationStage::Actions => {
                change(keeper, preparation, &assignments)
            }
            Ok(Resolved::Spawn(role, option)) if stage == PreparationStage::Begin => {
                self.take_option(keeper, preparation, role, option)
            }
            Ok(Resolved::Action(action)) if stage != PreparationStage::Begin => {
                let became = action.act(&self.root, keeper, &self.interrupted);
                became.map(|became| only(preparation, String::new(), became)).map_err(Into::into)
            }
            // Each at its stage; the options of a point's own process are in `spawn_options`.
            Ok(_) => Ok(SlotReport::default()),
            Err(unusable) => Err(unusable),
        };
        outcome.or_else(|unusable| skipped(preparation, unusable))
    }

    /// Makes it and undoes it, or asks whether it could be made.
    fn try_out(
        &mut self,
        keeper: &mut Keeper,
        preparation: &Preparation,
    ) -> Result<(), LaunchRefusal> {
        let before = keeper.changes();
        let tried = match resolve(&self.root, preparation) {
            Ok(Resolved::Settings(assignments)) => {
                change(keeper, preparation, &assignments).map(|_| ())
            }
            Ok(Resolved::Spawn(_, option)) => probe(preparation, option).map(|_| ()),
            Ok(Resolved::Action(_) | Resolved::Medium) => Ok(()),
            Err(unusable) => Err(unusable),
        };
        keeper.restore(before)?;
        tried.or_else(|unusable| skipped(preparation, unusable).map(|_| ()))
    }

    fn take_option(
        &mut self,
        keeper: &mut Keeper,
        preparation: &Preparation,
        role: Option<Role>,
        option: SpawnOption,
    ) -> Result<SlotReport, Unusable> {
        let options = probe(preparation, option.clone())?;
        let group = match GroupLimit::of(&option, &preparation.value) {
            Some(limit) => Some(make_group(&self.root, keeper, &group_name(), &limit)?),
            None => None,
        };
        match role {
            Some(Role::Monitor) => put(&mut self.monitor, option, group),
            Some(_) => put(&mut self.workload, option, group),
            // plumb itself.
            None => options.take_on().map_err(|error| denied(preparation, &error))?,
        }
        Ok(only(preparation, String::new(), preparation.value.clone()))
    }
}

/// When something is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreparationStage {
    /// Before the run: its settings and options.
    Begin,
    /// Once its fixtures stand: its actions.
    Actions,
    /// Before a round or an invocation: settings and actions.
    Slot,
}

fn only(preparation: &Preparation, was: String, became: String) -> SlotReport {
    let setting = preparation.knob.clone();
    SlotReport { prepared: vec![Prepared { setting, was, became }], ..SlotReport::default() }
}

/// Without the keeper, nothing can be changed.
fn lost(error: KeeperError) -> Unusable {
    Unchanged::new(error.to_string()).into()
}

/// Changes all settings of a knob, or none.
fn change(
    keeper: &mut Keeper,
    preparation: &Preparation,
    assignments: &[Assignment],
) -> Result<SlotReport, Unusable> {
    let before = keeper.changes();
    let mut was = Vec::new();
    let mut became = Vec::new();
    let mut refused = Vec::new();
    for one in assignments {
        match keeper.change(&one.setting, &one.to).map_err(lost)? {
            Ok(change) => {
                // Only a unit that changes is named: `cron.service active`, but `performance`.
                let changed = change.was != change.became;
                was.push(if changed { named(&one.setting, change.was) } else { change.was });
                became.push(change.became);
            }
            Err(unchanged) if one.may_refuse => refused.push(unchanged.why),
            Err(unchanged) => {
                keeper.restore(before).map_err(lost)?;
                return Err(unchanged.into());
            }
        }
    }
    let changed = was != became;
    if was.is_empty() {
        let why = refused.pop().unwrap_or_else(|| "this machine has no such setting".into());
        return Err(Unchanged::new(why).into());
    }
    let mut done = only(preparation, values(unlike(&was, &became)), values(unlike(&became, &was)));
    done.to_undo.extend(changed.then(|| preparation.knob.clone()));
    if !refused.is_empty() {
        let of = refused.len();
        let all = assignments.len();
        done.notes
            .push(format!("{}: {of} of {all} settings rejected the value", preparation.name()));
    }
    Ok(done)
}

/// A value as people read it: of a unit, which one's it is.
fn named(setting: &SystemSetting, value: String) -> String {
    match setting {
        SystemSetting::Unit(name) => format!("{name} {value}"),
        _ => value,
    }
}

/// Those that are not the same on the other side; all if all are.
fn unlike(these: &[String], others: &[String]) -> Vec<String> {
    let pairs = these.iter().zip(others).filter(|(this, other)| these == others || this != other);
    pairs.map(|(this, _)| this.clone()).collect()
}

/// The values in order, blanks single; one if all are the same.
fn values(values: Vec<String>) -> String {
    let mut flat: Vec<String> = Vec::new();
    for value in values {
        flat.push(value.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    // Hundreds of CPUs with one governor read as one value.
    if flat.iter().all(|value| *value == flat[0]) {
        flat.truncate(1);
    }
    flat.join(", ")
}

/// A preset's preparation is skipped if it can't be had; the user's own ends the run.
fn skipped(preparation: &Preparation, unusable: Unusable) -> Result<SlotReport, LaunchRefusal> {
    let (why, fix) = match unusable {
        Unusable::Usage(why) => (why, String::new()),
        Unusable::Unsupported(Unchanged { why, fix }) => (why, fix),
    };
    let name = preparation.name();
    if preparation.optional {
        let notes = vec![format!("skipped {name}: {why}")];
        return Ok(SlotReport { notes, ..SlotReport::default() });
    }
    Err(LaunchRefusal::Unsupported { why: format!("--set {name} is unsupported: {why}"), fix })
}

/// Whether this machine and this user may have a preparation; nothing is changed.
///
/// # Errors
/// Why not, with what may help.
pub fn may_have(root: &Root, preparation: &Preparation) -> Result<(), String> {
    let tried = resolve(root, preparation).and_then(|resolved| {
        check(root, &resolved)?;
        let Resolved::Spawn(_, option) = resolved else { return Ok(()) };
        if let Some(limit) = GroupLimit::of(&option, &preparation.value) {
            let (folder, _) = control_group(root, &group_name(), &limit)?;
            SystemSetting::Group(folder).may_be_written(root)?;
        }
        // When it would be made is no part of its name for people.
        let named = Preparation { slot: PreparationSlot::Run, ..preparation.clone() };
        probe(&named, option).map(|_| ())
    });
    tried.map_err(|unusable| match unusable {
        Unusable::Usage(why) => why,
        Unusable::Unsupported(Unchanged { why, fix }) if fix.is_empty() => why,
        Unusable::Unsupported(Unchanged { why, fix }) => format!("{why}: {fix}"),
    })
}

/// Options with this one alone, tried.
fn probe(preparation: &Preparation, option: SpawnOption) -> Result<SpawnOptions, Unusable> {
    let mut options = SpawnOptions::default();
    put(&mut options, option, None);
    options.probe().map_err(|error| denied(preparation, &error))?;
    Ok(options)
}

fn denied(preparation: &Preparation, error: &std::io::Error) -> Unusable {
    let name = preparation.name();
    let denied = error.kind() == std::io::ErrorKind::PermissionDenied;
    let fix = if denied { "start plumb as root" } else { "" };
    Unchanged { why: format!("the kernel refuses {name}: {error}"), fix: fix.into() }.into()
}

fn put(options: &mut SpawnOptions, option: SpawnOption, group: Option<String>) {
    match option {
        SpawnOption::Nice(level) => options.nice = Some(level),
        SpawnOption::SchedulingClass(class) => options.class = Some(class),
        SpawnOption::Pin(cpus) | SpawnOption::Cpuset(cpus) => options.cpus = cpus,
        SpawnOption::Padding(bytes) => {
            options.padding = bytes;
            options.same_padding = bytes.is_some();
        }
        SpawnOption::FixedLayout(fixed) => options.fixed_layout = fixed,
        SpawnOption::Untraced(untraced) => options.untraced = untraced,
        SpawnOption::UnsetVariable(name) => options.variables.push((name, None)),
        SpawnOption::SetVariable(name, value) => options.variables.push((name, Some(value))),
        // The group alone limits it.
        SpawnOption::CpuQuota(_) | SpawnOption::MemoryLimit(_) | SpawnOption::IoLimit(_) => {}
    }
    // Of version 2, several limits have one group.
    options.groups.extend(group.filter(|group| !options.groups.contains(group)));
}

/// A control group with this limit; the journal has it removed once it is empty.
fn make_group(
    root: &Root,
    keeper: &mut Keeper,
    name: &str,
    limit: &GroupLimit,
) -> Result<String, Unusable> {
    let (folder, files) = control_group(root, name, limit)?;
    let group = SystemSetting::Group(folder.clone());
    keeper.change(&group, ON).map_err(lost)??;
    for (path, value) in files {
        let written = SystemSetting::File(path.clone()).write(root, &value);
        written
            .map_err(|error| Unchanged::new(format!("{path} does not accept {value}: {error}")))?;
    }
    Ok(root.path(&folder).to_string_lossy().into_owned())
}

/// The flag of an invocation whose address space was not random.
pub fn flag_of(options: &SpawnOptions) -> Option<Flag> {
    let why = "address-space randomisation is off (--set aslr=off)";
    options.fixed_layout.then(|| Flag::new(FlagKind::LayoutFixed, why))
}

/// The bits of a seed, well mixed (the finaliser of SplitMix64, Steele et al. 2014).
fn mixed(seed: u64) -> u64 {
    let once = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}
