//! One command, timed by criterion. What to start and how long to measure come from the environment; the
//! rest is as criterion ships.
use std::process::{Command, Stdio};
use std::time::Duration;

use criterion::Criterion;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn seconds(name: &str) -> Duration {
    Duration::from_secs_f64(variable(name).parse().expect(name))
}

fn main() {
    let words = variable("HEADTOHEAD_COMMAND");
    let words: Vec<&str> = words.lines().collect();
    let mut criterion = Criterion::default()
        .warm_up_time(seconds("HEADTOHEAD_WARM_UP"))
        .measurement_time(seconds("HEADTOHEAD_MEASUREMENT"))
        .sample_size(variable("HEADTOHEAD_SAMPLES").parse().expect("a number"))
        .configure_from_args();
    criterion.bench_function("command", |bencher| {
        bencher.iter(|| {
            let mut command = Command::new(words[0]);
            let command = command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
            assert!(command.status().expect("the command starts").success());
        });
    });
    criterion.final_summary();
}
