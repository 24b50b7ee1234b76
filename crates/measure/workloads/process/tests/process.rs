//! The family `process`, driven as the engine drives it.

use std::io::Write;
use std::process::Command;

use plumb_model::ENDED;
use plumb_protocol::serve;
use plumb_workload_process::ALL;
use plumb_workload_testing::{
    TWICE, TestPoint, alone, assert_doubles, assert_ratio, example, fastest_ns, refusal,
    refused_settings, take, unsupported,
};

fn point(id: &str, settings: &[(&str, &str)]) -> TestPoint<'static> {
    TestPoint::new(ALL, id, settings)
}

#[test]
fn twice_the_work_takes_twice_the_time() {
    let _alone = alone();
    let points = [("method", "fork"), ("method", "vfork"), ("end", "exit"), ("threads", "3")];
    for (name, value) in points {
        let mut fork = point("process.fork", &[(name, value), ("resident", "4MiB")]).started();
        assert_doubles(value, &mut fork, 20);
    }
    assert_ratio("twice the sleep", TWICE, || {
        let time = |command| {
            fastest_ns(&mut point("process.command", &[("command", command)]).started(), 1)
        };
        time(r#"["sleep","0.04"]"#) / time(r#"["sleep","0.02"]"#)
    });
}

#[test]
fn twice_the_programs_and_threads_take_twice_the_time() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let point = |id, settings: &[(&str, &str)]| point(id, settings).in_folder(folder.path());
    for method in ["posix_spawn", "vfork", "fork", "clone3"] {
        let settings = [("method", method), ("threads", "2")];
        let mut exec = point("process.exec", &settings).started();
        assert!((exec.ready.work["rate"] - 2.0).abs() < 1e-9);
        assert_doubles(method, &mut exec, 6);
    }
    // To wake an idle CPU takes 10 or 30 µs, which changes while it is measured: one CPU, or all of them busy.
    for (threads, placement) in [("1", "same-cpu"), ("3", "free")] {
        let settings = [("threads", threads), ("placement", placement)];
        let mut thread = point("process.thread", &settings).started();
        assert_doubles(threads, &mut thread, 400);
    }
    let why = refused_settings(ALL, "process.thread", &[("stack", "1")]);
    assert!(why.contains("`1B` is not 16KiB to"), "{why}");
    let time = |method, resident| {
        let settings = [("method", method), ("resident", resident), ("placement", "same-cpu")];
        fastest_ns(&mut point("process.exec", &settings).started(), 20)
    };
    assert_ratio("a fork of 32 MiB", 1.3..1000.0, || time("fork", "32MiB") / time("fork", "0"));
    assert_ratio("spawned from 32 MiB", 0.5..1.3, || time("vfork", "32MiB") / time("vfork", "0"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the program is removed");
}

#[test]
fn forks_of_a_large_parent_cost_more() {
    let _alone = alone();
    let time = |resident| {
        let settings = [("resident", resident), ("placement", "same-cpu")];
        fastest_ns(&mut point("process.fork", &settings).started(), 20)
    };
    assert_ratio("a parent of 32 MiB", 1.3..1000.0, || time("32MiB") / time("0"));
    let mut large = point("process.fork", &[("resident", "32MiB")]);
    large.start.facts.memory_bytes = 48 << 20;
    let (_, fix) = unsupported("32 MiB of 48 MiB", large.try_start());
    assert!(fix.contains("resident"), "{fix}");
}

#[test]
fn threads_make_their_children_side_by_side_and_handlers_are_kept_from_the_parent() {
    let _alone = alone();
    let mut forks = point("process.fork", &[("threads", "8"), ("end", "exit")]).started();
    assert!((forks.ready.work["rate"] - 8.0).abs() < 1e-9);
    assert_eq!(forks.ready.flags[0].why, "8 threads share 2 CPUs");
    assert_eq!(take(forks.instance.as_mut(), &[20, 10]).unwrap().0.iterations, [20, 10]);
    let settings = [("method", "vfork"), ("end", "exit")];
    let (_, fix) =
        unsupported("handlers in the parent", point("process.fork", &settings).try_start());
    assert!(fix.contains("method=fork"), "{fix}");
}

#[test]
fn commands_that_fail_are_named_with_how_they_ended() {
    let why = |settings: &[(&str, &str)]| {
        let mut command = point("process.command", settings).started();
        take(command.instance.as_mut(), &[1, 1]).err().map(|failure| failure.0)
    };
    assert_eq!(why(&[]), None);
    let failed = why(&[("command", r#"["sh","-c","exit 3"]"#)]).unwrap();
    assert!(failed.contains("sh -c exit 3: exit status 3"), "{failed}");
    let killed = why(&[("command", "kill -TERM $$"), ("shell", "yes")]).unwrap();
    assert!(killed.contains("signal 15 (SIGTERM)"), "{killed}");
    assert_eq!(why(&[("command", "false"), ("ignore_failure", "yes")]), None);
    let settings = [("command", "kill -SEGV $$"), ("shell", "yes"), ("ignore_failure", "yes")];
    let mut crashes = point("process.command", &settings).started();
    let (samples, _) = take(crashes.instance.as_mut(), &[1, 1]).unwrap();
    assert_eq!(samples.values[ENDED], [-11.0, -11.0]);
    let start = |command| point("process.command", &[("command", command)]).try_start();
    for (command, reason, mend) in [
        ("no-such-command", "command not found: no-such-command", "install the program"),
        ("ls -l", "command not found: ls -l", r#"JSON array, like ["ls","-l"]"#),
    ] {
        let (why, fix) = unsupported(command, start(command));
        assert!(why.contains(reason) && fix.contains(mend), "{why}; {fix}");
    }
    for (command, reason) in
        [("[1]", "a JSON array of strings"), ("[]", "empty list"), ("", "empty")]
    {
        let why = refusal(command, start(command));
        assert!(why.contains(reason), "{why}");
    }
}

#[test]
fn a_sample_is_one_process_whatever_is_asked_for() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let start = serde_json::to_string(&point("process.command", &[]).start).unwrap();
    writeln!(writer, r#"{{"id":1,"type":"start",{}"#, &start[1..]).unwrap();
    writeln!(writer, r#"{{"id":2,"type":"calibrate","target_ns":1000000000}}"#).unwrap();
    writeln!(writer, r#"{{"id":3,"type":"sample","iterations":[1,7]}}"#).unwrap();
    writeln!(writer, r#"{{"id":4,"type":"stop"}}"#).unwrap();
    drop(writer);
    let mut output = Vec::new();
    let command = ALL.iter().find(|workload| workload.describe().id == "process.command");
    serve(*command.unwrap(), reader, &mut output).unwrap();
    let replies: Vec<serde_json::Value> = String::from_utf8(output)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(replies[0]["notes"][1].as_str().unwrap().starts_with("memory floor "), "{replies:?}");
    assert_eq!(replies[1]["iterations"], 1);
    assert_eq!(replies[2]["iterations"], serde_json::json!([1, 1]));
    assert!(replies[2]["values"]["peak_memory"][0].as_f64().unwrap() >= 4096.0);
    assert_eq!(replies[3]["type"], "done");
}

#[test]
fn a_small_command_after_a_big_one_and_below_a_big_process_reports_its_own_memory() {
    let _alone = alone();
    let large = vec![1_u8; 300 << 20];
    let output = Command::new(example("measure_memory")).output().unwrap();
    assert!(std::hint::black_box(&large)[large.len() - 1] == 1);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let peaks: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let mib = 1_048_576.0;
    assert!(peaks[0] >= 64.0 * mib && peaks[0] < 80.0 * mib, "dd of 64 MiB: {peaks:?}");
    assert!(peaks[1] < 16.0 * mib, "/bin/true: {peaks:?}");
}
