//! Spoils the method on purpose and shows that the bars notice: each mutation is made in a copy of `plumb-stats`, on
//! which the bars of `plumb-simulate` are measured, and at least one must be missed.
//!
//! A copy, not a switch in the code: what is shipped holds no way to make it wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources that are spoiled.
const SOURCE: &str = "crates/base/stats/src";
/// The sources of the bars that should notice.
const BARS: &str = "crates/base/simulate/src";
/// The folder that both are copied to: the bars as its crate, with the spoiled crate in `stats/`.
const COPY: &str = "target/mutations";

/// Replications a cell.
const REPLICATIONS: u64 = 1000;

/// One part of the method, taken away.
struct Mutation {
    /// The missing thing.
    dropped: &'static str,
    /// The file below [`SOURCE`], a passage that occurs once in it, and what takes its place.
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// The group of bars that should notice.
    group: &'static str,
}

const MUTATIONS: [Mutation; 19] = [
    Mutation {
        dropped: "Student's t: normal quantiles for the noise between six pairs of runs",
        file: "stored_runs.rs",
        from: "two_sided_t(level, noise.df)",
        to: "two_sided_z(level)",
        group: "runs",
    },
    Mutation {
        dropped: "distance in time: earlier runs count however far they are apart",
        file: "stored_runs.rs",
        from: "lags_s.contains(&(other_s - one_s).abs())",
        to: "*lags_s.end() > 0.0",
        group: "runs",
    },
    Mutation {
        dropped: "long-run variance: samples of one process taken for independent",
        file: "long_run.rs",
        from: "let variance = size as f64 * variance_of(means) * (1.0 + left) / (1.0 - left);",
        to: "let variance = 0.0 * left + variance_of(series);",
        group: "fixed",
    },
    Mutation {
        dropped: "process clustering: samples of all processes taken for independent",
        file: "precision/clustered.rs",
        from: "self.sum.abs() > self.floor && self.sum * self.sum > self.t_squared * self.variance()",
        to: "self.sum.abs() > self.floor",
        group: "stopping",
    },
    Mutation {
        dropped: "slow noise: the session's interval shown as that of the machine",
        file: "flicker.rs",
        from: "t * t * slow * COMES_AND_GOES",
        to: "0.0 * t * t * slow * COMES_AND_GOES",
        group: "traces",
    },
    Mutation {
        dropped: "pairing: a process compared with one of another round",
        file: "pairs.rs",
        from: "let other = costs_in(later, unit);",
        to: "let other = costs_in(later, (17 * unit + 5) % first.len() as u32);",
        group: "verdicts",
    },
    Mutation {
        dropped: "coin: A always before B",
        file: "turn_order.rs",
        from: "if rng.coin() { [0, 1] } else { [1, 0] }",
        to: "if rng.coin() { [0, 1] } else { [0, 1] }",
        group: "verdicts",
    },
    Mutation {
        dropped: "split of the level over looks: 95 % at each of them",
        file: "verdict.rs",
        from: "(Confidence::NinetyFive, Self::Forty) => 0.015",
        to: "(Confidence::NinetyFive, Self::Forty) => 0.05",
        group: "verdicts",
    },
    Mutation {
        dropped: "moderated variance: each series by its own few runs",
        file: "regression_gate.rs",
        from: "let total = self.df + df;",
        to: "if df > 0.0 { return (variance, df); } let total = self.df + df;",
        group: "checks",
    },
    Mutation {
        dropped: "moderated variance: one variance for all series",
        file: "regression_gate.rs",
        from: "if self.df.is_infinite() {",
        to: "if self.df > 0.0 {",
        group: "checks",
    },
    Mutation {
        dropped: "Holm over all series: over the flagged alone",
        file: "regression_gate.rs",
        from: "holm(&p_values, alpha)",
        to: "holm(&p_values, alpha * self.series.len() as f64 / flagged.len() as f64)",
        group: "checks",
    },
    Mutation {
        dropped: "noise between times that nobody knows: a short baseline decides",
        file: "regression_gate.rs",
        from: "let is_hasty = self.span_s < HASTE_S;",
        to: "let is_hasty = false;",
        group: "baselines",
    },
    Mutation {
        dropped: "noise between times that earlier runs show: the baseline's alone",
        file: "regression_gate.rs",
        from: "if by_times.p > by_runs.p { by_times } else { by_runs }",
        to: "by_runs",
        group: "baselines",
    },
    Mutation {
        dropped: "causes that are not ruled out: only those that are shown count",
        file: "code_or_environment.rs",
        from: "effect.high < MOST * regression",
        to: "effect.low < MOST * regression",
        group: "causes",
    },
    Mutation {
        dropped: "six builds or sessions before a verdict: two are enough",
        file: "sessions.rs",
        from: "pub const FEWEST_SESSIONS: usize = 6;",
        to: "pub const FEWEST_SESSIONS: usize = 2;",
        group: "builds",
    },
    Mutation {
        dropped: "largest of all differences: each pair of items by its own critical value",
        file: "ranks.rs",
        from: "largest = largest.max((one.mean - other.mean).powi(2) / squared_error);",
        to: "largest = (one.mean - other.mean).powi(2) / squared_error;",
        group: "ranks",
    },
    Mutation {
        dropped: "price of a bend: the model with the least squares",
        file: "curves/knee.rs",
        from: "self.squares + BEND + SLOPE * self.slopes as f64",
        to: "self.squares",
        group: "curves",
    },
    Mutation {
        dropped: "scatter around the line: the points' intervals alone, half as wide",
        file: "curves/least_squares.rs",
        from: "two_sided_z(CONFIDENCE).max(two_sided_t(CONFIDENCE, df) * (squares / df).sqrt())",
        to: "two_sided_z(CONFIDENCE) / 2.0 + 0.0 * two_sided_t(CONFIDENCE, df) * squares",
        group: "curves",
    },
    Mutation {
        dropped: "dependence in the best quarter: neighbours taken for independent",
        file: "precision/best_quarter.rs",
        from: "if correlation <= CHANCE / count.sqrt() {",
        to: "if correlation <= CHANCE / count.sqrt() || true {",
        group: "best-quarter",
    },
];

