//! The causes, a file each with its manual next to it, listed by hand. If several have the same effect, the first is named.

mod affinity;
mod allocator;
mod bandwidth;
mod cipher;
mod compression;
mod cpu_quota;
mod cpu_weight;
mod crypto_settings;
mod delay;
mod disk_queue;
mod durability;
mod encryption;
mod environment_size;
mod filesystem;
mod governor;
mod home_folder;
mod huge_pages;
mod idle_states;
mod io_limit;
mod kernel_settings;
mod loader;
mod locale;
mod loopback;
mod loss;
mod memory_limit;
mod module_path;
mod name_resolution;
mod neighbour;
mod nice;
mod other_variables;
mod proxy;
mod runtime;
mod scheduling_class;
mod search_path;
mod socket_buffer;
mod temporary_files;
mod tracer;
mod tunnel;
mod turbo;

use crate::cause::Cause;

pub use name_resolution::NAME as NAME_RESOLUTION;

/// All causes; what is not listed does not exist.
pub const CAUSES: &[&Cause] = &[
    &cpu_quota::CAUSE,
    &cpu_weight::CAUSE,
    &nice::CAUSE,
    &scheduling_class::CAUSE,
    &neighbour::CAUSE,
    &affinity::CAUSE,
    &governor::CAUSE,
    &turbo::CAUSE,
    &idle_states::CAUSE,
    &huge_pages::CAUSE,
    &memory_limit::CAUSE,
    &io_limit::CAUSE,
    &filesystem::CAUSE,
    &disk_queue::CAUSE,
    &kernel_settings::CAUSE,
    &durability::CAUSE,
    &bandwidth::CAUSE,
    &delay::CAUSE,
    &loss::CAUSE,
    &socket_buffer::CAUSE,
    &cipher::CAUSE,
    &compression::CAUSE,
    &encryption::CAUSE,
    &tunnel::CAUSE,
    &loopback::CAUSE,
    &loader::CAUSE,
    &allocator::CAUSE,
    &runtime::CAUSE,
    &module_path::CAUSE,
    &crypto_settings::CAUSE,
    &proxy::CAUSE,
    &search_path::CAUSE,
    &home_folder::CAUSE,
    &temporary_files::CAUSE,
    &name_resolution::CAUSE,
    &locale::CAUSE,
    &environment_size::CAUSE,
    &tracer::CAUSE,
    &other_variables::CAUSE,
];

