//! Workloads compared with themselves by the real binary (A/A): how often a difference is told where there is none.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use plumb_stats::audit::share_interval;
use plumb_stats::distribution::binomial_cdf;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lines;

/// Where the outcome is written unless somebody names another file.
const PAGE: &str = "docs/equals.md";
/// Where each comparison is kept unless somebody names another file.
const RESULTS: &str = "target/equals.jsonl";
/// Time of a comparison.
const BUDGET: &str = "20s";
/// The largest share of wrong verdicts that plumb promises.
const PROMISED: f64 = 0.05;
/// More wrong verdicts than this share of all such tests would have by chance break the promise.
const BY_CHANCE: f64 = 0.01;

/// What is compared with itself.
const POINTS: [&str; 28] = [
    "cpu.frequency",
    "cpu.share",
    "cpu.integer:operation=mul,chain=dependent",
    "cpu.float:operation=fma,kind=vector,chain=independent",
    "cpu.branch:pattern=random",
    "cpu.hash",
    "cpu.syscall",
    "compression.lz",
    "memory.stream:kernel=triad",
    "memory.stream:kernel=triad,stores=nt",
    "memory.read",
    "memory.write",
    "memory.latency:size=64MiB",
    "memory.latency:size=64MiB,chains=4",
    "memory.loaded",
    "memory.exchange",
    "memory.fault:operation=touch",
    "memory.fault:operation=unmap",
    "scheduler.switch",
    "scheduler.wakeup",
    "scheduler.timer",
    "scheduler.fairness",
    "scheduler.pipe:placement=free",
    "scheduler.compile:files=4",
    "process.exec",
    "process.thread",
    "process.fork:threads=16",
    "memory.free",
];

struct Options {
    times: usize,
    minutes: f64,
    named: Vec<String>,
    write: String,
    results: PathBuf,
    proceed: bool,
}

/// A comparison of a point with itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Compared {
    date: String,
    machine: String,
    point: String,
    outcome: Outcome,
    took_s: f64,
}

/// What is told of two sides that are the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Equivalent,
    Inconclusive,
    /// Faster or slower, with the ratio.
    Wrong(f64),
    /// Nothing, and why.
    Failed(String),
}

/// Runs the chore with what was typed after its name.
///
/// # Errors
/// When a comparison can't be made, or more are wrong than chance explains.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    let mut all: Vec<Compared> = lines::read(&options.results)?;
    if !options.proceed && !all.is_empty() {
        return Err(lines::holds_results(&options.results));
    }
    measure(&options, &mut all)?;
    let page = page(&all);
    print!("{page}");
    std::fs::write(&options.write, &page)
        .map_err(|error| format!("cannot write {}: {error}", options.write))?;
    broken(&all).map_or(Ok(()), Err)
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        times: 20,
        minutes: f64::INFINITY,
        named: Vec::new(),
        write: PAGE.into(),
        results: RESULTS.into(),
        proceed: false,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| crate::usage::USAGE.to_owned());
        let not_a_number = |value: &String| format!("not a number: {value}");
        match word.as_str() {
            "--times" => {
                let value = value()?;
                options.times = value.parse().map_err(|_| not_a_number(value))?;
            }
            "--minutes" => {
                let value = value()?;
                options.minutes = value.parse().map_err(|_| not_a_number(value))?;
            }
            "--write" => options.write.clone_from(value()?),
            "--results" => options.results = value()?.into(),
            "--continue" => options.proceed = true,
            point if !point.starts_with('-') => options.named.push(point.to_owned()),
            _ => return Err(format!("cannot read {word}; {}", crate::usage::USAGE)),
        }
    }
    Ok(options)
}

