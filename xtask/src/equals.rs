//! Workloads compared with themselves by the real binary (A/A): how often a difference is told where there is none.

use std::fmt::Write;
use std::process::Command;

use plumb_stats::audit::share_interval;
use plumb_stats::distribution::binomial_cdf;
use serde_json::Value;

/// Where the outcome is written unless somebody names another file.
const PAGE: &str = "docs/equals.md";
/// Time of a comparison.
const BUDGET: &str = "20s";
/// The largest share of wrong verdicts that plumb promises.
const PROMISED: f64 = 0.05;
/// More wrong verdicts than this share of all such tests would have by chance break the promise.
const BY_CHANCE: f64 = 0.01;

/// What is compared with itself.
const POINTS: [&str; 27] = [
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
    "process.exec",
    "process.thread",
    "process.fork:threads=16",
    "memory.free",
];

struct Options {
    times: usize,
    named: Vec<String>,
    write: String,
}

/// Verdicts of a point's comparisons with itself.
#[derive(Default)]
struct Verdicts {
    equivalent: usize,
    inconclusive: usize,
    /// The ratios of those that were told apart.
    wrong: Vec<f64>,
    /// Why comparisons gave nothing.
    failed: Vec<String>,
}

impl Verdicts {
    fn given(&self) -> usize {
        self.equivalent + self.inconclusive + self.wrong.len()
    }
}

/// Runs the chore with what was typed after its name.
///
/// # Errors
/// When a comparison can't be made, or more are wrong than chance explains.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    let plumb = crate::host::build()?;
    let folder = std::env::temp_dir().join(format!("plumb-equals-{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let begun = std::time::Instant::now();
    let mut all: Vec<(&str, Verdicts)> = Vec::new();
    let asked = |point: &&str| {
        options.named.is_empty() || options.named.iter().any(|it| point.starts_with(it.as_str()))
    };
    let points: Vec<&str> = POINTS.into_iter().filter(asked).collect();
    all.extend(points.iter().map(|point| (*point, Verdicts::default())));
    // All points once, then again: a bad hour is shared.
    for time in 0..options.times {
        for (point, verdicts) in &mut all {
            compare(&plumb, &folder, point, verdicts);
            eprintln!("{} of {}: {point}: {} wrong", time + 1, options.times, verdicts.wrong.len());
        }
    }
    std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let page = page(&options, &all, begun.elapsed().as_secs());
    print!("{page}");
    std::fs::write(&options.write, &page)
        .map_err(|error| format!("cannot write {}: {error}", options.write))?;
    match broken(&all) {
        None => Ok(()),
        Some(why) => Err(why),
    }
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options { times: 20, named: Vec::new(), write: PAGE.into() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| crate::usage::USAGE.to_owned());
        match word.as_str() {
            "--times" => {
                let value = value()?;
                options.times = value.parse().map_err(|_| format!("not a number: {value}"))?;
            }
            "--write" => options.write.clone_from(value()?),
            point if !point.starts_with('-') => options.named.push(point.to_owned()),
            _ => return Err(format!("cannot read {word}; {}", crate::usage::USAGE)),
        }
    }
    Ok(options)
}

fn compare(plumb: &str, folder: &std::path::Path, point: &str, verdicts: &mut Verdicts) {
    let output = Command::new(plumb)
        .args(["ab", point, point, "--budget", BUDGET, "--json", "-q"])
        .env("PLUMB_STORE", folder.join("store.db"))
        .current_dir(folder)
        .output();
    let told = output.map_err(|error| error.to_string()).and_then(|output| {
        let said = String::from_utf8_lossy(&output.stderr);
        let document: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| said.lines().last().unwrap_or("nothing was said").to_owned())?;
        Ok(document)
    });
    match told {
        Err(why) => verdicts.failed.push(why),
        Ok(document) => judge(&document, verdicts),
    }
}

