//! `--set turbo`: frequencies above the base frequency (Intel and AMD).

use plumb_machine::Root;

use crate::preparation::files::{CPUS, files_now};
use crate::preparation::knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};

/// Frequencies above the nominal one, of all CPUs.
pub const KNOB: Knob = Knob {
    name: "turbo",
    values: "on, off",
    example: "turbo=off",
    summary: "frequencies above the base frequency (Intel and AMD)",
    manual: include_str!("turbo.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| turbo(root, value),
    now,
};

const INTEL_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

/// The files that switch turbo, with what is written for on and for off.
fn files(root: &Root) -> (Vec<String>, [&'static str; 2]) {
    // intel_pstate's file has the opposite sense: writing 1 to `no_turbo` switches turbo off.
    for (path, words) in [(INTEL_TURBO, ["0", "1"]), (BOOST, ["1", "0"])] {
        if root.path(path).exists() {
            return (vec![path.to_owned()], words);
        }
    }
    // Some drivers have a switch for each policy instead of one for all CPUs.
    let base = format!("{CPUS}/cpufreq");
    let policies = root.names(&base).into_iter().map(|name| format!("{base}/{name}/boost"));
    (policies.filter(|path| root.path(path).exists()).collect(), ["1", "0"])
}

fn now(root: &Root) -> Option<String> {
    let (paths, [on, _]) = files(root);
    let now = files_now(root, &paths)?;
    Some(if now == on { "on" } else { "off" }.to_owned())
}

fn turbo(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    let (paths, [on, off]) = files(root);
    if paths.is_empty() {
        let fix = "change it in the firmware, or on the host if this is a guest";
        return Err(Unusable::unsupported("this kernel can't switch turbo", fix));
    }
    let to = match value {
        "on" => on,
        "off" => off,
        _ => return Err(Unusable::not_taken(value, "on, off")),
    };
    let files = paths.into_iter().map(|path| Assignment::file(path, to));
    Ok(Resolved::Settings(files.collect()))
}

#[cfg(test)]
mod tests {
    use super::now;
    use crate::testing::{settings, tree, why};

    const CPU: &str = "sys/devices/system/cpu";

    #[test]
    fn turbo_is_found_where_intel_amd_and_newer_drivers_have_it() {
        let (_tree, intel) = tree(&[(&format!("{CPU}/intel_pstate/no_turbo"), "0\n")]);
        assert_eq!(settings(&intel, "turbo=off"), [format!("/{CPU}/intel_pstate/no_turbo=1")]);
        assert_eq!(now(&intel).unwrap(), "on");
        let (_tree, amd) = tree(&[(&format!("{CPU}/cpufreq/boost"), "0\n")]);
        assert_eq!(settings(&amd, "turbo=on"), [format!("/{CPU}/cpufreq/boost=1")]);
        assert_eq!(now(&amd).unwrap(), "off");
        let (_tree, newer) = tree(&[(&format!("{CPU}/cpufreq/policy0/boost"), "1\n")]);
        assert_eq!(settings(&newer, "turbo=off"), [format!("/{CPU}/cpufreq/policy0/boost=0")]);
        let (_tree, bare) = tree(&[]);
        assert!(why(&bare, "turbo=off").contains("can't switch"));
    }
}