/// Compares until every point that was asked for has all its times, or the time is over.
fn measure(options: &Options, all: &mut Vec<Compared>) -> Result<(), String> {
    let beside = options.results.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(beside).map_err(|error| format!("{}: {error}", beside.display()))?;
    let plumb = crate::host::build()?;
    let folder = std::env::temp_dir().join(format!("plumb-equals-{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < options.minutes * 60.0
        && let Some((point, time)) = next(options, all)
    {
        let one = Instant::now();
        let outcome = compare(&plumb, &folder, point);
        eprintln!("{} of {}: {point}: {outcome:?}", time + 1, options.times);
        let compared = Compared {
            date: crate::host::today(),
            machine: crate::host::hardware(),
            point: point.to_owned(),
            outcome,
            took_s: one.elapsed().as_secs_f64(),
        };
        lines::append(&options.results, &compared)?;
        all.push(compared);
    }
    std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The point that was compared least, and how often it was. So all points come once, then again: a bad hour is shared.
fn next(options: &Options, all: &[Compared]) -> Option<(&'static str, usize)> {
    let asked = |point: &&str| {
        options.named.is_empty() || options.named.iter().any(|it| point.starts_with(it.as_str()))
    };
    let times = |point| all.iter().filter(|it| it.point == point).count();
    let points = POINTS.into_iter().filter(asked).map(|point| (point, times(point)));
    points.min_by_key(|(_, times)| *times).filter(|(_, times)| *times < options.times)
}

fn compare(plumb: &str, folder: &Path, point: &str) -> Outcome {
    let output = Command::new(plumb)
        .args(["ab", point, point, "--budget", BUDGET, "--json", "-q"])
        .env("PLUMB_STORE", folder.join("store.db"))
        .current_dir(folder)
        .output();
    match output {
        Err(error) => Outcome::Failed(error.to_string()),
        Ok(output) => serde_json::from_slice(&output.stdout).map_or_else(
            |_| {
                let said = String::from_utf8_lossy(&output.stderr);
                Outcome::Failed(said.lines().last().unwrap_or("nothing was said").to_owned())
            },
            |document| judge(&document),
        ),
    }
}

/// What a document tells.
fn judge(document: &Value) -> Outcome {
    // The first result that is compared with the first point's: of the second one, for the primary metric.
    let results = document["results"].as_array().into_iter().flatten();
    let compared = results.filter_map(|it| it["against_first"].get(0)).next();
    let Some(compared) = compared else {
        return Outcome::Failed("the run has no comparison".to_owned());
    };
    match compared["verdict"].as_str() {
        Some("equivalent") => Outcome::Equivalent,
        Some("faster" | "slower") => compared["ratio"].as_f64().map_or_else(
            || Outcome::Failed("a verdict without a ratio".to_owned()),
            Outcome::Wrong,
        ),
        // None where something kept pairs from being counted.
        Some(_) | None => Outcome::Inconclusive,
    }
}

/// How many wrong verdicts of so many chance alone explains.
fn by_chance(of: usize) -> usize {
    let is_likely =
        |wrong: &usize| binomial_cdf(*wrong as u64, of as u64, PROMISED) >= 1.0 - BY_CHANCE;
    (0..of).find(is_likely).unwrap_or(of)
}

/// The share in percent, with its interval.
fn share(wrong: usize, of: usize) -> String {
    let interval = share_interval(wrong as u64, of as u64, 0.95).ok();
    interval.map_or_else(String::new, |it| {
        format!(" ({:.1} % [{:.1}, {:.1}])", it.estimate * 100.0, it.low * 100.0, it.high * 100.0)
    })
}

/// How many comparisons told something, and the ratios of those that were told apart.
fn told<'c>(all: impl Iterator<Item = &'c Compared>) -> (usize, Vec<f64>) {
    let (mut given, mut wrong) = (0, Vec::new());
    for it in all {
        match it.outcome {
            Outcome::Failed(_) => continue,
            Outcome::Wrong(ratio) => wrong.push(ratio),
            Outcome::Equivalent | Outcome::Inconclusive => {}
        }
        given += 1;
    }
    (given, wrong)
}

/// What does not hold.
fn broken(all: &[Compared]) -> Option<String> {
    let failed = all.iter().find_map(|it| match &it.outcome {
        Outcome::Failed(why) => Some(format!("{}: {why}", it.point)),
        _ => None,
    });
    let (given, wrong) = told(all.iter());
    let (wrong, allowed) = (wrong.len(), by_chance(given));
    failed.or((wrong > allowed)
        .then(|| format!("{wrong} of {given} were told apart, chance explains {allowed}")))
}

fn page(all: &[Compared]) -> String {
    let (given, wrong) = told(all.iter());
    let (wrong, took_s): (usize, f64) = (wrong.len(), all.iter().map(|it| it.took_s).sum());
    let set = |of: fn(&Compared) -> &str| {
        let set: BTreeSet<&str> = all.iter().map(of).collect();
        set.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let mut page = format!(
        "# A/A: workloads compared with themselves\n\n\
         Written by `cargo xtask equals` on {} in {took_s:.0} s on {}; do not edit.\n\n\
         Each comparison is a `plumb ab POINT POINT --budget {BUDGET}`. *Faster* or *slower* is wrong there; at most {:.0} % \
         are promised. Of {given} comparisons **{wrong}** are wrong{}; chance explains up to {}.\n\n\
         | point | equivalent | inconclusive | wrong | ratios told |\n|---|---|---|---|---|\n",
        set(|it| &it.date),
        set(|it| &it.machine),
        PROMISED * 100.0,
        share(wrong, given),
        by_chance(given),
    );
    for point in POINTS {
        let of = || all.iter().filter(|it| it.point == point);
        let count = |outcome| of().filter(|it| it.outcome == outcome).count();
        let (given, wrong) = told(of());
        if given == 0 {
            continue;
        }
        let ratios: Vec<String> = wrong.iter().map(|ratio| format!("{ratio:.3}")).collect();
        _ = writeln!(
            page,
            "| `{point}` | {} | {} | {} | {} |",
            count(Outcome::Equivalent),
            count(Outcome::Inconclusive),
            wrong.len(),
            ratios.join(", ")
        );
    }
    for it in all {
        if let Outcome::Failed(why) = &it.outcome {
            _ = writeln!(page, "\n`{}` told nothing: {why}", it.point);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{Compared, Outcome, broken, by_chance, judge, next, page, parse, share};

    fn compared(point: &str, outcome: Outcome) -> Compared {
        let (date, machine) = ("2026-11-25".to_owned(), "a machine".to_owned());
        Compared { date, machine, point: point.to_owned(), outcome, took_s: 10.0 }
    }

    #[test]
    fn chance_explains_some_wrong_verdicts_and_not_many() {
        // qbinom(.99, n, .05) of R.
        assert_eq!([20, 100, 540].map(by_chance), [4, 11, 39]);
        // binom.test(2, 80) of R.
        assert_eq!(share(2, 80), " (2.5 % [0.3, 8.7])");
        let of_twenty = |wrong: usize| -> Vec<Compared> {
            let outcome =
                |index| if index < wrong { Outcome::Wrong(1.1) } else { Outcome::Equivalent };
            (0..20).map(|index| compared("memory.read", outcome(index))).collect()
        };
        assert_eq!(broken(&of_twenty(4)), None);
        let why = broken(&of_twenty(5)).unwrap();
        assert_eq!(why, "5 of 20 were told apart, chance explains 4");
        let row = "| `memory.read` | 15 | 0 | 5 | 1.100, 1.100, 1.100, 1.100, 1.100 |";
        assert!(page(&of_twenty(5)).contains(row));
    }

    #[test]
    fn a_difference_is_wrong_and_a_run_without_one_fails() {
        let told = |verdict: &str| {
            let compared = serde_json::json!({"verdict": verdict, "ratio": 1.2});
            let results = serde_json::json!([{}, {"against_first": [compared]}]);
            judge(&serde_json::json!({"results": results}))
        };
        assert_eq!(told("equivalent"), Outcome::Equivalent);
        assert_eq!(told("slower"), Outcome::Wrong(1.2));
        assert_eq!(told("inconclusive"), Outcome::Inconclusive);
        let failed = judge(&serde_json::json!({"results": [{}]}));
        assert!(broken(&[compared("a", failed)]).unwrap().contains("no comparison"));
    }

    #[test]
    fn the_point_that_came_least_is_next_until_all_came_often_enough() {
        let options = parse(&["memory.r", "memory.w", "--times", "2"].map(str::to_owned)).unwrap();
        let mut all = Vec::new();
        for (point, time) in
            [("memory.read", 0), ("memory.write", 0), ("memory.read", 1), ("memory.write", 1)]
        {
            assert_eq!(next(&options, &all), Some((point, time)));
            all.push(compared(point, Outcome::Equivalent));
        }
        assert_eq!(next(&options, &all), None);
    }
}
