//! A check of several machines, each against its own runs of the baseline.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plumb_agent::{MachineAddress, PlannedWork};
use plumb_analysis::Checker;
use plumb_export::machine_checks_junit;
use plumb_model::{By, Host, RunRecord};
use plumb_query::StoredRuns;
use plumb_report::{
    CheckOfMachine, machine_checks_card, machine_checks_json, machine_checks_markdown,
};
use plumb_store::{RunSummary, Store};

use super::steps::{MachineCheck, MachinePlan, StepRunner};
use super::{
    CheckArgs, StoredBaseline, checker, chosen, exit, first_set, fresh, in_store, refuse_fatal,
    steps, with_members,
};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::arguments::{has_fleet_label, refuse_options};
use crate::fleet::measure_on::{FleetRequest, FleetWork, MachineWork, carry_out};
use crate::fleet::outcome::{MachineRun, exit as exit_of_runs, exit_of_machines};
use crate::locate;
use crate::measuring::job::FailPolicy;
use crate::planning::secrets;
use crate::reading::output::write_file;
use crate::ui::Ui;

impl CheckArgs {
    /// Options that have no meaning on other machines.
    pub(super) fn refuse_with_machines(&self) -> Result<()> {
        refuse_options(&[
            ("--prove", self.prove.is_some()),
            ("--prepare", self.prepare.is_some()),
            ("--set", !self.set.is_empty()),
            ("--destroy-data", self.target.has_device()),
            ("--host", self.host.is_some()),
            ("--label fleet=…", has_fleet_label(&self.labels)),
        ])
    }

    /// Checks each of these machines against its own runs of the baseline.
    pub(super) fn check_machines(
        &self,
        machines: Vec<MachineAddress>,
        store: Option<&Path>,
        ui: &Ui,
    ) -> Result<Exit> {
        self.refuse_with_machines()?;
        let margin = self.margin()?;
        let store = Store::open(locate::store(store)?)?;
        let whole = WholeBaseline::read(&store, self)?;
        let mut baselines: Vec<Result<StoredBaseline>> = Vec::new();
        for machine in &machines {
            baselines.push(whole.of_machine(&store, machine, self));
        }
        let mut checkers: Vec<Result<Checker<'_>>> = Vec::new();
        for stored in &baselines {
            checkers.push(match stored {
                Ok(stored) => checker(stored, self, margin),
                Err(error) => Err(error.clone()),
            });
        }
        let mut checks = Vec::new();
        for (index, (stored, checker)) in baselines.iter().zip(&checkers).enumerate() {
            if let (Ok(stored), Ok(checker)) = (stored, checker) {
                checks.push(MachineCheck::new(index, checker, stored.plan()?));
            }
        }
        let runner = MachineRunner {
            args: self,
            machines: &machines,
            baselines: &baselines,
            store: &store,
            ui,
        };
        let steps = steps(self, &runner, ui)?;
        steps.screen(&mut checks)?;
        steps.confirm(&mut checks)?;
        let mut found = Vec::new();
        for (index, machine) in machines.iter().enumerate() {
            let check = checks.iter().find(|check| check.machine == index);
            let finding = match (check, &checkers[index]) {
                (Some(check), _) => check.finding(&store, self.by).and_then(|finding| {
                    refuse_fatal(&finding, self.force)?;
                    Ok(finding)
                }),
                (None, Err(error)) => Err(error.clone()),
                (None, Ok(_)) => Err(CommandError::bug("a machine without a check")),
            };
            found.push((machine.name(), finding));
        }
        let hints: Vec<Vec<String>> = found
            .iter()
            .map(|(_, finding)| match finding {
                Ok(_) => Vec::new(),
                Err(error) => error.hints().iter().map(|hint| ui.with_store(hint)).collect(),
            })
            .collect();
        let shown: Vec<CheckOfMachine<'_>> = found
            .iter()
            .zip(&hints)
            .map(|((name, finding), hints)| CheckOfMachine {
                name,
                found: finding.as_ref().map_err(|error| (error.to_string(), hints.as_slice())),
            })
            .collect();
        if ui.wants_json() {
            let document = machine_checks_json(&shown);
            ui.out(&document.map_err(|error| CommandError::bug(error.to_string()))?);
        } else {
            ui.out(&machine_checks_card(&shown, &ui.terminal()));
        }
        if let Some(file) = &self.junit {
            write_file(file, machine_checks_junit(&shown).as_bytes())?;
        }
        if let Some(file) = &self.markdown {
            write_file(file, machine_checks_markdown(&shown).as_bytes())?;
        }
        Ok(exit_of_machines(found.iter().map(|(_, finding)| match finding {
            Ok(finding) => exit(finding, self.strict),
            Err(error) => error.exit(),
        })))
    }
}

/// A baseline with the runs of all machines, which is read once.
pub(super) struct WholeBaseline {
    name: String,
    members: StoredRuns,
    /// The runs of the baseline as it was first set, and when that was, if these are others.
    first: Option<(i64, StoredRuns)>,
    summaries: Vec<RunSummary>,
}

