//! Whether runs on a quiet machine are left alone by the rules of interference, and those next to a
//! neighbour are not. How quiet the machine was is known from this chore's own reading of /proc/stat, less
//! what plumb and its processes used.

use std::fmt::Write;

use super::common::TestEnvironment;
use crate::headtohead::neighbour::{Neighbour, NeighbourKind};

/// Workloads of every kind that the rules treat differently: computing, memory, system calls, two threads
/// that wake each other, short processes, a file.
const RUN: &str = "run cpu.sieve memory.latency scheduler.pipe process.fork storage.random --no-lock -q \
                   --prepare none --precision 5% --budget 20s";
/// Runs with a neighbour, and runs that found the machine quiet.
const RUNS: usize = 3;
/// Runs on a machine that may not be quiet before this gives up.
const TRIES: usize = 9;
/// The machine was quiet when others, the hypervisor's other guests among them, took less than this of one CPU:
/// half of what the rule of foreign CPU time forgives. Kernel threads and this chore alone take .03.
const QUIET: f64 = 0.05;
/// Invocations that may be flagged on a quiet machine: chance, and its own housekeeping.
const MOST_FLAGGED: f64 = 0.05;
/// Next to a neighbour that burns half of the time at least so many must be.
const FEWEST_FLAGGED: f64 = 0.3;
const TICKS_PER_S: f64 = 100.0;

/// The outcome of one run.
pub struct Stretch {
    neighbour: bool,
    /// CPU time of others, steal included, as a share of one CPU.
    foreign: f64,
    invocations: u64,
    disturbed: u64,
    rules: String,
}

impl Stretch {
    fn flagged(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts of invocations")]
        let share = self.disturbed as f64 / self.invocations.max(1) as f64;
        share
    }

    fn is_quiet(&self) -> bool {
        !self.neighbour && self.foreign < QUIET
    }
}

/// Runs until enough were quiet, then next to a neighbour.
///
/// # Errors
/// When a run can't be made.
pub fn stretches(plumb: &str) -> Result<Vec<Stretch>, String> {
    let mut all = Vec::new();
    while all.len() < TRIES
        && all.iter().filter(|stretch: &&Stretch| stretch.is_quiet()).count() < RUNS
    {
        all.push(stretch(plumb, false)?);
    }
    for seed in 0..RUNS {
        let neighbour = Neighbour::start(NeighbourKind::Bursty, seed as u64)?;
        all.push(stretch(plumb, true)?);
        drop(neighbour);
    }
    Ok(all)
}

fn stretch(plumb: &str, neighbour: bool) -> Result<Stretch, String> {
    let place = TestEnvironment::new(plumb).map_err(|error| error.to_string())?;
    let begun = std::time::Instant::now();
    let busy = busy_ticks()?;
    let own = own_ticks()?;
    place.run(RUN).map_err(|error| error.to_string())?;
    let seconds = begun.elapsed().as_secs_f64();
    let busy = busy_ticks()? - busy;
    let own = own_ticks()? - own;
    let shown = place.run("show --json").map_err(|error| error.to_string())?;
    let document: serde_json::Value =
        serde_json::from_str(&shown.stdout).map_err(|error| error.to_string())?;
    let interference = &document["interference"];
    let stretch = Stretch {
        neighbour,
        foreign: (busy - own) / TICKS_PER_S / seconds,
        invocations: interference["invocations"].as_u64().unwrap_or(0),
        disturbed: interference["disturbed"].as_u64().unwrap_or(0),
        rules: interference["rules"].to_string().replace(['{', '}', '"'], ""),
    };
    let Stretch { foreign, invocations, disturbed, .. } = stretch;
    eprintln!("others {foreign:.3} of a CPU, {disturbed} of {invocations} invocations flagged");
    Ok(stretch)
}

/// Ticks in which any CPU did anything, or was kept from it by the hypervisor.
fn busy_ticks() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/stat").map_err(|error| error.to_string())?;
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> =
        line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal
    let [user, nice, system, _, _, irq, soft, steal, ..] = ticks[..] else {
        return Err(format!("/proc/stat has no such line: {line}"));
    };
    Ok(user + nice + system + irq + soft + steal)
}

/// Ticks of this chore's children that have ended, with all of theirs.
fn own_ticks() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields);
    // User and system time, own and of children that were waited for: plumb is one of these.
    let ticks = fields.split(' ').skip(11).take(4).map(str::parse::<f64>);
    ticks.sum::<Result<f64, _>>().map_err(|error| format!("/proc/self/stat: {error}"))
}

/// The broken promises, in words.
pub fn failures(stretches: &[Stretch]) -> Vec<String> {
    let quiet: Vec<&Stretch> = stretches.iter().filter(|stretch| stretch.is_quiet()).collect();
    let beside: Vec<&Stretch> = stretches.iter().filter(|stretch| stretch.neighbour).collect();
    let mut failures = Vec::new();
    if quiet.len() < RUNS {
        failures.push(format!("the machine was quiet in {} of {TRIES} runs only", quiet.len()));
    }
    failures.extend(quiet.iter().filter(|stretch| stretch.flagged() > MOST_FLAGGED).map(
        |stretch| {
            format!(
                "a quiet run was flagged: {} of {}: {}",
                stretch.disturbed, stretch.invocations, stretch.rules
            )
        },
    ));
    failures.extend(beside.iter().filter(|stretch| stretch.flagged() < FEWEST_FLAGGED).map(
        |stretch| {
            format!(
                "the neighbour was not seen: {} of {} flagged",
                stretch.disturbed, stretch.invocations
            )
        },
    ));
    failures
}

/// The chapter of the page.
pub fn chapter(stretches: &[Stretch]) -> String {
    let mut page = format!(
        "\n## Quiet and disturbed runs\n\n`plumb {RUN}`, alone and alongside a process that burns a CPU in bursts, \
        half the time. *Others* is other processes' CPU time plus steal, from /proc/stat. If it is under {QUIET}, \
        at most {} % of the invocations may be flagged as disturbed; with the neighbour, at least {} % must.\n\n\
         | neighbour | others, in CPUs | invocations | flagged | by |\n|---|---|---|---|---|\n",
        MOST_FLAGGED * 100.0,
        FEWEST_FLAGGED * 100.0,
    );
    for it in stretches {
        let neighbour = if it.neighbour { "yes" } else { "no" };
        let Stretch { foreign, invocations, disturbed, rules, .. } = it;
        _ = writeln!(
            page,
            "| {neighbour} | {foreign:.3} | {invocations} | {disturbed} | {rules} |"
        );
    }
    page
}
