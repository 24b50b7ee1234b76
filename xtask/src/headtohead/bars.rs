//! What plumb promises of each cell, from null pairs that were measured before: no comparison has a say in the bar that
//! it is held against.

use std::fmt::Write;

use plumb_stats::outlook::told_apart;
use plumb_stats::verdict::{Confidence, LookSchedule};
use plumb_stats::{describe, distribution};

use super::programs::PROGRAMS;
use super::results::{Part, Pilot, ToolComparison, ToolVerdict};
use super::tools::TIME_S;

/// What plumb promises if the time is enough for an effect: the least share found, and of A/A the least share called
/// equivalent within the margin of 1 % (docs/validation.md, "found within a time limit").
const FOUND_AT_LEAST: f64 = 0.8;
const PROVEN_AT_LEAST: f64 = 0.6;
const MARGIN: f64 = 0.01;

/// The promise of plumb whatever the pilots say: the largest share of wrong verdicts in A/A.
const WRONG_AT_MOST: f64 = 0.05;

/// Why bars are as they are.
pub const EXPLAINED: &str = "\n\
Before each part, 27 null pairs per program and neighbour set the bars: if 20 s suffices at that spread \
([validation](validation.md), *found within a time limit*), plumb finds four in five differences, and proves three in five A/A \
comparisons equivalent within 1 %. A bar is *broken* if a tool that barely meets it would score this badly less than once in 100 \
head-to-heads of this size.\n";

/// The pilot of a comparison's cell, in its own part.
fn pilot<'a>(parts: &'a [Part], comparison: &ToolComparison) -> Option<&'a Pilot> {
    let pilots = &parts.get(comparison.part)?.pilots;
    pilots.iter().find(|pilot| {
        pilot.program == comparison.program && pilot.neighbour == comparison.neighbour
    })
}

/// The smallest relative effect that the time shows four times in five if pairs differ as in the pilot; 0 if all are
/// alike.
fn smallest(pilot: &Pilot) -> f64 {
    let most = (TIME_S * f64::from(pilot.pairs) / pilot.wall_s) as usize;
    let level = LookSchedule::Long.level(Confidence::NinetyFive, most);
    pilot.pair_sd.map_or(0.0, |sd| told_apart(sd.ln_1p(), most, level).exp_m1())
}

/// Whether the time is enough to find an effect in percent; of A/A, to prove the margin.
fn is_enough(pilot: &Pilot, effect: u32) -> bool {
    let wanted = if effect > 0 { f64::from(effect) / 100.0 } else { MARGIN };
    smallest(pilot) <= wanted
}

/// What was promised of comparisons with one effect, how far it was kept, and whether that is enough.
pub fn promises(parts: &[Part], cell: &[&ToolComparison], effect: u32) -> (String, &'static str) {
    if cell.is_empty() {
        return ("–".to_owned(), kept(0, true));
    }
    let is_piloted = cell.iter().any(|comparison| pilot(parts, comparison).is_some());
    let barred: Vec<&ToolComparison> = cell
        .iter()
        .copied()
        .filter(|comparison| pilot(parts, comparison).is_some_and(|pilot| is_enough(pilot, effect)))
        .collect();
    let trials = barred.len() as u64;
    if effect > 0 {
        if !is_piloted {
            return ("no pilot, no bar".to_owned(), kept(0, true));
        }
        let found = count(&barred, &[ToolVerdict::Slower]);
        let promise = format!("{:.0} % of {trials}: {found}", 100.0 * FOUND_AT_LEAST);
        return (promise, kept(trials, reaches(found, trials, FOUND_AT_LEAST)));
    }
    let all = cell.len() as u64;
    let wrong = count(cell, &[ToolVerdict::Slower, ToolVerdict::Faster]);
    let mut promise = format!("wrong at most {:.0} % of {all}: {wrong}", 100.0 * WRONG_AT_MOST);
    if !is_piloted {
        promise.push_str("; equivalent: no pilot, no bar");
        return (promise, kept(all, stays(wrong, all, WRONG_AT_MOST)));
    }
    let proven = count(&barred, &[ToolVerdict::Equivalent]);
    _ = write!(promise, "; equivalent {:.0} % of {trials}: {proven}", 100.0 * PROVEN_AT_LEAST);
    let is_kept = stays(wrong, all, WRONG_AT_MOST) && reaches(proven, trials, PROVEN_AT_LEAST);
    (promise, kept(all, is_kept))
}

