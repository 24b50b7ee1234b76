//! `--set governor`: policy that picks CPU clock frequencies.

use plumb_machine::Root;

use crate::preparation::files::{files_now, of_cpus};
use crate::preparation::knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};

/// The cpufreq governor of every CPU.
pub const KNOB: Knob = Knob {
    name: "governor",
    values: "performance, powersave, …",
    example: "governor=performance",
    summary: "policy that picks CPU clock frequencies",
    manual: include_str!("governor.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| governor(root, value),
    now: |root| files_now(root, &governors(root)),
};

fn governors(root: &Root) -> Vec<String> {
    of_cpus(root, "cpufreq/scaling_governor")
}

fn governor(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    let paths = governors(root);
    let Some(first) = paths.first() else {
        let fix = "set it on the host if this is a guest";
        return Err(Unusable::unsupported("this machine has no cpufreq", fix));
    };
    let available = first.replace("scaling_governor", "scaling_available_governors");
    if let Some(offered) = root.text(&available)
        && !offered.split_whitespace().any(|word| word == value)
    {
        return Err(Unusable::not_taken(value, &offered));
    }
    let files = paths.into_iter().map(|path| Assignment::file(path, value));
    Ok(Resolved::Settings(files.collect()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{settings, tree, why};

    const CPU: &str = "sys/devices/system/cpu";

    #[test]
    fn the_governor_is_set_on_every_cpu_and_only_to_what_the_driver_has() {
        let file = |cpu: &str, name: &str| format!("{CPU}/{cpu}/cpufreq/scaling_{name}");
        let (_tree, root) = tree(&[
            (&file("cpu0", "governor"), "powersave\n"),
            (&file("cpu1", "governor"), "powersave\n"),
            (&file("cpu0", "available_governors"), "performance powersave\n"),
            (&format!("{CPU}/cpuidle/current_driver"), "none\n"),
        ]);
        let set = settings(&root, "governor=performance");
        assert_eq!(set.len(), 2);
        assert_eq!(set[1], format!("/{}=performance", file("cpu1", "governor")));
        assert!(why(&root, "governor=turtle").starts_with("usage: "));
        let (_tree, bare) = tree(&[]);
        assert!(why(&bare, "governor=performance").contains("no cpufreq"));
    }
}
