//! The rules, one by one: what is over the threshold is found, what is below is not.

use super::{Disturbance, find, touched};
use plumb_model::{Counter, CounterKind, KernelLine, Reading, Readings, Samples, Trace};

const SECOND: u64 = 1_000_000_000;

fn trace(name: &str, kind: CounterKind, readings: &[(u64, u64)]) -> Trace {
    let counter = Counter { name: name.into(), unit: String::new(), kind };
    let reading = |&(at_ns, value): &(u64, u64)| Reading { at_ns, value };
    Trace { counter, readings: readings.iter().map(reading).collect() }
}

/// A second in which these counters moved by so much; two CPUs, of which plumb uses one.
fn second(moved: &[(&str, u64)]) -> Readings {
    let counter =
        |name: &str, by| trace(name, CounterKind::Counter, &[(0, 1000), (SECOND, 1000 + by)]);
    let gauge = |name: &str, n| trace(name, CounterKind::Gauge, &[(0, n), (SECOND, n)]);
    let mut traces = vec![
        counter("stat.idle", 98),
        counter("tree.user", 99),
        gauge("tree.processes", 3),
        gauge("worker.threads", 1),
    ];
    if !moved.iter().any(|(name, _)| *name == "stat.user") {
        traces.push(counter("stat.user", 101));
    }
    traces.extend(moved.iter().map(|(name, by)| counter(name, *by)));
    Readings { traces, ..Readings::default() }
}

fn rules(readings: &Readings) -> Vec<&'static str> {
    find(readings).iter().map(|found| found.rule).collect()
}

#[test]
fn a_quiet_second_and_no_readings_are_not_flagged() {
    assert_eq!(rules(&second(&[])), [] as [&str; 0]);
    assert_eq!(rules(&Readings::default()), [] as [&str; 0]);
}

