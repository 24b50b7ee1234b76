//! The tools, each as its users drive it, and what they say.
//!
//! Each gets the same time; plumb goes first and may stop before it is over, because it knows when it knows.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use plumb_stats::{describe, distribution};
use serde_json::Value;

use super::programs::{output, output_of};
use super::results::{Hyperfine, PeerVerdict, Pilot, Plumb, ToolVerdict};

/// The time of every tool for a comparison, in seconds.
pub const TIME_S: f64 = 20.0;

/// hyperfine's time apart from runs, in seconds.
const HYPERFINE_OVERHEAD: f64 = 0.02;

/// The share of its time that criterion warms up by default: 3 s of 8 s.
const WARM_UP_SHARE: f64 = 3.0 / 8.0;

/// The smallest number of samples that criterion takes.
const FEWEST_SAMPLES: f64 = 10.0;

/// The number of samples that criterion takes by default.
const DEFAULT_SAMPLES: f64 = 100.0;

/// The most pairs of a pilot. `ab` ends one look earlier, at 27 pairs, because the last look could change nothing.
const PILOT_PAIRS: &str = "40";

/// No pilot should end early because its sides are alike, so its margin is far below what 40 pairs resolve.
const PILOT_MARGIN: &str = "0.01%";

/// The time of tango apart from samples, in seconds.
const TANGO_OVERHEAD: f64 = 0.2;

/// A tool that plumb is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    Hyperfine,
    Criterion,
    Tango,
}

impl Other {
    /// All of them, in the order of declaration.
    pub const ALL: [Self; 3] = [Self::Hyperfine, Self::Criterion, Self::Tango];
}

/// The two commands in the order in which they are presented.
pub struct CommandPair {
    pub first: Vec<String>,
    pub second: Vec<String>,
    /// B is the first.
    pub swapped: bool,
}

impl CommandPair {
    /// A verdict on the second as one on B.
    fn of_b(&self, verdict: ToolVerdict) -> ToolVerdict {
        if self.swapped { verdict.mirrored() } else { verdict }
    }

    /// The second's time over the first's as B's over A's.
    fn b_over_a(&self, ratio: f64) -> f64 {
        if self.swapped { ratio.recip() } else { ratio }
    }

    /// The interval of such a ratio.
    fn ends_of_b(&self, [low, high]: [f64; 2]) -> [f64; 2] {
        if self.swapped { [high.recip(), low.recip()] } else { [low, high] }
    }

    fn quoted(&self) -> Result<[String; 2], String> {
        Ok([quoted(&self.first)?, quoted(&self.second)?])
    }
}

/// The words as a shell would read them.
pub fn quoted(words: &[String]) -> Result<String, String> {
    shlex::try_join(words.iter().map(String::as_str)).map_err(|error| error.to_string())
}

/// What the others get.
pub struct Budget {
    pub wall_s: f64,
    /// Time of a run of either side, in seconds.
    pub runs_s: [f64; 2],
}

/// Where the tools are and where they work.
pub struct ComparedTools {
    plumb: PathBuf,
    criterion: PathBuf,
    /// The first side and the second.
    tango: [PathBuf; 2],
    folder: PathBuf,
}

impl ComparedTools {
    /// Builds the benches of criterion and tango and makes the folder of work.
    ///
    /// # Errors
    /// When something can't be built.
    pub fn set_up(folder: PathBuf, plumb: PathBuf) -> Result<Self, String> {
        let [criterion] = build(&folder.join("criterion"), &CRITERION, ["command"])?;
        let tango = build(&folder.join("tango"), &TANGO, ["first", "second"])?;
        Ok(Self { plumb, criterion, tango, folder: folder.join("work") })
    }

