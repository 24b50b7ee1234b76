//! `--set cpuset`: like pin, but with a cgroup that threads can't leave.

use crate::preparation::knob::{Knob, Lasts, Suffix};
use crate::preparation::process::{cpus, option};
use crate::spawn_options::SpawnOption;

/// The CPUs of a control group, which a program can't widen.
pub const KNOB: Knob = Knob {
    name: "cpuset",
    values: "CPUs (0-1,3)",
    example: "cpuset=0",
    summary: "like pin, but with a cgroup that threads can't leave",
    manual: include_str!("cpuset.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, SpawnOption::Cpuset(cpus(value)?)),
    now: |_| None,
};