#[test]
fn each_rule_has_its_threshold() {
    type Moved<'a> = &'a [(&'a str, u64)];
    let cases: [(&str, Moved<'_>, Moved<'_>); 10] = [
        ("steal", &[("stat.steal", 2)], &[("stat.steal", 4)]),
        ("throttled", &[("cgroup.throttled", 9_000)], &[("cgroup.up1.throttled", 20_000)]),
        ("heat", &[("thermal.throttles", 0)], &[("thermal.throttles", 1)]),
        ("swap-in", &[("vmstat.pswpout", 9)], &[("vmstat.pswpin", 1)]),
        ("foreign-cpu", &[("stat.user", 108)], &[("stat.user", 112)]),
        ("waited", &[("worker.wait", 40_000_000)], &[("worker.wait", 60_000_000)]),
        ("foreign-faults", &[("vmstat.pgmajfault", 90)], &[("vmstat.pgmajfault", 110)]),
        ("foreign-io", &[("vmstat.pgpgout", 4_000)], &[("vmstat.pgpgin", 6_000)]),
        ("memory-pressure", &[("psi.memory.some", 9_000)], &[("psi.memory.some", 11_000)]),
        ("io-pressure", &[("psi.io.some", 90_000)], &[("psi.io.some", 110_000)]),
    ];
    for (rule, below, above) in cases {
        assert_eq!(rules(&second(below)), [] as [&str; 0], "{rule} below");
        assert_eq!(rules(&second(above)), [rule], "{rule} above");
        assert!(super::RULES.contains(&rule));
    }
}

#[test]
fn a_workload_that_uses_disks_is_not_blamed_for_what_works_for_it() {
    let writes = [("tree.written", 50_000_000), ("vmstat.pgpgout", 50_000)];
    let kernel = [("stat.system", 60), ("psi.io.some", 500_000)];
    let all: Vec<_> = writes.into_iter().chain(kernel).collect();
    assert_eq!(rules(&second(&all)), [] as [&str; 0]);
    assert_eq!(rules(&second(&kernel)), ["foreign-cpu", "io-pressure"]);
}

#[test]
fn a_workload_that_waits_for_few_bytes_of_its_own_waits_for_nobody_else() {
    let waits = [("psi.io.some", 500_000), ("tree.written", 40_960)];
    // Behind the simulated link of `block`: the machine moved these bytes, and hardly any others.
    let behind_a_link: Vec<_> = waits.into_iter().chain([("vmstat.pgpgout", 80)]).collect();
    assert_eq!(rules(&second(&behind_a_link)), [] as [&str; 0]);
    // Others moved twenty times as much, though less than the rule of their bytes needs.
    let next_to_others: Vec<_> = waits.into_iter().chain([("vmstat.pgpgout", 840)]).collect();
    assert_eq!(rules(&second(&next_to_others)), ["io-pressure"]);
}

#[test]
fn waits_count_only_if_a_disk_worked_meanwhile() {
    let waits = ("psi.io.some", 500_000);
    let of_a_program = [waits, ("diskstats.loop3.busy", 900), ("diskstats.vda.busy", 4)];
    assert_eq!(rules(&second(&of_a_program)), [] as [&str; 0]);
    let of_a_disk = [waits, ("diskstats.loop3.busy", 900), ("diskstats.vda.busy", 400)];
    assert_eq!(rules(&second(&of_a_disk)), ["io-pressure"]);
}

#[test]
fn time_that_the_kernel_guesses_to_be_user_or_system_is_still_ours() {
    // Short processes: the machine's ticks say system, the processes' own times say user.
    let forks = [("stat.user", 10), ("stat.system", 80)];
    assert_eq!(rules(&second(&forks)), [] as [&str; 0]);
}

#[test]
fn threads_that_make_themselves_wait_are_no_evidence() {
    let mut readings = second(&[("worker.wait", 500_000_000)]);
    for trace in readings.traces.iter_mut().filter(|trace| trace.counter.name == "worker.threads") {
        trace.readings[1].value = 4;
    }
    assert_eq!(rules(&readings), [] as [&str; 0]);
}

#[test]
fn a_frequency_that_changes_while_it_works_is_found_and_the_start_is_not() {
    let of = |khz: &[u64]| {
        let readings: Vec<_> = (0..).zip(khz).map(|(i, &khz)| (i * SECOND, khz)).collect();
        let mut seen = second(&[]);
        seen.traces.push(trace("cpufreq.max", CounterKind::Gauge, &readings));
        // The other counters are of the first second of these: their thresholds do not matter here.
        find(&seen).iter().any(|found| found.rule == "frequency")
    };
    assert!(of(&[3_000_000, 3_000_000, 2_600_000]));
    assert!(!of(&[800_000, 3_000_000, 2_950_000]), "it idled before");
    assert!(!of(&[800_000, 3_000_000]));
}

fn of_rule(found: &[Disturbance], rule: &str) -> Disturbance {
    found.iter().find(|found| found.rule == rule).unwrap().clone()
}

#[test]
fn programs_that_wake_each_other_are_no_burst_of_interrupts() {
    // A tenth of a second with so many more than in the others, each in one interval; of those with none there is no reading.
    let counts = |each: u64, peaks: &[(u64, u64)]| -> Vec<(u64, u64)> {
        let peak =
            |i: u64| peaks.iter().filter(|(at, _)| *at <= i).map(|(_, peak)| peak).sum::<u64>();
        let mut readings: Vec<_> =
            (0..=10).map(|i| (i * SECOND / 10, each * i + peak(i))).collect();
        readings.dedup_by_key(|reading| reading.1);
        readings
    };
    let found = |interrupts: &[(u64, u64)], (each, switches): (u64, &[(u64, u64)])| {
        let mut readings = second(&[]);
        let mut add = |name: &str, values: &[(u64, u64)]| {
            readings.traces.push(trace(name, CounterKind::Counter, values));
        };
        add("stat.intr", &counts(10, interrupts));
        add("stat.ctxt", &counts(each, switches));
        find(&readings)
            .into_iter()
            .find(|found| found.rule == "interrupts")
            .map(|found| found.from_ns)
    };
    let at = |i: u64| Some((i - 1) * SECOND / 10);
    assert_eq!(found(&[(4, 9_000)], (0, &[])), at(4));
    assert_eq!(found(&[(4, 9_000)], (0, &[(4, 2_000)])), at(4));
    assert_eq!(found(&[(4, 9_000)], (0, &[(4, 9_000)])), None);
    assert_eq!(found(&[(4, 9_000)], (20_000, &[])), at(4), "it is switched as often otherwise");
    assert_eq!(found(&[(4, 9_000), (7, 5_000)], (0, &[(4, 9_000)])), at(7), "the other one");
}

#[test]
fn what_has_a_moment_touches_the_samples_of_that_moment() {
    let mut readings = second(&[]);
    let tenth = SECOND / 10;
    let mut interrupts = 0;
    let burst: Vec<_> = (0..=10)
        .map(|i| {
            interrupts += if i == 4 { 9_000 } else { 100 };
            (i * tenth, interrupts)
        })
        .collect();
    readings.traces.push(trace("stat.intr", CounterKind::Counter, &burst));
    let line = |at_ns, level, text: &str| KernelLine { at_ns, level, text: text.into() };
    readings.lines = vec![
        line(SECOND / 2, 6, "eth0: link is up"),
        line(SECOND / 2, 4, "task hung"),
        line(SECOND * 6 / 10, 3, "again"),
    ];
    let clock = [(0, 50_000), (SECOND / 4, 50_000), (SECOND / 2, 2_050_000)];
    readings.traces.push(trace("clock.realtime_ahead", CounterKind::Gauge, &clock));
    let found = find(&readings);
    assert_eq!(found.len(), 3, "{found:?}");
    let samples = Samples {
        start_ns: (0..10).map(|i| i * tenth).collect(),
        elapsed_ns: vec![tenth - 1; 10],
        iterations: vec![1; 10],
        cpu: vec![0; 10],
        ..Samples::default()
    };
    let touches = |rule: &str| {
        let it = touched(&of_rule(&found, rule), &samples);
        (it.first, it.last, it.evidence)
    };
    assert_eq!(touches("interrupts"), (3, 4, "90000 interrupts per second, 1000 otherwise".into()));
    let said = "kernel log: task hung (and 1 more lines)".to_owned();
    assert_eq!(touches("kernel-log"), (5, 6, said));
    assert_eq!(touches("clock-step"), (2, 5, "the wall clock was stepped by 2.000 s".into()));
    let nobody = Samples { start_ns: vec![9 * SECOND], elapsed_ns: vec![1], ..Samples::default() };
    assert_eq!(touched(&found[0], &nobody).last, 0);
}

/// A second in which forty groups of processes keep both CPUs busy, and the tree is fully read until this moment.
fn busy_with_own_until(last_full_ns: u64, last_processes: u64) -> Readings {
    let own = [(0, 1000), (last_full_ns, 1000 + 200 * last_full_ns / SECOND)];
    let counts = [(0, 3), (last_full_ns, 3), (SECOND, last_processes)];
    let mut readings = second(&[("stat.user", 200)]);
    readings.traces.retain(|trace| {
        !trace.counter.name.starts_with("tree.") && trace.counter.name != "stat.idle"
    });
    readings.traces.push(trace("tree.user", CounterKind::Counter, &own));
    readings.traces.push(trace("tree.processes", CounterKind::Gauge, &counts));
    readings
}

#[test]
fn what_own_processes_do_unseen_is_not_of_others() {
    // 1,600 tasks at the end of the invocation, and a tree that was read no more.
    assert_eq!(rules(&busy_with_own_until(SECOND / 10, 1641)), [] as [&str; 0]);
    assert_eq!(rules(&busy_with_own_until(SECOND * 19 / 20, 1641)), [] as [&str; 0]);
    // Gone before the last reading: their times are with their parents.
    assert_eq!(rules(&busy_with_own_until(SECOND, 3)), [] as [&str; 0]);
    // Others are still found next to an unseen twentieth.
    let mut readings = busy_with_own_until(SECOND * 19 / 20, 1641);
    readings.traces.retain(|trace| trace.counter.name != "tree.user");
    assert_eq!(rules(&readings), ["foreign-cpu"]);
}
