//! Counts what every tool got right, as Markdown.

use std::fmt::Write;

use plumb_stats::audit::share_interval;
use plumb_stats::outlook::told_apart;
use plumb_stats::verdict::{Confidence, LookSchedule};
use plumb_stats::{describe, distribution};

use super::neighbour;
use super::programs::{EFFECTS, PROGRAMS};
use super::results::{Calibrated, Part, Plumb, Results, ToolComparison, ToolVerdict};
use super::tools::TIME_S;

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

/// What plumb promises if the time can tell the effect apart: the least share found, and of A/A the least share called
/// equivalent within the margin of 1 % (docs/validation.md, "found within a time limit").
const FOUND_AT_LEAST: f64 = 0.8;
const PROVEN_AT_LEAST: f64 = 0.6;
const MARGIN: f64 = 0.01;

/// The promise of plumb: the largest share of wrong verdicts in A/A.
const WRONG_AT_MOST: f64 = 0.05;

/// The whole page; `typed` is what followed the chore's name.
pub fn page(results: &Results, typed: &str) -> String {
    let all: Vec<&ToolComparison> = results.comparisons.iter().collect();
    let mut page = head(results, typed);
    page.push_str(HOW);
    page.push_str(PROMISES);
    page.push_str(&section("All together", &all));
    for (company, neighbour) in [("Undisturbed", false), ("Next to a noisy neighbour", true)] {
        for (size, short) in [("30 ms", false), ("3 ms", true)] {
            let chosen = chosen(&all, |comparison| {
                comparison.neighbour == neighbour && is_short(comparison) == short
            });
            page.push_str(&section(&format!("{company}, programs of {size}"), &chosen));
        }
    }
    page.push_str(&by_program(&all));
    page.push_str(&injected(&results.parts));
    page.push_str(&seen(&all));
    page
}

fn section(title: &str, chosen: &[&ToolComparison]) -> String {
    match chosen {
        [] => String::new(),
        _ => format!("\n## {title}\n\n{}\n{}", tools(chosen), verdicts(chosen)),
    }
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
         {:.0} min of measuring.{}\n\n",
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
                comparison.effect == effect && comparison.neighbour == neighbour
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
rounds). All tools compare the same sides in the same condition, for 20 s each, in random order.\n\n\
- **plumb ab** (`--budget 20s`) goes first. It looks at its pairs while it measures and ends with a verdict, \
often long before the 20 s are over.\n\
- **hyperfine** (`-N`): as many runs of each side as fit. Its summary reports a difference if its `±` \
excludes 1; its script `welch_ttest.py` if Welch's test is significant at 5 %.\n\
- **criterion**: the first side is saved as a baseline and the second compared with it, each after a warm-up \
of 3/8 of its time (the default), with up to 100 samples (the default). *Regressed* or *improved* is a \
difference; its noise threshold of 1 % hides smaller ones.\n\
- **tango** (`compare -t`) runs both sides in turns, as plumb does. Its asterisk is a difference: the mean \
of the differences lies 2.6 standard errors from zero, and over half a percent.\n\n\
*Wrong*: share of A/A comparisons in which a tool called a program faster or slower than itself. *Found*: \
share in which it called B slower. Brackets are exact 95 % intervals (Clopper and Pearson). *Pairs differ \
by* is the noise that plumb measured: the median over the comparisons, and their middle half.\n";

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

/// `2 of 40: 5 % [1, 17]`.
fn share(hits: u64, trials: u64) -> String {
    let Ok(interval) = share_interval(hits, trials, 0.95) else { return "–".into() };
    let [estimate, low, high] =
        [interval.estimate, interval.low, interval.high].map(|share| 100.0 * share);
    format!("{hits} of {trials}: {estimate:.0} % [{low:.0}, {high:.0}]")
}

