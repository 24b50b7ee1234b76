//! What to type if the time was too short: the same again with more of it, or of a comparison with a margin that
//! this time was enough for.

use std::collections::BTreeSet;

use crate::run::header::from_to;
use plumb_analysis::{Comparison, Finding, RunFinding, TIMES_LONGER};
use plumb_model::{CPU, FlagKind, Goal, RunStatus, StopReason, Verdict, VerdictGoal};
use plumb_text::command_line::{budget, with_options, without};
use plumb_units::percent;

/// More than the estimate says: it is of few pairs if a comparison ended early.
const ALLOWANCE: f64 = 1.25;
/// Fewer processes have no interval.
const FEWEST_PROCESSES: usize = 8;
/// Nobody is advised to wait longer, in seconds.
const LONGEST_S: f64 = 3600.0;
/// Up to this length of a session, in seconds, two minutes are more.
const SHORT_S: f64 = 60.0;
/// So many times as wide the interval of the time in all is where the time on a CPU is to be compared.
const FAR_LESS: f64 = 3.0;
/// The commands that measure and can take more time.
const COMMANDS: [&str; 3] = ["run", "ab", "exec"];
/// Nothing is known of a first invocation that the budget did not suffice for: so many times as much time is advised.
const UNKNOWN_TIMES: f64 = 4.0;
/// How long a program takes in all.
const WALL: &str = "wall";
/// Nobody is advised a larger margin.
const LARGEST_MARGIN: f64 = 0.5;

/// The command that would settle what stayed inconclusive, or reach the precision that was not reached, and what it
/// does; None if everything is done, or nothing that is worth while would do it.
#[must_use]
pub fn again(finding: &RunFinding) -> Option<(String, String)> {
    let run = &finding.run;
    let words: Vec<&str> = run.command.iter().map(String::as_str).collect();
    let command = command_at(&words).map(|at| words[at]).filter(|_| run.segments == 1)?;
    match &run.goal {
        Goal::Verdict(goal) if command == "ab" => settled(finding, goal),
        Goal::Rules(_) if command == "run" => covering(finding).or_else(|| precise(finding)),
        Goal::Rules(_) if command == "exec" => {
            covering(finding).or_else(|| precise(finding)).or_else(|| spread(finding))
        }
        _ => None,
    }
}

/// The same for longer if the budget did not suffice for an interval at every point, or not for every point at all.
fn covering(finding: &RunFinding) -> Option<(String, String)> {
    let run = &finding.run;
    if run.status != RunStatus::Complete || run.budget_ns.is_none() {
        return None;
    }
    let in_time = |result: &&Finding| {
        result.primary
            && result.stop == Some(StopReason::Budget)
            && result.estimate.interval.is_err()
            && result.invocations < FEWEST_PROCESSES
    };
    let fewest = finding.results.iter().filter(in_time).map(|result| result.invocations).min();
    let missed = finding.not_reached.len();
    let measured: BTreeSet<&str> =
        finding.results.iter().map(|result| result.point.name.as_str()).collect();
    let (times, what) = match fewest {
        // Points share the time in rounds, and those that were not reached take as long as the others on average.
        Some(fewest) => (
            share_of(FEWEST_PROCESSES, fewest.max(1))
                * share_of(measured.len() + missed, measured.len()),
            "gives every point an interval, if its invocations take as long as before",
        ),
        None if missed == 0 => return None,
        None if measured.is_empty() => (UNKNOWN_TIMES, "may suffice for every point"),
        None => (
            share_of(measured.len() + missed, measured.len()),
            "suffices for every point, if those not reached take as long as the others",
        ),
    };
    let takes_s = times * ALLOWANCE * took_s(finding)?;
    if takes_s > LONGEST_S {
        return None;
    }
    let words = without(&run.command, &["--budget"]);
    Some((typed(&words, &["--budget", &budget(takes_s)]), what.to_owned()))
}