    /// An empty folder of work; nothing that a tool keeps reaches the next comparison.
    ///
    /// # Errors
    /// When it can't be emptied.
    pub fn clean(&self) -> Result<(), String> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|error| error.to_string())?;
        }
        fs::create_dir_all(&self.folder).map_err(|error| error.to_string())
    }

    /// `plumb ab` at its defaults but for its time.
    ///
    /// # Errors
    /// When it fails or says nothing.
    pub fn plumb(&self, sides: &CommandPair, seed: u32) -> Result<(Plumb, Budget), String> {
        let (said, wall_s) = self.ab(sides, seed, &["--budget", &format!("{TIME_S}s")])?;
        let plumb = Plumb {
            verdict: sides.of_b(said.verdict),
            ratio: sides.b_over_a(said.ratio),
            ends: said.ends.map(|ends| sides.ends_of_b(ends)),
            pairs: said.pairs,
            pair_sd: said.pair_sd,
            wall_s,
        };
        Ok((plumb, Budget { wall_s: TIME_S, runs_s: said.runs_s }))
    }

    /// `plumb ab` of a command and itself, for its pairs alone: their verdict counts nowhere.
    ///
    /// # Errors
    /// When it fails or says nothing.
    pub fn pilot(
        &self,
        words: &[String],
        program: &str,
        neighbour: bool,
        seed: u32,
    ) -> Result<Pilot, String> {
        let sides = CommandPair { first: words.to_vec(), second: words.to_vec(), swapped: false };
        let limits = ["--max-pairs", PILOT_PAIRS, "--margin", PILOT_MARGIN];
        let (said, wall_s) = self.ab(&sides, seed, &limits)?;
        Ok(Pilot {
            program: program.to_owned(),
            neighbour,
            pairs: said.pairs,
            pair_sd: said.pair_sd,
            wall_s,
        })
    }

    /// What `plumb ab` says within some limits, and the time that it took, in seconds.
    fn ab(
        &self,
        sides: &CommandPair,
        seed: u32,
        limits: &[&str],
    ) -> Result<(PlumbSaid, f64), String> {
        let begun = Instant::now();
        let mut command = self.command(&self.plumb);
        command.args(["ab", "--json", "--quiet", "--no-lock", "--store", "store.db"]);
        command.args(["--seed", &seed.to_string()]).args(limits);
        let said = output(command.args(sides.quoted()?))?;
        let wall_s = begun.elapsed().as_secs_f64();
        let said = plumb_said(&said).ok_or_else(|| format!("plumb said something else: {said}"))?;
        Ok((said, wall_s))
    }

    /// hyperfine without a shell, with as many runs as the budget allows.
    ///
    /// # Errors
    /// When it fails or says nothing.
    pub fn hyperfine(&self, sides: &CommandPair, budget: &Budget) -> Result<Hyperfine, String> {
        let runs = hyperfine_runs(budget);
        let begun = Instant::now();
        let mut command = self.command(Path::new("hyperfine"));
        let shown = ["-N", "--style", "none", "--export-json", "hyperfine.json", "--runs"];
        output(command.args(shown).arg(runs.to_string()).args(sides.quoted()?))?;
        let wall_s = begun.elapsed().as_secs_f64();
        let said = self.read("hyperfine.json")?;
        let [first, second] = hyperfine_times(&said)
            .ok_or_else(|| format!("hyperfine exported something else: {said}"))?;
        let unknown = "hyperfine exported times without a mean";
        Ok(Hyperfine {
            summary: sides.of_b(by_summary(&first, &second).ok_or(unknown)?),
            welch: sides.of_b(by_welch(&first, &second).ok_or(unknown)?),
            ratio: sides.b_over_a(ratio_of_means(&first, &second).ok_or(unknown)?),
            runs,
            wall_s,
        })
    }

    /// criterion: the first side as baseline, the second compared with it.
    ///
    /// # Errors
    /// When it fails or says nothing.
    pub fn criterion(&self, sides: &CommandPair, budget: &Budget) -> Result<PeerVerdict, String> {
        let begun = Instant::now();
        let [first, second] = [0, 1].map(|side| criterion_plan(budget, side));
        self.criterion_once(&sides.first, &first, "--save-baseline")?;
        let said = self.criterion_once(&sides.second, &second, "--baseline")?;
        let wall_s = begun.elapsed().as_secs_f64();
        let change = self.read("command/change/estimates.json")?;
        let verdict = criterion_said(&said)
            .ok_or_else(|| format!("criterion said something else: {said}"))?;
        let [low, ratio, high] = criterion_ratio(&change)
            .ok_or_else(|| format!("criterion kept something else: {change}"))?;
        Ok(PeerVerdict {
            verdict: sides.of_b(verdict),
            ratio: sides.b_over_a(ratio),
            ends: Some(sides.ends_of_b([low, high])),
            runs: first.runs + second.runs,
            wall_s,
        })
    }

    fn criterion_once(
        &self,
        words: &[String],
        plan: &CriterionPlan,
        baseline: &str,
    ) -> Result<String, String> {
        let mut command = self.command(&self.criterion);
        command.args(["--bench", "--noplot", baseline, "a"]);
        command.env("CRITERION_HOME", &self.folder);
        command.env("HEADTOHEAD_COMMAND", words.join("\n"));
        command.env("HEADTOHEAD_WARM_UP", plan.warm_up_s.to_string());
        command.env("HEADTOHEAD_MEASUREMENT", plan.measurement_s.to_string());
        output(command.env("HEADTOHEAD_SAMPLES", plan.samples.to_string()))
    }

    /// tango: the second side compared with the first, both at once.
    ///
    /// # Errors
    /// When it fails or says nothing.
    pub fn tango(&self, sides: &CommandPair, budget: &Budget) -> Result<PeerVerdict, String> {
        let begun = Instant::now();
        let [first, second] = &self.tango;
        let mut command = self.command(second);
        let seconds = format!("{:.2}", tango_time(budget));
        command.args(["--color", "never", "compare"]).arg(first).args(["-v", "-t", &seconds]);
        command.env("HEADTOHEAD_FIRST", sides.first.join("\n"));
        command.env("HEADTOHEAD_SECOND", sides.second.join("\n"));
        // It ends with 1 if the second side is slower.
        let said = output_of(&mut command, &[0, 1])?;
        let wall_s = begun.elapsed().as_secs_f64();
        let (verdict, ratio, runs) =
            tango_said(&said).ok_or_else(|| format!("tango said something else: {said}"))?;
        Ok(PeerVerdict {
            verdict: sides.of_b(verdict),
            ratio: sides.b_over_a(ratio),
            ends: None,
            runs,
            wall_s,
        })
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder);
        command
    }

    fn read(&self, name: &str) -> Result<String, String> {
        fs::read_to_string(self.folder.join(name)).map_err(|error| format!("{name}: {error}"))
    }
}

