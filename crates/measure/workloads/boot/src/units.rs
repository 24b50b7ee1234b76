//! The units of this boot: which took longest to start, and the chain that the end of the boot waited for.
//!
//! The rules are those of `systemd-analyze blame` and `critical-chain`; times count from the start of the kernel.

use std::collections::{BTreeMap, BTreeSet};

use plumb_machine::Root;
use plumb_protocol::StartError;
use plumb_units::quantity;

use crate::recorded;

/// Where the output of the commands below is kept in a captured tree.
const UNITS_FILE: &str = "/systemctl-show-units.txt";
const MANAGER_FILE: &str = "/systemctl-show.txt";

const UNIT_PROPERTIES: &str = "--property=Id,Names,After,InactiveExitTimestampMonotonic,ActiveEnterTimestampMonotonic,ActiveExitTimestampMonotonic";
const MANAGER_PROPERTIES: &str =
    "--property=InitRDTimestampMonotonic,UserspaceTimestampMonotonic,FinishTimestampMonotonic";

/// So many of the slowest units are worth naming.
const SLOWEST: usize = 5;
/// A chain that is longer is cut: its beginning is the same on every machine.
const LONGEST_CHAIN: usize = 12;

/// What systemd itself reached, in microseconds since the kernel started; 0 if it did not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manager {
    /// systemd of the initrd started.
    pub initrd_us: u64,
    /// systemd of the root file system started.
    pub userspace_us: u64,
    /// All jobs of the default target were done.
    pub finished_us: u64,
}

/// A unit, with times in microseconds since the kernel started; 0 if it has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BootUnit {
    id: String,
    names: Vec<String>,
    after: Vec<String>,
    began_us: u64,
    active_us: u64,
    left_us: u64,
}

impl BootUnit {
    /// When it was started; None if not in this boot, or again after it had finished.
    pub fn active_us(&self, manager: &Manager) -> Option<u64> {
        (1..=manager.finished_us).contains(&self.active_us).then_some(self.active_us)
    }

    /// Whether it is called this, by its own name or another.
    pub fn is_called(&self, name: &str) -> bool {
        self.id == name || self.names.iter().any(|other| other == name)
    }

    /// Whether it shows a login prompt, on a console or a screen.
    pub fn is_login(&self) -> bool {
        std::iter::once(&self.id).chain(&self.names).any(|name| {
            name == "display-manager.service"
                || name == "console-getty.service"
                || name.starts_with("getty@")
                || name.starts_with("serial-getty@")
        })
    }

    /// How long it took to start, in microseconds.
    fn took_us(&self) -> u64 {
        // What ends at once, as `Type=oneshot` does, is never active.
        let ended_us = if self.active_us > 0 { self.active_us } else { self.left_us };
        if self.began_us > 0 { ended_us.saturating_sub(self.began_us) } else { 0 }
    }

    /// `ssh.service at 4.25 s after 31.0 ms`.
    fn in_chain(&self) -> String {
        let at = format!("{} at {}", self.id, seconds(self.active_us));
        match self.took_us() {
            0 => at,
            took_us => format!("{at} after {}", seconds(took_us)),
        }
    }
}

/// What systemd reached in this boot.
///
/// # Errors
/// Unsupported, if it does not answer.
pub fn manager(root: &Root) -> Result<Manager, StartError> {
    let text = recorded::output(root, MANAGER_FILE, "systemctl", &["show", MANAGER_PROPERTIES])?;
    let properties = properties(&text);
    Ok(Manager {
        initrd_us: number(&properties, "InitRDTimestampMonotonic"),
        userspace_us: number(&properties, "UserspaceTimestampMonotonic"),
        finished_us: number(&properties, "FinishTimestampMonotonic"),
    })
}

/// The units of this machine.
///
/// # Errors
/// Unsupported, if systemd does not answer.
pub fn units(root: &Root) -> Result<Vec<BootUnit>, StartError> {
    let arguments = ["show", UNIT_PROPERTIES, "--", "*"];
    let text = recorded::output(root, UNITS_FILE, "systemctl", &arguments)?;
    Ok(text.split("\n\n").map(unit).filter(|unit| !unit.id.is_empty()).collect())
}

fn unit(block: &str) -> BootUnit {
    let properties = properties(block);
    BootUnit {
        id: properties.get("Id").copied().unwrap_or_default().to_owned(),
        names: words(&properties, "Names"),
        after: words(&properties, "After"),
        began_us: number(&properties, "InactiveExitTimestampMonotonic"),
        active_us: number(&properties, "ActiveEnterTimestampMonotonic"),
        left_us: number(&properties, "ActiveExitTimestampMonotonic"),
    }
}

fn properties(block: &str) -> BTreeMap<&str, &str> {
    block.lines().filter_map(|line| line.split_once('=')).collect()
}