/// The full verdicts of plumb, and whether its promises were kept.
fn verdicts(chosen: &[&ToolComparison]) -> String {
    let mut table = String::from(
        "| plumb's verdicts | slower | faster | equivalent | inconclusive | pairs | time | promised | |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for effect in EFFECTS {
        let cell: Vec<&ToolComparison> =
            chosen.iter().copied().filter(|comparison| comparison.effect == effect).collect();
        let count =
            |verdict| cell.iter().filter(|comparison| comparison.plumb.verdict == verdict).count();
        let mean = |of: fn(&ToolComparison) -> f64| {
            describe::mean(&cell.iter().map(|comparison| of(comparison)).collect::<Vec<_>>())
        };
        let pairs = mean(|comparison| comparison.plumb.pairs.into())
            .map_or("–".into(), |mean| format!("{mean:.0}"));
        let time = mean(|comparison| comparison.plumb.wall_s)
            .map_or("–".into(), |mean| format!("{mean:.1} s"));
        let (promise, kept) = promises(&cell, effect);
        _ = writeln!(
            table,
            "| B {effect} % slower | {} | {} | {} | {} | {pairs} | {time} | {promise} | {kept} |",
            count(ToolVerdict::Slower),
            count(ToolVerdict::Faster),
            count(ToolVerdict::Equivalent),
            count(ToolVerdict::Inconclusive),
        );
    }
    table
}

const PROMISES: &str = "\nPromises depend on how far pairs differ: if 20 s are enough to find the effect, \
plumb finds four in five, and proves three in five of A/A equivalent within 1 % \
([validation](validation.md), *found within a time limit*). A promise is *broken* if a tool that barely keeps it \
would score this badly in fewer than 1 of 100 head-to-heads of this size, so few comparisons break few \
promises.\n";

/// What was promised of a cell, how far it was kept, and whether that is enough.
fn promises(cell: &[&ToolComparison], effect: u32) -> (String, &'static str) {
    let told: Vec<&ToolComparison> =
        cell.iter().copied().filter(|comparison| tells(&comparison.plumb, effect)).collect();
    let (found, trials) = hits(&JUDGES[0], cell, effect);
    if effect > 0 {
        let (found, trials) = hits(&JUDGES[0], &told, effect);
        let promise = format!("{:.0} % of {trials}: {found}", 100.0 * FOUND_AT_LEAST);
        return (promise, kept(trials, reaches(found, trials, FOUND_AT_LEAST)));
    }
    let proven = told
        .iter()
        .filter(|comparison| comparison.plumb.verdict == ToolVerdict::Equivalent)
        .count() as u64;
    let open = told.len() as u64;
    let promise = format!(
        "wrong at most {:.0} % of {trials}: {found}; equivalent {:.0} % of {open}: {proven}",
        100.0 * WRONG_AT_MOST,
        100.0 * PROVEN_AT_LEAST
    );
    let is_kept = stays(found, trials, WRONG_AT_MOST) && reaches(proven, open, PROVEN_AT_LEAST);
    (promise, kept(trials, is_kept))
}

fn kept(trials: u64, is_kept: bool) -> &'static str {
    match (trials, is_kept) {
        (0, _) => "–",
        (_, true) => "kept",
        (_, false) => "**broken**",
    }
}

/// Whether so few or fewer hits would happen to a tool of this share at least once in 100.
fn reaches(hits: u64, trials: u64, share: f64) -> bool {
    distribution::binomial_cdf(hits, trials, share) >= 0.01
}

/// Whether so many or more would.
fn stays(hits: u64, trials: u64, share: f64) -> bool {
    hits.checked_sub(1)
        .is_none_or(|fewer| 1.0 - distribution::binomial_cdf(fewer, trials, share) >= 0.01)
}

/// Whether pairs that differ so far tell the effect apart in the time; of A/A, whether they prove the margin.
fn tells(plumb: &Plumb, effect: u32) -> bool {
    let most = (TIME_S * f64::from(plumb.pairs) / plumb.wall_s) as usize;
    let level = LookSchedule::Long.level(Confidence::NinetyFive, most);
    let wanted = if effect > 0 { f64::from(effect) / 100.0 } else { MARGIN };
    plumb.pair_sd.is_none_or(|sd| told_apart(sd.ln_1p(), most, level) <= wanted.ln_1p())
}

