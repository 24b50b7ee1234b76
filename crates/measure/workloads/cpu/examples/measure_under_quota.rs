//! Enters the control group that it is given and measures `cpu.frequency` there. A test starts it and reads what it prints.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it is a part of a test")]

use std::path::Path;

use plumb_model::FlagKind;
use plumb_workload_cpu::ALL;
use plumb_workload_testing::{TestPoint, has_flag, take};

fn main() {
    let group = std::env::args_os().nth(1).unwrap();
    std::fs::write(Path::new(&group).join("cgroup.procs"), "0").unwrap();
    let mut point = TestPoint::new(ALL, "cpu.frequency", &[]).started();
    // Some 200 ms of CPU time each.
    let (taken, flags) = take(point.instance.as_mut(), &[10_000; 3]).unwrap();
    assert!(has_flag(&flags, &FlagKind::Interference), "{flags:?}");
    for name in ["lost", "throttled"] {
        println!("{}", taken.values[name].iter().sum::<f64>() / 3.0);
    }
}
