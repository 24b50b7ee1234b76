//! The knobs of the machine: which settings they stand for here.

use crate::journal::Unchanged;
use plumb_machine::Root;

use super::knob::{Found, Step, Unusable, Wanted, cpus, not_taken};
use super::setting::{OFF, Setting};

pub(super) const SMT: &str = "/sys/devices/system/cpu/smt/control";
pub(super) const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
pub(super) const THP_DEFRAG: &str = "/sys/kernel/mm/transparent_hugepage/defrag";
pub(super) const ICMP_LIMIT: &str = "/proc/sys/net/ipv4/icmp_ratelimit";
const CPUS: &str = "/sys/devices/system/cpu";
const INTEL_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";
const IRQS: &str = "/proc/irq";
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Timers of the distributions that start disk or network work whenever they like.
const TIMERS: [&str; 12] = [
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dnf-makecache.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "fwupd-refresh.timer",
    "logrotate.timer",
    "man-db.timer",
    "plocate-updatedb.timer",
    "systemd-tmpfiles-clean.timer",
    "unattended-upgrades.timer",
];

fn wanted(path: impl Into<String>, to: &str) -> Wanted {
    Wanted { setting: Setting::File(path.into()), to: to.to_owned(), may_refuse: false }
}

fn unsupported(why: &str, fix: &str) -> Unusable {
    Unchanged { why: why.into(), fix: fix.into() }.into()
}

/// The value of a file now.
pub(super) fn file_now(root: &Root, path: &str) -> Option<String> {
    Some(Setting::File(path.into()).read(root).ok()?.trim().to_owned())
}

/// The different values of these files now.
fn files_now(root: &Root, paths: &[String]) -> Option<String> {
    let mut values: Vec<String> = paths.iter().filter_map(|path| file_now(root, path)).collect();
    values.sort();
    values.dedup();
    (!values.is_empty()).then(|| values.join(", "))
}

/// A file that lists what it takes: `always [madvise] never`.
pub(super) fn choice(root: &Root, path: &str, value: &str) -> Found {
    let Some(text) = root.text(path) else {
        return Err(Unchanged::new(format!("this kernel has no {path}")).into());
    };
    let offered: Vec<&str> = text.split_whitespace().map(|w| w.trim_matches(['[', ']'])).collect();
    if !offered.contains(&value) {
        return Err(not_taken(value, &offered.join(", ")));
    }
    Ok(Step::Change(vec![wanted(path, value)]))
}

/// This file of every CPU that has it.
fn of_cpus(root: &Root, file: &str) -> Vec<String> {
    let is_cpu = |name: &String| name.strip_prefix("cpu").is_some_and(|n| n.parse::<u32>().is_ok());
    let names = root.names(CPUS).into_iter().filter(is_cpu);
    let paths = names.map(|name| format!("{CPUS}/{name}/{file}"));
    paths.filter(|path| root.path(path).exists()).collect()
}

fn governors(root: &Root) -> Vec<String> {
    of_cpus(root, "cpufreq/scaling_governor")
}

pub(super) fn governor_now(root: &Root) -> Option<String> {
    files_now(root, &governors(root))
}

pub(super) fn governor(root: &Root, value: &str) -> Found {
    let paths = governors(root);
    let Some(first) = paths.first() else {
        return Err(unsupported(
            "this machine has no cpufreq",
            "set it on the host, if this is a guest",
        ));
    };
    let available = first.replace("scaling_governor", "scaling_available_governors");
    if let Some(offered) = root.text(&available)
        && !offered.split_whitespace().any(|word| word == value)
    {
        return Err(not_taken(value, &offered));
    }
    Ok(Step::Change(paths.into_iter().map(|path| wanted(path, value)).collect()))
}