/// The same for longer: until all points are precise, or for the longest that can be foretold and what it reaches then.
fn precise(finding: &RunFinding) -> Option<(String, String)> {
    let run = &finding.run;
    let in_time = |result: &&Finding| result.primary && result.stop == Some(StopReason::Budget);
    let (known, unknown): (Vec<&Finding>, Vec<&Finding>) =
        finding.results.iter().filter(in_time).partition(|result| result.reached.is_some());
    if run.status != RunStatus::Complete {
        return None;
    }
    let wanted = known.first()?.wanted?;
    let took_s = took_s(finding)?;
    let after = |times| known.iter().filter_map(move |finding| finding.reached_after(times));
    let mut longer = TIMES_LONGER.into_iter().filter(|times| times * took_s <= LONGEST_S);
    let longest = longer.clone().next_back()?;
    let times =
        longer.find(|times| after(*times).all(|reached| reached <= wanted)).unwrap_or(longest);
    let late: Vec<f64> = after(times).filter(|reached| *reached > wanted).collect();
    let all = finding.results.iter().filter(|result| result.primary).count();
    let done = all - late.len() - unknown.len();
    let wanted = percent(wanted);
    let others = from_to(&late);
    let what = match (late.is_empty(), unknown.len()) {
        (true, 0) => format!("estimated time to reach ±{wanted} at all points"),
        (true, more) => format!("estimated time to reach ±{wanted} at all points but {more}"),
        (false, _) if done == 0 => format!("reaches about {others} in that session"),
        _ => format!("reaches ±{wanted} at {done} of {all} points, about {others} at the others"),
    };
    let words = without(&run.command, &["--budget"]);
    Some((typed(&words, &["--budget", &budget(times * took_s)]), what))
}