/// The program that measures a group of bars of the copy and prints the missed ones.
const PROGRAM: &str = r#"
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let replications = arguments[2].parse().unwrap();
    for (_, measure) in plumb_simulate::groups::GROUPS.iter().filter(|(name, _)| *name == arguments[1]) {
        measure(replications, &mut |row| {
            if !row.passes() {
                println!("{}: {} {:.3}", row.promise, row.setting, row.measured.value());
            }
        });
    }
}
"#;

/// The manifest of the spoiled crate, which needs no other.
const SPOILED_MANIFEST: &str = "\
[package]
name = \"plumb-stats\"
version = \"0.0.0\"
edition = \"2024\"
";

/// The manifest of the bars and of the program that measures them.
const MANIFEST: &str = "\
[package]
name = \"plumb-simulate\"
version = \"0.0.0\"
edition = \"2024\"

[dependencies]
plumb-stats = { path = \"stats\" }
miniz_oxide = { version = \"0.8\", default-features = false, features = [\"with-alloc\"] }

[workspace]
";

/// Measures every mutation: the table as Markdown, and how many went unnoticed.
pub fn run() -> Result<(String, usize), String> {
    let mut table = format!(
        "\n## Methods broken on purpose\n\n\
         Each row removes one part of the method from a copy of the crate, which must then miss a bar; \
         {REPLICATIONS} replications per cell.\n\n\
         | dropped | bars missed | the first of them | |\n|---|---|---|---|\n"
    );
    let mut unnoticed = 0;
    for mutation in &MUTATIONS {
        let missed = measure(mutation)?;
        let verdict = if missed.is_empty() { "**unnoticed**" } else { "noticed" };
        unnoticed += usize::from(missed.is_empty());
        let first = missed.first().map_or("", String::as_str);
        let row = format!("| {} | {} | {first} | {verdict} |\n", mutation.dropped, missed.len());
        print!("{row}");
        table += &row;
    }
    Ok((table, unnoticed))
}

/// The bars that the mutation misses.
fn measure(mutation: &Mutation) -> Result<Vec<String>, String> {
    let copy = Path::new(COPY);
    prepare(copy, mutation).map_err(|error| format!("cannot write {COPY}: {error}"))?;
    spoil(&copy.join("stats/src").join(mutation.file), mutation)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--release", "--offline", "--", mutation.group])
        .arg(REPLICATIONS.to_string())
        .current_dir(copy)
        // Within the copy, so that broken crates never replace artifacts of the real ones.
        .env("CARGO_TARGET_DIR", "target")
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("without {}: {why}", mutation.dropped));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// Fresh copies of both crates with the program; what was built of them before stays in place.
fn prepare(copy: &Path, mutation: &Mutation) -> std::io::Result<()> {
    let bars = copy.join("src");
    let spoiled = copy.join("stats/src");
    for (source, target) in [(BARS, &bars), (SOURCE, &spoiled)] {
        // Always a fresh copy: the mutation before this one must not remain in it.
        if target.exists() {
            fs::remove_dir_all(target)?;
        }
        copy_folder(Path::new(source), target)?;
    }
    fs::write(copy.join("stats/Cargo.toml"), SPOILED_MANIFEST)?;
    fs::write(copy.join("Cargo.toml"), MANIFEST)?;
    fs::write(bars.join("main.rs"), format!("//! Without {}.\n{PROGRAM}", mutation.dropped))
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target: PathBuf = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn spoil(file: &Path, mutation: &Mutation) -> Result<(), String> {
    let code = fs::read_to_string(file).map_err(|error| named(file, &error))?;
    fs::write(file, spoilt(&code, mutation)?).map_err(|error| named(file, &error))
}

fn named(file: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", file.display())
}

/// The code with the passage exchanged, which must occur once.
fn spoilt(code: &str, mutation: &Mutation) -> Result<String, String> {
    match code.matches(mutation.from).count() {
        1 => Ok(code.replace(mutation.from, mutation.to)),
        count => Err(format!(
            "`{}` occurs {count} times in {}; mend the mutation in xtask",
            mutation.from, mutation.file
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{MUTATIONS, SOURCE, spoilt};

    #[test]
    fn every_passage_occurs_once() {
        let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(SOURCE);
        for mutation in &MUTATIONS {
            let code = std::fs::read_to_string(sources.join(mutation.file)).unwrap();
            assert_ne!(spoilt(&code, mutation).unwrap(), code);
        }
    }
}
