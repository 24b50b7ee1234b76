//! Measures the peak memory of a large command and then of a small one, as a worker does. A test starts it and reads what it
//! prints.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it is a part of a test")]

use plumb_model::Flag;
use plumb_workload_process::ALL;
use plumb_workload_testing::{TestPoint, take};

fn main() {
    let (large, flags) = peak(r#"["dd","if=/dev/zero","of=/dev/null","bs=64M","count=1"]"#);
    assert!(flags.is_empty(), "{flags:?}");
    let before = resident();
    let (small, flags) = peak("/bin/true");
    assert!(small < before, "code that was run is given back: {before} bytes, now {small}");
    assert!(flags.iter().all(|flag| flag.flag.word() == "memory-floor"), "{flags:?}");
    println!("{large}\n{small}");
}

/// The larger of two peaks of a command in bytes, with the flags of both samples.
fn peak(command: &str) -> (f64, Vec<Flag>) {
    let mut point = TestPoint::new(ALL, "process.command", &[("command", command)]).started();
    let (samples, flags) = take(point.instance.as_mut(), &[1, 1]).unwrap();
    (samples.values["peak_memory"].iter().copied().fold(0.0, f64::max), flags)
}

/// Resident memory of this process in bytes.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
}
