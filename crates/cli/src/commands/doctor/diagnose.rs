//! `plumb doctor` without `--audit`: what is wrong with this machine for measuring.

use std::path::Path;
use std::time::Duration;

use plumb_doctor::{LastAudit, doctor_card, doctor_document};
use plumb_machine::doctor::{
    DiagnosisInput, FilesystemRoom, MachineActivity, diagnose as host_diagnose,
};
use plumb_model::Host;
use plumb_store::Store;

use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::reading::audits::{floors, is_of_equals};
use crate::reading::output::pretty;
use crate::ui::Ui;

/// How long the activity of the machine is observed.
const OBSERVED: Duration = Duration::from_secs(1);

/// Shows what is wrong with this machine, and what its last audit left. However bad that is, it is no
/// failure.
pub fn diagnose(dir: Option<&Path>, host: &Host, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let root = locate::root();
    let dir = locate::directory(dir)?;
    let machine = plumb_machine::machine(&root).fingerprint;
    let audit = last_audit(store, &machine, host, ui);
    let activity = if root.is_live() {
        MachineActivity::over(&root, OBSERVED)
    } else {
        MachineActivity::default()
    };
    let room = if root.is_live() { FilesystemRoom::of(&dir) } else { None };
    let audited = audit.is_some();
    let input = DiagnosisInput { root: &root, dir: &dir, room, activity: &activity, audited };
    let Some(diagnosis) = host_diagnose(&input) else {
        return Err(CommandError::nothing("neither /proc nor /sys can be read here")
            .hint("mount them: mount -t proc proc /proc; mount -t sysfs sysfs /sys"));
    };
    if !ui.wants_json() {
        ui.out(&doctor_card(&diagnosis, audit.as_ref(), &ui.terminal()));
        return Ok(Exit::Fine);
    }
    let environment = plumb_machine::environment(&root, &dir).fingerprint;
    let document = doctor_document(&machine, &environment, &diagnosis, audit.as_ref());
    ui.out(&pretty(&document)?);
    Ok(Exit::Fine)
}

/// What the last audit of this machine left. Without a store that can be read there is none.
fn last_audit(store: Option<&Path>, machine: &str, host: &Host, ui: &Ui) -> Option<LastAudit> {
    let path = locate::store(store).ok().filter(|path| path.exists())?;
    let audits = Store::open_read_only(&path).and_then(|store| store.audits(machine, host));
    match audits {
        Ok(mut audits) => {
            audits.retain(|audit| is_of_equals(&audit.json));
            let audit = audits.pop()?;
            Some(LastAudit { at_unix_ns: audit.at_unix_ns, floors: floors(&audit.json) })
        }
        Err(error) => {
            ui.warn(&format!("can't show the last audit: {error}"));
            None
        }
    }
}
