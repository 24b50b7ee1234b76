//! The causes, a file each with its manual next to it, listed by hand. If several have the same effect, the first is named.

mod affinity;
mod allocator;
mod cpu_quota;
mod cpu_weight;
mod durability;
mod governor;
mod huge_pages;
mod loader;
mod nice;
mod runtime;
mod scheduling_class;
mod tracer;
mod turbo;

use crate::cause::Cause;

/// All causes; what is not listed does not exist.
pub const CAUSES: &[&Cause] = &[
    &cpu_quota::CAUSE,
    &cpu_weight::CAUSE,
    &nice::CAUSE,
    &scheduling_class::CAUSE,
    &affinity::CAUSE,
    &governor::CAUSE,
    &turbo::CAUSE,
    &huge_pages::CAUSE,
    &durability::CAUSE,
    &loader::CAUSE,
    &allocator::CAUSE,
    &runtime::CAUSE,
    &tracer::CAUSE,
];

/// The cause of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Cause> {
    CAUSES.iter().find(|cause| cause.name == name).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use plumb_machine::Root;
    use plumb_model::{Description, Parameter, ParameterType, Point, Settings, Value};

    use super::CAUSES;
    use crate::cause::{Removal, Suspect, Suspicion};

    #[test]
    fn every_cause_has_a_name_of_its_own_and_a_manual_that_says_what_people_need() {
        for (index, cause) in CAUSES.iter().enumerate() {
            assert!(CAUSES[..index].iter().all(|other| other.name != cause.name), "{}", cause.name);
            assert!(
                cause.manual.starts_with(&format!("# cause.{}\n", cause.name)),
                "{}",
                cause.name
            );
            for part in ["Looks at", "Removes it by", "Remedy", "Pitfalls"] {
                let part = format!("\n**{part}** ");
                assert!(cause.manual.contains(&part), "{}: {part}", cause.name);
            }
        }
    }

    #[test]
    fn the_document_lists_every_cause() {
        let document = include_str!("../../../../../docs/why.md");
        for cause in CAUSES {
            assert!(document.contains(&format!("\n| `{}` | ", cause.name)), "{}", cause.name);
        }
    }

    /// The suspicions on a machine of these files, of a point with these settings in an environment of these variables.
    fn suspicions(
        files: &[(&str, &str)],
        settings: &[(&str, &str)],
        variables: &[&str],
    ) -> Vec<(&'static str, Suspicion)> {
        let id = if settings.is_empty() { "process.command" } else { "datastore.batch" };
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (path, text) in files {
            let path = root.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let parameter = |(name, value): &(&str, &str)| {
            let value = Value::Text((*value).to_owned());
            Parameter::new((*name).to_owned(), ParameterType::Text, value, String::new())
        };
        let description = Description {
            parameters: settings.iter().map(parameter).collect(),
            ..Description::new(id, "")
        };
        let point = Point::new(&description, &Settings::new(), 1).unwrap();
        let variables: BTreeSet<String> = variables.iter().map(|&name| name.into()).collect();
        let suspect = Suspect { root: &root, point: &point, variables };
        let found =
            CAUSES.iter().filter_map(|cause| Some((cause.name, (cause.suspect)(&suspect)?)));
        found.collect()
    }

    /// The names of the causes, and how the first removes its own.
    fn found(
        files: &[(&str, &str)],
        settings: &[(&str, &str)],
        variables: &[&str],
    ) -> (Vec<&'static str>, Option<Removal>) {
        let all = suspicions(files, settings, variables);
        let way = all.first().and_then(|(_, suspicion)| suspicion.ways.first().cloned());
        (all.into_iter().map(|(name, _)| name).collect(), way)
    }

    fn knob(text: &str) -> Option<Removal> {
        Some(Removal::Knobs(vec![text.to_owned()]))
    }

    const ONLINE: (&str, &str) = ("sys/devices/system/cpu/online", "0-3\n");

    #[test]
    fn an_ordinary_machine_is_not_suspicious() {
        let stat = "7 (a b) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let files = [
            ONLINE,
            ("proc/self/stat", stat),
            ("proc/self/status", "Cpus_allowed_list:\t0-3\nTracerPid:\t0\n"),
            ("proc/self/cgroup", "0::/a\n"),
            ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/a/cpu.weight", "100\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
        ];
        assert_eq!(found(&files, &[("durability", "none")], &["PATH", "HOME"]), (vec![], None));
    }

    #[test]
    fn limits_of_control_groups_are_suspicious() {
        let group = ("proc/self/cgroup", "0::/a\n");
        let quota = [ONLINE, group, ("sys/fs/cgroup/a/cpu.max", "20000 100000\n")];
        assert_eq!(found(&quota, &[], &[]), (vec!["cpu-quota"], knob("cpu-quota=400%")));
        // As much as all CPUs have is no limit.
        let all = [ONLINE, group, ("sys/fs/cgroup/a/cpu.max", "400000 100000\n")];
        assert_eq!(found(&all, &[], &[]), (vec![], None));
        let weight = [ONLINE, group, ("sys/fs/cgroup/a/cpu.weight", "10\n")];
        assert_eq!(found(&weight, &[], &[]), (vec!["cpu-weight"], knob("cpu-quota=400%")));
        let version_1 = [
            ONLINE,
            ("proc/self/cgroup", "3:cpu,cpuacct:/c\n"),
            ("sys/fs/cgroup/cpu/c/cpu.shares", "102\n"),
        ];
        assert_eq!(found(&version_1, &[], &[]).0, ["cpu-weight"]);
    }

    #[test]
    fn priority_class_and_affinity_are_suspicious() {
        let fields = |nice: i32, policy: i32| {
            format!(
                "7 (a) b) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 {nice} 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 {policy} 0"
            )
        };
        let nice = fields(19, 0);
        assert_eq!(found(&[("proc/self/stat", &nice)], &[], &[]), (vec!["nice"], knob("nice=0")));
        let idle = fields(0, 5);
        let class = found(&[("proc/self/stat", &idle)], &[], &[]);
        assert_eq!(class, (vec!["scheduling-class"], knob("sched=other")));
        let few = [ONLINE, ("proc/self/status", "Cpus_allowed_list:\t1\n")];
        assert_eq!(found(&few, &[], &[]), (vec!["affinity"], knob("cpuset=0-3")));
    }

    #[test]
    fn settings_of_the_machine_are_suspicious() {
        let pages = [("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")];
        assert_eq!(found(&pages, &[], &[]), (vec!["huge-pages"], knob("thp=always")));
        let slow = [("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")];
        assert_eq!(found(&slow, &[], &[]), (vec!["governor"], knob("governor=performance")));
        let boost = [("sys/devices/system/cpu/cpufreq/boost", "0\n")];
        assert_eq!(found(&boost, &[], &[]), (vec!["turbo"], knob("turbo=on")));
        let intel = [("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")];
        assert_eq!(found(&intel, &[], &[]).0, ["turbo"]);
    }

    #[test]
    fn environments_parameters_and_tracers_are_suspicious() {
        let none = &[];
        assert_eq!(
            found(none, &[], &["LD_PRELOAD"]),
            (vec!["loader"], knob("unset-env.LD_PRELOAD"))
        );
        let way = Removal::Knobs(vec![
            "unset-env.MALLOC_CHECK_".into(),
            "unset-env.MALLOC_PERTURB_".into(),
        ]);
        let allocator = found(none, &[], &["MALLOC_PERTURB_", "MALLOC_CHECK_"]);
        assert_eq!(allocator, (vec!["allocator"], Some(way)));
        assert_eq!(found(none, &[], &["PYTHONDEVMODE"]).0, ["runtime"]);
        let durability = found(none, &[("durability", "entity")], &[]);
        let way = Removal::Parameter("durability", Value::Text("none".into()));
        assert_eq!(durability, (vec!["durability"], Some(way)));
        let traced = found(&[("proc/self/status", "TracerPid:\t42\n")], &[], &[]);
        assert_eq!(traced, (vec!["tracer"], None));
    }
}
