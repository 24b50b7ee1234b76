//! Counts what every tool got right, as Markdown.

use std::fmt::Write;

use plumb_stats::audit::share_interval;
use plumb_stats::{describe, distribution};

use super::neighbour;
use super::programs::{EFFECTS, PROGRAMS};
use super::results::{Calibrated, Comparison, Part, Results, Verdict};

/// Below so many comparisons in a cell the page warns.
const FEW: usize = 30;

/// A rule by which a tool tells a difference.
struct Judge {
    name: &'static str,
    verdict: fn(&Comparison) -> Verdict,
    wall_s: fn(&Comparison) -> f64,
}

const JUDGES: [Judge; 5] = [
    Judge { name: "plumb ab", verdict: |it| it.plumb.verdict, wall_s: |it| it.plumb.wall_s },
    Judge {
        name: "hyperfine, its summary",
        verdict: |it| it.hyperfine.summary,
        wall_s: |it| it.hyperfine.wall_s,
    },
    Judge {
        name: "hyperfine, its Welch script",
        verdict: |it| it.hyperfine.welch,
        wall_s: |it| it.hyperfine.wall_s,
    },
    Judge {
        name: "criterion",
        verdict: |it| it.criterion.verdict,
        wall_s: |it| it.criterion.wall_s,
    },
    Judge { name: "tango", verdict: |it| it.tango.verdict, wall_s: |it| it.tango.wall_s },
];

/// What plumb promises: the least share found of each effect but A/A.
const FOUND_AT_LEAST: [f64; 3] = [0.7, 0.95, 1.0];

/// What plumb promises: the largest share of wrong verdicts in A/A.
const WRONG_AT_MOST: f64 = 0.05;

/// The whole page; `typed` is what followed the chore's name.
pub fn page(results: &Results, typed: &str) -> String {
    let all: Vec<&Comparison> = results.comparisons.iter().collect();
    let mut page = head(results, typed);
    page.push_str(HOW);
    for (title, neighbour) in [("Undisturbed", false), ("Beside a noisy neighbour", true)] {
        let chosen = chosen(&all, |it| it.neighbour == neighbour);
        if !chosen.is_empty() {
            _ = write!(page, "\n## {title}\n\n{}\n{}", tools(&chosen), verdicts(&chosen));
        }
    }
    page.push_str(&by_program(&all));
    if let Some(part) = results.parts.first() {
        page.push_str(&injected(part, &all));
    }
    page
}

fn chosen<'a>(all: &[&'a Comparison], is: impl Fn(&Comparison) -> bool) -> Vec<&'a Comparison> {
    all.iter().copied().filter(|it| is(it)).collect()
}

