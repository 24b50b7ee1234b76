//! What is done once and leaves nothing to undo.

use std::time::{Duration, Instant};

use plumb_machine::{EnergyMeter, Root};
use plumb_model::IdlePower;

use crate::client::{Keeper, KeeperError};
use crate::setting::{OFF, ON, SystemSetting};
use crate::unchanged::Unchanged;

/// How often a cool-down looks at the temperature and at signals.
const STEP: Duration = Duration::from_millis(100);
/// Updates of energy counters are looked for no longer than this; RAPL has one about every millisecond.
const LONGEST_UPDATE_WATCH: Duration = Duration::from_secs(1);
/// A cool-down to a temperature takes no longer than this.
const LONGEST_COOL_DOWN: Duration = Duration::from_secs(600);

/// Something that is done once and leaves nothing to undo.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// Writes out what is dirty, then has the kernel forget what it caches of files.
    DropCaches,
    /// Takes all swap areas out of use and into it again, so that what was swapped out is in memory.
    SwapReset,
    /// Waits so long.
    Wait(Duration),
    /// Waits until the hottest zone is as cool as this, in degrees Celsius.
    CoolDown(f64),
    /// Measures the power of the idle machine for so long.
    IdlePower(Duration),
}

impl Action {
    /// Does it; gives what came of it, in a few words.
    ///
    /// # Errors
    /// Why it could not be done.
    pub fn act(
        self,
        root: &Root,
        keeper: &mut Keeper,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<String, Unchanged> {
        match self {
            Self::DropCaches => drop_caches(root),
            Self::SwapReset => swap_reset(root, keeper),
            Self::Wait(length) => Ok(wait(length, interrupted, || true)),
            Self::CoolDown(celsius) => Ok(wait(LONGEST_COOL_DOWN, interrupted, || {
                hottest(root).is_some_and(|now| now > celsius)
            })),
            Self::IdlePower(length) => idle_power(root, length, interrupted),
        }
    }

    /// Whether this machine and this user can do it, without doing it.
    ///
    /// # Errors
    /// Why not.
    pub fn check(self, root: &Root) -> Result<(), Unchanged> {
        match self {
            Self::DropCaches => SystemSetting::File(DROP_CACHES.into()).may_be_written(root),
            Self::SwapReset if areas(root).is_empty() => Err(Unchanged::new("no swap is active")),
            Self::SwapReset => SystemSetting::Swap(String::new()).may_be_written(root),
            Self::Wait(_) => Ok(()),
            Self::CoolDown(_) if hottest(root).is_none() => {
                let fix = "use a time: cooldown=20s".into();
                Err(Unchanged { why: "this machine reports no temperature".into(), fix })
            }
            Self::CoolDown(_) => Ok(()),
            Self::IdlePower(_) => match EnergyMeter::start(root) {
                Ok(_) => Ok(()),
                Err(why) => Err(Unchanged::new(why)),
            },
        }
    }
}

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

fn drop_caches(root: &Root) -> Result<String, Unchanged> {
    // Only clean pages are dropped.
    rustix::fs::sync();
    let before = root.field("/proc/meminfo", "Cached").unwrap_or_default();
    // 1 is the page cache, 2 are inodes and directory entries.
    let written = SystemSetting::File(DROP_CACHES.into()).write(root, "3");
    written.map_err(|error| Unchanged::new(format!("{DROP_CACHES}: {error}")))?;
    let after = root.field("/proc/meminfo", "Cached").unwrap_or_default();
    Ok(format!("page cache: {before} before, {after} after"))
}

fn swap_reset(root: &Root, keeper: &mut Keeper) -> Result<String, Unchanged> {
    let before = keeper.changes();
    let mut outcome = Ok(());
    // Areas that are off already are restored also if a later one can't be taken out of use.
    for area in areas(root) {
        let changed = keeper.change(&SystemSetting::Swap(area), OFF).map_err(gone)?;
        outcome = outcome.and(changed.map(|_| ()));
    }
    let settled = keeper.restore(before).map_err(gone)?;
    outcome?;
    Ok(format!("{} swap areas turned off and {ON} again", settled.len()))
}

fn gone(error: KeeperError) -> Unchanged {
    Unchanged::new(error.to_string())
}

/// The swap areas in use.
fn areas(root: &Root) -> Vec<String> {
    let swaps = root.text("/proc/swaps").unwrap_or_default();
    let names = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// Waits for at most `length` while `needed`.
fn wait(length: Duration, interrupted: &dyn Fn() -> bool, needed: impl Fn() -> bool) -> String {
    let begun = Instant::now();
    while let Some(left) = length.checked_sub(begun.elapsed()) {
        if interrupted() || !needed() {
            break;
        }
        std::thread::sleep(left.min(STEP));
    }
    plumb_units::seconds_to(begun.elapsed().as_secs_f64(), 1)
}

/// The power of the machine while plumb waits.
fn idle_power(
    root: &Root,
    length: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<String, Unchanged> {
    let mut meter = EnergyMeter::start(root).map_err(Unchanged::new)?;
    // To look for updates keeps a CPU busy, so that it comes before the idle time.
    let update = meter.update_interval(LONGEST_UPDATE_WATCH).map_err(Unchanged::new)?;
    meter = EnergyMeter::start(root).map_err(Unchanged::new)?;
    let begun = Instant::now();
    while let Some(left) = length.checked_sub(begun.elapsed()) {
        if interrupted() {
            // The run ends by itself, as after any other wait.
            return Ok("interrupted".to_owned());
        }
        std::thread::sleep(left.min(STEP));
        meter.read_uj().map_err(Unchanged::new)?;
    }
    let energy_uj = meter.read_uj().map_err(Unchanged::new)?;
    let length_s = begun.elapsed().as_secs_f64();
    if energy_uj == 0 {
        return Err(Unchanged::new("the energy counters never move: there is no sensor"));
    }
    let Some(update) = update else {
        return Err(Unchanged::new(format!(
            "the energy counters moved fewer than three times in {} s",
            LONGEST_UPDATE_WATCH.as_secs()
        )));
    };
    #[expect(clippy::cast_precision_loss, reason = "energies stay far below 2^53 microjoules")]
    let watts = energy_uj as f64 * 1e-6 / length_s;
    let idle =
        IdlePower { watts, length_s, update_s: update.as_secs_f64(), counters: meter.counters() };
    Ok(idle.to_string())
}

/// The temperature of the hottest zone, in degrees Celsius.
fn hottest(root: &Root) -> Option<f64> {
    let base = "/sys/class/thermal";
    let zones = root.names(base).into_iter().filter(|name| name.starts_with("thermal_zone"));
    let milli = zones.filter_map(|zone| root.text(&format!("{base}/{zone}/temp"))?.parse().ok());
    milli.map(|milli: f64| milli / 1000.0).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::{Action, areas, hottest, wait};
    use crate::testing::tree;
    use std::time::Duration;

    #[test]
    fn the_hottest_zone_counts_and_without_one_there_is_no_cooling_down_to_it() {
        let (_tree, root) = tree(&[
            ("sys/class/thermal/thermal_zone0/temp", "41000\n"),
            ("sys/class/thermal/thermal_zone1/temp", "57500\n"),
            ("sys/class/thermal/cooling_device0/temp", "99000\n"),
        ]);
        assert_eq!(hottest(&root), Some(57.5));
        assert!(Action::CoolDown(50.0).check(&root).is_ok());
        let (_tree, bare) = tree(&[]);
        let refused = Action::CoolDown(50.0).check(&bare).unwrap_err();
        assert!(refused.why.contains("no temperature"), "{refused:?}");
    }

    #[test]
    fn swap_areas_are_read_and_none_is_nothing_to_reset() {
        let head = "Filename Type Size Used Priority\n";
        let (_tree, root) = tree(&[("proc/swaps", &format!("{head}/dev/sda2 partition 9 0 -2\n"))]);
        assert_eq!(areas(&root), ["/dev/sda2"]);
        let (_tree, root) = tree(&[("proc/swaps", head)]);
        assert!(Action::SwapReset.check(&root).unwrap_err().why.contains("no swap"));
    }

    #[test]
    fn a_wait_ends_by_itself_and_by_a_signal() {
        assert_eq!(wait(Duration::from_millis(1), &|| false, || true), "0.0 s");
        assert_eq!(wait(Duration::from_secs(60), &|| true, || true), "0.0 s");
        assert_eq!(wait(Duration::from_secs(60), &|| false, || false), "0.0 s");
    }
}
