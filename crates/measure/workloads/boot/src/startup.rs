//! `boot.startup`: how long each boot took that the journal remembers.

use std::collections::BTreeMap;

use plumb_machine::Root;
use plumb_model::{AuditClass, Description, Role, SampleIs};
use plumb_protocol::{Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare::{text, workload};

use crate::journal::{Boot, boots};
use crate::{firmware, supply, systemd, units};

/// The metrics: the first is the sum of the last three.
const NAMES: [&str; 6] = ["startup", "firmware", "loader", "kernel", "initrd", "userspace"];

const RUNNING: &str = "running";
const ANY: &str = "any";

/// The workload `boot.startup`: its parameters and metrics, and how it starts.
pub struct StartupOfBoots;

impl Workload for StartupOfBoots {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload],
            sample_is: SampleIs::Process,
            parameters: vec![text(
                "kernel",
                RUNNING,
                "boots of this kernel: a release, `running` for that of the running kernel, or `any`",
            )],
            metrics: vec![
                supply::seconds(
                    NAMES[0],
                    "from the start of the kernel until systemd has started everything",
                ),
                supply::seconds(NAMES[1], "firmware, as it counts itself"),
                supply::seconds(NAMES[2], "boot loader, as it counts itself"),
                supply::seconds(
                    NAMES[3],
                    "kernel, until it starts systemd or the systemd of the initrd",
                ),
                supply::seconds(
                    NAMES[4],
                    "systemd of the initrd, until that of the root file system starts",
                ),
                supply::seconds(NAMES[5], "systemd, until all jobs of the default target are done"),
            ],
            audit_class: Some(AuditClass::Process),
            ..workload("boot.startup", "how long past boots took, from systemd's journal")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("startup.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        started(&Root::from_environment(), start.text("kernel"))
    }
}

/// The boots of a kernel in the journal of this machine.
pub fn started(root: &Root, kernel: &str) -> Result<StartedWorkload, StartError> {
    if !systemd::runs(root) {
        return Err(StartError::unsupported(
            format!(
                "PID 1 is {}, not systemd: nothing logs how long a boot took",
                systemd::first_process(root)
            ),
            "measure boot.milestones: it reads this boot from the kernel's log and /proc",
        ));
    }
    systemd::refuse_container(root)?;
    let boots = boots(root)?;
    let wanted = WantedKernel::of(kernel, root)?;
    let chosen: Vec<&Boot> = boots.iter().filter(|boot| wanted.takes(boot)).collect();
    if chosen.is_empty() {
        return Err(StartError::unsupported(
            format!("the journal has no boot of {wanted}: it has {}", kernels_of(&boots)),
            "choose one of them with -p kernel=RELEASE, or all with -p kernel=any",
        ));
    }
    let rows: Vec<Vec<Option<f64>>> = chosen.iter().map(|boot| row(boot)).collect();
    let mut started = supply::of_rows(&NAMES, &rows, notes(&boots, chosen.len(), root));
    // In their order in the journal, whatever their kernels: firmware does not know them.
    let firmware_s: Vec<f64> = boots.iter().map(|boot| boot.stages_s[0]).collect();
    started.ready.flags.extend(firmware::growth(&firmware_s));
    Ok(started)
}

/// The boots that count.
enum WantedKernel {
    Any,
    Release(String),
}

impl WantedKernel {
    fn of(text: &str, root: &Root) -> Result<Self, StartError> {
        match text {
            ANY => Ok(Self::Any),
            RUNNING => root.text("/proc/sys/kernel/osrelease").map(Self::Release).ok_or_else(|| {
                StartError::unsupported(
                    "/proc/sys/kernel/osrelease can't be read, so the running kernel is unknown",
                    "mount /proc, or name a release with -p kernel=RELEASE",
                )
            }),
            release => Ok(Self::Release(release.to_owned())),
        }
    }

    fn takes(&self, boot: &Boot) -> bool {
        match self {
            Self::Any => true,
            Self::Release(release) => boot.kernel.as_ref() == Some(release),
        }
    }
}

impl std::fmt::Display for WantedKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Any => f.write_str("any kernel"),
            Self::Release(release) => write!(f, "kernel {release}"),
        }
    }
}

/// The values of a boot, in the order of the names.
fn row(boot: &Boot) -> Vec<Option<f64>> {
    let startup = std::iter::once(Some(boot.startup_s()));
    startup.chain(boot.stages_s.iter().map(|s| Some(*s).filter(|s| *s > 0.0))).collect()
}

fn notes(boots: &[Boot], chosen: usize, root: &Root) -> Vec<String> {
    let mut notes =
        vec![format!("{chosen} of {} boots in the journal: {}", boots.len(), kernels_of(boots))];
    // Past boots are worth reporting even if this one can't be looked into.
    if let (Ok(manager), Ok(units)) = (units::manager(root), units::units(root)) {
        notes.extend(units::notes(&units, &manager));
    }
    notes
}

/// `6.1.0-47 (12), unknown kernels (3)`.
fn kernels_of(boots: &[Boot]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for boot in boots {
        *counts.entry(boot.kernel.as_deref().unwrap_or("unknown kernels")).or_default() += 1;
    }
    let counted: Vec<String> =
        counts.iter().map(|(kernel, count)| format!("{kernel} ({count})")).collect();
    counted.join(", ")
}
