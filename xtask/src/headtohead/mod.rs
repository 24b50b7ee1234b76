//! plumb against hyperfine, criterion and tango on real programs, of which it is known how much slower B is.
//!
//! `schedule` says what is compared when, `programs` makes sides whose difference is counted, `tools`
//! drives each tool as its users do, `results` keeps every comparison, `page` counts, `bars` and `relinked` for it. A call
//! measures for some minutes; the next goes on where it ended, so that hours are gathered in parts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use self::neighbour::{Neighbour, NeighbourKind};
use self::programs::{EFFECTS, PROGRAMS, RoundsProgram, Shelf};
use self::results::{Part, Pilot, RecordLine, Results, ToolComparison};
use self::schedule::{ComparedCase, Planned};
use self::tools::{CommandPair, ComparedTools, Other};

mod bars;
pub mod gates;
pub mod neighbour;
mod page;
mod programs;
mod relinked;
mod results;
mod schedule;
mod shares;
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
    let cells = if options.quick { schedule::quick() } else { schedule::cells() };
    let begun = Instant::now();
    let mut part = head_to_head.part(options, &results.parts)?;
    part.pilots = head_to_head.pilots(&part, &cells, results.parts.len())?;
    results.append(RecordLine::Part(part.clone()))?;
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
    let build = if comparison.relinked { ", relinked" } else { "" };
    format!(
        "{}: {} {} %{build}{company}: plumb {:?} {:.3} in {:.1} s, hyperfine {:?}/{:?} {:.3} in {:.1} s, \
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
        let shelf = Shelf::set_up(folder.join("programs"))?;
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
            pilots: Vec::new(),
        };
        match first {
            Some(first) => may_join(first, &part).map(|()| part),
            None => Ok(part),
        }
    }

    /// Measures the pilots of a part: null pairs of every program of these cells, alone or next to a neighbour.
    fn pilots(
        &self,
        part: &Part,
        cells: &[ComparedCase],
        parts_before: usize,
    ) -> Result<Vec<Pilot>, String> {
        let wanted = schedule::pilots(cells);
        let first = parts_before * wanted.len();
        let mut pilots = Vec::new();
        for (index, (program, neighbour)) in wanted.into_iter().enumerate() {
            let seed = schedule::pilot_seed(part.seed, first + index);
            let program = &PROGRAMS[program];
            let words = self.shelf.command(program, part.rounds(program)?[0])?;
            self.tools.clean()?;
            let _disturbing = neighbour
                .then(|| Neighbour::start(NeighbourKind::Bursty, seed.into()))
                .transpose()?;
            let pilot = self.tools.pilot(&words, program.name, neighbour, seed)?;
            eprintln!("{}", pilot_line(&pilot));
            pilots.push(pilot);
        }
        Ok(pilots)
    }

    fn compare(
        &self,
        part: &Part,
        planned: &Planned,
        number: usize,
    ) -> Result<ToolComparison, String> {
        let ComparedCase { program, effect, neighbour, relinked } = planned.cell;
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
            relinked,
            swapped: planned.swapped,
            plumb,
            hyperfine: hyperfine.ok_or(missing)?,
            criterion: criterion.ok_or(missing)?,
            tango: tango.ok_or(missing)?,
        })
    }

    fn sides(&self, part: &Part, planned: &Planned) -> Result<CommandPair, String> {
        let program = &PROGRAMS[planned.cell.program];
        let rounds = part.rounds(program)?;
        let a = self.shelf.command(program, rounds[0])?;
        let b = match planned.cell.relinked {
            true => self.shelf.relinked(program, rounds[0], planned.link_seed)?,
            false => self.shelf.command(program, rounds[planned.cell.effect])?,
        };
        let swapped = planned.swapped;
        let (first, second) = if swapped { (b, a) } else { (a, b) };
        Ok(CommandPair { first, second, swapped })
    }
}

impl Part {
    /// The rounds of every effect of a program.
    fn rounds(&self, program: &RoundsProgram) -> Result<[u64; 4], String> {
        let found = self.programs.iter().find(|calibrated| calibrated.name == program.name);
        let calibrated = found.ok_or_else(|| format!("no rounds of {}", program.name))?;
        Ok(calibrated.rounds)
    }
}

/// A pilot on one line.
fn pilot_line(pilot: &Pilot) -> String {
    let company = if pilot.neighbour { ", neighbour" } else { "" };
    let spread =
        pilot.pair_sd.map_or_else(|| "nothing".to_owned(), |sd| format!("{:.1} %", 100.0 * sd));
    format!(
        "pilot: {}{company}: {} pairs in {:.1} s differ by {spread}",
        pilot.program, pilot.pairs, pilot.wall_s
    )
}

/// Whether the results of a new part may be counted with those of a first one; machines may differ, and are named.
///
/// # Errors
/// When they are of other versions, of another build of plumb, or older than pilots.
fn may_join(first: &Part, part: &Part) -> Result<(), String> {
    if first.pilots.is_empty() {
        return Err(
            "the results are of an older chore, without pilots; --results FILE begins others"
                .into(),
        );
    }
    let of_first = [&first.plumb, &first.hyperfine, &first.criterion, &first.tango];
    let of_part = [&part.plumb, &part.hyperfine, &part.criterion, &part.tango];
    let other = of_first.into_iter().zip(of_part).find(|(old, new)| old != new);
    match other {
        None => Ok(()),
        Some((old, new)) => {
            Err(format!("the results are of {old}, not of {new}; --results FILE begins others"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::results::tests::{part, pilot};
    use super::*;

    #[test]
    fn only_results_of_one_build_with_pilots_are_gone_on_with() {
        let first = Part { pilots: vec![pilot(0.01)], ..part() };
        assert_eq!(may_join(&first, &part()), Ok(()));
        let other = Part { plumb: "plumb 0 (another commit)".into(), ..part() };
        let error = may_join(&first, &other).unwrap_err();
        assert!(error.contains("of plumb 0, not of plumb 0 (another commit)"), "{error}");
        assert!(error.contains("--results FILE"), "{error}");
        let other = Part { tango: "tango 1".into(), ..part() };
        assert!(may_join(&first, &other).unwrap_err().contains("tango 1"));
        let error = may_join(&part(), &first).unwrap_err();
        assert!(error.contains("without pilots") && error.contains("--results FILE"), "{error}");
    }
}
