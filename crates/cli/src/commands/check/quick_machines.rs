//! `plumb check --quick --on`: are these machines as fast as healthy ones?

use std::path::Path;

use plumb_agent::MachineAddress;
use plumb_analysis::QuickCheckFinding;
use plumb_model::Plan;
use plumb_report::{QuickBaseline, QuickCheckOfMachine, quick_checks_card, quick_checks_json};
use plumb_store::Store;
use plumb_suite::{margin, time_ns};

use super::CheckArgs;
use super::machines::{MachineRunner, WholeBaseline};
use super::quick::{MARGIN, exit, learned, plan, quick_baseline};
use super::steps::{MachinePlan, StepRunner};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::outcome::exit_of_machines;
use crate::locate;
use crate::ui::Ui;

/// What a machine is compared with, and the run that does it.
struct QuickPlan {
    plan: Plan,
    baseline: QuickBaseline,
}

impl CheckArgs {
    /// Checks each of these machines within this time.
    pub(super) fn quick_check_machines(
        &self,
        most: &str,
        machines: Vec<MachineAddress>,
        store: Option<&Path>,
        ui: &Ui,
    ) -> Result<Exit> {
        self.refuse_with_machines()?;
        let margin = margin(self.margin.as_deref().unwrap_or(MARGIN))?;
        let most_ns = time_ns(most)?;
        let store = Store::open(locate::store(store)?)?;
        let whole = WholeBaseline::read(&store, self)?;
        let mut baselines = Vec::new();
        for machine in &machines {
            baselines.push(whole.of_machine(&store, machine, self));
        }
        let mut quick_plans: Vec<Result<QuickPlan>> = Vec::new();
        let mut plans = Vec::new();
        for (machine, stored) in baselines.iter().enumerate() {
            let made = stored.as_ref().map_err(Clone::clone).and_then(|stored| {
                let learned = learned(stored)?;
                let asked = plan(stored, &learned, margin, self)?;
                let plan = Plan { budget_ns: Some(most_ns), ..asked };
                Ok(QuickPlan { plan, baseline: quick_baseline(&stored.name, learned) })
            });
            if let Ok(made) = &made {
                plans.push(MachinePlan { machine, plan: made.plan.clone() });
            }
            quick_plans.push(made);
        }
        let runner = MachineRunner {
            args: self,
            machines: &machines,
            baselines: &baselines,
            store: &store,
            ui,
        };
        let records = match plans.as_slice() {
            [] => Vec::new(),
            plans => runner.measure(plans, "comparing with healthy machines")?,
        };
        let mut records = records.into_iter();
        let mut found: Vec<Result<(QuickCheckFinding, QuickBaseline)>> = Vec::new();
        for made in quick_plans {
            // Only machines with a plan have measured.
            found.push(made.and_then(|made| {
                let record = records
                    .next()
                    .unwrap_or_else(|| Err(CommandError::bug("a quick check without a run")))?;
                let finding = QuickCheckFinding::of(&record)
                    .ok_or_else(|| CommandError::bug("a quick check with another goal"))?;
                Ok((finding, made.baseline))
            }));
        }
        show(&machines, &found, ui)?;
        Ok(exit_of_machines(found.iter().map(|found| match found {
            Ok((finding, _)) => exit(finding.state()),
            Err(error) => error.exit(),
        })))
    }
}

fn show(
    machines: &[MachineAddress],
    found: &[Result<(QuickCheckFinding, QuickBaseline)>],
    ui: &Ui,
) -> Result<()> {
    let mut shown = Vec::new();
    for (machine, found) in machines.iter().zip(found) {
        shown.push(QuickCheckOfMachine {
            name: machine.name(),
            found: found.as_ref().map_err(|error| {
                let hints = error.hints().iter().map(|hint| ui.with_store(hint)).collect();
                (error.to_string(), hints)
            }),
        });
    }
    if ui.wants_json() {
        let document = quick_checks_json(&shown);
        ui.out(&document.map_err(|error| CommandError::bug(error.to_string()))?);
    } else {
        ui.out(&quick_checks_card(&shown, &ui.terminal()));
    }
    Ok(())
}