/// Where turbo is switched, with what is written for on and for off.
fn turbo_files(root: &Root) -> (Vec<String>, [&'static str; 2]) {
    for (path, words) in [(INTEL_TURBO, ["0", "1"]), (BOOST, ["1", "0"])] {
        if root.path(path).exists() {
            return (vec![path.to_owned()], words);
        }
    }
    let base = format!("{CPUS}/cpufreq");
    let policies = root.names(&base).into_iter().map(|name| format!("{base}/{name}/boost"));
    (policies.filter(|path| root.path(path).exists()).collect(), ["1", "0"])
}

pub(super) fn turbo_now(root: &Root) -> Option<String> {
    let (paths, [on, _]) = turbo_files(root);
    let now = files_now(root, &paths)?;
    Some(if now == on { "on".to_owned() } else { OFF.to_owned() })
}

pub(super) fn turbo(root: &Root, value: &str) -> Found {
    let (paths, [on, off]) = turbo_files(root);
    if paths.is_empty() {
        let fix = "switch it in the firmware, or on the host, if this is a guest";
        return Err(unsupported("this kernel does not switch turbo", fix));
    }
    let to = match value {
        "on" => on,
        "off" => off,
        _ => return Err(not_taken(value, "on, off")),
    };
    Ok(Step::Change(paths.into_iter().map(|path| wanted(path, to)).collect()))
}

pub(super) fn smt(root: &Root, value: &str) -> Found {
    match root.text(SMT).as_deref() {
        Some("on" | "off") if matches!(value, "on" | "off") => {
            Ok(Step::Change(vec![wanted(SMT, value)]))
        }
        Some("on" | "off") => Err(not_taken(value, "on, off")),
        Some(word) => Err(unsupported(&format!("hardware threads: {word}"), "")),
        None => Err(unsupported("this kernel does not switch hardware threads", "")),
    }
}

/// By the kernel's own limit; where there is none, each deeper idle state is disabled.
pub(super) fn cpu_latency(root: &Root, value: &str) -> Found {
    let limit: u32 = value.parse().map_err(|_| not_taken(value, "microseconds"))?;
    if root.path(LATENCY).exists() {
        let (setting, to) = (Setting::Latency, limit.to_string());
        return Ok(Step::Change(vec![Wanted { setting, to, may_refuse: false }]));
    }
    let deeper = |state: &String| {
        let latency = root.number(&state.replace("/disable", "/latency"));
        latency.is_some_and(|latency| latency > u64::from(limit))
    };
    let states = (0..16).flat_map(|n| of_cpus(root, &format!("cpuidle/state{n}/disable")));
    let files: Vec<Wanted> = states.filter(deeper).map(|path| wanted(path, "1")).collect();
    match files.is_empty() {
        true => Err(unsupported("this kernel limits no idle states", "")),
        false => Ok(Step::Change(files)),
    }
}

/// The limit per destination goes; the one of the whole machine becomes one that nobody reaches.
pub(super) fn icmp_limit(root: &Root, value: &str) -> Found {
    if value != OFF {
        return Err(not_taken(value, OFF));
    }
    let files = [
        (ICMP_LIMIT, "0"),
        ("/proc/sys/net/ipv4/icmp_msgs_per_sec", "1000000"),
        ("/proc/sys/net/ipv4/icmp_msgs_burst", "10000"),
        ("/proc/sys/net/ipv6/icmp/ratelimit", "0"),
    ];
    let there = files.iter().filter(|(path, _)| root.path(path).exists());
    let files: Vec<Wanted> = there.map(|(path, to)| wanted(*path, to)).collect();
    match files.is_empty() {
        true => Err(unsupported("this kernel limits no ICMP", "")),
        false => Ok(Step::Change(files)),
    }
}

fn irqs(root: &Root) -> Vec<String> {
    let files = root.names(IRQS).into_iter().map(|irq| format!("{IRQS}/{irq}/smp_affinity_list"));
    files.filter(|path| root.path(path).exists()).collect()
}

pub(super) fn irq_now(root: &Root) -> Option<String> {
    files_now(root, &irqs(root))
}

pub(super) fn irq(root: &Root, value: &str) -> Found {
    cpus(value)?;
    let one = |path| Wanted { may_refuse: true, ..wanted(path, value) };
    let files: Vec<Wanted> = irqs(root).into_iter().map(one).collect();
    match files.is_empty() {
        true => Err(unsupported("no interrupts are shown here", "")),
        false => Ok(Step::Change(files)),
    }
}

fn has_systemd(root: &Root) -> Result<(), Unusable> {
    match root.path("/run/systemd/system").is_dir() {
        true => Ok(()),
        false => Err(unsupported("no service manager (systemd) runs here", "")),
    }
}

fn stopped(unit: &str) -> Wanted {
    Wanted { setting: Setting::Unit(unit.into()), to: OFF.into(), may_refuse: true }
}

pub(super) fn timers(root: &Root, value: &str) -> Found {
    if value != OFF {
        return Err(not_taken(value, OFF));
    }
    has_systemd(root)?;
    Ok(Step::Change(TIMERS.iter().map(|unit| stopped(unit)).collect()))
}

pub(super) fn stop_service(root: &Root, value: &str) -> Found {
    has_systemd(root)?;
    Ok(Step::Change(vec![Wanted { may_refuse: false, ..stopped(value) }]))
}

/// `vm.swappiness`, or with slashes where a part has a dot of its own (`net/ipv4/conf/eth0.5/…`).
pub(super) fn sysctl(root: &Root, name: &str, value: &str) -> Found {
    let path = if name.contains('/') { name.to_owned() } else { name.replace('.', "/") };
    let odd = |part: &str| part.is_empty() || part == "." || part == "..";
    if path.split('/').any(odd) {
        return Err(Unusable::Usage("name one, as in sysctl.vm.swappiness=10".into()));
    }
    let path = format!("/proc/sys/{path}");
    match root.path(&path).is_file() {
        true => Ok(Step::Change(vec![wanted(path, value)])),
        false => Err(Unchanged::new(format!("this kernel has no {path}")).into()),
    }
}

/// The folder for a control group of this name, with what has to be written into it so that its members
/// have these CPUs.
///
/// # Errors
/// When no hierarchy has the controller.
pub fn cpuset(
    root: &Root,
    name: &str,
    list: &str,
) -> Result<(String, Vec<(String, String)>), Unchanged> {
    let mounts = root.text("/proc/self/mounts").unwrap_or_default();
    for mount in mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
        let [_, point, kind, options, ..] = mount[..] else { continue };
        let folder = format!("{point}/{name}");
        let cpus = (format!("{folder}/cpuset.cpus"), list.to_owned());
        if kind == "cgroup" && options.split(',').any(|option| option == "cpuset") {
            let mems = root.text(&format!("{point}/cpuset.mems")).unwrap_or_else(|| "0".into());
            return Ok((folder.clone(), vec![cpus, (format!("{folder}/cpuset.mems"), mems)]));
        }
        let has = |text: Option<String>| {
            text.is_some_and(|text| text.split_whitespace().any(|word| word == "cpuset"))
        };
        if kind == "cgroup2" && has(root.text(&format!("{point}/cgroup.subtree_control"))) {
            return Ok((folder, vec![cpus]));
        }
    }
    let fix = "as root: echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control".into();
    Err(Unchanged { why: "no control groups for CPUs are mounted".into(), fix })
}

