//! Who else uses the machine: the host below, other processes, services and timers.

use std::collections::BTreeMap;

use plumb_model::Severity;

use crate::doctor::found::{FoundSymptom, percent};
use crate::fingerprint::virtualisation;
use crate::root::Root;

/// Shares of the time since boot that were stolen.
const STEAL: [(f64, Severity); 3] =
    [(0.05, Severity::Grave), (0.01, Severity::Major), (0.001, Severity::Minor)];
/// CPUs that others use; grave is half of all.
const BUSY_CPUS: [(f64, Severity); 2] = [(0.25, Severity::Major), (0.05, Severity::Minor)];
/// A load a CPU that is worth a note.
const HIGH_LOAD_PER_CPU: f64 = 0.5;
/// Programs that are named.
const MOST_NAMED_PROGRAMS: usize = 3;
/// Programs, by the name that the kernel knows (15 bytes), that start their own work.
const SERVICES: [(&str, &str); 13] = [
    ("cron", "cron"),
    ("crond", "crond"),
    ("anacron", "anacron"),
    ("atd", "atd"),
    ("packagekitd", "packagekit"),
    ("unattended-upgr", "unattended-upgrades"),
    ("snapd", "snapd"),
    ("fwupd", "fwupd"),
    ("updatedb", "plocate-updatedb"),
    ("updatedb.plocat", "plocate-updatedb"),
    ("tracker-miner-f", "tracker-miner-fs-3"),
    ("baloo_file", "baloo_file"),
    ("tuned", "tuned"),
];

/// The activity of the machine between two moments.
#[derive(Debug, Default)]
pub struct MachineActivity {
    /// CPUs that were busy, in units of one.
    busy: f64,
    /// The programs that used most of it, other than plumb, with the CPUs that each used.
    most: Vec<(String, f64)>,
}

/// Clock ticks that CPUs spent and that processes used.
struct ActivitySnapshot {
    spent: Ticks,
    processes: BTreeMap<u32, ProcessKey>,
}

/// A process, which is the same as long as it has started at the same time: kernel threads change
/// their names.
struct ProcessKey {
    name: String,
    started: u64,
    used: u64,
}

/// Clock ticks of all CPUs together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    all: u64,
    busy: u64,
    stolen: u64,
}

impl MachineActivity {
    /// Watches the machine for so long.
    #[must_use]
    pub fn over(root: &Root, time: std::time::Duration) -> Self {
        let before = ActivitySnapshot::now(root);
        std::thread::sleep(time);
        Self::between(&before, &ActivitySnapshot::now(root), cpus(root))
    }

    fn between(before: &ActivitySnapshot, after: &ActivitySnapshot, cpus: f64) -> Self {
        let all = after.spent.all.saturating_sub(before.spent.all);
        let mut used: BTreeMap<&str, u64> = BTreeMap::new();
        for (pid, process) in &after.processes {
            // A process that was not there before has used all its ticks since. The kernel gives numbers again, so
            // the time of its start says whether it is the same one.
            let before =
                before.processes.get(pid).filter(|before| before.started == process.started);
            let ticks = process.used.saturating_sub(before.map_or(0, |before| before.used));
            *used.entry(&process.name).or_default() += ticks;
        }
        let used = used.into_iter().filter(|(_, ticks)| *ticks > 0);
        let mut most: Vec<(String, f64)> =
            used.map(|(name, ticks)| (name.to_owned(), ratio(ticks, all) * cpus)).collect();
        most.sort_by(|one, other| other.1.total_cmp(&one.1));
        most.truncate(MOST_NAMED_PROGRAMS);
        let busy = after.spent.busy.saturating_sub(before.spent.busy);
        Self { busy: ratio(busy, all) * cpus, most }
    }
}

