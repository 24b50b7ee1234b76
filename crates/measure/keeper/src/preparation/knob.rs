//! The knobs: everything that `--set` knows, listed by hand.

use std::time::Duration;

use plumb_model::{Preparation, Role, Slot};

use crate::journal::Unchanged;
use plumb_machine::Root;

use super::action::Action;
use super::machine;
use super::manner::Class;
use super::setting::Setting;

/// A knob.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    /// Its name.
    pub name: &'static str,
    /// The values that it takes, for people.
    pub values: &'static str,
    /// It set to one of them.
    pub example: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// How long it holds.
    pub lasts: Lasts,
    /// What a value comes to on this machine.
    find: fn(&Root, &str, &str) -> Found,
    /// What the knob is set to now, where that can be read.
    read: fn(&Root) -> Option<String>,
}

/// How long what a knob does holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// Until it is undone: a setting of the machine.
    Undone,
    /// It is done, and leaves nothing to undo.
    Done,
    /// As long as the process that it was given to.
    Process,
}

/// What a knob comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Settings of the machine.
    Change(Vec<Wanted>),
    /// Something to do.
    Action(Action),
    /// How processes of a role are started; of plumb itself without one.
    Manner(Option<Role>, Part),
}

/// A part of the manner in which a process is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The nice level.
    Nice(i32),
    /// The scheduling class.
    Class(Class),
    /// The CPUs, by affinity.
    Pin(Vec<u32>),
    /// The CPUs, by a control group of its own.
    Cpuset(Vec<u32>),
    /// Bytes more in the environment; None for a number that chance picks.
    Padding(Option<usize>),
    /// Whether address spaces are laid out the same way.
    FixedLayout(bool),
}

/// A setting and the value that it should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The setting.
    pub setting: Setting,
    /// The value.
    pub to: String,
    /// Whether the knob is set although the kernel refuses this one.
    pub may_refuse: bool,
}

/// Why a knob can't be set so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// What was typed means nothing.
    Usage(String),
    /// This machine can't.
    Unsupported(Unchanged),
}

impl From<Unchanged> for Unusable {
    fn from(unchanged: Unchanged) -> Self {
        Self::Unsupported(unchanged)
    }
}

/// What looking for a knob's settings gives.
pub(super) type Found = Result<Step, Unusable>;

