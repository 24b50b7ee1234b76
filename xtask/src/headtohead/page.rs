//! Counts what every tool got right, as Markdown.

use std::fmt::Write;

use plumb_stats::describe;

use super::programs::{EFFECTS, PROGRAMS};
use super::results::{Calibrated, Part, Results, ToolComparison, ToolVerdict};
use super::shares::share;
use super::{bars, neighbour, relinked};

/// Below so many comparisons in a cell the page warns.
const FEW: usize = 30;

/// A rule by which a tool reports a difference.
struct Judge {
    name: &'static str,
    verdict: fn(&ToolComparison) -> ToolVerdict,
    wall_s: fn(&ToolComparison) -> f64,
}

const JUDGES: [Judge; 5] = [
    Judge {
        name: "plumb ab",
        verdict: |comparison| comparison.plumb.verdict,
        wall_s: |comparison| comparison.plumb.wall_s,
    },
    Judge {
        name: "hyperfine, its summary",
        verdict: |comparison| comparison.hyperfine.summary,
        wall_s: |comparison| comparison.hyperfine.wall_s,
    },
    Judge {
        name: "hyperfine, its Welch script",
        verdict: |comparison| comparison.hyperfine.welch,
        wall_s: |comparison| comparison.hyperfine.wall_s,
    },
    Judge {
        name: "criterion",
        verdict: |comparison| comparison.criterion.verdict,
        wall_s: |comparison| comparison.criterion.wall_s,
    },
    Judge {
        name: "tango",
        verdict: |comparison| comparison.tango.verdict,
        wall_s: |comparison| comparison.tango.wall_s,
    },
];

/// The whole page; `typed` is what followed the chore's name.
pub fn page(results: &Results, typed: &str) -> String {
    let parts = &results.parts;
    let (again, all): (Vec<_>, Vec<_>) =
        results.comparisons.iter().partition(|comparison| comparison.relinked);
    let mut page = head(results, typed);
    page.push_str(&how(parts));
    page.push_str(bars::EXPLAINED);
    if !all.is_empty() {
        let verdicts =
            verdicts(parts, &[CellGroup { name: String::new(), comparisons: all.clone() }]);
        _ = write!(page, "\n## All together\n\n{}\n{verdicts}", tools(&all));
    }
    let conditions = by_condition(&all);
    _ = write!(page, "\n## By condition\n\n{COUNTED}\n\n{}", counts(&conditions));
    page.push_str(&relinked::section(&again, &all));
    let programs = by_program(&all);
    _ = write!(page, "\n## By program\n\nAll conditions together.\n\n{}", counts(&programs));
    page.push_str(&bars::table(parts));
    page.push_str(&injected(parts));
    page.push_str(&seen(&all));
    page
}

/// Comparisons that are counted together.
struct CellGroup<'a> {
    name: String,
    comparisons: Vec<&'a ToolComparison>,
}

/// With and without a neighbour, long and short programs; a condition without a comparison is left out.
fn by_condition<'a>(all: &[&'a ToolComparison]) -> Vec<CellGroup<'a>> {
    let mut groups = Vec::new();
    for (company, neighbour) in [("undisturbed", false), ("neighbour", true)] {
        for (size, short) in [("30 ms", false), ("3 ms", true)] {
            let comparisons = chosen(all, |comparison| {
                comparison.neighbour == neighbour && is_short(comparison) == short
            });
            groups.push(CellGroup { name: format!("{company}, {size}"), comparisons });
        }
    }
    groups.retain(|group| !group.comparisons.is_empty());
    groups
}

/// The programs that were compared.
fn by_program<'a>(all: &[&'a ToolComparison]) -> Vec<CellGroup<'a>> {
    let mut groups: Vec<CellGroup> = PROGRAMS
        .iter()
        .map(|program| CellGroup {
            name: program.name.to_owned(),
            comparisons: chosen(all, |comparison| comparison.program == program.name),
        })
        .collect();
    groups.retain(|group| !group.comparisons.is_empty());
    groups
}

