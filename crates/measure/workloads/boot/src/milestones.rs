//! `boot.milestones`: when this boot reached what people wait for.

use plumb_machine::Root;
use plumb_model::{AuditClass, Description, Role, SampleIs};
use plumb_protocol::{Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare::workload;

use crate::kernel_log::{self, KernelMessage};
use crate::units::{BootUnit, Manager};
use crate::{processes, supply, systemd, units};

/// The milestones, in the order of the fields of [`Milestones`].
const NAMES: [&str; 7] = ["program", "root", "init", "udev", "ssh", "login", "finished"];

const SSH_UNITS: [&str; 4] = ["ssh.service", "sshd.service", "ssh.socket", "sshd.socket"];
const SSH_PROCESSES: [&str; 2] = ["sshd", "dropbear"];
const LOGIN_PROCESSES: [&str; 5] = ["getty", "agetty", "mingetty", "ngetty", "login"];

/// A process that was started so much later than the first program is not of the boot, in microseconds.
const LATE_US: u64 = 600_000_000;

/// The workload `boot.milestones`: its metrics, and how it starts.
pub struct MilestonesOfBoot;

impl Workload for MilestonesOfBoot {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload],
            sample_is: SampleIs::Process,
            metrics: vec![
                supply::seconds(
                    NAMES[0],
                    "the kernel starts the first program, of the initrd if there is one",
                ),
                supply::seconds(NAMES[1], "the root file system is mounted"),
                supply::seconds(NAMES[2], "init of the root file system starts"),
                supply::seconds(NAMES[3], "udev has handled all devices (systemd-udev-settle)"),
                supply::seconds(
                    NAMES[4],
                    "the SSH server accepts connections; without systemd, it is started",
                ),
                supply::seconds(NAMES[5], "the first login prompt is started"),
                supply::seconds(NAMES[6], "systemd has done all jobs of the default target"),
            ],
            audit_class: Some(AuditClass::Process),
            ..workload("boot.milestones", "when this boot reached what people wait for")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("milestones.md")
    }

    fn start(&self, _: &Start) -> Result<StartedWorkload, StartError> {
        started(&Root::from_environment())
    }
}

/// The milestones of this boot.
pub fn started(root: &Root) -> Result<StartedWorkload, StartError> {
    systemd::refuse_container(root)?;
    let log = kernel_log::messages(root);
    let mut notes: Vec<String> = log.as_ref().err().cloned().into_iter().collect();
    let messages = log.unwrap_or_default();
    let found = if systemd::runs(root) {
        let manager = units::manager(root)?;
        let units = units::units(root)?;
        notes.extend(units::notes(&units, &manager));
        Milestones::with_systemd(&messages, &manager, &units)
    } else {
        notes.push(format!(
            "PID 1 is {}: times are from the kernel's log and from /proc/PID/stat, in steps of 10 ms",
            systemd::first_process(root)
        ));
        Milestones::without_systemd(&messages, root)
    };
    if found.program_us.is_none() {
        return Err(StartError::unsupported(
            "neither the kernel's log nor /proc/1/stat says when the first program was started",
            "mount /proc, or run as root to read /dev/kmsg",
        ));
    }
    Ok(supply::of_rows(&NAMES, &[found.row()], notes))
}

/// When each was reached, in microseconds since the kernel started; None if that is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Milestones {
    program_us: Option<u64>,
    root_us: Option<u64>,
    init_us: Option<u64>,
    udev_us: Option<u64>,
    ssh_us: Option<u64>,
    login_us: Option<u64>,
    finished_us: Option<u64>,
}

impl Milestones {
    fn with_systemd(messages: &[KernelMessage], manager: &Manager, units: &[BootUnit]) -> Self {
        Self {
            program_us: kernel_log::first_program_us(messages)
                .or(reached(manager.initrd_us))
                .or(reached(manager.userspace_us)),
            root_us: kernel_log::root_mounted_us(messages),
            init_us: reached(manager.userspace_us),
            udev_us: earliest_us(units, manager, |unit| {
                unit.is_called("systemd-udev-settle.service")
            }),
            ssh_us: earliest_us(units, manager, |unit| {
                SSH_UNITS.iter().any(|name| unit.is_called(name))
            }),
            login_us: earliest_us(units, manager, BootUnit::is_login),
            finished_us: reached(manager.finished_us),
        }
    }

    fn without_systemd(messages: &[KernelMessage], root: &Root) -> Self {
        let first = kernel_log::first_program_us(messages);
        let program_us = first.or_else(|| processes::first_process_us(root));
        // A process that was started again later says nothing of the boot.
        let latest_us = program_us.unwrap_or(0) + LATE_US;
        Self {
            program_us,
            root_us: kernel_log::root_mounted_us(messages),
            // An initrd hands over to init in the same process, of which the kernel logs nothing.
            init_us: first.filter(|_| !kernel_log::has_initrd(messages)),
            ssh_us: processes::first_start_us(root, &SSH_PROCESSES).filter(|us| *us <= latest_us),
            login_us: processes::first_start_us(root, &LOGIN_PROCESSES)
                .filter(|us| *us <= latest_us),
            ..Self::default()
        }
    }

    /// In seconds, in the order of the names.
    #[expect(clippy::cast_precision_loss, reason = "times since a boot stay below 2^53 µs")]
    fn row(&self) -> Vec<Option<f64>> {
        let Self { program_us, root_us, init_us, udev_us, ssh_us, login_us, finished_us } = self;
        let all = [program_us, root_us, init_us, udev_us, ssh_us, login_us, finished_us];
        all.into_iter().map(|us| us.map(|us| us as f64 * 1e-6)).collect()
    }
}

/// A time of systemd, which is 0 if it was not reached.
fn reached(us: u64) -> Option<u64> {
    (us > 0).then_some(us)
}

/// When the first of the units that are meant was started in this boot.
fn earliest_us(
    units: &[BootUnit],
    manager: &Manager,
    is_meant: fn(&BootUnit) -> bool,
) -> Option<u64> {
    units.iter().filter(|unit| is_meant(unit)).filter_map(|unit| unit.active_us(manager)).min()
}