/// All knobs, in the order in which people see them.
pub const KNOBS: &[Knob] = &[
    Knob {
        name: "governor",
        values: "performance, powersave, …",
        example: "governor=performance",
        summary: "the policy that picks the CPUs' frequency",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::governor(root, value),
        read: machine::governor_now,
    },
    Knob {
        name: "turbo",
        values: "on, off",
        example: "turbo=off",
        summary: "frequencies above the nominal one (Intel and AMD)",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::turbo(root, value),
        read: machine::turbo_now,
    },
    Knob {
        name: "smt",
        values: "on, off",
        example: "smt=off",
        summary: "hardware threads beside the first of each core",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::smt(root, value),
        read: |root| root.text(machine::SMT),
    },
    Knob {
        name: "cpu-latency",
        values: "microseconds",
        example: "cpu-latency=10",
        summary: "the longest wake-up that idle states may cost",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::cpu_latency(root, value),
        read: |_| None,
    },
    Knob {
        name: "thp",
        values: "always, madvise, never",
        example: "thp=never",
        summary: "transparent huge pages",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::choice(root, machine::THP, value),
        read: |root| machine::file_now(root, machine::THP),
    },
    Knob {
        name: "thp-defrag",
        values: "always, defer, defer+madvise, madvise, never",
        example: "thp-defrag=never",
        summary: "how hard the kernel tries to find memory for huge pages",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::choice(root, machine::THP_DEFRAG, value),
        read: |root| machine::file_now(root, machine::THP_DEFRAG),
    },
    Knob {
        name: "icmp-limit",
        values: "off",
        example: "icmp-limit=off",
        summary: "the kernel's limits on ICMP answers",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::icmp_limit(root, value),
        read: |root| machine::file_now(root, machine::ICMP_LIMIT),
    },
    Knob {
        name: "irq",
        values: "CPUs (0-1,3)",
        example: "irq=0",
        summary: "the CPUs that serve interrupts; many refuse",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::irq(root, value),
        read: machine::irq_now,
    },
    Knob {
        name: "timers",
        values: "off",
        example: "timers=off",
        summary: "timers that are known to start work by themselves",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::timers(root, value),
        read: |_| None,
    },
    Knob {
        name: "stop-service",
        values: "a unit of systemd",
        example: "stop-service=cron.service",
        summary: "a noisy service or timer, started again after",
        lasts: Lasts::Undone,
        find: |root, _, value| machine::stop_service(root, value),
        read: |_| None,
    },
    Knob {
        name: "sysctl",
        values: "sysctl.NAME=VALUE",
        example: "sysctl.vm.swappiness=10",
        summary: "any file below /proc/sys",
        lasts: Lasts::Undone,
        find: machine::sysctl,
        read: |_| None,
    },
    Knob {
        name: "swap-reset",
        values: "",
        example: "swap-reset",
        summary: "takes swap out of use and into it again",
        lasts: Lasts::Done,
        find: |root, _, value| action(root, value, Action::SwapReset),
        read: |_| None,
    },
    Knob {
        name: "drop-caches",
        values: "",
        example: "drop-caches",
        summary: "syncs, then drops what is cached of files",
        lasts: Lasts::Done,
        find: |root, _, value| action(root, value, Action::DropCaches),
        read: |_| None,
    },
    Knob {
        name: "cooldown",
        values: "a time (20s) or a temperature (55C)",
        example: "cooldown=20s",
        summary: "waits until the machine has cooled down",
        lasts: Lasts::Done,
        find: |root, _, value| cool_down(root, value),
        read: |_| None,
    },
    Knob {
        name: "nice",
        values: "-20 to 19",
        example: "nice=5",
        summary: "priority; of nice.controller and nice.monitor too",
        lasts: Lasts::Process,
        find: |_, role, value| manner(role, nice(value)),
        read: |_| None,
    },
    Knob {
        name: "sched",
        values: "other, batch, idle, fifo:N, rr:N",
        example: "sched=batch",
        summary: "scheduling class; of sched.controller and sched.monitor too",
        lasts: Lasts::Process,
        find: |_, role, value| manner(role, class(value)),
        read: |_| None,
    },
    Knob {
        name: "pin",
        values: "CPUs (0-1,3)",
        example: "pin=0",
        summary: "the CPUs that may be used; of pin.controller and pin.monitor too",
        lasts: Lasts::Process,
        find: |_, role, value| manner(role, cpus(value).map(Part::Pin)),
        read: |_| None,
    },
    Knob {
        name: "cpuset",
        values: "CPUs (0-1,3)",
        example: "cpuset=0",
        summary: "the same by a control group, which threads can't leave",
        lasts: Lasts::Process,
        find: |_, role, value| manner(role, cpus(value).map(Part::Cpuset)),
        read: |_| None,
    },
    Knob {
        name: "env-size",
        values: "random, or bytes",
        example: "env-size=random",
        summary: "length of the environment, which moves the stack",
        lasts: Lasts::Process,
        find: |_, role, value| manner(role, padding(value)),
        read: |_| None,
    },
    Knob {
        name: "aslr",
        values: "on, off",
        example: "aslr=off",
        summary: "random layout of address spaces; off is flagged `layout-fixed`",
        lasts: Lasts::Process,
        find: |_, role, value| manner(role, layout(value)),
        read: |_| None,
    },
];

impl Knob {
    /// The knob of this name; `sysctl.vm.swappiness` is one of `sysctl`, `nice.monitor` of `nice`.
    #[must_use]
    pub fn named(name: &str) -> Option<(&'static Self, &str)> {
        let (head, rest) = name.split_once('.').unwrap_or((name, ""));
        let takes_more = |knob: &Knob| knob.lasts == Lasts::Process || knob.name == "sysctl";
        let knob = KNOBS.iter().find(|knob| knob.name == head)?;
        (rest.is_empty() || takes_more(knob)).then_some((knob, rest))
    }

    /// What it is set to now, where that can be read.
    #[must_use]
    pub fn now(&self, root: &Root) -> Option<String> {
        (self.read)(root)
    }
}

/// What stands before the slot, and the slot; None without one.
#[must_use]
pub fn slotted(text: &str) -> Option<(&str, Slot)> {
    let slots = [("@run", Slot::Run), ("@round", Slot::Round), ("@invocation", Slot::Invocation)];
    slots.iter().find_map(|(end, slot)| Some((text.strip_suffix(end)?, *slot)))
}

/// Takes `KNOB[=VALUE][@SLOT]` apart.
///
/// # Errors
/// What is wrong with it, for people.
pub fn parse(text: &str) -> Result<Preparation, String> {
    let slotted = slotted(text);
    let (setting, slot) = slotted.unwrap_or((text, Slot::Run));
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let Some((knob, _)) = Knob::named(name) else {
        return Err(format!("no knob is called `{name}`"));
    };
    if knob.lasts == Lasts::Process && slotted.is_some() {
        return Err(format!("`{name}` holds for a process; it takes no @slot"));
    }
    if value.is_empty() && !knob.values.is_empty() {
        return Err(format!("`{name}` needs a value: {}", knob.values));
    }
    Ok(Preparation { knob: name.to_owned(), value: value.to_owned(), slot, optional: false })
}

/// What a preparation comes to on this machine.
///
/// # Errors
/// When its value means nothing, or this machine can't have it.
pub fn resolve(root: &Root, preparation: &Preparation) -> Result<Step, Unusable> {
    let name = &preparation.knob;
    match Knob::named(name) {
        Some((knob, rest)) => (knob.find)(root, rest, &preparation.value),
        None => Err(Unusable::Usage(format!("no knob is called `{name}`"))),
    }
}