/// Version and commit of the binary that is measured.
///
/// # Errors
/// When it can't be asked.
pub fn version_of_plumb(plumb: &Path) -> Result<String, String> {
    let version = output(Command::new(plumb).arg("--version"))?;
    let commit = output(Command::new("git").args(["rev-parse", "--short=9", "HEAD"]));
    Ok(format!("{} ({})", version.trim(), commit.as_deref().unwrap_or("no commit").trim()))
}

/// hyperfine with its version.
///
/// # Errors
/// When it can't be asked.
pub fn version_of_hyperfine() -> Result<String, String> {
    match output(Command::new("hyperfine").arg("--version")) {
        Ok(version) => Ok(version.trim().to_owned()),
        Err(why) => Err(format!("{why}; try: bash scripts/install-test-needs")),
    }
}

/// A crate with the version that a manifest asks for.
fn version_in(manifest: &str, name: &str) -> String {
    let version = manifest
        .split_once(&format!("{name} = \"="))
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or("unknown");
    format!("{name} {version}")
}

/// criterion, as the crate asks for it.
pub fn version_of_criterion() -> String {
    version_in(include_str!("assets/criterion.toml"), "criterion")
}

/// tango, as the crate asks for it.
pub fn version_of_tango() -> String {
    version_in(include_str!("assets/tango.toml"), "tango-bench")
}

/// Files of a crate.
type CrateFiles = [(&'static str, &'static str)];

/// The crate that times a command by criterion.
const CRITERION: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("assets/criterion.toml")),
    ("src/lib.rs", "//! Only its bench counts.\n"),
    ("benches/command.rs", include_str!("assets/criterion.rs")),
];

