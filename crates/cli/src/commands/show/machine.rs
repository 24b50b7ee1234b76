//! `plumb show --machine`: this machine, that of a run, or what differs between two runs.

use std::path::Path;

use plumb_model::Target;
use plumb_report::{MachineSnapshot, machine_card, machine_document};
use plumb_store::{Store, short};

use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::reading::output::pretty;
use crate::reading::runs::open;
use crate::ui::Ui;

/// Shows machine and environment by themes.
pub fn machine(runs: &[String], store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let snapshots = if runs.is_empty() {
        vec![here()?]
    } else {
        let store = open(store)?;
        runs.iter().map(|run| of_run(run, &store)).collect::<Result<Vec<_>>>()?
    };
    if ui.wants_json() {
        ui.out(&pretty(&machine_document(&snapshots))?);
    } else {
        ui.out(&machine_card(&snapshots, &ui.terminal()));
    }
    Ok(Exit::Fine)
}

/// This machine now, with the current directory as its target.
fn here() -> Result<MachineSnapshot> {
    let root = locate::root();
    let dir = locate::directory(None)?;
    let machine = plumb_machine::machine(&root);
    let environment = plumb_machine::environment(&root, &dir);
    let host = locate::host(None)?;
    let target = Target { name: "local".into(), host, machine, environment };
    Ok(MachineSnapshot { run: None, target })
}

fn of_run(name: &str, store: &Store) -> Result<MachineSnapshot> {
    let run = store.resolve(name)?;
    let Some(target) = store.record(run)?.targets.into_iter().next() else {
        return Err(CommandError::nothing(format!("run {name} does not record its machine")));
    };
    Ok(MachineSnapshot { run: Some(short(run)), target })
}