/// Whether a comparison was of a program of 3 ms.
fn is_short(comparison: &ToolComparison) -> bool {
    PROGRAMS.iter().any(|program| program.name == comparison.program && program.aim_s < 0.01)
}

fn chosen<'a>(
    all: &[&'a ToolComparison],
    is: impl Fn(&ToolComparison) -> bool,
) -> Vec<&'a ToolComparison> {
    all.iter().copied().filter(|comparison| is(comparison)).collect()
}

fn head(results: &Results, typed: &str) -> String {
    let Results { parts, comparisons, .. } = results;
    let seconds: f64 = comparisons
        .iter()
        .map(|comparison| {
            comparison.plumb.wall_s
                + comparison.hyperfine.wall_s
                + comparison.criterion.wall_s
                + comparison.tango.wall_s
        })
        .sum();
    let mut page = format!(
        "# Head to head: real programs with known differences\n\n\
         Written by `cargo xtask headtohead {typed}` on {}; do not edit. {} comparisons by every tool in {} calls, \
         {:.0} min.{}\n\n",
        crate::host::today(),
        comparisons.len(),
        parts.len(),
        seconds / 60.0,
        warning(comparisons),
    );
    if let Some(first) = parts.first() {
        _ = writeln!(
            page,
            "{}; {}, {}, {}; {}; seed {}.\n",
            unlike(parts, |part| &part.machine),
            first.hyperfine,
            first.criterion,
            first.tango,
            unlike(parts, |part| &part.plumb),
            first.seed
        );
    }
    page
}

/// What the parts say, each text once.
fn unlike(parts: &[Part], of: impl Fn(&Part) -> &String) -> String {
    let mut texts: Vec<&str> = parts.iter().map(|part| of(part).as_str()).collect();
    texts.dedup();
    texts.join(", ")
}

fn warning(comparisons: &[ToolComparison]) -> String {
    let mut cells = Vec::new();
    for effect in EFFECTS {
        for neighbour in [false, true] {
            let cell = comparisons.iter().filter(|comparison| {
                comparison.effect == effect
                    && comparison.neighbour == neighbour
                    && !comparison.relinked
            });
            cells.push(cell.count());
        }
    }
    match cells.into_iter().min() {
        Some(fewest) if fewest < FEW => format!(
            " **The smallest cell has {fewest} comparisons: too few to distinguish tools, as the intervals \
            show.**"
        ),
        _ => String::new(),
    }
}

const HOW: &str = "\
Each tool compares A with itself, and A with B, the same program with 1, 2 or 5 % more work (counted in \
rounds), in the same condition, for 20 s, in random order.\n\n\
| tool | reports a difference if |\n|---|---|\n\
| plumb ab (`--budget 20s`), which goes first | its verdict is faster or slower |\n\
| hyperfine (`-N`), its summary | its `±` excludes 1 |\n\
| hyperfine, its script `welch_ttest.py` | Welch's test is significant at 5 % |\n\
| criterion, up to 100 samples after a warm-up of 3/8 of the time | it prints *regressed* or *improved* (over 1 %) |\n\
| tango (`compare -t`), both sides TANGO | the mean difference is over 2.6 standard errors and NOISE |\n\n\
*Wrong*: share of A/A comparisons with a difference. *Found*: share in which B was called slower. Brackets are 95 % \
intervals (Clopper and Pearson). *Pairs differ by*: the noise that plumb measured, median and middle half.\n";

/// How every tool is used, by the version that was.
fn how(parts: &[Part]) -> String {
    // Until 0.7 one process ran both sides; since 0.9 two processes run in lockstep.
    let is_old = parts.first().is_some_and(|part| part.tango.starts_with("tango-bench 0.7"));
    let (runs, noise) = match is_old {
        true => ("in turns", "half a percent"),
        false => ("at once, in lockstep", "one percent"),
    };
    HOW.replace("TANGO", runs).replace("NOISE", noise)
}

