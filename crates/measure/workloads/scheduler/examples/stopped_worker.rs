//! Stands in for a worker that measures wake-ups. A test starts it, stops it for a while, and reads what it prints.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it is a part of a test")]

use plumb_workload_scheduler::ALL;
use plumb_workload_testing::{TestPoint, samples};

fn main() {
    let settings = [("rate", "1000"), ("workers", "2")];
    let mut wakeups = TestPoint::new(ALL, "scheduler.wakeup", &settings).started();
    println!("begins");
    let taken = samples(&mut wakeups, &[500]);
    for name in ["latency", "wakeup"] {
        let counts =
            taken.histograms[name].iter().flat_map(|histogram| histogram.counts().unwrap());
        let counts: Vec<String> = counts.map(|(ns, count)| format!("{ns}:{count}")).collect();
        println!("{name} {}", counts.join(" "));
    }
}
