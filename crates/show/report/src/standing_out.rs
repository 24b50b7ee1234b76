//! What stands out between two runs, in words and as a part of documents. Never called faster or slower: two runs
//! tell what moved unlike the rest, and no more.

use plumb_analysis::{CannotTell, FEWEST_SERIES, StandingOut, Stood};
use plumb_model::Better;
use plumb_text::counted;
use plumb_units::{percent, percent_change, quantity};
use serde::Serialize;

/// From this spread from run to run on, a log, it is said what can't be seen.
const NOISY: f64 = 0.1;
/// One series among many stands out from about so many spreads on.
const STANDS_OUT: f64 = 4.0;

/// A result that may stand out.
pub(crate) struct StandingOutResult<'n> {
    pub(crate) name: String,
    pub(crate) unit: &'n str,
    pub(crate) better: Better,
    /// Its cost over the earlier cost.
    pub(crate) ratio: f64,
}

impl StandingOutResult<'_> {
    /// `sieve took 2.20 times as long`.
    fn moved(&self) -> String {
        let name = &self.name;
        let times = quantity(self.ratio, "");
        match (self.better, self.unit) {
            (Better::Higher, unit) if unit.ends_with("/s") => {
                format!("{name} took {times} times as long")
            }
            (_, "s") => format!("{name} took {times} times as long"),
            (Better::Neither, _) => format!("{name} was {times} times as much"),
            _ => format!("{name} cost {times} times as much"),
        }
    }
}

/// What stands out since then, a sentence a line; nothing if there is one result or none. `what` are the words for
/// one result and for several, `then` completes the sentence (`unchanged`, `as in RUN`).
pub(crate) fn standing_out_text<'n>(
    found: &StandingOut,
    what: (&str, &str),
    then: &str,
    named: impl Fn(usize) -> Option<StandingOutResult<'n>>,
) -> Vec<String> {
    match &found.found {
        Ok(stood) => stood_text(stood, found, (what.1, then), named),
        Err(_) if found.of < 2 => Vec::new(),
        Err(CannotTell::TooManyMoved) => vec![format!(
            "too many of {} changed to decide which stand out",
            counted(found.of, what.0, what.1)
        )],
        Err(CannotTell::TooFewSeries) => vec![format!(
            "{} are too few to decide which stand out: at least {FEWEST_SERIES} are needed",
            counted(found.of, what.0, what.1)
        )],
    }
}

fn stood_text<'n>(
    stood: &Stood,
    found: &StandingOut,
    (many, then): (&str, &str),
    named: impl Fn(usize) -> Option<StandingOutResult<'n>>,
) -> Vec<String> {
    let of = found.of;
    let out = stood.series.len();
    let spread = percent(stood.spread.exp_m1());
    let runs = match found.earlier_runs {
        0 | 1 => "these two runs".to_owned(),
        runs => format!("{} runs", runs + 1),
    };
    let usual = format!(
        "{} of {of} {many} are {then}, within this machine's variation (about {spread} from run to run, estimated from {runs})",
        of - out
    );
    let standing = stood.series.iter().filter_map(|&place| named(place));
    let each = standing.map(|stands| format!("{}: stands out", stands.moved()));
    let blind = (stood.spread > NOISY).then(|| {
        let least = percent((STANDS_OUT * stood.spread).exp_m1());
        format!(
            "runs vary a lot on this machine: a change of less than about {least} does not stand \
                 out"
        )
    });
    let together = stood.moved_together.then(|| {
        let common = percent_change(stood.common.exp_m1(), 1);
        format!(
            "all {many} changed together, by {common} in cost, a change that is removed here: suspect the machine or \
             the build"
        )
    });
    std::iter::once(usual).chain(each).chain(blind).chain(together).collect()
}

/// Which results moved unlike the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StandingOutPart {
    /// Results that were asked: first metrics with an interval.
    pub of: usize,
    /// Runs that the noise of a series is known from, next to the later one; 0 or 1 if these two runs alone tell.
    pub earlier_runs: usize,
    /// Names of the series that stand out, the farthest first; null if that is unknown.
    pub series: Option<Vec<String>>,
    /// Why that is unknown.
    #[cfg_attr(test, schemars(extend("enum" = ["too few series", "too many moved", null])))]
    pub no_answer: Option<&'static str>,
    /// The common change of all series: cost over the earlier cost. It is removed before series are compared.
    pub common: Option<f64>,
    /// Whether that is more than chance.
    pub moved_together: Option<bool>,
    /// How much a typical series differs from run to run besides: one relative standard deviation.
    pub spread: Option<f64>,
}

