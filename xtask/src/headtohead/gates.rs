//! `plumb ab --prove` of real programs and themselves: how often a gate fails although nothing changed, and how often it
//! finds the work that it planted. A call measures for some minutes; the next goes on where it ended.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::neighbour::{Neighbour, NeighbourKind};
use super::programs::{PROGRAMS, Shelf, output_of};
use super::results::Calibrated;
use super::shares::share;
use super::{FOLDER, schedule, tools};
use crate::lines;

/// The share of work that a gate plants.
const PLANTED: f64 = 0.05;

/// The limit of each of a gate's runs.
const BUDGET: &str = "20s";

/// The bar: so many false gates in so many are allowed.
const FALSE_GATES: (u64, u64) = (1, 300);

/// Exit codes of a gate that gave an answer: passed, failed, abstained or stayed inconclusive.
const ANSWERS: [i32; 3] = [0, 1, 5];

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GateLine {
    Part(GatesPart),
    Gate(NullGate),
}

/// Where and with what gates were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct GatesPart {
    date: String,
    machine: String,
    /// Version and commit.
    plumb: String,
    programs: Vec<Calibrated>,
}

/// One gate, of a program and itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct NullGate {
    number: usize,
    program: String,
    neighbour: bool,
    /// What the gate decided, in plumb's words.
    outcome: String,
    /// Why it abstained.
    doubt: Option<String>,
    /// The ratio of the planted side with the ends of its interval, if it has one.
    planted: Option<[f64; 3]>,
    /// The stated probability of finding the share.
    power: Option<f64>,
    wall_s: f64,
}

impl NullGate {
    fn is_false(&self) -> bool {
        self.outcome == "regression"
    }

    fn abstained(&self) -> bool {
        self.outcome == "abstained"
    }
}

struct GateOptions {
    minutes: f64,
    results: PathBuf,
    write: Option<String>,
    proceed: bool,
}

/// Runs the chore with what was typed after its name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    fs::create_dir_all(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
    let mut all: Vec<GateLine> = lines::read(&options.results)?;
    if !options.proceed && !all.is_empty() {
        return Err(lines::holds_results(&options.results));
    }
    if options.minutes > 0.0 {
        measure(&options, &mut all)?;
    }
    let page = page(&all, &arguments.join(" "));
    print!("{page}");
    match &options.write {
        Some(path) => {
            fs::write(path, page).map_err(|error| format!("cannot write {path}: {error}"))
        }
        None => Ok(()),
    }
}

fn parse(arguments: &[String]) -> Result<GateOptions, String> {
    let mut options = GateOptions {
        minutes: 50.0,
        results: Path::new(FOLDER).join("gates.jsonl"),
        write: None,
        proceed: false,
    };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{name} wants a value"));
        match name.as_str() {
            "--continue" => options.proceed = true,
            "--minutes" => options.minutes = super::number(value()?)?,
            "--results" => options.results = value()?.into(),
            "--write" => options.write = Some(value()?.clone()),
            _ => return Err(format!("cannot read {name}; {}", crate::usage::USAGE)),
        }
    }
    Ok(options)
}