/// The verdicts of each tool on each program, in both conditions.
fn by_program(all: &[&ToolComparison]) -> String {
    let mut table = String::from(
        "\n## By program\n\nBoth conditions together.\n\n\
         | | | A/A: wrong | 1 %: found | 2 %: found | 5 %: found |\n|---|---|---|---|---|---|\n",
    );
    for program in &PROGRAMS {
        let of_it = chosen(all, |comparison| comparison.program == program.name);
        if of_it.is_empty() {
            continue;
        }
        for judge in &JUDGES {
            let counts = EFFECTS.map(|effect| {
                let (hits, trials) = hits(judge, &of_it, effect);
                format!("{hits} of {trials}")
            });
            let name = if judge.name == JUDGES[0].name { program.name } else { "" };
            _ = writeln!(table, "| {name} | {} | {} |", judge.name, counts.join(" | "));
        }
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
        "\nOn {}: {} The neighbour burns one CPU in bursts and pauses of {:.1} s in the mean, \
         exponentially distributed.\n\n\
         | program | a round | rounds of A | added for 1, 2, 5 % | time of A | of it start-up |{}\n|---|---|---|---|---|---|{}\n",
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
            "the truth is known by count of rounds alone, because this machine has no counter of instructions."
        }
        _ => "the truth is known by count of rounds and checked by count of instructions.",
    }
}

/// The column of instructions, if the machine counts them; else no column.
fn counted<'a>(part: &Part, column: &'a str) -> &'a str {
    let counts = part.programs.iter().all(|program| program.instructions.is_some());
    if counts { column } else { "" }
}

fn instructions(program: &Calibrated) -> String {
    let Some([a, more @ ..]) = program.instructions else { return String::new() };
    more.map(|b| format!("{:.4}", b as f64 / a as f64)).join(", ")
}

/// The median ratio that every tool measured, undisturbed: whether the injection is what it should be.
fn seen(all: &[&ToolComparison]) -> String {
    let mut table = String::from(
        "\nMedian ratio of B over A as measured undisturbed by plumb, hyperfine, criterion and tango:\n\n\
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

    use super::super::results::tests::comparison;
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
        let table = verdicts(&all.iter().collect::<Vec<_>>());
        let proven = "| B 0 % slower | 0 | 0 | 10 | 0 | 12 | 4.0 s | wrong at most 5 % of 10: 0; equivalent 60 % of 10: 10 | \
                      kept |";
        assert!(table.contains(proven), "{table}");
        let found = "| B 1 % slower | 9 | 0 | 0 | 1 | 12 | 4.0 s | 80 % of 10: 9 | kept |";
        assert!(table.contains(found), "{table}");
    }

    #[test]
    fn a_promise_is_broken_beyond_chance() {
        // P(X >= 6) of 40 at 5 % is .014, P(X >= 7) .003; of 20 at 80 %, P(X <= 11) is .010, P(X <= 10) .003.
        assert!(stays(6, 40, 0.05) && !stays(7, 40, 0.05));
        assert!(reaches(12, 20, 0.8) && !reaches(10, 20, 0.8));
        assert_eq!((kept(0, false), kept(3, false)), ("–", "**broken**"));
    }

    #[test]
    fn nothing_is_promised_of_what_the_time_can_not_tell_apart() {
        let told = |pair_sd, effect| {
            let mut compared = comparison(0, effect);
            compared.plumb.pair_sd = pair_sd;
            tells(&compared.plumb, effect)
        };
        // 60 pairs in 20 s: at a level of about .002 they tell .5 of the standard deviation apart.
        assert!(told(Some(0.03), 2) && told(Some(0.03), 5) && told(None, 1));
        assert!(!told(Some(0.06), 2) && !told(Some(0.03), 1) && !told(Some(0.03), 0));
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
        };
        let part = |programs| Part {
            seed: 1,
            date: "2026-01-01".into(),
            machine: "one".into(),
            plumb: "plumb 0".into(),
            hyperfine: "hyperfine 1".into(),
            criterion: "criterion 0".into(),
            tango: "tango 0".into(),
            programs,
        };
        results.parts = vec![part(vec![program.clone()])];
        let blind = page(&results, "--minutes 1");
        assert!(blind.contains("`cargo xtask headtohead --minutes 1`"));
        assert!(blind.contains("On one: the truth is known"));
        assert!(blind.contains("no counter of instructions"));
        assert!(blind.contains("| 3000 | 31, 62, 155 | 30.0 ms | 1.0 ms |\n"));
        assert!(
            blind.contains("| integer | 1.000, 1.000, 1.000, 1.000 | 1.010, 1.010, 1.010, 1.010 |")
        );
        program.instructions = Some([1_000_000, 1_010_000, 1_020_000, 1_050_000]);
        results.parts = vec![part(vec![program])];
        assert!(page(&results, "").contains("| 1.0 ms | 1.0100, 1.0200, 1.0500 |\n"));
    }
}
