//! Distributions, open loops, streams and secrets through the real binary.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::common::processes::signal;
use crate::common::processes::wait_for;
use crate::common::samples::StoredSamples;
use crate::{PATIENCE, last, place, results};

fn notes(result: &Value) -> String {
    result["notes"].to_string()
}

#[test]
fn latencies_of_blocks_are_pooled_and_say_which_loop_they_are_of() {
    let place = place();
    let run = "run storage.random -p size=4MiB -p rate=closed,500/s -p depth=4 --dir ../work --no-lock -q";
    place.run(&format!("{run} --min-invocations 8 --prepare none")).unwrap().exits(0);
    let document = last(&place);
    for quantile in ["p50", "p99", "p99.9", "max"] {
        let of = results(&document, &format!("latency {quantile}"));
        assert_eq!(of.len(), 2, "{quantile}");
        assert!(of.iter().all(|result| result["estimate"].as_f64().unwrap() > 0.0), "{of:?}");
    }
    let rates = results(&document, "rate");
    assert!(notes(rates[0]).contains("closed loop"), "{}", rates[0]);
    assert!(notes(rates[1]).contains("open loop: 500 blocks are due per second"), "{}", rates[1]);
    let in_time = results(&document, "in_time");
    assert_eq!(in_time[0]["estimate"], 1.0);
    // A device far quicker than this gives what was asked for, and no more over a whole run.
    let rate = rates[1]["estimate"].as_f64().unwrap();
    assert!(rate > 250.0, "{rate} blocks a second");
}

#[test]
fn a_schedule_that_can_not_be_is_refused() {
    let place = place();
    let refused = |rate: &str, words: &[&str]| {
        place.run(&format!("run storage.random -p rate={rate}")).unwrap().exits(2).says(words);
    };
    refused("0", &["a rate of 0 does nothing", "closed"]);
    refused("20Mbit/s", &["`20Mbit/s` is not a rate", "5k/s"]);
    let run = "run storage.random -p size=4MiB -p rate=5G/s --dir ../work --no-lock -q";
    place.run(run).unwrap().exits(4).shows(&["is impossible"]);
}

#[test]
fn a_stream_is_one_process_and_a_sample_a_second() {
    let place = place();
    place
        .run("run network.tcp --stream 3s --no-lock")
        .unwrap()
        .exits(0)
        .says(&["throughput", "near_cpu", "retransmitted"])
        .shows(&["single-process", "a stream of 3 s per point"]);
    let document = last(&place);
    let result = &results(&document, "throughput")[0];
    assert_eq!(result["invocations"], 1, "{result}");
    let samples = result["samples"].as_u64().unwrap();
    assert!((2..=4).contains(&samples), "{result}");
    place.run("run cpu.sieve --stream 100ms").unwrap().exits(2).says(&["one sample per second"]);
    place.run("run process.command --stream 1m").unwrap().exits(2).says(&["--min-time"]);
    place.run("run cpu.sieve --stream 1m --precision 1%").unwrap().exits(2);
}

#[test]
fn a_credit_that_is_spent_on_the_way_is_found() {
    let place = place();
    // 64 KiB in each 2 ms, until 60 MB are spent; then 4 MB/s.
    let point = "block.remote -p operation=write -p size=4MiB -p block=64KiB -p rtt=2ms -p up=32Mbit/s -p burst=60MB";
    let once = "--min-invocations 1 --max-invocations 1 --invocation-time 6s --no-lock -q";
    let ran = place.run(&format!("run --full {point} {once}")).unwrap().exits(0);
    ran.shows(&["burst", ", then 6"]);
    let document = last(&place);
    let burst = &results(&document, "rate")[0]["burst"];
    let number = |at: &str| burst.pointer(at).and_then(Value::as_f64).unwrap();
    assert!((59.0..63.0).contains(&number("/after/estimate")), "{burst}");
    assert!(number("/before/estimate") > 3.0 * number("/after/estimate"), "{burst}");
    // What was spent while the length of a sample was found is not there.
    let of_credit = number("/volume") * 65_536.0 / (60e6 + 4e6 * number("/seconds"));
    assert!((0.5..1.1).contains(&of_credit), "{of_credit}: {burst}");
}

#[test]
fn an_interrupted_stream_keeps_its_samples() {
    let place = place();
    let mut plumb = place.marked("run cpu.sieve --stream 1h --no-lock -q");
    let plumb = plumb.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let sampled = || StoredSamples::visible(&place).is_some_and(|samples| !samples.is_empty());
    wait_for(PATIENCE, || sampled().then_some(())).unwrap();
    signal("INT", plumb.id()).unwrap();
    let ran: crate::common::ProgramOutput = plumb.wait_with_output().unwrap().into();
    ran.exits(130).shows(&["sieve", "single-process"]);
    let left = wait_for(Duration::from_secs(2), || place.leftovers().is_empty().then_some(()));
    assert!(left.is_some(), "{:?}", place.leftovers());
}

#[test]
fn an_invocation_lasts_as_long_as_is_stated() {
    let place = place();
    let run = "run cpu.sieve -p limit=10000 --invocation-time 1s --min-invocations 2 --prepare none --no-lock -q";
    place.run(run).unwrap().exits(0);
    let document = last(&place);
    let result = &results(&document, "rate")[0];
    // Two invocations of 500 samples of 2 ms, and 100 ms before them: fewer if a busy machine makes them longer, more
    // if it was busy while their length was found.
    let samples = result["samples"].as_u64().unwrap() + result["discarded"].as_u64().unwrap();
    assert!((400..=1_800).contains(&samples), "{result}");
    place.run("run cpu.sieve --invocation-time 0").unwrap().exits(2);
}

#[test]
fn too_much_memory_is_refused_with_the_largest_size_that_fits() {
    let place = place();
    for workload in ["memory.latency", "memory.stream", "memory.loaded", "memory.fault"] {
        let ran = place.run(&format!("run {workload} -p size=1TiB --no-lock -q")).unwrap().exits(3);
        ran.shows(&["plumb uses at most half of the memory", "or less"]);
    }
}

#[test]
fn a_tree_that_does_not_build_fails_with_the_last_line_of_make() {
    let place = place();
    let tree = place.cwd().join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("Makefile"), "all:\n\t@exit 3\n").unwrap();
    let run = format!("run scheduler.compile -p tree={} --no-lock -q", tree.display());
    place.run(&run).unwrap().exits(4).shows(&["make -j1 failed", "Error 3"]);
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn threads_run_where_their_placement_says() {
    let place = place();
    let run =
        "run cpu.sieve -p limit=10000 -p threads=2 --min-invocations 2 --prepare none --no-lock -q";
    let point = "-p placement=free,cpu:0";
    place.run(&format!("{run} {point}")).unwrap().exits(0).shows(&["oversubscribed"]);
    let document = last(&place);
    let rates = results(&document, "rate");
    assert!(notes(rates[0]).contains("not pinned"), "{}", rates[0]);
    assert!(notes(rates[1]).contains("threads pinned, on CPU 0"), "{}", rates[1]);
    let nowhere = place.run(&format!("{run} -p placement=cpu:9999")).unwrap().exits(3);
    nowhere.shows(&["plumb is not allowed to run on CPU 9999"]);
    let wrong = place.run(&format!("{run} -p placement=near")).unwrap().exits(4);
    wrong.shows(&["`near` is not a placement"]);
}