fn head(results: &Results, typed: &str) -> String {
    let Results { parts, comparisons, .. } = results;
    let seconds: f64 = comparisons
        .iter()
        .map(|it| it.plumb.wall_s + it.hyperfine.wall_s + it.criterion.wall_s + it.tango.wall_s)
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
            "{}; {}, {}; {}; seed {}.\n",
            first.machine,
            first.hyperfine,
            first.criterion,
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

fn warning(comparisons: &[Comparison]) -> String {
    let cell = |effect, neighbour| {
        comparisons.iter().filter(|it| it.effect == effect && it.neighbour == neighbour).count()
    };
    let cells = EFFECTS.iter().flat_map(|effect| [cell(*effect, false), cell(*effect, true)]);
    match cells.min() {
        Some(fewest) if fewest < FEW => format!(
            " **The smallest cell has {fewest}: too few to tell tools apart; the intervals say how few.**"
        ),
        _ => String::new(),
    }
}

const HOW: &str = "\
Two sides of the same program are compared: A with itself, and with B that does 1, 2 or 5 % more work, counted in \
rounds. All tools compare the same sides in the same condition; who is presented first and which of the other tools \
goes first are coins. `plumb ab` goes first, at its defaults, and stops when it knows; the time that it took is what \
the others get:\n\n\
- **hyperfine** (`-N`): as many runs of each side as fit in. Its summary tells a difference where its `±` leaves out 1; \
its script `welch_ttest.py` where Welch's test is significant at 5 %.\n\
- **criterion**: the first side saved as a baseline, the second compared, each warmed up for 3/8 of its time as by \
default, with as many samples up to its default of 100 as fit in. *Regressed* or *improved* tell a difference; its noise \
threshold of 1 % lets it tell none below that.\n\n\
*Told*: the share of A/A in which a tool called a program faster or slower than itself. *Found*: the share in which B was \
called slower. Brackets hold exact 95 % intervals (Clopper and Pearson).\n";

/// The table of all rules.
fn tools(chosen: &[&Comparison]) -> String {
    let mut table = String::from(
        "| | A/A: told | 1 %: found | 2 %: found | 5 %: found | B called faster | time each |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for judge in &JUDGES {
        let shares = EFFECTS.map(|effect| {
            let (hits, trials) = hits(judge, chosen, effect);
            share(hits, trials)
        });
        let times: Vec<f64> = chosen.iter().map(|it| (judge.wall_s)(it)).collect();
        let wrong = chosen.iter().filter(|it| is_reversed(judge, it)).count();
        let time = describe::mean(&times).unwrap_or(f64::NAN);
        _ = writeln!(table, "| {} | {} | {wrong} | {time:.1} s |", judge.name, shares.join(" | "));
    }
    table
}

/// How often a rule told a difference (A/A) or the right one, and of how many.
fn hits(judge: &Judge, chosen: &[&Comparison], effect: u32) -> (u64, u64) {
    let cell = chosen.iter().filter(|it| it.effect == effect);
    let verdicts: Vec<Verdict> = cell.map(|it| (judge.verdict)(it)).collect();
    let is_hit = |verdict: &&Verdict| match **verdict {
        Verdict::Slower => true,
        Verdict::Faster => effect == 0,
        Verdict::Equivalent | Verdict::Inconclusive => false,
    };
    (verdicts.iter().filter(is_hit).count() as u64, verdicts.len() as u64)
}

/// Whether a rule called the slower side faster.
fn is_reversed(judge: &Judge, comparison: &Comparison) -> bool {
    comparison.effect > 0 && (judge.verdict)(comparison) == Verdict::Faster
}

/// `2 of 40: 5 % [1, 17]`.
fn share(hits: u64, trials: u64) -> String {
    let Ok(interval) = share_interval(hits, trials, 0.95) else { return "–".into() };
    let [estimate, low, high] =
        [interval.estimate, interval.low, interval.high].map(|share| 100.0 * share);
    format!("{hits} of {trials}: {estimate:.0} % [{low:.0}, {high:.0}]")
}

/// What plumb said in full, and whether its promises were kept.
fn verdicts(chosen: &[&Comparison]) -> String {
    let mut table = String::from(
        "| plumb's verdicts | slower | faster | equivalent | inconclusive | mean pairs | promised | |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (index, effect) in EFFECTS.into_iter().enumerate() {
        let cell: Vec<&Comparison> =
            chosen.iter().copied().filter(|it| it.effect == effect).collect();
        let count = |verdict| cell.iter().filter(|it| it.plumb.verdict == verdict).count();
        let pairs: Vec<f64> = cell.iter().map(|it| f64::from(it.plumb.pairs)).collect();
        let pairs = describe::mean(&pairs).map_or("–".into(), |pairs| format!("{pairs:.1}"));
        let (hits, trials) = hits(&JUDGES[0], &cell, effect);
        let (promise, kept) = promise(index, hits, trials);
        _ = writeln!(
            table,
            "| B {effect} % slower | {} | {} | {} | {} | {pairs} | {promise} | {kept} |",
            count(Verdict::Slower),
            count(Verdict::Faster),
            count(Verdict::Equivalent),
            count(Verdict::Inconclusive),
        );
    }
    table + PROMISES
}

const PROMISES: &str = "\nA promise is *broken* when a tool that only just kept it would score this badly in fewer than 1 of \
100 head-to-heads of this size. Few comparisons break few promises.\n";

/// What was promised of an effect, and whether so many hits keep it.
fn promise(index: usize, hits: u64, trials: u64) -> (String, &'static str) {
    let (promise, is_kept) = match index.checked_sub(1) {
        None => {
            // As many or more would happen to such a tool less than once in 100.
            let fewer = hits.checked_sub(1);
            let below = |fewer| distribution::binomial_cdf(fewer, trials, WRONG_AT_MOST);
            let promise = format!("wrong <= {:.0} %", 100.0 * WRONG_AT_MOST);
            (promise, fewer.is_none_or(|fewer| 1.0 - below(fewer) >= 0.01))
        }
        Some(found) => {
            let least = FOUND_AT_LEAST[found];
            let kept = distribution::binomial_cdf(hits, trials, least) >= 0.01;
            (format!("found >= {:.0} %", 100.0 * least), kept)
        }
    };
    let kept = match (trials, is_kept) {
        (0, _) => "–",
        (_, true) => "kept",
        (_, false) => "**broken**",
    };
    (promise, kept)
}

/// Who told and found what of which program, in both conditions.
fn by_program(all: &[&Comparison]) -> String {
    let mut table = String::from(
        "\n## By program\n\nBoth conditions together.\n\n\
         | | | A/A: told | 1 %: found | 2 %: found | 5 %: found |\n|---|---|---|---|---|---|\n",
    );
    for program in &PROGRAMS {
        let of_it = chosen(all, |it| it.program == program.name);
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

/// Rounds of all sides, and what the tools make of them.
fn injected(part: &Part, all: &[&Comparison]) -> String {
    let mut text = format!(
        "\n## What was injected\n\n{} The neighbour burns one CPU in bursts and pauses of {:.1} s in the mean, \
         exponentially distributed.\n\n\
         | program | a round | rounds of A | added for 1, 2, 5 % | time of A | of it start-up |{}\n|---|---|---|---|---|---|{}\n",
        truth(part),
        neighbour::MEAN,
        counted(part, " instructions of B over A |"),
        counted(part, "---|"),
    );
    for program in &part.programs {
        let round = PROGRAMS.iter().find(|it| it.name == program.name).map_or("", |it| it.round);
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
    text + &seen(all)
}

fn truth(part: &Part) -> &'static str {
    match counted(part, "x") {
        "" => {
            "The truth is known by count of rounds alone: this machine has no counter of instructions to check it by."
        }
        _ => "The truth is known by count of rounds and checked by count of instructions.",
    }
}

/// The column where the machine counts instructions, else none.
fn counted<'a>(part: &Part, column: &'a str) -> &'a str {
    let counts = part.programs.iter().all(|program| program.instructions.is_some());
    if counts { column } else { "" }
}

fn instructions(program: &Calibrated) -> String {
    let Some([a, more @ ..]) = program.instructions else { return String::new() };
    more.map(|b| format!("{:.4}", b as f64 / a as f64)).join(", ")
}

/// The median ratio that every tool measured, undisturbed: whether the injection is what it should be.
fn seen(all: &[&Comparison]) -> String {
    let mut table = String::from(
        "\nMedian ratio of B over A as measured undisturbed by plumb, hyperfine and criterion:\n\n\
         | program | A/A | 1 % | 2 % | 5 % |\n|---|---|---|---|---|\n",
    );
    let ratios: [fn(&Comparison) -> f64; 3] =
        [|it| it.plumb.ratio, |it| it.hyperfine.ratio, |it| it.criterion.ratio];
    let measured = |name| all.iter().any(|it| !it.neighbour && it.program == name);
    for program in PROGRAMS.iter().filter(|it| measured(it.name)) {
        let cells = EFFECTS.map(|effect| {
            let cell = chosen(all, |it| {
                !it.neighbour && it.program == program.name && it.effect == effect
            });
            let medians = ratios.map(|ratio| {
                let ratios: Vec<f64> = cell.iter().map(|it| ratio(it)).collect();
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
    fn some() -> Vec<Comparison> {
        let mut all: Vec<Comparison> =
            (0..40).map(|number| comparison(number, EFFECTS[number % 4])).collect();
        // The first A/A and the first 1 %.
        all[0].hyperfine.welch = Verdict::Faster;
        all[0].criterion.verdict = Verdict::Slower;
        all[1].plumb.verdict = Verdict::Inconclusive;
        all[1].hyperfine.summary = Verdict::Faster;
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
                format!("| plumb ab | {none} | {nine} | {full} | {full} | 0 | 4.0 s |"),
                format!(
                    "| hyperfine, its summary | {none} | {nine} | {full} | {full} | 1 | 4.0 s |"
                ),
                format!(
                    "| hyperfine, its Welch script | {once} | {full} | {full} | {full} | 0 | 4.0 s |"
                ),
                format!("| criterion | {once} | {full} | {full} | {full} | 0 | 4.0 s |"),
            ]
        );
    }

    #[test]
    fn plumbs_verdicts_are_all_counted() {
        let all = some();
        let table = verdicts(&all.iter().collect::<Vec<_>>());
        assert!(table.contains("| B 0 % slower | 0 | 0 | 10 | 0 | 12.0 | wrong <= 5 % | kept |"));
        assert!(table.contains("| B 1 % slower | 9 | 0 | 0 | 1 | 12.0 | found >= 70 % | kept |"));
    }

    #[test]
    fn a_promise_is_broken_beyond_chance() {
        // P(X >= 6) of 40 at 5 % is .014, P(X >= 7) .003; of 20 at 70 %, P(X <= 8) is .005, P(X <= 9) .017.
        assert_eq!(promise(0, 6, 40).1, "kept");
        assert_eq!(promise(0, 7, 40).1, "**broken**");
        assert_eq!(promise(1, 9, 20).1, "kept");
        assert_eq!(promise(1, 8, 20).1, "**broken**");
        assert_eq!(promise(3, 20, 20).1, "kept");
        assert_eq!(promise(3, 19, 20).1, "**broken**");
        assert_eq!(promise(0, 0, 0).1, "–");
    }

    #[test]
    fn few_comparisons_are_called_few() {
        assert!(warning(&some()).contains("The smallest cell has 0"));
        let many: Vec<Comparison> = (0..8 * FEW)
            .map(|number| Comparison {
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
        assert!(blind.contains("no counter of instructions"));
        assert!(blind.contains("| 3000 | 31, 62, 155 | 30.0 ms | 1.0 ms |\n"));
        assert!(blind.contains("| integer | 1.000, 1.000, 1.000 | 1.010, 1.010, 1.010 |"));
        program.instructions = Some([1_000_000, 1_010_000, 1_020_000, 1_050_000]);
        results.parts = vec![part(vec![program])];
        assert!(page(&results, "").contains("| 1.0 ms | 1.0100, 1.0200, 1.0500 |\n"));
    }
}