/// The table of all rules.
fn tools(chosen: &[&ToolComparison]) -> String {
    let mut table = String::from(
        "| | A/A: wrong | 1 %: found | 2 %: found | 5 %: found | B called faster | time each |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let noise = EFFECTS.map(|effect| noise(chosen, effect));
    _ = writeln!(table, "| *pairs differ by* | {} | | |", noise.join(" | "));
    for judge in &JUDGES {
        let shares = EFFECTS.map(|effect| {
            let (hits, trials) = hits(judge, chosen, effect);
            share(hits, trials)
        });
        let times: Vec<f64> = chosen.iter().map(|comparison| (judge.wall_s)(comparison)).collect();
        let wrong = chosen.iter().filter(|comparison| is_reversed(judge, comparison)).count();
        let time = describe::mean(&times).unwrap_or(f64::NAN);
        _ = writeln!(table, "| {} | {} | {wrong} | {time:.1} s |", judge.name, shares.join(" | "));
    }
    table
}

/// How far the pairs of plumb differ in the comparisons of an effect: the median, and the middle half.
fn noise(chosen: &[&ToolComparison], effect: u32) -> String {
    let cell = chosen.iter().filter(|comparison| comparison.effect == effect);
    let percents: Vec<f64> =
        cell.filter_map(|comparison| Some(100.0 * comparison.plumb.pair_sd?)).collect();
    let [low, median, high] = [0.25, 0.5, 0.75].map(|q| describe::quantile(&percents, q));
    match (low, median, high) {
        (Some(low), Some(median), Some(high)) => {
            format!("*{median:.1} % ({low:.1} to {high:.1})*")
        }
        _ => "–".into(),
    }
}

/// How often a rule reported a difference (A/A) or the right one, and of how many.
fn hits(judge: &Judge, chosen: &[&ToolComparison], effect: u32) -> (u64, u64) {
    let cell = chosen.iter().filter(|comparison| comparison.effect == effect);
    let verdicts: Vec<ToolVerdict> = cell.map(|comparison| (judge.verdict)(comparison)).collect();
    let hits = verdicts.iter().filter(|verdict| is_hit(**verdict, effect)).count();
    (hits as u64, verdicts.len() as u64)
}

/// Whether a verdict reports a difference. B is never faster: between A and itself any difference counts, else the right
/// one only.
fn is_hit(verdict: ToolVerdict, effect: u32) -> bool {
    match verdict {
        ToolVerdict::Slower => true,
        ToolVerdict::Faster => effect == 0,
        ToolVerdict::Equivalent | ToolVerdict::Inconclusive => false,
    }
}

/// Whether a rule called the slower side faster.
fn is_reversed(judge: &Judge, comparison: &ToolComparison) -> bool {
    comparison.effect > 0 && (judge.verdict)(comparison) == ToolVerdict::Faster
}

/// The full verdicts of plumb in each group, and whether its promises were kept.
fn verdicts(parts: &[Part], groups: &[CellGroup]) -> String {
    let mut table = String::from(
        "| plumb's verdicts | slower | faster | equivalent | inconclusive | pairs | time | promised | |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for group in groups {
        for effect in EFFECTS {
            let cell = chosen(&group.comparisons, |comparison| comparison.effect == effect);
            let comma = if group.name.is_empty() { "" } else { ", " };
            _ = writeln!(
                table,
                "| {}{comma}B {effect} % slower | {} |",
                group.name,
                cell_of_plumb(parts, &cell, effect)
            );
        }
    }
    table
}

/// A row of [`verdicts`], of one effect.
fn cell_of_plumb(parts: &[Part], cell: &[&ToolComparison], effect: u32) -> String {
    let count =
        |verdict| cell.iter().filter(|comparison| comparison.plumb.verdict == verdict).count();
    let mean = |of: fn(&ToolComparison) -> f64| {
        describe::mean(&cell.iter().map(|comparison| of(comparison)).collect::<Vec<_>>())
    };
    let pairs = mean(|comparison| comparison.plumb.pairs.into())
        .map_or("–".into(), |mean| format!("{mean:.0}"));
    let time = mean(|comparison| comparison.plumb.wall_s)
        .map_or("–".into(), |mean| format!("{mean:.1} s"));
    let (promise, kept) = bars::promises(parts, cell, effect);
    format!(
        "{} | {} | {} | {} | {pairs} | {time} | {promise} | {kept}",
        count(ToolVerdict::Slower),
        count(ToolVerdict::Faster),
        count(ToolVerdict::Equivalent),
        count(ToolVerdict::Inconclusive),
    )
}

const COUNTED: &str = "In each cell: *wrong* for A/A, then *found* for 1 %, 2 % and 5 %.";

/// How often each tool was wrong or right in each group, of how many.
fn counts(groups: &[CellGroup]) -> String {
    let names = JUDGES.each_ref().map(|judge| judge.name);
    let mut table = format!("| | {} |\n|---|---|---|---|---|---|\n", names.join(" | "));
    for group in groups {
        let cells = JUDGES.each_ref().map(|judge| {
            let counts = EFFECTS.map(|effect| {
                let (hits, trials) = hits(judge, &group.comparisons, effect);
                format!("{hits}/{trials}")
            });
            counts.join(", ")
        });
        _ = writeln!(table, "| {} | {} |", group.name, cells.join(" | "));
    }
    table
}

/// Rounds of all sides, on every machine.
fn injected(parts: &[Part]) -> String {
    let mut text = String::from("\n## What was injected\n");
    let mut seen: Vec<&str> = Vec::new();
    for part in parts {
        if seen.contains(&part.machine.as_str()) {
            continue;
        }
        seen.push(&part.machine);
        text.push_str(&injected_on(part));
    }
    text
}

fn injected_on(part: &Part) -> String {
    let mut text = format!(
        "\nOn {}: {} The neighbour alternately burns one CPU and pauses, {:.1} s each on average, \
         exponentially distributed.\n\n\
         | program | a round | rounds of A | added for 1, 2, 5 % | time of A | of which start-up |{}\n|---|---|---|---|---|---|{}\n",
        part.machine,
        truth(part),
        neighbour::MEAN_BURST_S,
        counted(part, " instructions of B over A |"),
        counted(part, "---|"),
    );
    for program in &part.programs {
        let round = PROGRAMS
            .iter()
            .find(|known| known.name == program.name)
            .map_or("", |known| known.round);
        let Calibrated { name, start_up_s, total_s, rounds: [a, ..], .. } = program;
        let added: Vec<String> =
            program.rounds[1..].iter().map(|rounds| (rounds - a).to_string()).collect();
        _ = writeln!(
            text,
            "| {name} | {round} | {a} | {} | {:.1} ms | {:.1} ms |{}",
            added.join(", "),
            total_s * 1e3,
            start_up_s * 1e3,
            counted(part, &format!(" {} |", instructions(program))),
        );
    }
    text
}

fn truth(part: &Part) -> &'static str {
    match counted(part, "x") {
        "" => {
            "the truth is known from the number of rounds; this machine has no instruction counter."
        }
        _ => "the truth is known from the number of rounds, and checked by counting instructions.",
    }
}