/// The crate that times two commands at once by tango: a side a program.
const TANGO: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("assets/tango.toml")),
    ("src/lib.rs", "//! Only its benches count.\n"),
    ("side.rs", include_str!("assets/tango.rs")),
    ("benches/first.rs", "const SIDE: &str = \"HEADTOHEAD_FIRST\";\ninclude!(\"../side.rs\");\n"),
    ("benches/second.rs", "const SIDE: &str = \"HEADTOHEAD_SECOND\";\ninclude!(\"../side.rs\");\n"),
];

/// Writes and builds a crate; gives the programs of its benches.
fn build<const N: usize>(
    folder: &Path,
    files: &CrateFiles,
    benches: [&str; N],
) -> Result<[PathBuf; N], String> {
    for (name, text) in files {
        let path = folder.join(name);
        let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
        // An unchanged file keeps its time, so that cargo does not build again.
        let same = fs::read_to_string(&path).is_ok_and(|old| old == *text);
        let written = if same { Ok(()) } else { fs::write(&path, text) };
        parent.and(written).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["bench", "--benches", "--no-run", "--message-format", "json"]);
    let told = output(command.current_dir(folder).stderr(Stdio::inherit()))?;
    let mut programs = benches.map(|_| PathBuf::new());
    for (program, bench) in programs.iter_mut().zip(benches) {
        *program = executable(&told, bench)
            .ok_or_else(|| format!("{}: cargo named no program of {bench}", folder.display()))?;
    }
    Ok(programs)
}