#[cfg(test)]
mod tests {
    use super::{cpuset, irq_now, turbo_now};
    use crate::preparation::{Setting, Step, Unusable, parse, resolve};
    use plumb_machine::Root;
    use std::fs;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::at(tree.path());
        (tree, root)
    }

    /// What a knob comes to: `path=value` of each setting.
    fn settings(root: &Root, text: &str) -> Vec<String> {
        match resolve(root, &parse(text).unwrap()) {
            Ok(Step::Change(all)) => {
                all.iter().map(|one| format!("{}={}", one.setting, one.to)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    fn why(root: &Root, text: &str) -> String {
        match resolve(root, &parse(text).unwrap()) {
            Err(Unusable::Unsupported(it)) => it.why,
            Err(Unusable::Usage(why)) => format!("usage: {why}"),
            Ok(step) => panic!("{step:?}"),
        }
    }

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

    #[test]
    fn turbo_is_found_where_intel_amd_and_newer_drivers_have_it() {
        let (_tree, intel) = tree(&[(&format!("{CPU}/intel_pstate/no_turbo"), "0\n")]);
        assert_eq!(settings(&intel, "turbo=off"), [format!("/{CPU}/intel_pstate/no_turbo=1")]);
        assert_eq!(turbo_now(&intel).unwrap(), "on");
        let (_tree, amd) = tree(&[(&format!("{CPU}/cpufreq/boost"), "0\n")]);
        assert_eq!(settings(&amd, "turbo=on"), [format!("/{CPU}/cpufreq/boost=1")]);
        assert_eq!(turbo_now(&amd).unwrap(), "off");
        let (_tree, newer) = tree(&[(&format!("{CPU}/cpufreq/policy0/boost"), "1\n")]);
        assert_eq!(settings(&newer, "turbo=off"), [format!("/{CPU}/cpufreq/policy0/boost=0")]);
        let (_tree, bare) = tree(&[]);
        assert!(why(&bare, "turbo=off").contains("does not switch"));
    }

    #[test]
    fn smt_that_the_machine_has_not_is_no_knob() {
        let (_tree, root) = tree(&[(&format!("{CPU}/smt/control"), "notsupported\n")]);
        assert!(why(&root, "smt=off").contains("notsupported"));
        let (_tree, root) = tree(&[(&format!("{CPU}/smt/control"), "on\n")]);
        assert_eq!(settings(&root, "smt=off"), [format!("/{CPU}/smt/control=off")]);
    }

    #[test]
    fn idle_states_are_limited_by_the_kernel_or_one_by_one() {
        let (_tree, root) = tree(&[("dev/cpu_dma_latency", "")]);
        assert_eq!(settings(&root, "cpu-latency=0"), ["/dev/cpu_dma_latency=0"]);
        let state = |n: u32, file: &str| format!("{CPU}/cpu0/cpuidle/state{n}/{file}");
        let (_tree, root) = tree(&[
            (&state(0, "latency"), "0\n"),
            (&state(0, "disable"), "0\n"),
            (&state(1, "latency"), "133\n"),
            (&state(1, "disable"), "0\n"),
        ]);
        assert_eq!(settings(&root, "cpu-latency=10"), [format!("/{}=1", state(1, "disable"))]);
    }

    #[test]
    fn lists_of_the_kernel_say_what_they_take() {
        let path = "sys/kernel/mm/transparent_hugepage/enabled";
        let (_tree, root) = tree(&[(path, "always [madvise] never\n")]);
        assert_eq!(settings(&root, "thp=never@round"), [format!("/{path}=never")]);
        assert!(why(&root, "thp=sometimes").contains("always, madvise, never"));
        assert!(why(&root, "thp-defrag=never").contains("has no /sys/kernel/mm"));
    }

    #[test]
    fn sysctls_are_files_below_proc_sys_and_nothing_else() {
        let (_tree, root) = tree(&[
            ("proc/sys/vm/swappiness", "60\n"),
            ("proc/sys/net/conf/eth0.5/tag", "0\n"),
            ("secret", "1\n"),
        ]);
        assert_eq!(settings(&root, "sysctl.vm.swappiness=10"), ["/proc/sys/vm/swappiness=10"]);
        let dotted = settings(&root, "sysctl.net/conf/eth0.5/tag=1");
        assert_eq!(dotted, ["/proc/sys/net/conf/eth0.5/tag=1"]);
        assert!(why(&root, "sysctl.../../secret=1").starts_with("usage: "));
        assert!(why(&root, "sysctl.vm.none=1").contains("has no"));
    }

    #[test]
    fn services_need_a_service_manager_and_interrupts_may_refuse() {
        let (_tree, root) = tree(&[
            ("proc/irq/24/smp_affinity_list", "0-1\n"),
            ("proc/irq/30/smp_affinity_list", "1\n"),
        ]);
        assert!(why(&root, "stop-service=cron.service").contains("no service manager"));
        assert!(why(&root, "timers=off").contains("no service manager"));
        assert_eq!(settings(&root, "irq=0").len(), 2);
        assert_eq!(irq_now(&root).unwrap(), "0-1, 1");
        assert!(why(&root, "irq=one").starts_with("usage: "));
    }

    #[test]
    fn a_cpuset_is_made_in_either_hierarchy() {
        let v1 = "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n";
        let (_tree, root) =
            tree(&[("proc/self/mounts", v1), ("sys/fs/cgroup/cpuset/cpuset.mems", "0-1\n")]);
        let (folder, files) = cpuset(&root, "plumb-1", "1").unwrap();
        assert_eq!(folder, "/sys/fs/cgroup/cpuset/plumb-1");
        assert_eq!(files[1], (format!("{folder}/cpuset.mems"), "0-1".to_owned()));
        let v2 = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
        let control = "sys/fs/cgroup/cgroup.subtree_control";
        let (_tree, root) = tree(&[("proc/self/mounts", v2), (control, "cpu cpuset memory\n")]);
        let (folder, files) = cpuset(&root, "plumb-1", "0-3").unwrap();
        assert_eq!(files, [(format!("{folder}/cpuset.cpus"), "0-3".to_owned())]);
        let (_tree, root) = tree(&[("proc/self/mounts", v2), (control, "memory\n")]);
        assert!(cpuset(&root, "plumb-1", "0").unwrap_err().fix.contains("+cpuset"));
    }

    #[test]
    fn what_is_typed_is_taken_apart() {
        let typed = parse("drop-caches@invocation").unwrap();
        assert_eq!(typed.name(), "drop-caches@invocation");
        assert_eq!(parse("nice.monitor=5").unwrap().knob, "nice.monitor");
        for (text, why) in [
            ("thq=always", "no knob"),
            ("thp", "needs a value"),
            ("nice=5@round", "takes no @slot"),
            ("thp.x=always", "no knob"),
        ] {
            assert!(parse(text).unwrap_err().contains(why), "{text}");
        }
        let root = Root::default();
        for text in
            ["nice=20", "nice.server=1", "sched=fifo:0", "pin=3-1", "aslr=maybe", "cooldown=soon"]
        {
            assert!(why(&root, text).starts_with("usage: "), "{text}");
        }
        assert_eq!(Setting::Latency.to_string(), "/dev/cpu_dma_latency");
    }
}