/// The column of instructions, if the machine counts them; else no column.
fn counted<'a>(part: &Part, column: &'a str) -> &'a str {
    let counts = part.programs.iter().all(|program| program.instructions.is_some());
    if counts { column } else { "" }
}

fn instructions(program: &Calibrated) -> String {
    let Some([a, more @ ..]) = program.instructions else { return String::new() };
    let mut ratios = more.map(|b| format!("{:.4}", b as f64 / a as f64)).join(", ");
    if let Some(again) = program.relinked_instructions {
        _ = write!(ratios, "; relinked {:.4}", again as f64 / a as f64);
    }
    ratios
}

/// The median ratio that every tool measured, undisturbed: whether the injection is what it should be.
fn seen(all: &[&ToolComparison]) -> String {
    let mut table = String::from(
        "\nMedian ratio of B to A, undisturbed, as measured by plumb, hyperfine, criterion and tango:\n\n\
         | program | A/A | 1 % | 2 % | 5 % |\n|---|---|---|---|---|\n",
    );
    let ratios: [fn(&ToolComparison) -> f64; 4] = [
        |comparison| comparison.plumb.ratio,
        |comparison| comparison.hyperfine.ratio,
        |comparison| comparison.criterion.ratio,
        |comparison| comparison.tango.ratio,
    ];
    let measured =
        |name| all.iter().any(|comparison| !comparison.neighbour && comparison.program == name);
    for program in PROGRAMS.iter().filter(|program| measured(program.name)) {
        let cells = EFFECTS.map(|effect| {
            let cell = chosen(all, |comparison| {
                !comparison.neighbour
                    && comparison.program == program.name
                    && comparison.effect == effect
            });
            let medians = ratios.map(|ratio| {
                let ratios: Vec<f64> = cell.iter().map(|comparison| ratio(comparison)).collect();
                describe::median(&ratios).map_or("–".into(), |median| format!("{median:.3}"))
            });
            medians.join(", ")
        });
        _ = writeln!(table, "| {} | {} |", program.name, cells.join(" | "));
    }
    table
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::results::tests::{comparison, part, pilot};
    use super::*;

    /// Ten right comparisons of each effect, of which some are spoiled.
    fn some() -> Vec<ToolComparison> {
        let mut all: Vec<ToolComparison> =
            (0..40).map(|number| comparison(number, EFFECTS[number % 4])).collect();
        // The first A/A and the first 1 %.
        all[0].hyperfine.welch = ToolVerdict::Faster;
        all[0].criterion.verdict = ToolVerdict::Slower;
        all[1].plumb.verdict = ToolVerdict::Inconclusive;
        all[1].hyperfine.summary = ToolVerdict::Faster;
        all
    }

    #[test]
    fn every_rule_is_counted() {
        let all = some();
        let table = tools(&all.iter().collect::<Vec<_>>());
        let rows: Vec<&str> = table.lines().skip(2).collect();
        let full = "10 of 10: 100 % [69, 100]";
        let none = "0 of 10: 0 % [0, 31]";
        let nine = "9 of 10: 90 % [55, 100]";
        let once = "1 of 10: 10 % [0, 45]";
        assert_eq!(
            rows,
            [
                "| *pairs differ by* | *1.0 % (1.0 to 1.0)* | *1.0 % (1.0 to 1.0)* | *1.0 % (1.0 to 1.0)* | \
                 *1.0 % (1.0 to 1.0)* | | |"
                    .to_owned(),
                format!("| plumb ab | {none} | {nine} | {full} | {full} | 0 | 4.0 s |"),
                format!(
                    "| hyperfine, its summary | {none} | {nine} | {full} | {full} | 1 | 4.0 s |"
                ),
                format!(
                    "| hyperfine, its Welch script | {once} | {full} | {full} | {full} | 0 | 4.0 s |"
                ),
                format!("| criterion | {once} | {full} | {full} | {full} | 0 | 4.0 s |"),
                format!("| tango | {none} | {full} | {full} | {full} | 0 | 4.0 s |"),
            ]
        );
    }

    #[test]
    fn plumbs_verdicts_are_all_counted() {
        let all = some();
        let pilots = vec![pilot(0.01)];
        let table = verdicts(
            &[Part { pilots, ..part() }],
            &[CellGroup { name: "neighbour".into(), comparisons: all.iter().collect() }],
        );
        let proven = "| neighbour, B 0 % slower | 0 | 0 | 10 | 0 | 12 | 4.0 s | wrong at most 5 % of 10: 0; equivalent 60 % of 10: 10 | \
                      kept |";
        assert!(table.contains(proven), "{table}");
        let found =
            "| neighbour, B 1 % slower | 9 | 0 | 0 | 1 | 12 | 4.0 s | 80 % of 10: 9 | kept |";
        assert!(table.contains(found), "{table}");
    }

    #[test]
    fn few_comparisons_are_called_few() {
        assert!(warning(&some()).contains("The smallest cell has 0"));
        let many: Vec<ToolComparison> = (0..8 * FEW)
            .map(|number| ToolComparison {
                neighbour: number % 8 < 4,
                ..comparison(number, EFFECTS[number % 4])
            })
            .collect();
        assert_eq!(warning(&many), "");
    }

    #[test]
    fn the_page_says_where_the_truth_comes_from() {
        let mut results = Results::open(Path::new("none")).unwrap();
        results.comparisons = some();
        let mut program = Calibrated {
            name: "integer".into(),
            start_up_s: 0.001,
            total_s: 0.03,
            rounds: [3000, 3031, 3062, 3155],
            instructions: None,
            relinked_instructions: None,
        };
        results.parts = vec![Part { programs: vec![program.clone()], ..part() }];
        let blind = page(&results, "--minutes 1");
        assert!(blind.contains("`cargo xtask headtohead --minutes 1`"));
        assert!(blind.contains("On one: the truth is known"));
        assert!(blind.contains("no instruction counter"));
        assert!(blind.contains("| 3000 | 31, 62, 155 | 30.0 ms | 1.0 ms |\n"));
        assert!(
            blind.contains("| integer | 1.000, 1.000, 1.000, 1.000 | 1.010, 1.010, 1.010, 1.010 |")
        );
        program.instructions = Some([1_000_000, 1_010_000, 1_020_000, 1_050_000]);
        program.relinked_instructions = Some(1_000_100);
        results.parts = vec![Part { programs: vec![program], ..part() }];
        let counted = page(&results, "");
        assert!(counted.contains("| 1.0 ms | 1.0100, 1.0200, 1.0500; relinked 1.0001 |\n"));
    }

    fn rows_of_plumb(page: &str) -> Vec<&str> {
        page.lines().filter(|line| line.starts_with("| plumb ab |")).collect()
    }

    #[test]
    fn a_relinked_copy_that_differs_is_not_a_wrong_verdict() {
        let mut results = Results::open(Path::new("none")).unwrap();
        results.parts = vec![part()];
        results.comparisons = some();
        let before = page(&results, "");
        let mut again = ToolComparison { relinked: true, ..comparison(40, 0) };
        again.plumb.verdict = ToolVerdict::Slower;
        again.tango.verdict = ToolVerdict::Faster;
        results.comparisons.push(again);
        let after = page(&results, "");
        assert_eq!(rows_of_plumb(&before), rows_of_plumb(&after));
        assert!(after.contains("wrong at most 5 % of 10: 0"), "{after}");
        assert!(before.contains("| integer | 0/10, 9/10, 10/10, 10/10 | "), "{before}");
        assert!(after.contains("## Copies that are linked again"), "{after}");
        assert!(!before.contains("## Copies that are linked again"));
    }

    #[test]
    fn the_rule_of_tango_is_that_of_its_version() {
        let old = how(&[Part { tango: "tango-bench 0.7.2".into(), ..part() }]);
        assert!(old.contains("both sides in turns |") && old.contains("and half a percent |"));
        let new = how(&[Part { tango: "tango-bench 0.9.0".into(), ..part() }]);
        assert!(new.contains("at once, in lockstep |") && new.contains("and one percent |"));
    }
}