/// The part of a document; `named` gives the name of the series of a result.
pub(crate) fn standing_out_part(
    found: &StandingOut,
    named: impl Fn(usize) -> Option<String>,
) -> StandingOutPart {
    let stood = found.found.as_ref().ok();
    StandingOutPart {
        of: found.of,
        earlier_runs: found.earlier_runs,
        series: stood.map(|stood| stood.series.iter().filter_map(|&place| named(place)).collect()),
        no_answer: found.found.as_ref().err().map(|why| match why {
            CannotTell::TooFewSeries => "too few series",
            CannotTell::TooManyMoved => "too many moved",
        }),
        common: stood.map(|stood| stood.common.exp()),
        moved_together: stood.map(|stood| stood.moved_together),
        spread: stood.map(|stood| stood.spread.exp_m1()),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use plumb_analysis::testing::{compared, first_look};
    use plumb_analysis::{
        Asked, CompareSettings, EarlierRuns, RunFinding, RunQuestions, series_in_run,
        summarise_with,
    };
    use plumb_model::{Id, RunRecord, SeriesInRun};
    use plumb_text::Terminal;

    use crate::comparison::{closing, comparison_document, remarks};
    use crate::run::{
        NextSteps, View, brief_scorecard, document, in_words, markdown, since_last_text,
    };

    /// A later run of the same, in which these points took twice as long.
    fn later(slower: &[usize]) -> RunRecord {
        let mut record = first_look();
        record.run = Id::from_u128(7);
        for invocation in
            record.invocations.iter_mut().filter(|invocation| slower.contains(&invocation.point))
        {
            invocation.samples.elapsed_ns.iter_mut().for_each(|took| *took *= 2);
        }
        record
    }

    fn since_last(slower: &[usize]) -> RunFinding {
        let before =
            EarlierRuns { before: series_in_run(&first_look()).into(), others: Vec::new() };
        let earlier = |_: &[SeriesInRun]| Ok(Some(before.clone()));
        let questions = RunQuestions { counters: None, earlier: Some(&earlier) };
        let found: Result<RunFinding, Infallible> = summarise_with(&later(slower), &questions);
        found.unwrap()
    }

    #[test]
    fn what_stands_out_is_named_in_every_form() {
        let finding = since_last(&[1]);
        let text = since_last_text(&finding);
        let of = finding.since_last.found().unwrap().standing_out.of;
        let usual = format!("{} of {of} points are unchanged", of - 1);
        assert!(text[0].starts_with(&usual), "{text:?}");
        assert!(text[1].ends_with("took 2.00 times as long: stands out"), "{text:?}");
        let view = View::new(&finding);
        for form in [in_words(&view).join("\n"), markdown(&view)] {
            assert!(form.contains(&usual) && form.contains("stands out"), "{form}");
        }
        let part = document(&view).since_last.unwrap();
        let result = finding
            .results
            .iter()
            .find(|result| result.point.index == 1 && result.primary)
            .unwrap();
        assert_eq!(part.standing_out.series, Some(vec![result.series.clone()]));
        let text = text.join(" ");
        assert!(!text.contains("slower") && !text.contains("faster"), "{text}");
    }

    #[test]
    fn the_brief_scorecard_shows_the_share_of_what_is_usual_if_it_is_outside_the_range() {
        let earlier = |id: u128| -> Arc<[SeriesInRun]> {
            let mut record = first_look();
            record.run = Id::from_u128(id);
            record.started_unix_ns -= 1_000_000_000;
            series_in_run(&record).into()
        };
        let runs = EarlierRuns { before: earlier(11), others: (12..17).map(earlier).collect() };
        let ask = |_: &[SeriesInRun]| Ok::<_, Infallible>(Some(runs.clone()));
        let questions = RunQuestions { counters: None, earlier: Some(&ask) };
        let finding = summarise_with(&later(&[1]), &questions).unwrap();
        let closing = NextSteps::default();
        let card = brief_scorecard(&View::new(&finding), &Terminal::plain(100), &closing);
        let of_usual: Vec<&str> = card.lines().filter(|line| line.contains("of usual")).collect();
        assert_eq!(of_usual.len(), 1, "{card}");
        assert!(of_usual[0].contains("sieve") && of_usual[0].contains("50 % of usual"), "{card}");
    }

    #[test]
    fn on_a_noisy_machine_it_says_what_can_not_be_seen() {
        let mut finding = since_last(&[]);
        let text = since_last_text(&finding).join(" ");
        assert!(!text.contains("noisy"), "{text}");
        let Asked::Found(since) = &mut finding.since_last else { panic!() };
        since.standing_out.found.as_mut().unwrap().spread = 0.4_f64.ln_1p();
        let text = since_last_text(&finding);
        assert!(text[1].ends_with("less than about 284 % does not stand out"), "{text:?}");
    }

    #[test]
    fn where_half_moved_no_series_is_named() {
        let half: Vec<usize> = (0..20).step_by(2).collect();
        let finding = since_last(&half);
        let text = since_last_text(&finding);
        assert!(text[0].starts_with("too many of ") && text.len() == 1, "{text:?}");
        let part = document(&View::new(&finding)).since_last.unwrap().standing_out;
        assert_eq!((part.series, part.no_answer), (None, Some("too many moved")));
    }

    #[test]
    fn stored_runs_say_it_beside_the_uncalibrated_ratio() {
        let settings = CompareSettings { every_metric: true, ..CompareSettings::default() };
        let finding = compared(&[first_look(), later(&[1])], &[], None, &settings);
        let marked =
            finding.results.iter().flat_map(|result| result.against_first.iter().flatten());
        let marked: Vec<String> =
            marked.map(remarks).filter(|remark| remark.contains("stands out")).collect();
        assert_eq!(marked.len(), 1, "first metrics alone count: {marked:?}");
        assert!(marked[0].starts_with("uncalibrated, stands out"), "{marked:?}");
        assert!(closing(&finding).iter().any(|line| line.ends_with(": stands out")));
        let part = comparison_document(&finding).standing_out[0].clone().unwrap();
        assert_eq!(part.series.map(|places| places.len()), Some(1));
    }
}
