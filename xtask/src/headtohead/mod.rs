//! plumb against hyperfine, criterion and tango on real programs, of which it is known how much slower B is.
//!
//! `schedule` says what is compared when, `programs` makes sides whose difference is counted, `tools`
//! drives each tool as its users do, `results` keeps every comparison, `page` counts. A call measures for
//! some minutes; the next goes on where it ended, so that hours are gathered in parts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use self::neighbour::{Neighbour, NeighbourKind};
use self::programs::{EFFECTS, PROGRAMS, Shelf};
use self::results::{Part, RecordLine, Results, ToolComparison};
use self::schedule::{ComparedCase, Planned};
use self::tools::{CommandPair, ComparedTools, Other};

pub mod neighbour;
mod page;
mod programs;
mod results;
mod schedule;
mod tools;

/// Where everything goes that is made on the way.
const FOLDER: &str = "target/head-to-head";

struct HeadToHeadOptions {
    minutes: f64,
    seed: u64,
    results: Option<PathBuf>,
    write: Option<String>,
    proceed: bool,
    quick: bool,
}

/// Runs the chore with what was typed after its name.
pub fn run(arguments: &[String]) -> Result<(), String> {
    // The neighbour is this binary, started again.
    if let [role, kind, seed] = arguments
        && role == neighbour::ROLE
    {
        neighbour::burn(NeighbourKind::of_word(kind)?, number(seed)?);
        return Ok(());
    }
    let options = parse(arguments)?;
    fs::create_dir_all(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
    let mut results = open(&options)?;
    if options.minutes > 0.0 {
        measure(&options, &mut results)?;
    }
    let page = page::page(&results, &arguments.join(" "));
    print!("{page}");
    match &options.write {
        Some(path) => {
            fs::write(path, page).map_err(|error| format!("cannot write {path}: {error}"))
        }
        None => Ok(()),
    }
}

fn parse(arguments: &[String]) -> Result<HeadToHeadOptions, String> {
    let mut options = HeadToHeadOptions {
        minutes: 50.0,
        seed: 1,
        results: None,
        write: None,
        proceed: false,
        quick: false,
    };
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{name} wants a value"));
        match name.as_str() {
            "--continue" => options.proceed = true,
            "--quick" => options.quick = true,
            "--minutes" => options.minutes = number(value()?)?,
            "--seed" => options.seed = number(value()?)?,
            "--results" => options.results = Some(value()?.into()),
            "--write" => options.write = Some(value()?.clone()),
            _ => return Err(format!("cannot read {name}; {}", crate::usage::USAGE)),
        }
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

/// The file of results; one that holds something is only gone on with on demand.
fn open(options: &HeadToHeadOptions) -> Result<Results, String> {
    let name = if options.quick { "quick.jsonl" } else { "results.jsonl" };
    let path = options.results.clone().unwrap_or_else(|| Path::new(FOLDER).join(name));
    let results = Results::open(&path)?;
    if options.proceed || results.is_empty() {
        return Ok(results);
    }
    Err(crate::lines::holds_results(&path))
}

/// Compares until the time is over, or a quick look has seen every cell.
fn measure(options: &HeadToHeadOptions, results: &mut Results) -> Result<(), String> {
    let head_to_head = HeadToHead::set_up()?;
    let part = head_to_head.part(options, &results.parts)?;
    results.append(RecordLine::Part(part.clone()))?;
    let cells = if options.quick { schedule::quick() } else { schedule::cells() };
    let begun = Instant::now();
    let mut longest = 0.0_f64;
    let seconds = options.minutes * 60.0;
    // A comparison that might not end in time is not begun; the longest one so far is the guess.
    while begun.elapsed().as_secs_f64() + longest < seconds {
        let number = results.comparisons.last().map_or(0, |comparison| comparison.number + 1);
        if options.quick && number >= cells.len() {
            break;
        }
        let one = Instant::now();
        let planned = schedule::planned(&cells, part.seed, number);
        let mut comparison = head_to_head.compare(&part, &planned, number)?;
        comparison.part = results.parts.len() - 1;
        longest = longest.max(one.elapsed().as_secs_f64());
        eprintln!("{}", one_line(&comparison));
        results.append(RecordLine::Comparison(comparison))?;
    }
    Ok(())
}

/// One comparison on one line.
fn one_line(comparison: &ToolComparison) -> String {
    let company = if comparison.neighbour { ", neighbour" } else { "" };
    format!(
        "{}: {} {} %{company}: plumb {:?} {:.3} in {:.1} s, hyperfine {:?}/{:?} {:.3} in {:.1} s, \
         criterion {:?} {:.3} in {:.1} s, tango {:?} {:.3} in {:.1} s",
        comparison.number,
        comparison.program,
        comparison.effect,
        comparison.plumb.verdict,
        comparison.plumb.ratio,
        comparison.plumb.wall_s,
        comparison.hyperfine.summary,
        comparison.hyperfine.welch,
        comparison.hyperfine.ratio,
        comparison.hyperfine.wall_s,
        comparison.criterion.verdict,
        comparison.criterion.ratio,
        comparison.criterion.wall_s,
        comparison.tango.verdict,
        comparison.tango.ratio,
        comparison.tango.wall_s,
    )
}

/// Programs and tools, built.
struct HeadToHead {
    shelf: Shelf,
    tools: ComparedTools,
    plumb: PathBuf,
}

impl HeadToHead {
    fn set_up() -> Result<Self, String> {
        let plumb = PathBuf::from(crate::host::build()?);
        let folder = fs::canonicalize(FOLDER).map_err(|error| format!("{FOLDER}: {error}"))?;
        let programs = folder.join("programs");
        fs::create_dir_all(&programs).map_err(|error| format!("{FOLDER}: {error}"))?;
        let shelf = Shelf::set_up(programs)?;
        Ok(Self { shelf, tools: ComparedTools::set_up(folder, plumb.clone())?, plumb })
    }

    /// What this part measures with: the seed of the first, and the sides of an earlier one on the same machine.
    fn part(&self, options: &HeadToHeadOptions, earlier: &[Part]) -> Result<Part, String> {
        let first = earlier.first();
        let machine = crate::host::hardware();
        // Calibrating again would find other rounds, so B would be slower by another effect than in earlier parts.
        let programs = match earlier.iter().find(|part| part.machine == machine) {
            Some(same) => same.programs.clone(),
            None => {
                let calibrated = PROGRAMS.iter().map(|program| self.shelf.calibrate(program));
                calibrated.collect::<Result<_, _>>()?
            }
        };
        let part = Part {
            seed: first.map_or(options.seed, |first| first.seed),
            date: crate::host::today(),
            machine,
            plumb: tools::version_of_plumb(&self.plumb)?,
            hyperfine: tools::version_of_hyperfine()?,
            criterion: tools::version_of_criterion(),
            tango: tools::version_of_tango(),
            programs,
        };
        match first {
            Some(first) if !is_same(first, &part) => Err(format!(
                "the results are of {}, {} and {}; --results FILE begins others",
                first.hyperfine, first.criterion, first.tango
            )),
            _ => Ok(part),
        }
    }

    fn compare(
        &self,
        part: &Part,
        planned: &Planned,
        number: usize,
    ) -> Result<ToolComparison, String> {
        let ComparedCase { program, effect, neighbour } = planned.cell;
        let sides = self.sides(part, planned)?;
        // Criterion would find the baseline of the comparison before.
        self.tools.clean()?;
        let _disturbing = neighbour
            .then(|| Neighbour::start(NeighbourKind::Bursty, planned.seed.into()))
            .transpose()?;
        // plumb goes first because the others plan with the length of a run, which it measures.
        let (plumb, budget) = self.tools.plumb(&sides, planned.seed)?;
        let mut hyperfine = None;
        let mut criterion = None;
        let mut tango = None;
        for other in planned.others {
            match other {
                Other::Hyperfine => hyperfine = Some(self.tools.hyperfine(&sides, &budget)?),
                Other::Criterion => criterion = Some(self.tools.criterion(&sides, &budget)?),
                Other::Tango => tango = Some(self.tools.tango(&sides, &budget)?),
            }
        }
        let missing = "a tool was not asked";
        Ok(ToolComparison {
            number,
            part: 0,
            program: PROGRAMS[program].name.into(),
            effect: EFFECTS[effect],
            neighbour,
            swapped: planned.swapped,
            plumb,
            hyperfine: hyperfine.ok_or(missing)?,
            criterion: criterion.ok_or(missing)?,
            tango: tango.ok_or(missing)?,
        })
    }

    fn sides(&self, part: &Part, planned: &Planned) -> Result<CommandPair, String> {
        let program = &PROGRAMS[planned.cell.program];
        let calibrated = part.programs.iter().find(|calibrated| calibrated.name == program.name);
        let rounds = calibrated.ok_or_else(|| format!("no rounds of {}", program.name))?.rounds;
        let a = self.shelf.command(program, rounds[0])?;
        let b = self.shelf.command(program, rounds[planned.cell.effect])?;
        let swapped = planned.swapped;
        let (first, second) = if swapped { (b, a) } else { (a, b) };
        Ok(CommandPair { first, second, swapped })
    }
}

/// Whether results of both parts may be counted together; machines and plumb itself are named.
fn is_same(a: &Part, b: &Part) -> bool {
    (&a.hyperfine, &a.criterion, &a.tango) == (&b.hyperfine, &b.criterion, &b.tango)
}