/// Measures gates until the time is over: every program in turn, alone and next to a neighbour.
fn measure(options: &GateOptions, all: &mut Vec<GateLine>) -> Result<(), String> {
    let plumb = PathBuf::from(crate::host::build()?);
    let folder = fs::canonicalize(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
    let shelf = Shelf::set_up(folder.join("programs"))?;
    let begun = Instant::now();
    let part = part(&plumb, &shelf, all)?;
    keep(options, all, GateLine::Part(part.clone()))?;
    let mut longest = 0.0_f64;
    while begun.elapsed().as_secs_f64() + longest < options.minutes * 60.0 {
        let number = gates(all).count();
        let one = Instant::now();
        let gate = gate(&plumb, &shelf, &part, number)?;
        longest = longest.max(one.elapsed().as_secs_f64());
        eprintln!("{}", one_line(&gate));
        keep(options, all, GateLine::Gate(gate))?;
    }
    Ok(())
}

fn keep(options: &GateOptions, all: &mut Vec<GateLine>, line: GateLine) -> Result<(), String> {
    lines::append(&options.results, &line)?;
    all.push(line);
    Ok(())
}

/// What this part measures with: the same programs as earlier parts on this machine, and the same build of plumb.
fn part(plumb: &Path, shelf: &Shelf, all: &[GateLine]) -> Result<GatesPart, String> {
    let machine = crate::host::hardware();
    let version = tools::version_of_plumb(plumb)?;
    if let Some(other) = parts(all).find(|part| part.plumb != version) {
        return Err(format!(
            "the results are of {}, not of {version}; --results FILE begins others",
            other.plumb
        ));
    }
    let programs = match parts(all).find(|part| part.machine == machine) {
        Some(same) => same.programs.clone(),
        None => {
            PROGRAMS.iter().map(|program| shelf.calibrate(program)).collect::<Result<_, _>>()?
        }
    };
    Ok(GatesPart { date: crate::host::today(), machine, plumb: version, programs })
}

/// The gate with this number.
fn gate(plumb: &Path, shelf: &Shelf, part: &GatesPart, number: usize) -> Result<NullGate, String> {
    let program = &PROGRAMS[number / 2 % PROGRAMS.len()];
    let neighbour = number % 2 == 1;
    let seed = schedule::pilot_seed(GATE_SEED, number);
    let calibrated = part
        .programs
        .iter()
        .find(|calibrated| calibrated.name == program.name)
        .ok_or_else(|| format!("no rounds of {}", program.name))?;
    let command = tools::quoted(&shelf.command(program, calibrated.rounds[0])?)?;
    let _disturbing =
        neighbour.then(|| Neighbour::start(NeighbourKind::Bursty, seed.into())).transpose()?;
    let store = Path::new(FOLDER).join("gates.db");
    let begun = Instant::now();
    let mut ab = Command::new(plumb);
    ab.args(["ab", "--json", "--quiet", "--no-lock", "--budget", BUDGET]);
    ab.arg(format!("--prove={PLANTED}")).args(["--seed", &seed.to_string()]);
    ab.arg("--store").arg(&store).args([&command, &command]);
    let said = output_of(&mut ab, &ANSWERS)?;
    let wall_s = begun.elapsed().as_secs_f64();
    // Each gate is one of a new machine: earlier runs must not help it.
    fs::remove_file(&store).map_err(|error| format!("{}: {error}", store.display()))?;
    let found = gate_said(&said).ok_or_else(|| format!("plumb said something else: {said}"))?;
    Ok(NullGate { number, program: program.name.into(), neighbour, wall_s, ..found })
}

/// The seed of the gates' coins.
const GATE_SEED: u64 = 2;

/// What `plumb ab --prove --json` says; number, program, neighbour and time are those of the caller.
fn gate_said(said: &str) -> Option<NullGate> {
    let document: Value = serde_json::from_str(said).ok()?;
    let proof = &document["proof"];
    let slower = &proof["slower"];
    let planted =
        ["ratio", "low", "high"].map(|end| slower[end].as_f64()).into_iter().collect::<Option<_>>();
    Some(NullGate {
        number: 0,
        program: String::new(),
        neighbour: false,
        outcome: document["outcome"].as_str()?.to_owned(),
        doubt: proof["doubt"].as_str().map(str::to_owned),
        planted: planted.and_then(|ends: Vec<f64>| ends.try_into().ok()),
        power: proof["power"]["probability"].as_f64(),
        wall_s: 0.0,
    })
}

fn one_line(gate: &NullGate) -> String {
    let company = if gate.neighbour { ", neighbour" } else { "" };
    let doubt = gate.doubt.as_deref().unwrap_or("proved");
    format!(
        "{}: {}{company}: {} in {:.1} s; {doubt}; planted {:.3?}, power {:.2?}",
        gate.number, gate.program, gate.outcome, gate.wall_s, gate.planted, gate.power
    )
}

fn gates(all: &[GateLine]) -> impl Iterator<Item = &NullGate> {
    all.iter().filter_map(|line| match line {
        GateLine::Gate(gate) => Some(gate),
        GateLine::Part(_) => None,
    })
}

fn parts(all: &[GateLine]) -> impl Iterator<Item = &GatesPart> {
    all.iter().filter_map(|line| match line {
        GateLine::Part(part) => Some(part),
        GateLine::Gate(_) => None,
    })
}

/// The page of what was measured, in Markdown.
fn page(all: &[GateLine], typed: &str) -> String {
    let Some(part) = parts(all).last() else { return "# Gates\n\nNothing was measured.\n".into() };
    let measured: Vec<&NullGate> = gates(all).collect();
    let false_gates = measured.iter().filter(|gate| gate.is_false()).count() as u64;
    let hours: f64 = measured.iter().map(|gate| gate.wall_s).sum::<f64>() / 3600.0;
    let (allowed, of) = FALSE_GATES;
    let verdict = if measured.len() < of as usize {
        format!("There are fewer than {of} gates so far, so the bar is not decided.")
    } else if false_gates * of <= allowed * measured.len() as u64 {
        "The bar was met.".to_owned()
    } else {
        "**The bar was missed.**".to_owned()
    };
    let mut page = format!(
        "# Gates that prove themselves\n\n\
         Written by `cargo xtask gates {typed}` on {}; do not edit. {} gates, {hours:.1} h, {}, {}.\n\n\
         Each gate is `plumb ab --prove={} --budget {BUDGET} A A`: one program twice, plus two control sides, one with \
         {} % more work. A gate that exits with 1 is false. Bar: at most {allowed} false gate in {of}. Gates that do not find \
         the planted work abstain (exit code 5) and say why. {verdict}\n\n\
         | program | neighbour | false gates | planted work found | stated power | time each |\n\
         |---|---|---|---|---|---|\n",
        part.date,
        measured.len(),
        part.machine,
        part.plumb,
        percent(PLANTED),
        100.0 * PLANTED,
    );
    for program in &PROGRAMS {
        for neighbour in [false, true] {
            let of_row: Vec<&NullGate> = measured
                .iter()
                .copied()
                .filter(|gate| gate.program == program.name && gate.neighbour == neighbour)
                .collect();
            let where_run = if neighbour { "bursty" } else { "none" };
            row(&mut page, program.name, where_run, &of_row);
        }
    }
    row(&mut page, "all", "", &measured);
    reasons(&mut page, &measured);
    page
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

fn row(page: &mut String, program: &str, neighbour: &str, gates: &[&NullGate]) {
    if gates.is_empty() {
        return;
    }
    let trials = gates.len() as u64;
    let false_gates = gates.iter().filter(|gate| gate.is_false()).count() as u64;
    let abstained = gates.iter().filter(|gate| gate.abstained()).count() as u64;
    // An interval only for all of them together.
    let shown = |hits| {
        if neighbour.is_empty() { share(hits, trials) } else { format!("{hits}/{trials}") }
    };
    let powers: Vec<f64> = gates.iter().filter_map(|gate| gate.power).collect();
    let power = powers.iter().sum::<f64>() / powers.len().max(1) as f64;
    let wall_s = gates.iter().map(|gate| gate.wall_s).sum::<f64>() / trials as f64;
    _ = writeln!(
        page,
        "| {program} | {neighbour} | {} | {} | {power:.2} | {wall_s:.1} s |",
        shown(false_gates),
        shown(trials - abstained),
    );
}

/// Why gates abstained, the most frequent reason first.
fn reasons(page: &mut String, gates: &[&NullGate]) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for doubt in gates.iter().filter_map(|gate| gate.doubt.as_deref()) {
        *counts.entry(doubt).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    if counts.is_empty() {
        return;
    }
    _ = writeln!(page, "\nReasons to abstain:\n");
    for (doubt, count) in counts {
        _ = writeln!(page, "- {count}: {doubt}");
    }
}

#[cfg(test)]
mod tests {
    use super::{GateLine, GatesPart, NullGate, gate_said, page};

    fn gate(number: usize, outcome: &str) -> GateLine {
        let doubt = (outcome == "abstained").then(|| "the extra work was not found".to_owned());
        GateLine::Gate(NullGate {
            number,
            program: "gzip".into(),
            neighbour: number % 2 == 1,
            outcome: outcome.into(),
            doubt,
            planted: Some([1.05, 1.02, 1.08]),
            power: Some(0.9),
            wall_s: 36.0,
        })
    }

    fn part() -> GateLine {
        GateLine::Part(GatesPart {
            date: "2026-01-01".into(),
            machine: "one".into(),
            plumb: "plumb 0".into(),
            programs: Vec::new(),
        })
    }

    #[test]
    fn the_page_counts_false_gates_and_abstentions() {
        let mut all = vec![part(), gate(0, "regression"), gate(1, "abstained")];
        let text = page(&all, "");
        assert!(text.contains("| gzip | none | 1/1 | 1/1 |"), "{text}");
        assert!(text.contains("| gzip | bursty | 0/1 | 0/1 |"), "{text}");
        assert!(text.contains("| all |  | 1 of 2: 50 % [1, 99] | 1 of 2:"), "{text}");
        assert!(text.contains("not decided"), "{text}");
        assert!(text.contains("- 1: the extra work was not found"), "{text}");
        all.extend((2..301).map(|number| gate(number, "no regression")));
        assert!(page(&all, "").contains("The bar was met."));
        all.push(gate(301, "regression"));
        assert!(page(&all, "").contains("**The bar was missed.**"));
    }

    #[test]
    fn what_plumb_says_is_understood() {
        let said = r#"{"outcome": "no regression", "proof": {"doubt": null, "power": {"probability": 0.97},
            "slower": {"ratio": 1.04, "low": 1.01, "high": 1.07}}}"#;
        let found = gate_said(said).unwrap();
        assert_eq!(found.planted, Some([1.04, 1.01, 1.07]));
        assert_eq!((found.power, found.doubt.as_deref()), (Some(0.97), None));
        assert!(!found.is_false() && !found.abstained());
        assert!(gate_said("{}").is_none());
    }
}