/// The program of a bench that cargo's messages name.
fn executable(told: &str, bench: &str) -> Option<PathBuf> {
    let messages = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_bench = messages.filter(|message| message["target"]["name"] == bench);
    of_bench.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

/// The result of `plumb ab` for the second side.
#[derive(Debug, PartialEq)]
struct PlumbSaid {
    verdict: ToolVerdict,
    ratio: f64,
    ends: Option<[f64; 2]>,
    pairs: u32,
    pair_sd: Option<f64>,
    /// Of both sides.
    runs_s: [f64; 2],
}

/// The first result in a `plumb.comparison/1`.
fn plumb_said(said: &str) -> Option<PlumbSaid> {
    let document: Value = serde_json::from_str(said).ok()?;
    let result = &document["results"][0];
    let against = &result["against_first"][0];
    // A comparison that was not settled in its time has no verdict.
    let verdict = match &against["verdict"] {
        Value::Null => ToolVerdict::Inconclusive,
        named => serde_json::from_value(named.clone()).ok()?,
    };
    let pairs = u32::try_from(against["pairs"].as_u64()?).ok()?;
    let ratio = against["ratio"].as_f64()?;
    let pair_sd = against["pair_sd"].as_f64();
    let ends = against["low"].as_f64().zip(against["high"].as_f64()).map(Into::into);
    let arms = &result["arms"];
    let runs_s = [arms[0]["estimate"].as_f64()?, arms[1]["estimate"].as_f64()?];
    Some(PlumbSaid { verdict, ratio, ends, pairs, pair_sd, runs_s })
}

/// Runs of each side; two at least, as hyperfine wants.
fn hyperfine_runs(budget: &Budget) -> usize {
    let pair: f64 = budget.runs_s.iter().sum();
    ((budget.wall_s - HYPERFINE_OVERHEAD) / pair).round().max(2.0) as usize
}

/// The times of both commands that hyperfine exported.
fn hyperfine_times(exported: &str) -> Option<[Vec<f64>; 2]> {
    let document: Value = serde_json::from_str(exported).ok()?;
    let results = &document["results"];
    Some([times_of(&results[0])?, times_of(&results[1])?])
}

fn times_of(result: &Value) -> Option<Vec<f64>> {
    result["times"].as_array()?.iter().map(Value::as_f64).collect()
}

fn ratio_of_means(first: &[f64], second: &[f64]) -> Option<f64> {
    Some(describe::mean(second)? / describe::mean(first)?)
}

/// hyperfine's summary: `1.03 ± 0.05 times faster`, slower over faster, the spread from the standard
/// deviations of single runs. A reader takes it for a difference if the spread leaves out 1.
fn by_summary(first: &[f64], second: &[f64]) -> Option<ToolVerdict> {
    let ratio = ratio_of_means(first, second)?;
    let (factor, slower) = if ratio >= 1.0 { (ratio, true) } else { (ratio.recip(), false) };
    let spread = factor * (relative_variance(first)? + relative_variance(second)?).sqrt();
    Some(found(factor - spread > 1.0, slower))
}

fn relative_variance(times: &[f64]) -> Option<f64> {
    Some(describe::variance(times)? / describe::mean(times)?.powi(2))
}

/// The squared standard error of the mean.
fn squared_error(times: &[f64]) -> Option<f64> {
    Some(describe::variance(times)? / times.len() as f64)
}

/// Welch's test at 5 %, as the script `welch_ttest.py` that ships with hyperfine.
fn by_welch(first: &[f64], second: &[f64]) -> Option<ToolVerdict> {
    let a = squared_error(first)?;
    let b = squared_error(second)?;
    // Degrees of freedom by Welch and Satterthwaite.
    let a_part = a.powi(2) / (first.len() as f64 - 1.0);
    let b_part = b.powi(2) / (second.len() as f64 - 1.0);
    let df = (a + b).powi(2) / (a_part + b_part);
    let difference = describe::mean(second)? - describe::mean(first)?;
    let beyond = difference.abs() > distribution::two_sided_t(0.95, df) * (a + b).sqrt();
    Some(found(beyond, difference > 0.0))
}

fn found(different: bool, slower: bool) -> ToolVerdict {
    match (different, slower) {
        (false, _) => ToolVerdict::Inconclusive,
        (true, true) => ToolVerdict::Slower,
        (true, false) => ToolVerdict::Faster,
    }
}

/// The options of a call of criterion.
#[derive(Debug, PartialEq)]
struct CriterionPlan {
    warm_up_s: f64,
    measurement_s: f64,
    samples: usize,
    /// Runs that this makes, warm-up included.
    runs: usize,
}

/// The options of a side of criterion.
///
/// criterion rounds up: warm-up goes on by doubling until its time is over, and every sample takes as many
/// runs as the wanted time holds at least. So both times are put between two of its steps; else a budget
/// of seconds would be overrun by half.
fn criterion_plan(budget: &Budget, side: usize) -> CriterionPlan {
    let run_s = budget.runs_s[side];
    let runs = budget.wall_s / 2.0 / run_s;
    let doublings = (runs * WARM_UP_SHARE + 1.0).log2().floor().max(1.0);
    let warm_up = doublings.exp2() - 1.0;
    let left = (runs - warm_up - analysis_s(runs) / run_s).max(FEWEST_SAMPLES);
    let each = (left / DEFAULT_SAMPLES).ceil();
    let samples = (left / each).floor().clamp(FEWEST_SAMPLES, DEFAULT_SAMPLES);
    CriterionPlan {
        warm_up_s: (warm_up - (doublings - 2.0).exp2()) * run_s,
        measurement_s: (each - 0.5) * samples * run_s,
        samples: samples as usize,
        runs: (warm_up + each * samples) as usize,
    }
}

/// About what criterion's bootstrap takes for a side of so many runs, in seconds.
fn analysis_s(runs: f64) -> f64 {
    0.05 + 0.003 * runs.min(DEFAULT_SAMPLES)
}

/// The sentence below criterion's figures; a change within its noise threshold is none.
fn criterion_said(said: &str) -> Option<ToolVerdict> {
    let sentences = [
        ("Performance has regressed.", ToolVerdict::Slower),
        ("Performance has improved.", ToolVerdict::Faster),
        ("Change within noise threshold.", ToolVerdict::Inconclusive),
        ("No change in performance detected.", ToolVerdict::Inconclusive),
    ];
    sentences.iter().find(|(sentence, _)| said.contains(sentence)).map(|(_, verdict)| *verdict)
}

/// The ratio of means in `change/estimates.json`, between the ends of its interval.
fn criterion_ratio(kept: &str) -> Option<[f64; 3]> {
    let document: Value = serde_json::from_str(kept).ok()?;
    let mean = &document["mean"];
    let interval = &mean["confidence_interval"];
    let changes = [&interval["lower_bound"], &mean["point_estimate"], &interval["upper_bound"]];
    let [low, change, high] = changes.map(Value::as_f64);
    Some([1.0 + low?, 1.0 + change?, 1.0 + high?])
}

/// The time that tango is asked to measure so that it ends in time.
fn tango_time(budget: &Budget) -> f64 {
    budget.wall_s - TANGO_OVERHEAD
}

/// The mean of the table that `-v` shows: an asterisk marks what is significant. `n` are samples of each side.
fn tango_said(said: &str) -> Option<(ToolVerdict, f64, usize)> {
    let samples: usize = said.split_once("(n: ")?.1.split(',').next()?.parse().ok()?;
    let mean = said.lines().find(|line| line.trim_start().starts_with("mean"))?.trim_end();
    let percent = mean.split_whitespace().next_back()?;
    let number = percent.trim_end_matches('*').strip_suffix('%')?.parse::<f64>().ok()?;
    Some((found(percent.ends_with('*'), number > 0.0), 1.0 + number / 100.0, 2 * samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plumb_is_understood() {
        let said = r#"{"schema": "plumb.comparison/1", "results": [{
            "arms": [{"estimate": 0.0314}, {"estimate": 0.0320}],
            "against_first": [{"ratio": 1.033, "low": 1.01, "high": 1.06, "verdict": "slower", "pairs": 27,
                "pair_sd": 0.04}]}]}"#;
        let understood = PlumbSaid {
            verdict: ToolVerdict::Slower,
            ratio: 1.033,
            ends: Some([1.01, 1.06]),
            pairs: 27,
            pair_sd: Some(0.04),
            runs_s: [0.0314, 0.0320],
        };
        assert_eq!(plumb_said(said), Some(understood));
        let none = said.replace("\"slower\"", "null");
        assert_eq!(plumb_said(&none).unwrap().verdict, ToolVerdict::Inconclusive);
        assert_eq!(plumb_said(&said.replace("slower", "odd")), None);
        assert_eq!(plumb_said(&said.replace("1.01", "null")).unwrap().ends, None);
    }

    #[test]
    fn the_export_of_hyperfine_is_understood() {
        let exported = r#"{"results": [
            {"command": "a", "mean": 0.3, "stddev": 0.1, "times": [0.2, 0.3, 0.4], "exit_codes": [0, 0, 0]},
            {"command": "b", "mean": 0.5, "stddev": 0.1, "times": [0.4, 0.5, 0.6], "exit_codes": [0, 0, 0]}]}"#;
        let times = hyperfine_times(exported).unwrap();
        assert_eq!(times, [vec![0.2, 0.3, 0.4], vec![0.4, 0.5, 0.6]]);
        assert_eq!(hyperfine_times("{}"), None);
    }

    #[test]
    fn the_summary_of_hyperfine_tells_a_difference_beyond_its_spread() {
        // Means 1 and 1.2, both with standard deviation 0.1: 1.2 ± 1.2 sqrt(.1² + (.1/1.2)²) = 1.2 ± .156.
        let a = [0.9, 1.0, 1.1];
        let b = [1.1, 1.2, 1.3];
        assert_eq!(by_summary(&a, &b), Some(ToolVerdict::Slower));
        assert_eq!(by_summary(&b, &a), Some(ToolVerdict::Faster));
        // 1.1 ± .149.
        assert_eq!(by_summary(&a, &[1.0, 1.1, 1.2]), Some(ToolVerdict::Inconclusive));
    }

    #[test]
    fn welch_tells_a_difference_beyond_the_tabled_quantile() {
        // Both variances 5/3, so 6 degrees of freedom, for which tables have 2.447; the error is .913.
        let a = [1.0, 2.0, 3.0, 4.0];
        let by = |more: f64| a.map(|time| time + more);
        assert_eq!(by_welch(&a, &by(2.23)), Some(ToolVerdict::Inconclusive));
        assert_eq!(by_welch(&a, &by(2.24)), Some(ToolVerdict::Slower));
        assert_eq!(by_welch(&by(2.24), &a), Some(ToolVerdict::Faster));
    }

    #[test]
    fn criterion_is_understood() {
        let said =
            |sentence: &str| format!("change: [+0.5% +5.6% +11%] (p = 0.06)\n  {sentence}\n");
        assert_eq!(criterion_said(&said("Performance has regressed.")), Some(ToolVerdict::Slower));
        assert_eq!(criterion_said(&said("Performance has improved.")), Some(ToolVerdict::Faster));
        for none in ["Change within noise threshold.", "No change in performance detected."] {
            assert_eq!(criterion_said(&said(none)), Some(ToolVerdict::Inconclusive));
        }
        assert_eq!(criterion_said(&said("")), None);
        let kept = r#"{"mean": {"point_estimate": 0.0625, "standard_error": 0.02, "confidence_interval":
            {"confidence_level": 0.95, "lower_bound": -0.125, "upper_bound": 0.25}},
            "median": {"point_estimate": 0.04}}"#;
        assert_eq!(criterion_ratio(kept), Some([0.875, 1.0625, 1.25]));
        assert!(version_of_criterion().starts_with("criterion 0."));
    }

    #[test]
    fn tango_is_understood() {
        let said = |mean: &str| {
            format!(
                "command  (n: 783, outliers: 0)\n      baseline  candidate  ∆\n    mean     │   4.1 ms   4.3 ms   \
                 205.6 us  {mean}\n    min      │   3.8 ms   4.0 ms   185.0 us\n"
            )
        };
        let told = |mean| tango_said(&said(mean)).unwrap();
        assert_eq!(told("+5.02%*"), (ToolVerdict::Slower, 1.0502, 1566));
        assert_eq!(told("-5.02%*").0, ToolVerdict::Faster);
        assert_eq!(told("+0.42%").0, ToolVerdict::Inconclusive);
        assert_eq!(tango_said("command"), None);
        assert!(version_of_tango().starts_with("tango-bench 0."));
        let time = tango_time(&Budget { wall_s: 20.2, runs_s: [0.03; 2] });
        assert!((19.0..20.2).contains(&time), "{time}");
    }

    #[test]
    fn the_others_get_the_same_time() {
        for wall_s in [1.5, 3.0, 7.0, 20.0] {
            let budget = Budget { wall_s, runs_s: [0.03, 0.031] };
            let runs = hyperfine_runs(&budget) as f64;
            assert!((runs * 0.061 / wall_s - 1.0).abs() < 0.04, "{wall_s} s: {runs} runs");
            let sides = [0, 1].map(|side| criterion_plan(&budget, side));
            let planned = sides[0].runs as f64 * 0.03 + sides[1].runs as f64 * 0.031;
            assert!((0.75..1.0).contains(&(planned / wall_s)), "{wall_s} s: {planned} s");
            assert!(sides[0].warm_up_s < 2.0 * sides[0].measurement_s);
        }
    }

    #[test]
    fn a_side_of_another_order_is_turned_round() {
        let sides =
            CommandPair { first: vec!["b".into()], second: vec!["a b".into()], swapped: true };
        assert_eq!(sides.of_b(ToolVerdict::Faster), ToolVerdict::Slower);
        assert_eq!(sides.of_b(ToolVerdict::Equivalent), ToolVerdict::Equivalent);
        assert_eq!(sides.b_over_a(0.8), 1.25);
        assert_eq!(sides.ends_of_b([0.8, 2.0]), [0.5, 1.25]);
        assert_eq!(sides.quoted().unwrap(), ["b", "'a b'"]);
    }

    #[test]
    fn cargo_names_the_program() {
        let told = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"headtohead_criterion"},"executable":"/lib"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"command"},"executable":"/bench"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#
        );
        assert_eq!(executable(told, "command"), Some("/bench".into()));
        assert_eq!(executable(told, "other"), None);
    }
}