/// The cause of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Cause> {
    CAUSES.iter().find(|cause| cause.name == name).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

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
        (id, settings): (&str, &[(&str, Value)]),
        variables: &[(&str, &str)],
    ) -> Vec<(&'static str, Suspicion)> {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (path, text) in files {
            let path = root.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut description = Description::new(id, "");
        for (name, value) in settings {
            let kind = match value {
                Value::Integer(_) => ParameterType::Integer,
                _ => ParameterType::Text,
            };
            let parameter = Parameter::new((*name).to_owned(), kind, value.clone(), String::new());
            description.parameters.push(parameter);
        }
        let point = Point::new(&description, &Settings::new(), 1).unwrap();
        let variables: BTreeMap<String, String> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let folder = Some(Path::new("/srv/data"));
        let suspect =
            Suspect { root: &root, point: &point, description: &description, variables, folder };
        let found =
            CAUSES.iter().filter_map(|cause| Some((cause.name, (cause.suspect)(&suspect)?)));
        found.collect()
    }

    /// The names of the causes of a command, or of a datastore if it has settings, and how the first removes its own.
    fn found(
        files: &[(&str, &str)],
        settings: &[(&str, &str)],
        names: &[&str],
    ) -> (Vec<&'static str>, Option<Removal>) {
        let id = if settings.is_empty() { "process.command" } else { "datastore.batch" };
        let settings: Vec<(&str, Value)> =
            settings.iter().map(|(name, value)| (*name, Value::Text((*value).into()))).collect();
        let variables: Vec<(&str, &str)> = names.iter().map(|name| (*name, "1")).collect();
        of(files, (id, &settings), &variables)
    }

    /// The same of a point of this workload.
    fn of(
        files: &[(&str, &str)],
        point: (&str, &[(&str, Value)]),
        variables: &[(&str, &str)],
    ) -> (Vec<&'static str>, Option<Removal>) {
        let all = suspicions(files, point, variables);
        let way = all.first().and_then(|(_, suspicion)| suspicion.ways.first().cloned());
        (all.into_iter().map(|(name, _)| name).collect(), way)
    }

    fn knob(text: &str) -> Option<Removal> {
        all_knobs(&[text])
    }

    fn all_knobs(texts: &[&str]) -> Option<Removal> {
        Some(Removal::Knobs(texts.iter().map(|text| (*text).to_owned()).collect()))
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
    fn an_environment_slows_down_only_what_starts_programs() {
        let variables =
            [("LC_ALL", "de_DE.UTF-8"), ("LD_PRELOAD", "/lib/x.so"), ("OPENSSL_ia32cap", "0")];
        for (workload, names) in [
            ("process.command", vec!["loader", "crypto-settings", "locale"]),
            ("language.sieve", vec!["loader", "crypto-settings", "locale"]),
            // Libraries are loaded into plumb's workers, too, but nothing else of an environment matters to their loops.
            ("process.fork", vec!["loader"]),
            ("cpu.sieve", vec!["loader"]),
            ("crypto.aead", vec!["loader", "crypto-settings"]),
        ] {
            assert_eq!(of(&[], (workload, &[]), &variables).0, names, "{workload}");
        }
    }

    #[test]
    fn runnable_threads_are_suspicious_unless_the_priority_is_low() {
        let busy = [ONLINE, ("proc/loadavg", "0.10 0.20 0.30 3/182 4242\n")];
        assert_eq!(found(&busy, &[], &[]), (vec!["neighbour"], knob("nice=-20")));
        let few = [ONLINE, ("proc/loadavg", "2.10 0.20 0.30 2/182 4242\n")];
        assert!(found(&few, &[], &[]).0.is_empty(), "one thread leaves three of four CPUs");
        let idle = [ONLINE, ("proc/loadavg", "9.10 0.20 0.30 1/182 4242\n")];
        assert!(found(&idle, &[], &[]).0.is_empty(), "what ran before does not count");
        let stat = "7 (a) R 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 39 19 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let polite = [busy[0], busy[1], ("proc/self/stat", stat)];
        assert_eq!(found(&polite, &[], &[]).0, ["nice"]);
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
        let way = Removal::Parameters(vec![("durability", Value::Text("none".into()))]);
        assert_eq!(durability, (vec!["durability"], Some(way)));
        let traced = found(&[("proc/self/status", "TracerPid:\t42\n")], &[], &[]);
        assert_eq!(traced, (vec!["tracer"], knob("tracer=off")));
    }

    #[test]
    fn settings_of_the_kernel_are_suspicious_if_they_concern_the_work() {
        let low = [
            ("proc/sys/vm/dirty_ratio", "0\n"),
            ("proc/sys/vm/dirty_bytes", "8192\n"),
            ("proc/sys/vm/dirty_background_ratio", "1\n"),
            ("proc/sys/vm/dirty_background_bytes", "0\n"),
            ("proc/sys/net/ipv4/tcp_window_scaling", "0\n"),
            ("proc/meminfo", "MemTotal:        1024000 kB\n"),
        ];
        let dirty = ["sysctl.vm.dirty_bytes=209715200", "sysctl.vm.dirty_background_ratio=10"];
        assert_eq!(
            of(&low, ("storage.sequential", &[]), &[]),
            (vec!["kernel-settings"], all_knobs(&dirty))
        );
        let tcp: &[(&str, Value)] = &[("path", Value::Text("loopback".into()))];
        let window = ["sysctl.net.ipv4.tcp_window_scaling=1"];
        assert_eq!(
            of(&low, ("network.rr", tcp), &[]),
            (vec!["kernel-settings"], all_knobs(&window))
        );
        let path: &[(&str, Value)] = &[("path", Value::Text("veth".into()))];
        assert!(of(&low, ("network.rr", path), &[]).0.is_empty(), "a namespace has defaults");
        assert!(of(&low, ("cpu.sieve", &[]), &[]).0.is_empty());
        assert_eq!(
            found(&low, &[], &[]),
            (vec!["kernel-settings"], all_knobs(&[window[0], dirty[0], dirty[1]]))
        );
        let usual = [
            ("proc/sys/vm/dirty_ratio", "20\n"),
            ("proc/sys/vm/dirty_bytes", "0\n"),
            ("proc/sys/vm/zone_reclaim_mode", "0\n"),
            ("proc/sys/net/ipv4/tcp_congestion_control", "bbr\n"),
            ("proc/meminfo", "MemTotal:        1024000 kB\n"),
        ];
        assert!(found(&usual, &[], &[]).0.is_empty());
        let other = [("proc/sys/net/ipv4/tcp_congestion_control", "lp\n")];
        assert_eq!(
            found(&other, &[], &[]).1,
            all_knobs(&["sysctl.net.ipv4.tcp_congestion_control=cubic"])
        );
    }

    #[test]
    fn settings_of_the_disk_that_holds_the_files_are_suspicious() {
        let mounts = mount("254:0", "/", "rw", "ext4", "/dev/vda");
        let on = |mounts: &str, read_ahead: &str| {
            let files = [
                ("proc/self/mountinfo", mounts),
                ("sys/block/vda/dev", "254:0\n"),
                ("sys/block/vda/device/vendor", "0x1af4\n"),
                ("sys/block/vda/queue/read_ahead_kb", read_ahead),
                ("sys/block/vda/queue/max_sectors_kb", "64\n"),
                ("sys/block/vda/queue/max_hw_sectors_kb", "64\n"),
                ("sys/block/vda/queue/nomerges", "2\n"),
                ("sys/block/vdb/dev", "254:16\n"),
                ("sys/block/vdb/queue/nomerges", "2\n"),
            ];
            of(&files, ("storage.random", &[]), &[])
        };
        let merges = "disk-queue.vda.nomerges=0";
        // The device allows no larger requests, and the other disk is not used.
        assert_eq!(on(&mounts, "4096\n"), (vec!["disk-queue"], all_knobs(&[merges])));
        let both = all_knobs(&["disk-queue.vda.read_ahead_kb=128", merges]);
        assert_eq!(on(&mounts, "0\n").1, both);
        let hidden = mount("0:30", "/", "rw", "overlay", "overlay");
        assert_eq!(on(&hidden, "0\n").1, both);
    }

    #[test]
    fn slow_settings_of_ssh_are_suspicious() {
        let copy = |cipher: &str, compression: &str| {
            let settings = [
                ("cipher", Value::Text(cipher.into())),
                ("compression", Value::Text(compression.into())),
            ];
            of(&[], ("ssh.copy", &settings), &[]).0
        };
        assert_eq!(copy("default", "no"), ["cipher"], "OpenSSH prefers ChaCha20-Poly1305");
        assert!(copy("aes256-gcm@openssh.com", "no").is_empty());
        assert_eq!(copy("3des-cbc", "yes"), ["cipher", "compression"]);
    }

    /// A line of mountinfo: what is mounted, where, and with which options.
    fn mount(number: &str, point: &str, options: &str, kind: &str, device: &str) -> String {
        format!("30 1 {number} / {point} {options} - {kind} {device} rw\n")
    }

    #[test]
    fn paths_are_suspicious_for_what_they_were_made_to_be() {
        let path = |name: &'static str, value: Value| {
            let settings = [
                ("path", Value::Text("veth".into())),
                ("up", Value::Text("unlimited".into())),
                ("down", Value::Text("unlimited".into())),
                ("rtt", Value::Integer(0)),
                ("loss", Value::Integer(0)),
                ("buffer", Value::Integer(0)),
            ];
            let mut settings = settings.to_vec();
            settings.retain(|(other, _)| *other != name);
            settings.push((name, value));
            let limits = [
                ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
                ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"),
            ];
            of(&limits, ("network.tcp", &settings), &[]).0
        };
        assert!(path("up", Value::Text("unlimited".into())).is_empty());
        assert_eq!(path("down", Value::Integer(1_000_000)), ["bandwidth"]);
        assert_eq!(path("rtt", Value::Integer(40_000_000)), ["delay"]);
        assert_eq!(path("loss", Value::Integer(20_000)), ["loss"]);
        assert_eq!(path("buffer", Value::Integer(65_536)), ["socket-buffer"]);
    }

    #[test]
    fn settings_of_the_network_are_suspicious() {
        let tcp: &[(&str, Value)] =
            &[("path", Value::Text("loopback".into())), ("buffer", Value::Integer(0))];
        let limits = [
            ("proc/sys/net/ipv4/tcp_rmem", "4096\t16384\t65536\n"),
            ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"),
        ];
        let (names, way) = of(&limits, ("network.tcp", tcp), &[]);
        assert_eq!(names, ["socket-buffer"]);
        assert_eq!(way, knob("sysctl.net.ipv4.tcp_rmem=4096 131072 6291456"));
        let usual = suspicions(&[("sys/class/net/lo/mtu", "65536\n")], ("network.tcp", tcp), &[]);
        assert!(usual[0].0 == "loopback" && usual[0].1.is_common);
        let small = suspicions(&[("sys/class/net/lo/mtu", "576\n")], ("network.tcp", tcp), &[]);
        assert!(!small[0].1.is_common && small[0].1.evidence.contains("576 instead of 65536"));
    }

    #[test]
    fn variables_that_no_other_cause_is_about_are_tried_last() {
        let command: (&str, &[(&str, Value)]) = ("process.command", &[]);
        let usual = [("TERM", "xterm"), ("LC_TIME", "C"), ("LC_CTYPE", "C"), ("SHLVL", "1")];
        assert!(of(&[], command, &usual).0.is_empty());
        let of_another_cause = [("PERL5OPT", "-w")];
        assert_eq!(of(&[], command, &of_another_cause).0, ["runtime"]);
        let traced = suspicions(&[], command, &[("GIT_TRACE", "1"), ("RUST_LOG", "trace")]);
        let (name, Suspicion { evidence, is_common, ways, .. }) = &traced[0];
        assert!(*is_common && *name == "other-variables" && evidence.contains("GIT_TRACE, RUST"));
        assert_eq!(
            ways.first().cloned(),
            all_knobs(&["unset-env.GIT_TRACE", "unset-env.RUST_LOG"])
        );
        assert!(of(&[], ("cpu.sieve", &[]), &[("GIT_TRACE", "1")]).0.is_empty());
        let (names, way) = of(&[], command, &[("https_proxy", "http://192.0.2.1:3128")]);
        assert_eq!((names, way), (vec!["proxy"], knob("unset-env.https_proxy")));
    }

    #[test]
    fn idle_states_with_a_long_wake_up_are_suspicious() {
        let states = |disabled: &str| {
            let folder = "sys/devices/system/cpu/cpu0/cpuidle";
            let file = |state: u32, name: &str| format!("{folder}/state{state}/{name}");
            let files = [
                (file(0, "latency"), "0\n"),
                (file(0, "disable"), "0\n"),
                (file(1, "latency"), "133\n"),
                (file(1, "disable"), disabled),
                (file(1, "name"), "C6\n"),
            ];
            let files = files.each_ref().map(|(path, text)| (path.as_str(), *text));
            suspicions(&files, ("network.rr", &[]), &[])
        };
        let found = states("0\n");
        assert_eq!((found[0].0, found[0].1.is_common), ("idle-states", true));
        assert_eq!(found[0].1.evidence, "leaving the idle state C6 takes 133 µs");
        assert_eq!(found[0].1.ways.first().cloned(), knob("cpu-latency=10"));
        assert!(states("1\n").is_empty());
    }

    #[test]
    fn layers_that_a_point_asks_for_are_suspicious() {
        for (workload, parameter, layer, cause) in [
            ("block.copy", "encryption", "gocryptfs", "encryption"),
            ("network.rr", "tunnel", "ssh", "tunnel"),
        ] {
            let with =
                |value: &str| of(&[], (workload, &[(parameter, Value::Text(value.into()))]), &[]);
            assert!(with("none").0.is_empty());
            let way = Removal::Parameters(vec![(parameter, Value::Text("none".into()))]);
            assert_eq!(with(layer), (vec![cause], Some(way)));
        }
    }

    #[test]
    fn limits_on_disks_and_memory_are_suspicious() {
        let group = ("proc/self/cgroup", "0::/a\n");
        let disk = [group, ("sys/fs/cgroup/a/io.max", "254:0 rbps=1000000 wbps=max\n")];
        assert!(of(&disk, ("cpu.sieve", &[]), &[]).0.is_empty(), "it uses no disk");
        assert_eq!(found(&disk, &[], &[]), (vec!["io-limit"], knob("io-limit=off")));
        let version_1 = [
            ("proc/self/cgroup", "7:blkio:/b\n"),
            ("sys/fs/cgroup/blkio/b/blkio.throttle.read_iops_device", "254:0 100\n"),
        ];
        assert_eq!(found(&version_1, &[], &[]).0, ["io-limit"]);
        let weight = |text: &str| {
            let found = suspicions(
                &[group, ("sys/fs/cgroup/a/io.weight", text)],
                ("storage.random", &[]),
                &[],
            );
            found.first().map(|(_, suspicion)| suspicion.evidence.clone())
        };
        assert_eq!(weight("default 100\n"), None);
        let low = weight("default 10\n254:0 200\n").unwrap();
        assert!(low.ends_with("/a/io.weight is 10 instead of 100"), "{low}");
        let memory = [
            group,
            ("proc/meminfo", "MemTotal:        1048576 kB\n"),
            ("sys/fs/cgroup/a/memory.high", "67108864\n"),
            ("sys/fs/cgroup/a/memory.events", "low 0\nhigh 12\nmax 0\n"),
        ];
        assert_eq!(
            found(&memory, &[], &[]),
            (vec!["memory-limit"], knob("memory-limit=1048576KiB"))
        );
        let never = [group, memory[1], memory[2]];
        assert!(suspicions(&never, ("cpu.sieve", &[]), &[])[0].1.is_common);
    }

    #[test]
    fn what_files_lie_on_is_suspicious() {
        let root = mount("254:0", "/", "rw,relatime", "ext4", "/dev/vda");
        let evidence = |line: &str, files: &[(&str, &str)]| {
            let mounts = format!("{root}{line}");
            let files = [&[("proc/self/mountinfo", mounts.as_str()), ("var/tmp/x", "")], files];
            let found = suspicions(&files.concat(), ("storage.random", &[]), &[]);
            found.first().map(|(name, found)| {
                assert_eq!(*name, "filesystem");
                let way = Removal::Knobs(vec!["medium=folder:/var/tmp".to_owned()]);
                assert_eq!(found.ways, [way]);
                found.evidence.clone()
            })
        };
        assert_eq!(evidence("", &[]), None);
        let sync = mount("8:1", "/srv", "rw,sync", "ext4", "/dev/sdb1");
        let text = evidence(&sync, &[]).unwrap();
        assert_eq!(text, "/srv/data is mounted with `sync`; compared with /var/tmp on /dev/vda");
        let fuse = mount("0:44", "/srv", "rw", "fuse.sshfs", "host:/data");
        assert!(evidence(&fuse, &[]).unwrap().contains("is on fuse.sshfs (host:/data)"));
        let looped = mount("7:0", "/srv", "rw", "ext4", "/dev/loop0");
        let backing = [
            ("sys/block/loop0/dev", "7:0\n"),
            ("sys/block/loop0/loop/backing_file", "/mnt/image\n"),
        ];
        assert!(
            evidence(&looped, &backing).unwrap().contains("loop device with the file /mnt/image")
        );
        // LVM on an encrypted device.
        let volume = mount("252:1", "/srv", "rw", "xfs", "/dev/mapper/vg-data");
        let mapped = [
            ("sys/block/dm-1/dev", "252:1\n"),
            ("sys/block/dm-1/dm/uuid", "LVM-1\n"),
            ("sys/block/dm-1/slaves/dm-0/dev", "252:0\n"),
            ("sys/block/dm-0/dev", "252:0\n"),
            ("sys/block/dm-0/dm/uuid", "CRYPT-LUKS2-1\n"),
            ("sys/block/dm-0/dm/name", "luks-data\n"),
        ];
        assert!(evidence(&volume, &mapped).unwrap().contains("encrypted device luks-data"));
        let block = mount("43:0", "/srv", "rw", "ext4", "/dev/nbd0");
        let device = [("sys/block/nbd0/dev", "43:0\n")];
        assert!(evidence(&block, &device).unwrap().contains("network block device nbd0"));
    }

    #[test]
    fn folders_and_variables_of_commands_are_suspicious() {
        let mounts = mount("254:0", "/", "rw", "ext4", "/dev/vda")
            + &mount("0:44", "/slow", "rw", "fuse.test", "test");
        let files =
            [("proc/self/mountinfo", mounts.as_str()), ("usr/bin/ls", ""), ("slow/bin/x", "")];
        let command: (&str, &[(&str, Value)]) = ("process.command", &[]);
        let variables = [("PATH", "/slow/bin:/usr/bin"), ("HOME", "/slow/me"), ("TMPDIR", "/slow")];
        let (names, way) = of(&files, command, &variables);
        assert_eq!(names, ["search-path", "home-folder", "temporary-files"]);
        assert_eq!(way, knob("set-env.PATH=/usr/bin"));
        let servers = [("etc/resolv.conf", "# none\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n")];
        assert_eq!(
            of(&servers, command, &[]),
            (vec!["name-resolution"], knob("set-env.RES_OPTIONS=timeout:1 attempts:1"))
        );
        let (names, way) = of(&[], command, &[("LANG", "en_US.UTF-8"), ("LC_CTYPE", "")]);
        assert_eq!((names, way), (vec!["locale"], knob("set-env.LC_ALL=C")));
        assert_eq!(of(&[], command, &[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]).0, [""; 0]);
        let sorted_plainly = [("LC_COLLATE", "C"), ("LANG", "en_US.UTF-8")];
        assert_eq!(of(&[], command, &sorted_plainly).0, ["locale"]);
        let large = "x".repeat(100_000);
        let (names, way) = of(&[], command, &[("MANIFEST", &large), ("SMALL", "1")]);
        assert_eq!(
            (names, way),
            (vec!["environment-size", "other-variables"], knob("unset-env.MANIFEST"))
        );
        // plumb's own loops start no programs.
        assert!(of(&[], ("cpu.sieve", &[]), &[("MANIFEST", &large)]).0.is_empty());
    }
}