/// Counts the verdict of a document.
fn judge(document: &Value, verdicts: &mut Verdicts) {
    // The first result that is compared with the first point's: of the second one, for the primary metric.
    let results = document["results"].as_array().into_iter().flatten();
    let compared = results.filter_map(|it| it["against_first"].get(0)).next();
    let Some(compared) = compared else {
        verdicts.failed.push("the run has no comparison".to_owned());
        return;
    };
    match compared["verdict"].as_str() {
        Some("equivalent") => verdicts.equivalent += 1,
        Some("faster" | "slower") => {
            verdicts.wrong.push(compared["ratio"]["estimate"].as_f64().unwrap_or(f64::NAN));
        }
        // None where something kept pairs from being counted.
        Some(_) | None => verdicts.inconclusive += 1,
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

/// What does not hold.
fn broken(all: &[(&str, Verdicts)]) -> Option<String> {
    let given: usize = all.iter().map(|(_, it)| it.given()).sum();
    let wrong: usize = all.iter().map(|(_, it)| it.wrong.len()).sum();
    if let Some((point, it)) = all.iter().find(|(_, it)| !it.failed.is_empty()) {
        return Some(format!("{point}: {}", it.failed[0]));
    }
    let allowed = by_chance(given);
    (wrong > allowed)
        .then(|| format!("{wrong} of {given} were told apart, chance explains {allowed}"))
}

fn page(options: &Options, all: &[(&str, Verdicts)], took_s: u64) -> String {
    let given: usize = all.iter().map(|(_, it)| it.given()).sum();
    let wrong: usize = all.iter().map(|(_, it)| it.wrong.len()).sum();
    let mut page = format!(
        "# A/A: workloads compared with themselves\n\n\
         Written by `cargo xtask equals --times {}` on {} in {took_s} s on {}; do not edit.\n\n\
         Each comparison is a `plumb ab POINT POINT --budget {BUDGET}`. *Faster* or *slower* is wrong there; at most {:.0} % \
         are promised. Of {given} comparisons **{wrong}** are wrong{}; chance explains up to {}.\n\n\
         | point | equivalent | inconclusive | wrong | ratios told |\n|---|---|---|---|---|\n",
        options.times,
        crate::host::today(),
        crate::host::hardware(),
        PROMISED * 100.0,
        share(wrong, given),
        by_chance(given),
    );
    for (point, it) in all {
        let ratios: Vec<String> = it.wrong.iter().map(|ratio| format!("{ratio:.3}")).collect();
        _ = writeln!(
            page,
            "| `{point}` | {} | {} | {} | {} |",
            it.equivalent,
            it.inconclusive,
            it.wrong.len(),
            ratios.join(", ")
        );
        for why in &it.failed {
            _ = writeln!(page, "| | | | | {why} |");
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{Verdicts, broken, by_chance, judge, share};

    #[test]
    fn chance_explains_some_wrong_verdicts_and_not_many() {
        // qbinom(.99, n, .05) of R.
        assert_eq!([20, 100, 540].map(by_chance), [4, 11, 39]);
        // binom.test(2, 80) of R.
        assert_eq!(share(2, 80), " (2.5 % [0.3, 8.7])");
        let verdicts = |wrong: usize| Verdicts {
            equivalent: 20 - wrong,
            wrong: vec![1.1; wrong],
            ..Verdicts::default()
        };
        assert_eq!(broken(&[("a", verdicts(4))]), None);
        let why = broken(&[("a", verdicts(5))]).unwrap();
        assert_eq!(why, "5 of 20 were told apart, chance explains 4");
    }

    #[test]
    fn a_difference_is_wrong_and_a_run_without_one_fails() {
        let mut verdicts = Verdicts::default();
        for verdict in ["equivalent", "slower", "inconclusive"] {
            let compared = serde_json::json!({"verdict": verdict, "ratio": {"estimate": 1.2}});
            let results = serde_json::json!([{}, {"against_first": [compared]}]);
            judge(&serde_json::json!({"results": results}), &mut verdicts);
        }
        assert_eq!((verdicts.equivalent, verdicts.inconclusive), (1, 1));
        assert_eq!(verdicts.wrong, [1.2]);
        judge(&serde_json::json!({"results": [{}]}), &mut verdicts);
        assert!(broken(&[("a", verdicts)]).unwrap().contains("no comparison"));
    }
}