impl ActivitySnapshot {
    /// Plumb itself is left out.
    fn now(root: &Root) -> Self {
        let own = std::process::id();
        let pids = root.names("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
        let others = pids.filter(|pid| !root.is_live() || *pid != own);
        Self {
            spent: ticks(root).unwrap_or_default(),
            processes: others.filter_map(|pid| Some((pid, process(root, pid)?))).collect(),
        }
    }
}

/// Fields 2, 14, 15 and 22 of /proc/PID/stat.
fn process(root: &Root, pid: u32) -> Option<ProcessKey> {
    let stat = root.text(&format!("/proc/{pid}/stat"))?;
    // A program may have spaces and parentheses in its name: only what follows the last one can be split.
    let (head, rest) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    // Numbers as in proc_pid_stat(5), which counts from 1; the first field after the name is the third.
    let mut times = rest.split_whitespace().skip(14 - 3).map(|field| field.parse::<u64>().ok());
    let used = times.next()??.saturating_add(times.next()??);
    Some(ProcessKey { name: name.to_owned(), started: times.nth(22 - 16)??, used })
}

/// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. What guests of
/// this machine use is counted in user already.
fn ticks(root: &Root) -> Option<Ticks> {
    let line = root.field("/proc/stat", "cpu ")?;
    let fields: Vec<u64> =
        // The fields after these are the time of guests, which user and nice already contain.
        line.split_whitespace().take(8).filter_map(|field| field.parse().ok()).collect();
    let &[user, nice, system, idle, iowait, irq, softirq, stolen] = fields.as_slice() else {
        return None;
    };
    let busy = [user, nice, system, irq, softirq].into_iter().fold(0, u64::saturating_add);
    let all = [busy, idle, iowait, stolen].into_iter().fold(0, u64::saturating_add);
    Some(Ticks { all, busy, stolen })
}

#[expect(clippy::cast_precision_loss, reason = "clock ticks stay far below 2^53")]
fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
fn cpus(root: &Root) -> f64 {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    crate::fingerprint::count_cpus(&cpuinfo).unwrap_or(1) as f64
}

pub fn check(root: &Root, activity: &MachineActivity) -> Vec<FoundSymptom> {
    let busy = busy(activity, cpus(root));
    // What keeps the CPUs busy also raises the load: one cause is one finding.
    let load = if busy.is_some() { None } else { load(root) };
    let virtualised =
        virtualisation(root).map(|kind| FoundSymptom::new("virtualised", Severity::Minor, kind));
    let names = names(root);
    let found = [
        virtualised,
        steal(root),
        busy,
        load,
        services(root, &names),
        timers(root),
        balancer(&names),
    ];
    found.into_iter().flatten().collect()
}

fn steal(root: &Root) -> Option<FoundSymptom> {
    let ticks = ticks(root)?;
    let share = ratio(ticks.stolen, ticks.all);
    let (_, effect) = STEAL.iter().find(|(from, _)| share >= *from)?;
    let evidence = format!("{} of all CPU time since boot, from /proc/stat", percent(share));
    Some(FoundSymptom::new("steal", *effect, evidence))
}

fn busy(activity: &MachineActivity, cpus: f64) -> Option<FoundSymptom> {
    let half = [(cpus / 2.0, Severity::Grave)];
    let (_, effect) = half.iter().chain(&BUSY_CPUS).find(|(from, _)| activity.busy >= *from)?;
    let most: Vec<String> =
        activity.most.iter().map(|(name, used)| format!("{name} {}", percent(*used))).collect();
    let names =
        if most.is_empty() { "processes that have exited".to_owned() } else { most.join(", ") };
    let evidence = format!("other processes now use {} of a CPU: {names}", percent(activity.busy));
    Some(FoundSymptom::new("busy", *effect, evidence))
}

fn load(root: &Root) -> Option<FoundSymptom> {
    let text = root.text("/proc/loadavg")?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    let evidence = format!("{load:.2} over the last minute, from /proc/loadavg");
    (load >= HIGH_LOAD_PER_CPU * cpus(root))
        .then(|| FoundSymptom::new("load", Severity::Note, evidence))
}

/// The names of all processes, as the kernel knows them.
fn names(root: &Root) -> Vec<String> {
    let pids = root.names("/proc").into_iter().filter(|name| name.parse::<u32>().is_ok());
    pids.filter_map(|pid| root.text(&format!("/proc/{pid}/comm"))).collect()
}

fn systemd(root: &Root) -> bool {
    root.path("/run/systemd/system").exists()
}

fn services(root: &Root, names: &[String]) -> Option<FoundSymptom> {
    let found: Vec<_> =
        SERVICES.iter().filter(|(name, _)| names.iter().any(|running| running == name)).collect();
    let programs: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    let units = found.iter().map(|(_, unit)| *unit);
    let fix = if systemd(root) {
        let options: Vec<String> = units.map(|unit| format!("--set stop-service={unit}")).collect();
        format!("plumb run {}", options.join(" "))
    } else {
        format!("stop while measuring: {}", units.collect::<Vec<_>>().join(" "))
    };
    let seen =
        FoundSymptom::new("services", Severity::Minor, format!("running: {}", programs.join(", ")));
    (!found.is_empty()).then(|| seen.with_fix(fix))
}

fn timers(root: &Root) -> Option<FoundSymptom> {
    let folder = "/etc/systemd/system/timers.target.wants";
    let timers: Vec<String> =
        root.names(folder).into_iter().filter(|name| name.ends_with(".timer")).collect();
    let evidence = format!("enabled: {}", timers.join(", "));
    (systemd(root) && !timers.is_empty())
        .then(|| FoundSymptom::new("timers", Severity::Note, evidence))
}

fn balancer(names: &[String]) -> Option<FoundSymptom> {
    let runs = names.iter().any(|name| name == "irqbalance");
    runs.then(|| FoundSymptom::new("irqbalance", Severity::Minor, "irqbalance is running"))
}

#[cfg(test)]
mod tests {
    use super::{ActivitySnapshot, BUSY_CPUS, MachineActivity, STEAL, Severity, busy};
    use crate::doctor::found::percent;
    use crate::doctor::symptoms::SYMPTOMS;
    use crate::root::Root;
    use crate::root::plant;

