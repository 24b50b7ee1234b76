//! How long `plumb --version` takes, next to `/bin/true` and `hyperfine --version`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::BenchResult;
use crate::page::{median, ratio};

/// Rounds; each starts every program once.
const ROUNDS: usize = 200;

/// Starts the three in turns.
pub fn bench(plumb: &Path) -> BenchResult<String> {
    let plumb = plumb.to_string_lossy().into_owned();
    let programs =
        [vec![plumb.as_str(), "--version"], vec!["/bin/true"], vec!["hyperfine", "--version"]];
    let mut times = vec![Vec::new(); programs.len()];
    for _ in 0..ROUNDS {
        for (argv, times) in programs.iter().zip(&mut times) {
            times.push(once(argv)?);
        }
    }
    let logs: Vec<f64> = times[0].iter().zip(&times[2]).map(|(a, b)| (a / b).ln()).collect();
    Ok(format!(
        "{ROUNDS} starts each, alternating, medians: `plumb --version` **{:.2} ms**, `hyperfine --version` {:.2} ms, `/bin/true` {:.2} ms. \
         plumb takes {} times as long as hyperfine.\n",
        median(&times[0]) * 1e3,
        median(&times[2]) * 1e3,
        median(&times[1]) * 1e3,
        ratio(&logs[..ROUNDS.min(logs.len())]),
    ))
}

fn once(argv: &[&str]) -> BenchResult<f64> {
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let elapsed = start.elapsed().as_secs_f64();
    if status.success() { Ok(elapsed) } else { Err(format!("{argv:?} failed").into()) }
}
