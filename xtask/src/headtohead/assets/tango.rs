// One command, timed by tango. What to start comes from the environment; the rest is as tango ships.
use std::process::{Command, Stdio};

use tango_bench::{benchmark_fn, tango_benchmarks, IntoBenchmarks};

fn command() -> impl IntoBenchmarks {
    [benchmark_fn("command", |bencher| {
        let words = std::env::var(SIDE).unwrap_or_else(|_| panic!("{SIDE} is not set"));
        let words: Vec<String> = words.lines().map(String::from).collect();
        bencher.iter(move || {
            let mut command = Command::new(&words[0]);
            let command = command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
            assert!(command.status().expect("the command starts").success());
        })
    })]
}

tango_benchmarks!(command());