    #[test]
    fn the_documentation_has_the_limits_of_the_code() {
        let documented = |name: &str| {
            SYMPTOMS.iter().find(|kind| kind.name == name).map(|kind| kind.effects.to_owned())
        };
        let told = |limits: &[(f64, Severity)]| {
            let told = |(from, effect): &(f64, Severity)| (effect.word(), percent(*from));
            limits.iter().rev().map(told).collect::<Vec<_>>()
        };
        let steal: Vec<String> =
            told(&STEAL).iter().map(|(word, from)| format!("{word} from {from}")).collect();
        // `5.0 %` is `5 %` for people.
        assert_eq!(documented("steal"), Some(steal.join(", ").replace(".0 %", " %")));
        let [(minor, a), (major, b)] = &told(&BUSY_CPUS)[..] else { panic!("two limits") };
        let busy = format!("{minor} from {a} of a CPU, {major} from {b}").replace(".0 %", " %");
        assert!(documented("busy").is_some_and(|effects| effects.starts_with(&busy)), "{busy}");
    }

    #[test]
    fn who_takes_the_cpu_is_named() {
        let stat = |pid: u32, used: u64| {
            format!("{pid} (cc (1) x) R 1 7 7 0 -1 0 0 0 0 0 {used} 10 0 0 20 0 1 0 {pid}\n")
        };
        let early = plant(&[
            ("/proc/stat", "cpu  100 0 50 1000 0 0 0 0 0 0\n"),
            ("/proc/7/stat", &stat(7, 40)),
        ]);
        let late = plant(&[
            ("/proc/stat", "cpu  180 0 60 1110 0 0 0 0 0 0\n"),
            ("/proc/7/stat", &stat(7, 100)),
            ("/proc/8/stat", &stat(8, 10)),
        ]);
        let early = Root::at(early.path());
        let late = Root::at(late.path());
        let activity = MachineActivity::between(
            &ActivitySnapshot::now(&early),
            &ActivitySnapshot::now(&late),
            2.0,
        );
        let seen = busy(&activity, 2.0).unwrap();
        assert_eq!(seen.severity, Severity::Major);
        assert_eq!(seen.evidence, "other processes now use 90 % of a CPU: cc (1) x 80 %");
        assert!(
            busy(
                &MachineActivity::between(
                    &ActivitySnapshot::now(&late),
                    &ActivitySnapshot::now(&late),
                    2.0
                ),
                2.0
            )
            .is_none()
        );
    }
}