/// Commands that were alike for longer than the session: the same over two minutes, or ten if that was too short.
fn spread(finding: &RunFinding) -> Option<(String, String)> {
    let run = &finding.run;
    let is_short = |result: &Finding| result.flags.iter().any(|flag| flag.flag == FlagKind::Short);
    let asks = |word: &String| word == "-n" || word.starts_with("-n") || word.starts_with("--runs");
    if !finding.results.iter().any(is_short) || run.command.iter().any(asks) {
        return None;
    }
    let over = if took_s(finding)? < SHORT_S { "2m" } else { "10m" };
    let words = without(&run.command, &["--spread", "--budget"]);
    let what = "spreads the runs: this session is too short to estimate its noise".to_owned();
    Some((typed(&words, &["--spread", over]), what))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of points")]
fn share_of(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[expect(clippy::cast_precision_loss, reason = "a time of hours in nanoseconds")]
fn took_s(finding: &RunFinding) -> Option<f64> {
    Some((finding.run.ended_unix_ns? - finding.run.started_unix_ns) as f64 / 1e9)
}

fn settled(finding: &RunFinding, goal: &VerdictGoal) -> Option<(String, String)> {
    let run = &finding.run;
    let compared = finding.against_first.iter().map(|comparison| &comparison.found);
    let open =
        || compared.clone().filter(|comparison| comparison.verdict == Ok(Verdict::Inconclusive));
    open().next()?;
    if goal.metric == WALL && cpu_varies_less(&finding.results) {
        let words = without(&run.command, &["--metric"]);
        let what = "compares CPU time, which varies far less".to_owned();
        return Some((typed(&words, &["--metric", CPU]), what));
    }
    let took_s = took_s(finding)?;
    let needed = open().map(more_pairs).collect::<Option<Vec<f64>>>();
    let times = needed.map(|all| all.into_iter().fold(1.0, f64::max));
    if let Some(takes_s) = times.map(|times| times * took_s).filter(|seconds| *seconds <= LONGEST_S)
    {
        let words = without(&run.command, &["--budget", "--max-pairs"]);
        let what = "enough for a verdict if the ratio stays the same".to_owned();
        return Some((typed(&words, &["--budget", &budget(takes_s)]), what));
    }
    let all_reached = open().map(reached).collect::<Option<Vec<f64>>>()?;
    let widest = all_reached.into_iter().fold(goal.margin, f64::max) * ALLOWANCE;
    // A whole number of percent is what a person would type.
    let margin = (widest * 100.0).ceil();
    (margin <= 100.0 * LARGEST_MARGIN).then(|| {
        let words = without(&run.command, &["--margin"]);
        let what = "shows in the same time whether they differ by more than that".to_owned();
        (typed(&words, &["--margin", &format!("{margin}%")]), what)
    })
}

/// Whether the time on a CPU is known far better than the time in all, at every point: programs wait for CPUs that
/// others have, and what they do on one is much the same (docs/validation.md, *Ways to compare, on recorded traces*).
fn cpu_varies_less(results: &[Finding]) -> bool {
    let reached = |point: &Finding, metric: &str| {
        let mut all = results.iter();
        let found = all.find(|result| result.point == point.point && result.metric == metric)?;
        found.estimate.relative_half_width()
    };
    let mut points = results.iter().filter(|result| result.primary).peekable();
    let less = |result: &Finding| Some(FAR_LESS * reached(result, CPU)? <= reached(result, WALL)?);
    points.peek().is_some() && points.all(|result| less(result) == Some(true))
}

/// How many times the pairs of this comparison it takes; None beyond what a comparison can have.
#[expect(clippy::cast_precision_loss, reason = "counts of pairs")]
fn more_pairs(comparison: &Comparison) -> Option<f64> {
    let by_pairs = comparison.by_pairs()?;
    let needed = by_pairs.pairs_needed? as f64 * ALLOWANCE;
    (needed <= VerdictGoal::MOST_PAIRS as f64).then(|| needed / by_pairs.pairs.max(1) as f64)
}

/// How far from equality the interval reaches, as a share.
fn reached(comparison: &Comparison) -> Option<f64> {
    let ratio = comparison.ratio.as_ref()?;
    let low = ratio.low()?;
    let high = ratio.high()?;
    Some(high.max(1.0 / low) - 1.0)
}

/// `plumb` and its subcommand with these options first.
fn typed(words: &[&str], options: &[&str]) -> String {
    with_options(words, command_at(words), options)
}

/// Where the subcommand stands; options may stand before it.
fn command_at(words: &[&str]) -> Option<usize> {
    (1..words.len()).find(|&at| COMMANDS.contains(&words[at]))
}

#[cfg(test)]
mod tests {
    use plumb_analysis::{Ends, Estimate, Finding, RunFinding};
    use plumb_model::{Flag, FlagKind, RunStatus, StopReason};

    use super::{again, cpu_varies_less};

    /// Points that reached so much of ±3 % in a run of a minute.
    fn run_of_late_points(reached: &[f64]) -> RunFinding {
        let mut finding = plumb_analysis::summarise(&plumb_analysis::testing::first_look());
        finding.run.command =
            ["plumb", "run", "--budget", "1m", "my.toml"].map(str::to_owned).into();
        finding.run.started_unix_ns = 0;
        finding.run.ended_unix_ns = Some(60_000_000_000);
        finding.results.retain(|result| result.primary);
        for (result, reached) in finding.results.iter_mut().zip(reached) {
            (result.stop, result.reached) = (Some(StopReason::Budget), Some(*reached));
            (result.wanted, result.stretch) = (Some(0.03), Some(1));
        }
        let rest = finding.results.iter_mut().skip(reached.len());
        rest.for_each(|result| result.stop = Some(StopReason::Precision));
        finding
    }

    #[test]
    fn a_run_whose_time_was_short_says_what_a_longer_one_reaches() {
        let of = |reached: &[f64]| again(&run_of_late_points(reached));
        let says = |budget: &str, what: &str| {
            Some((format!("plumb run --budget {budget} my.toml"), what.to_owned()))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0.03, 0.035]), says("120s", "estimated time to reach ±3 % at all points"));
        assert_eq!(of(&[0.03, 0.05]), says("4m", "estimated time to reach ±3 % at all points"));
        let others = "reaches ±3 % at 22 of 24 points, about ±4.8 % to ±6 % at the others";
        assert_eq!(of(&[0.1, 0.08, 0.04]), says("4m", others));
        let mut alike = run_of_late_points(&[0.05]);
        alike.results[0].stretch = Some(2);
        let other = "reaches ±3 % at 23 of 24 points, about ±4.2 % at the others";
        assert_eq!(again(&alike), says("4m", other));
        alike.results.truncate(1);
        assert_eq!(again(&alike), says("4m", "reaches about ±4.2 % in that session"));
        let mut few = run_of_late_points(&[0.03, 0.05]);
        few.results[1].reached = None;
        assert_eq!(again(&few), says("90s", "estimated time to reach ±3 % at all points but 1"));
        let mut long = run_of_late_points(&[0.05]);
        long.run.ended_unix_ns = Some(3_000_000_000_000);
        assert_eq!(again(&long), None, "nobody is sent away for more than an hour");
        let mut other = run_of_late_points(&[0.05]);
        other.run.command[1] = "check".to_owned();
        assert_eq!(again(&other), None);
        let mut elsewhere = run_of_late_points(&[0.05]);
        elsewhere.run.command.splice(1..1, ["--store", "x.db"].map(str::to_owned));
        let command = again(&elsewhere).map(|command| command.0);
        assert_eq!(command.as_deref(), Some("plumb --store x.db run --budget 4m my.toml"));
    }

    #[test]
    fn a_budget_too_short_for_intervals_or_for_all_points_has_a_longer_one() {
        let mut finding = run_of_late_points(&[0.05]);
        finding.run.budget_ns = Some(60_000_000_000);
        let command = |finding: &RunFinding| again(finding).map(|command| command.0);
        let precise = command(&finding);
        finding.results[0].estimate.interval = Err("too few processes: 4, needs 8".to_owned());
        finding.results[0].invocations = 4;
        // Twice the processes, and a quarter more.
        assert_eq!(command(&finding).unwrap(), "plumb run --budget 3m my.toml");
        // Two more of 24 points.
        finding.not_reached.extend([1, 2].map(|index| finding.results[index].point.clone()));
        assert_eq!(command(&finding).unwrap(), "plumb run --budget 3m my.toml");
        finding.results.truncate(1);
        assert_eq!(command(&finding).unwrap(), "plumb run --budget 8m my.toml");
        finding.results.clear();
        assert_eq!(command(&finding).unwrap(), "plumb run --budget 5m my.toml");
        finding.run.status = RunStatus::Interrupted;
        assert_eq!(command(&finding), None);
        assert!(precise.is_some());
    }

    #[test]
    fn commands_that_stay_alike_are_to_be_spread() {
        let mut finding = run_of_late_points(&[]);
        finding.run.command = ["plumb", "exec", "sleep 1"].map(str::to_owned).into();
        assert_eq!(again(&finding), None);
        finding.results[0].flags.push(Flag::new(FlagKind::Short, "too short"));
        let command = |finding: &RunFinding| again(finding).map(|command| command.0);
        assert_eq!(command(&finding).unwrap(), "plumb exec --spread 10m 'sleep 1'");
        finding.run.ended_unix_ns = Some(5_000_000_000);
        assert_eq!(command(&finding).unwrap(), "plumb exec --spread 2m 'sleep 1'");
        finding.run.command.insert(2, "-n20".to_owned());
        assert_eq!(command(&finding), None);
    }

    #[test]
    fn the_time_on_a_cpu_is_asked_for_where_it_varies_far_less() {
        let some = run_of_late_points(&[]).results.swap_remove(0);
        let of = |metric: &str, half: f64| {
            let interval = Ok(Ends { low: 10.0 - half, high: 10.0 + half });
            let estimate = Estimate { value: 10.0, interval };
            Finding {
                metric: metric.to_owned(),
                primary: metric == "wall",
                estimate,
                ..some.clone()
            }
        };
        assert!(cpu_varies_less(&[of("wall", 1.0), of("cpu", 0.2)]));
        assert!(!cpu_varies_less(&[of("wall", 1.0), of("cpu", 0.5)]));
        assert!(!cpu_varies_less(&[of("wall", 1.0)]));
        assert!(!cpu_varies_less(&[]));
    }
}