/// How many comparisons have one of these verdicts of plumb.
fn count(cell: &[&ToolComparison], verdicts: &[ToolVerdict]) -> u64 {
    let hits = cell.iter().filter(|comparison| verdicts.contains(&comparison.plumb.verdict));
    hits.count() as u64
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

/// The pilots of all parts: how far pairs differ, and from which effect on there is a bar.
pub fn table(parts: &[Part]) -> String {
    let pilots: Vec<&Pilot> = parts.iter().flat_map(|part| &part.pilots).collect();
    if pilots.is_empty() {
        return "\n## Pilots\n\nThese results predate pilots: no bars.\n".to_owned();
    }
    let mut table = String::from(
        "\n## Pilots\n\nMedian over parts, and their range.\n\n\
         | program | neighbour | pairs differ by | 20 s find |\n|---|---|---|---|\n",
    );
    for program in &PROGRAMS {
        for neighbour in [false, true] {
            let of_cell = pilots
                .iter()
                .filter(|pilot| pilot.program == program.name && pilot.neighbour == neighbour);
            let of_cell: Vec<&Pilot> = of_cell.copied().collect();
            if of_cell.is_empty() {
                continue;
            }
            let spread: Vec<f64> =
                of_cell.iter().map(|pilot| pilot.pair_sd.unwrap_or(0.0)).collect();
            let found: Vec<f64> = of_cell.iter().map(|pilot| smallest(pilot)).collect();
            let company = if neighbour { "yes" } else { "no" };
            _ = writeln!(
                table,
                "| {} | {company} | {} | {} |",
                program.name,
                range(&spread),
                range(&found)
            );
        }
    }
    table
}

/// `1.5 % (1.2 to 2.0)`.
fn range(shares: &[f64]) -> String {
    let [low, median, high] =
        [0.0, 0.5, 1.0].map(|q| 100.0 * describe::quantile(shares, q).unwrap_or(f64::NAN));
    format!("{median:.1} % ({low:.1} to {high:.1})")
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{comparison, part, pilot as of_spread};
    use super::*;

    /// One part whose pilot of `integer` has this spread.
    fn parts(pair_sd: f64) -> Vec<Part> {
        vec![Part { pilots: vec![of_spread(pair_sd)], ..part() }]
    }

    /// Ten right comparisons of this effect.
    fn ten(effect: u32) -> Vec<ToolComparison> {
        (0..10).map(|number| comparison(number, effect)).collect()
    }

    #[test]
    fn a_bar_is_broken_beyond_chance() {
        // P(X >= 6) of 40 at 5 % is .014, P(X >= 7) .003; of 20 at 80 %, P(X <= 11) is .010, P(X <= 10) .003.
        assert!(stays(6, 40, 0.05) && !stays(7, 40, 0.05));
        assert!(reaches(12, 20, 0.8) && !reaches(10, 20, 0.8));
        assert_eq!((kept(0, false), kept(3, false)), ("–", "**broken**"));
    }

    #[test]
    fn bars_follow_from_the_spread_of_the_pilot() {
        // 200 pairs in 20 s: at a level of about .001 they show a quarter of the standard deviation.
        assert!(is_enough(&of_spread(0.03), 2) && is_enough(&of_spread(0.03), 1));
        assert!(is_enough(&of_spread(0.06), 2) && !is_enough(&of_spread(0.06), 1));
        assert!(!is_enough(&of_spread(0.06), 0) && !is_enough(&of_spread(0.4), 5));
        let alike = Pilot { pair_sd: None, ..of_spread(0.0) };
        assert!(is_enough(&alike, 1));
        // Half as many pairs in the time.
        let slow = Pilot { wall_s: 16.0, ..of_spread(0.03) };
        assert!(!is_enough(&slow, 1));
    }

    #[test]
    fn the_pairs_that_are_judged_do_not_move_their_bar() {
        let mut all = ten(1);
        // Wild pairs, and no verdict: they would have taken the comparison off the list.
        for comparison in &mut all[..5] {
            comparison.plumb.pair_sd = Some(0.5);
            comparison.plumb.verdict = ToolVerdict::Inconclusive;
        }
        let cell: Vec<&ToolComparison> = all.iter().collect();
        let broken = ("80 % of 10: 5".to_owned(), "kept");
        assert_eq!(promises(&parts(0.01), &cell, 1), broken);
        all[5].plumb.verdict = ToolVerdict::Inconclusive;
        let cell: Vec<&ToolComparison> = all.iter().collect();
        assert_eq!(promises(&parts(0.01), &cell, 1).1, "**broken**");
        // With a pilot of such pairs nothing is promised.
        assert_eq!(promises(&parts(0.5), &cell, 1), ("80 % of 0: 0".to_owned(), "–"));
    }

    #[test]
    fn another_part_or_neighbour_has_another_bar() {
        let mut all = ten(2);
        all[0].part = 1;
        all[1].neighbour = true;
        let cell: Vec<&ToolComparison> = all.iter().collect();
        assert_eq!(promises(&parts(0.01), &cell, 2).0, "80 % of 8: 8");
    }

    #[test]
    fn results_without_pilots_have_no_bars() {
        let all = ten(0);
        let cell: Vec<&ToolComparison> = all.iter().collect();
        let (promise, is_kept) = promises(&[part()], &cell, 0);
        assert_eq!(promise, "wrong at most 5 % of 10: 0; equivalent: no pilot, no bar");
        assert_eq!(is_kept, "kept");
        assert_eq!(promises(&[part()], &cell, 5), ("no pilot, no bar".to_owned(), "–"));
        assert_eq!(promises(&parts(0.01), &[], 1), ("–".to_owned(), "–"));
        assert!(table(&[part()]).contains("predate pilots"));
        let rows = table(&[parts(0.01), parts(0.03)].concat());
        assert!(rows.contains("| integer | no | 2.0 % (1.0 to 3.0) |"), "{rows}");
    }
}