impl WholeBaseline {
    pub(super) fn read(store: &Store, args: &CheckArgs) -> Result<Self> {
        let baseline = chosen(store, args.baseline.as_deref())?;
        Ok(Self {
            members: StoredRuns::read(store, &in_store(store, &baseline.runs)?)?,
            first: first_set(store, &baseline)?,
            summaries: store.summaries()?,
            name: baseline.name,
        })
    }

    /// The part with which a machine is compared: its own runs, or with `--by kind` those of all machines of its kind.
    pub(super) fn of_machine(
        &self,
        store: &Store,
        machine: &MachineAddress,
        args: &CheckArgs,
    ) -> Result<StoredBaseline> {
        let host = host(machine)?;
        let mut members = self.members.only(|run| By::Host.mixes(run.host(), &host));
        if args.by == By::Kind || (args.force && members.runs.is_empty()) {
            // Only runs of its kind, if its own ones show that.
            let kind = members.runs.last().map(|run| run.machine().to_owned());
            members =
                self.members.only(|run| kind.as_ref().is_none_or(|kind| run.machine() == kind));
        }
        let set = format!("plumb baseline set NAME --on {}", machine.name());
        if members.runs.is_empty() {
            return Err(CommandError::usage(format!(
                "the baseline {} has no runs from this machine",
                self.name
            ))
            .hint(format!("{set}    creates a separate baseline for this machine"))
            .hint("plumb check --by kind --on HOST,…    uses the runs of all hosts of this kind"));
        }
        let kinds: BTreeSet<&str> = members.runs.iter().map(|run| run.machine()).collect();
        if kinds.len() > 1 && !args.force {
            return Err(CommandError::usage(format!(
                "the baseline {} has runs of {} kinds of machines; plumb cannot tell which kind this machine is",
                self.name,
                kinds.len()
            ))
            .hint(format!("{set}    creates a separate baseline for this machine")));
        }
        let first = self.first.as_ref();
        let stored = with_members(store, &self.name, members, first, &self.summaries, args.by)?;
        secrets::refuse_for_other_machine(&stored.plan()?)?;
        Ok(stored)
    }
}

/// The name of a machine as the host of its runs.
fn host(machine: &MachineAddress) -> Result<Host> {
    match machine {
        MachineAddress::Local { .. } => locate::host(None),
        // The name was checked when it was typed.
        MachineAddress::Ssh { name, .. } => name.parse().map_err(CommandError::bug),
    }
}

/// Measures on the machines.
pub(super) struct MachineRunner<'r> {
    pub(super) args: &'r CheckArgs,
    pub(super) machines: &'r [MachineAddress],
    /// What each machine is compared with.
    pub(super) baselines: &'r [Result<StoredBaseline>],
    pub(super) store: &'r Store,
    pub(super) ui: &'r Ui,
}

impl MachineRunner<'_> {
    /// A plan as the agent of a machine gets it.
    fn work(&self, of: &MachinePlan) -> Result<MachineWork> {
        let stored = self.baselines[of.machine].as_ref().map_err(Clone::clone)?;
        let kind = stored.members.runs.last().map(|run| run.machine().to_owned());
        let planned = PlannedWork {
            plan: fresh(&of.plan, self.args)?,
            fingerprint: kind.filter(|kind| !self.args.force && !kind.is_empty()),
            dir: self.args.target.folder().map(PathBuf::from),
            waits_for_lock: !self.args.no_lock,
        };
        Ok(MachineWork { planned, confirms: None })
    }

    /// What is stored of a machine's run, if it is whole.
    fn record(&self, run: &MachineRun) -> Result<RunRecord> {
        match run.complete_run() {
            Some(id) => Ok(self.store.record(id)?),
            None => Err(run.error()),
        }
    }
}

impl StepRunner for MachineRunner<'_> {
    fn measure(&self, plans: &[MachinePlan], what: &str) -> Result<Vec<Result<RunRecord>>> {
        self.ui.say(what);
        let mut work = Vec::with_capacity(plans.len());
        for plan in plans {
            work.push(self.work(plan)?);
        }
        let request = FleetRequest {
            machines: plans.iter().map(|plan| self.machines[plan.machine].clone()).collect(),
            at_once: self.args.machines.at_once(),
            work: FleetWork::Plans(work),
            keeps_secrets: false,
            confirming: None,
            fail_on: FailPolicy::default(),
            together: false,
        };
        let runs = carry_out(&request, self.store, None, self.ui)?;
        if exit_of_runs(&runs) == Exit::Interrupted {
            return Err(CommandError::interrupted("interrupted; a check needs all its runs"));
        }
        Ok(runs.iter().map(|run| self.record(run)).collect())
    }

    fn name(&self, machine: usize) -> Option<&str> {
        self.machines.get(machine).map(MachineAddress::name)
    }
}
