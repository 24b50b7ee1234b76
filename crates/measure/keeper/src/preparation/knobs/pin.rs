//! `--set pin`: CPUs that workers may use; pin.controller and pin.monitor set them for plumb's other processes.

use crate::preparation::knob::{Knob, Lasts, Suffix};
use crate::preparation::process::{cpus, option};
use crate::spawn_options::SpawnOption;

/// The affinity mask of the processes of a role.
pub const KNOB: Knob = Knob {
    name: "pin",
    values: "CPUs (0-1,3)",
    example: "pin=0",
    summary: "CPUs that workers may use; pin.controller and pin.monitor set them for plumb's other processes",
    manual: include_str!("pin.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, SpawnOption::Pin(cpus(value)?)),
    now: |_| None,
};