/// Whether this user, too, may have what a preparation comes to; nothing is changed.
///
/// # Errors
/// Why not.
pub fn check(root: &Root, step: &Step) -> Result<(), Unchanged> {
    match step {
        Step::Change(wanted) => match wanted.first() {
            Some(first) => first.setting.may_be_written(root),
            None => Ok(()),
        },
        Step::Action(action) => action.check(root),
        Step::Manner(_, Part::Cpuset(_)) => super::machine::cpuset(root, "plumb", "0").map(|_| ()),
        Step::Manner(..) => Ok(()),
    }
}

/// A value that a knob does not take.
pub(super) fn not_taken(value: &str, takes: &str) -> Unusable {
    Unusable::Usage(format!("`{value}` is not one of its values: {takes}"))
}

fn action(root: &Root, value: &str, action: Action) -> Found {
    if !value.is_empty() {
        return Err(Unusable::Usage("it takes no value".into()));
    }
    action.check(root)?;
    Ok(Step::Action(action))
}

fn cool_down(root: &Root, value: &str) -> Found {
    let wrong = || not_taken(value, "a time (20s) or a temperature (55C)");
    let number = |text: &str| text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    let scaled = |end, scale: f64| Some(number(value.strip_suffix(end)?)? * scale);
    if let Some(celsius) = scaled("C", 1.0) {
        return action(root, "", Action::CoolDown(celsius));
    }
    let seconds = scaled("ms", 1e-3).or_else(|| scaled("s", 1.0)).or_else(|| scaled("m", 60.0));
    let length = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(Step::Action(Action::Wait(length.ok_or_else(wrong)?)))
}

/// A part of the manner of the role that is named after the dot: the workload without a name.
fn manner(role: &str, part: Result<Part, Unusable>) -> Found {
    let part = part?;
    let role = match (role, &part) {
        ("" | "workload", _) => Some(Role::Workload),
        ("monitor", Part::Nice(_) | Part::Class(_) | Part::Pin(_)) => Some(Role::Monitor),
        ("controller", Part::Nice(_) | Part::Class(_) | Part::Pin(_)) => None,
        (other, _) => {
            return Err(Unusable::Usage(format!("it can't be set for `{other}`")));
        }
    };
    Ok(Step::Manner(role, part))
}

fn nice(value: &str) -> Result<Part, Unusable> {
    let level = value.parse().ok().filter(|level| (-20..=19).contains(level));
    level.map(Part::Nice).ok_or_else(|| not_taken(value, "-20 to 19"))
}

fn class(value: &str) -> Result<Part, Unusable> {
    let real_time = |name| -> Option<u8> {
        let priority = value.strip_prefix(name)?.parse().ok()?;
        (1..=99).contains(&priority).then_some(priority)
    };
    let class = match value {
        "other" => Some(Class::Other),
        "batch" => Some(Class::Batch),
        "idle" => Some(Class::Idle),
        _ => {
            real_time("fifo:").map(Class::Fifo).or_else(|| real_time("rr:").map(Class::RoundRobin))
        }
    };
    class
        .map(Part::Class)
        .ok_or_else(|| not_taken(value, "other, batch, idle, fifo:N, rr:N (1–99)"))
}

/// `0-1,3` as numbers.
pub(super) fn cpus(value: &str) -> Result<Vec<u32>, Unusable> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last < 65_536).then_some(first..=last)
    };
    let ranges: Option<Vec<_>> = value.split(',').map(range).collect();
    let ranges = ranges.ok_or_else(|| not_taken(value, "CPUs, as in 0-1,3"))?;
    Ok(ranges.into_iter().flatten().collect())
}

fn padding(value: &str) -> Result<Part, Unusable> {
    const MOST: usize = 4096;
    if value == "random" {
        return Ok(Part::Padding(None));
    }
    let bytes = value.parse().ok().filter(|bytes| *bytes <= MOST);
    let bytes = bytes.ok_or_else(|| not_taken(value, "random, or up to 4096 bytes"))?;
    Ok(Part::Padding(Some(bytes)))
}

fn layout(value: &str) -> Result<Part, Unusable> {
    match value {
        "on" => Ok(Part::FixedLayout(false)),
        "off" => Ok(Part::FixedLayout(true)),
        _ => Err(not_taken(value, "on, off")),
    }
}

#[cfg(test)]
mod tests {
    use plumb_machine::doctor::SYMPTOMS;

    use super::parse;

    #[test]
    fn the_knobs_that_mend_symptoms_can_be_typed() {
        for kind in SYMPTOMS {
            for set in kind.fix.split("--set ").skip(1) {
                let set = set.split([' ', ',']).next().unwrap();
                assert!(parse(set).is_ok(), "{}: {set}: {:?}", kind.name, parse(set));
            }
        }
    }
}