fn words(properties: &BTreeMap<&str, &str>, name: &str) -> Vec<String> {
    let text = properties.get(name).copied().unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn number(properties: &BTreeMap<&str, &str>, name: &str) -> u64 {
    properties.get(name).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The remarks about the units of this boot: `critical chain of this boot: …` and `slowest units of this boot: …`.
pub fn notes(units: &[BootUnit], manager: &Manager) -> Vec<String> {
    let chain: Vec<String> =
        critical_chain(units, manager).into_iter().map(BootUnit::in_chain).collect();
    let slowest: Vec<String> = slowest(units, manager)
        .into_iter()
        .map(|unit| format!("{} {}", unit.id, seconds(unit.took_us())))
        .collect();
    let titled =
        [("critical chain", chain.join(", waited for ")), ("slowest units", slowest.join(", "))];
    let told = titled.into_iter().filter(|(_, text)| !text.is_empty());
    told.map(|(title, text)| format!("{title} of this boot: {text}")).collect()
}

/// From the default target back: of the units that each waited for, the one that was started last.
fn critical_chain<'u>(units: &'u [BootUnit], manager: &Manager) -> Vec<&'u BootUnit> {
    let by_name: BTreeMap<&str, &BootUnit> =
        units.iter().map(|unit| (unit.id.as_str(), unit)).collect();
    let mut chain = Vec::new();
    let mut seen = BTreeSet::new();
    let mut next = units.iter().find(|unit| unit.is_called("default.target"));
    while let Some(unit) = next.filter(|_| chain.len() < LONGEST_CHAIN) {
        // Units may name each other: a chain must not go round.
        if !seen.insert(unit.id.as_str()) {
            break;
        }
        chain.push(unit);
        next = unit
            .after
            .iter()
            .filter_map(|name| by_name.get(name.as_str()).copied())
            .filter(|other| other.active_us(manager).is_some_and(|us| us <= unit.active_us))
            .max_by_key(|other| other.active_us);
    }
    chain
}

/// The units that took longest, the longest first.
fn slowest<'u>(units: &'u [BootUnit], manager: &Manager) -> Vec<&'u BootUnit> {
    let mut started: Vec<&BootUnit> = units
        .iter()
        .filter(|unit| unit.took_us() > 0 && unit.began_us + unit.took_us() <= manager.finished_us)
        .collect();
    started.sort_by_key(|unit| std::cmp::Reverse(unit.took_us()));
    started.truncate(SLOWEST);
    started
}

#[expect(clippy::cast_precision_loss, reason = "times since a boot stay below 2^53 µs")]
fn seconds(us: u64) -> String {
    quantity(us as f64 * 1e-6, "s")
}

#[cfg(test)]
mod tests {
    use super::{BootUnit, Manager, critical_chain, notes, unit};

    fn started(id: &str, after: &str, began_us: u64, active_us: u64) -> BootUnit {
        unit(&format!(
            "Id={id}\nNames={id}\nAfter={after}\nInactiveExitTimestampMonotonic={began_us}\nActiveEnterTimestampMonotonic={active_us}\nActiveExitTimestampMonotonic=0"
        ))
    }

    fn machine() -> Vec<BootUnit> {
        let mut target =
            started("multi-user.target", "ssh.service cron.service", 9_000_000, 9_000_000);
        target.names.push("default.target".into());
        vec![
            target,
            started("ssh.service", "network.target multi-user.target", 8_000_000, 8_900_000),
            started("cron.service", "basic.target", 3_000_000, 3_100_000),
            started("network.target", "slow.service missing.service", 7_900_000, 7_900_000),
            started("slow.service", "", 2_000_000, 7_800_000),
            // Restarted by hand after the boot: its time is not of the boot.
            started("late.service", "", 90_000_000, 99_000_000),
        ]
    }

    const FINISHED: Manager =
        Manager { initrd_us: 0, userspace_us: 1_000_000, finished_us: 9_100_000 };

    #[test]
    fn the_chain_follows_what_was_waited_for_longest() {
        let units = machine();
        let chain: Vec<&str> =
            critical_chain(&units, &FINISHED).iter().map(|unit| unit.id.as_str()).collect();
        assert_eq!(chain, ["multi-user.target", "ssh.service", "network.target", "slow.service"]);
    }

    #[test]
    fn notes_name_chain_and_slowest_units() {
        let told = notes(&machine(), &FINISHED);
        assert!(told[0].contains("ssh.service at 8.90 s after 900 ms, waited for"), "{told:?}");
        assert!(
            told[1].starts_with("slowest units of this boot: slow.service 5.80 s, ssh"),
            "{told:?}"
        );
        assert!(!told.concat().contains("late.service"));
        assert!(notes(&[], &FINISHED).is_empty());
    }

    #[test]
    fn units_that_wait_for_each_other_end_the_chain() {
        let mut first = started("a.target", "b.service", 5, 5);
        first.names.push("default.target".into());
        let units = [first, started("b.service", "a.target", 5, 5)];
        assert_eq!(critical_chain(&units, &FINISHED).len(), 2);
    }
}
