//! Why something is slow: text and document.

use plumb_analysis::{
    AfterCauses, CandidateExperiment, CandidateFinding, CandidateOutcome, LEAST_EFFECT, Ladder,
    WhyFinding,
};
use plumb_model::short_id;
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine};
use plumb_units::{length, percent};
use serde::Serialize;

use crate::figure::in_brackets;
use crate::json_parts::estimate::{EstimatePart, estimate};
use crate::json_parts::text::pretty;
use crate::run::ladder_text::{LadderRungPart, largest_step};
use crate::run::levels::share_text;

/// Name of the document's form.
const WHY_SCHEMA: &str = "plumb.why/1";

/// Why something is slow, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.why/1"))]
pub struct WhyDocument {
    /// Name of the schema: `plumb.why/1`.
    #[cfg_attr(test, schemars(extend("const" = WHY_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// What is slow.
    pub subject: String,
    /// `causes`, `no-cause` or `undecided`.
    #[cfg_attr(test, schemars(extend("enum" = ["causes", "no-cause", "undecided"])))]
    pub outcome: &'static str,
    /// The answer in sentences.
    pub answer: Vec<String>,
    /// The metric that was compared.
    pub metric: String,
    /// The unit of the metric.
    pub unit: String,
    /// The result with all suspected causes in place.
    pub result: Option<EstimatePart>,
    /// The run that was faster, if one was named.
    pub since: Option<FasterRunPart>,
    /// The ids of the runs that it rests on.
    pub runs: Vec<String>,
    /// The smallest relative change that is a cause.
    pub least_effect: f64,
    /// What was suspected.
    pub candidates: Vec<CandidatePart>,
    /// Cost without all causes that show by themselves over the cost with them; null if there are not several.
    pub together: Option<EstimatePart>,
    /// The work and its parts; null if a cause was found, or the workload declares no parts.
    pub parts: Option<Vec<LadderRungPart>>,
}

/// A run that was faster.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FasterRunPart {
    /// The id of the run.
    pub run: String,
    /// Its result, in the unit of the document.
    pub result: EstimatePart,
}

/// A suspected cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CandidatePart {
    /// Its name; `plumb explain cause.NAME` prints its manual.
    pub cause: String,
    /// What was seen.
    pub evidence: String,
    /// How it was removed, as `--set` takes it, or `parameter=value`; empty if it was not.
    pub way: String,
    /// `cause`, `not-confirmed`, `no-effect`, `undecided`, `failed`, `not-tried`, `not-needed` because another cause was found
    /// before, or `excluded` by the result.
    #[cfg_attr(test, schemars(extend("enum" =
        ["cause", "not-confirmed", "no-effect", "undecided", "failed", "not-tried", "not-needed", "excluded"])))]
    pub outcome: &'static str,
    /// Why it was not tried or excluded, or why the work failed without it.
    pub why: Option<String>,
    /// Cost without it over the cost with it.
    pub ratio: Option<EstimatePart>,
    /// What came of removing it after the causes that were found first, which may have hidden it; null if this was not tried.
    pub after_causes: Option<AfterCausesPart>,
    /// What can be done about it.
    pub remedy: String,
    /// The same as a command; may be empty.
    pub command: String,
}

/// What came of removing a suspected cause once others were removed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AfterCausesPart {
    /// The causes that were removed before.
    pub removed: Vec<String>,
    /// As that of the candidate.
    #[cfg_attr(test, schemars(extend("enum" =
        ["cause", "not-confirmed", "no-effect", "undecided", "failed", "not-tried"])))]
    pub outcome: &'static str,
    /// Why it was not tried, or why the work failed without it.
    pub why: Option<String>,
    /// Cost without all of them over the cost without the causes that were removed before.
    pub ratio: Option<EstimatePart>,
}

/// Why something is slow, as the text of a document.
///
/// # Errors
/// When it can't be written as JSON.
pub fn why_json(finding: &WhyFinding) -> serde_json::Result<String> {
    pretty(&WhyDocument {
        schema: WHY_SCHEMA,
        method: finding.method,
        subject: finding.subject.clone(),
        outcome: outcome(finding),
        answer: answer(finding),
        metric: finding.metric.clone(),
        unit: finding.unit.clone(),
        result: finding.result.as_ref().map(estimate),
        since: finding
            .since
            .as_ref()
            .map(|(run, result)| FasterRunPart { run: run.to_string(), result: estimate(result) }),
        runs: finding.runs.iter().map(ToString::to_string).collect(),
        least_effect: LEAST_EFFECT,
        candidates: finding.candidates.iter().map(candidate_part).collect(),
        together: finding.together.as_ref().map(estimate),
        parts: finding
            .ladder
            .as_ref()
            .map(|ladder| ladder.rungs.iter().map(LadderRungPart::of).collect()),
    })
}

fn outcome(finding: &WhyFinding) -> &'static str {
    match (finding.causes().is_empty(), finding.is_undecided()) {
        (false, _) => "causes",
        (true, true) => "undecided",
        (true, false) => "no-cause",
    }
}

fn candidate_part(candidate: &CandidateFinding) -> CandidatePart {
    let (outcome, why, ratio) = experiment_parts(&candidate.experiment);
    CandidatePart {
        cause: candidate.cause.clone(),
        evidence: candidate.evidence.clone(),
        way: candidate.way.join(" "),
        outcome,
        why,
        ratio,
        after_causes: candidate.after_causes.as_ref().map(after_causes_part),
        remedy: candidate.remedy.clone(),
        command: candidate.command.clone(),
    }
}

fn after_causes_part(after: &AfterCauses) -> AfterCausesPart {
    let (outcome, why, ratio) = experiment_parts(&after.experiment);
    AfterCausesPart { removed: after.removed.clone(), outcome, why, ratio }
}

/// The outcome of an experiment, why there is no figure, and the figure.
fn experiment_parts(
    experiment: &CandidateExperiment,
) -> (&'static str, Option<String>, Option<EstimatePart>) {
    match experiment {
        CandidateExperiment::NotNeeded => ("not-needed", None, None),
        CandidateExperiment::Excluded(why) => ("excluded", Some(why.clone()), None),
        CandidateExperiment::NotTried(why) => ("not-tried", Some(why.clone()), None),
        CandidateExperiment::Failed(why) => ("failed", Some(why.clone()), None),
        CandidateExperiment::Measured { ratio, outcome } => {
            (outcome.word(), None, ratio.as_ref().map(estimate))
        }
    }
}

/// Why something is slow, in lines of a terminal's width. The command at the end has `store_option`: ` --store FILE`, or nothing.
#[must_use]
pub fn why_card(finding: &WhyFinding, terminal: &Terminal, store_option: &str) -> String {
    let mut out = String::new();
    let title = format!("why {}", finding.subject);
    out.push_str(&terminal.lines(0, &TextLine::new(Style::Heading, &title)));
    if let Some(result) = &finding.result {
        let text = format!("now: {} {}", finding.metric, in_brackets(result, &finding.unit));
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, &text)));
    }
    if let Some((run, result)) = &finding.since {
        let text = format!("run {run}: {} {}", finding.metric, in_brackets(result, &finding.unit));
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, &text)));
    }
    for sentence in answer(finding) {
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, &sentence)));
    }
    if !finding.candidates.is_empty() {
        out.push('\n');
        out.push_str(&terminal.table(&table(finding)));
    }
    if let Some(ladder) = &finding.ladder {
        out.push('\n');
        out.push_str(&terminal.table(&table_of_parts(ladder, &finding.unit)));
    }
    let causes = finding.causes().into_iter().map(|(candidate, _)| candidate);
    let hidden = finding.hidden_causes().into_iter().map(|(candidate, _, _)| candidate);
    for candidate in causes.chain(hidden) {
        let command = match candidate.command.as_str() {
            "" => String::new(),
            command => format!(": {command}"),
        };
        let text = format!("{}: {}{command}", candidate.cause, candidate.remedy);
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, &text)));
    }
    if !finding.runs.is_empty() {
        let runs: Vec<String> = finding.runs.iter().map(|run| short_id(*run)).collect();
        let command = format!("plumb report -o FOLDER {}{store_option}", runs.join(" "));
        let text = TextLine::new(Style::Command, &command)
            .and(Style::Muted, "  writes pages of these runs, with charts");
        out.push('\n');
        out.push_str(&terminal.lines(0, &text));
    }
    terminal.signs(out)
}

/// The answer, a sentence a line.
fn answer(finding: &WhyFinding) -> Vec<String> {
    let hidden = finding.hidden_causes().into_iter().map(|(cause, after, ratio)| {
        format!(
            "Without {}, a further cause shows: {}. Without that, too, the remaining time is {}× as long.",
            after.removed.join(" and "),
            cause.summary,
            in_brackets(ratio, "")
        )
    });
    answer_at_first(finding).into_iter().chain(hidden).collect()
}

/// The same from removing one candidate at a time.
fn answer_at_first(finding: &WhyFinding) -> Vec<String> {
    let causes = finding.causes();
    match causes.as_slice() {
        [] => {
            let ladder = finding.ladder.as_ref();
            let step = ladder.and_then(|ladder| largest_step(ladder, &finding.unit));
            without_cause(finding, step.is_some()).into_iter().chain(step).collect()
        }
        [(cause, ratio)] => vec![format!(
            "Cause: {}. Without it, the work takes {}× as long.",
            cause.summary,
            in_brackets(ratio, "")
        )],
        [_, _, ..] => {
            let parts: Vec<String> = causes
                .iter()
                .map(|(cause, ratio)| format!("{} ({}×)", cause.summary, in_brackets(ratio, "")))
                .collect();
            let all = finding.together.as_ref().map(|all| {
                format!("Without all of them, the work takes {}× as long.", in_brackets(all, ""))
            });
            let first = format!("Causes, and the time without each: {}.", parts.join("; "));
            std::iter::once(first).chain(all).collect()
        }
    }
}

/// Why no cause is named.
fn without_cause(finding: &WhyFinding, has_step: bool) -> Vec<String> {
    let least = percent(LEAST_EFFECT);
    let suspected = finding.candidates.len();
    let untested = finding.untested();
    if suspected == 0 {
        let nothing = "Nothing that plumb can remove looks suspicious";
        return vec![match has_step {
            true => format!("{nothing}."),
            false => format!("{nothing}: this may be as fast as the machine gets."),
        }];
    }
    if untested == suspected {
        return vec![format!(
            "Undecided: none of the {suspected} suspected causes could be tested."
        )];
    }
    let first = if finding.is_unsettled() {
        format!(
            "Undecided after {}: too little time to find an effect of {least}, or fresh pairs did not confirm it. --budget {:.0}s gives it three times as long.",
            length(finding.budget_s),
            3.0 * finding.budget_s
        )
    } else {
        format!("No cause found: removing any that could be tested gains less than {least}.")
    };
    let rest = (untested > 0)
        .then(|| format!("{untested} of {suspected} suspected causes could not be tested."));
    let needed = finding.needed();
    let fails = (needed > 0)
        .then(|| format!("The work fails without {needed} of {suspected} suspected causes."));
    std::iter::once(first).chain(rest).chain(fails).collect()
}

fn table(finding: &WhyFinding) -> Table {
    let mut columns = vec![
        TableColumn::left("suspected"),
        TableColumn::left("seen"),
        TableColumn::left("removed by"),
        TableColumn::right("× cost without"),
        TableColumn::left("outcome"),
    ];
    let has_second_try =
        finding.candidates.iter().any(|candidate| candidate.after_causes.is_some());
    if has_second_try {
        columns.push(TableColumn::left("with the causes removed"));
    }
    let mut table = Table::new(columns);
    for candidate in &finding.candidates {
        let (ratio, outcome) = experiment_text(&candidate.experiment);
        let way = short_way(&candidate.way);
        let mut cells = vec![
            TextLine::new(Style::Plain, &candidate.cause),
            TextLine::new(Style::Muted, &candidate.evidence),
            TextLine::new(Style::Plain, &way),
            TextLine::new(Style::Estimate, &ratio),
            TextLine::new(Style::Plain, &outcome),
        ];
        if has_second_try {
            let text = candidate.after_causes.as_ref().map_or_else(String::new, |after| {
                let (ratio, outcome) = experiment_text(&after.experiment);
                format!("{ratio} {outcome}")
            });
            cells.push(TextLine::new(Style::Plain, &text));
        }
        table.row(cells);
    }
    table
}

/// How a candidate was removed, with at most two of its settings.
fn short_way(way: &[String]) -> String {
    match way {
        [] => "–".to_owned(),
        [first, second, rest @ ..] if rest.len() > 1 => {
            format!("{first} {second} and {} more", rest.len())
        }
        _ => way.join(" "),
    }
}

/// The cost with the change over the cost without it, and what came of the experiment.
pub(crate) fn experiment_text(experiment: &CandidateExperiment) -> (String, String) {
    match experiment {
        CandidateExperiment::NotNeeded => {
            ("–".to_owned(), "skipped: a cause was already found".to_owned())
        }
        CandidateExperiment::Excluded(why) => ("–".to_owned(), format!("excluded: {why}")),
        CandidateExperiment::NotTried(why) => ("–".to_owned(), format!("not tried: {why}")),
        CandidateExperiment::Failed(why) => ("–".to_owned(), format!("fails: {why}")),
        CandidateExperiment::Measured { ratio, outcome } => (
            ratio.as_ref().map_or_else(|| "–".to_owned(), |ratio| in_brackets(ratio, "")),
            words(*outcome).to_owned(),
        ),
    }
}

/// The parts of the work, the shortest first.
fn table_of_parts(ladder: &Ladder, unit: &str) -> Table {
    let mut table = Table::new(vec![
        TableColumn::left("part of the work"),
        TableColumn::right("result"),
        TableColumn::right("of the time"),
        TableColumn::right("added by this step"),
    ]);
    for (index, rung) in ladder.rungs.iter().enumerate() {
        let step = if index == 0 { "–".to_owned() } else { share_text(&rung.step) };
        table.row(vec![
            TextLine::new(Style::Plain, &rung.name),
            TextLine::new(Style::Estimate, &in_brackets(&rung.result, unit)),
            TextLine::new(Style::Estimate, &share_text(&rung.of_whole)),
            TextLine::new(Style::Estimate, &step),
        ]);
    }
    table
}

fn words(outcome: CandidateOutcome) -> &'static str {
    match outcome {
        CandidateOutcome::Cause => "cause",
        CandidateOutcome::NotConfirmed => "not confirmed",
        CandidateOutcome::NoEffect => "no effect",
        CandidateOutcome::Undecided => "undecided",
    }
}

#[cfg(test)]
mod tests {
    use plumb_analysis::{
        AfterCauses, CandidateExperiment, CandidateFinding, CandidateOutcome, Ends, Estimate,
        WhyFinding,
    };
    use plumb_text::Terminal;

    use super::{answer, outcome, why_card, why_json};

    fn ratio(value: f64) -> Estimate {
        Estimate { value, interval: Ok(Ends { low: value * 0.9, high: value * 1.1 }) }
    }

    fn candidate(cause: &str, experiment: CandidateExperiment) -> CandidateFinding {
        CandidateFinding {
            cause: cause.into(),
            summary: format!("its {cause}"),
            evidence: "something was seen".into(),
            way: vec!["nice=0".into()],
            remedy: "start it otherwise".into(),
            command: "renice -n 0 -p PID".into(),
            experiment,
            after_causes: None,
        }
    }

    fn measured(cause: &str, value: f64, outcome: CandidateOutcome) -> CandidateFinding {
        candidate(cause, CandidateExperiment::Measured { ratio: Some(ratio(value)), outcome })
    }

    fn finding(candidates: Vec<CandidateFinding>) -> WhyFinding {
        WhyFinding {
            method: 1,
            subject: "cpu.sieve".into(),
            metric: "rate".into(),
            unit: "ops/s".into(),
            result: Some(ratio(500.0)),
            since: None,
            budget_s: 180.0,
            runs: Vec::new(),
            candidates,
            together: None,
            ladder: None,
        }
    }

    #[test]
    fn the_answer_names_the_cause_or_says_why_there_is_none() {
        let one = finding(vec![
            measured("quota", 0.2, CandidateOutcome::Cause),
            measured("pages", 0.99, CandidateOutcome::NoEffect),
        ]);
        assert_eq!(outcome(&one), "causes");
        assert_eq!(
            answer(&one),
            ["Cause: its quota. Without it, the work takes 0.20 [0.18, 0.22]× as long."]
        );
        let two = finding(vec![
            measured("nice", 0.5, CandidateOutcome::Cause),
            measured("quota", 0.2, CandidateOutcome::Cause),
        ]);
        assert!(answer(&two)[0].starts_with("Causes, and the time without each: its quota (0.2"));
        let none = finding(vec![measured("pages", 0.99, CandidateOutcome::NoEffect)]);
        assert!(answer(&none)[0].starts_with("No cause found"));
        let unknown = finding(vec![measured("pages", 0.9, CandidateOutcome::Undecided)]);
        assert_eq!(outcome(&unknown), "undecided");
        assert!(
            answer(&finding(Vec::new()))[0]
                .starts_with("Nothing that plumb can remove looks suspicious")
        );
        let tried = candidate("tracer", CandidateExperiment::NotTried("plumb has no way".into()));
        let untried = finding(vec![tried]);
        assert_eq!(outcome(&untried), "undecided");
        assert_eq!(
            answer(&untried),
            ["Undecided: none of the 1 suspected causes could be tested."]
        );
    }

    #[test]
    fn a_cause_that_another_one_hides_is_named_after_it() {
        let cause = CandidateExperiment::Measured {
            ratio: Some(ratio(0.5)),
            outcome: CandidateOutcome::Cause,
        };
        let hidden = CandidateFinding {
            after_causes: Some(AfterCauses { removed: vec!["quota".into()], experiment: cause }),
            ..measured("nice", 1.0, CandidateOutcome::NoEffect)
        };
        let found = finding(vec![measured("quota", 0.2, CandidateOutcome::Cause), hidden]);
        assert_eq!(
            answer(&found)[1],
            "Without quota, a further cause shows: its nice. Without that, too, the remaining time is 0.50 [0.45, 0.55]× as long."
        );
        let card = why_card(&found, &Terminal::plain(160), "");
        assert!(card.contains("with the causes removed"), "{card}");
        assert!(card.contains("0.50 [0.45, 0.55] cause"), "{card}");
        let document: serde_json::Value = serde_json::from_str(&why_json(&found).unwrap()).unwrap();
        let after = &document["candidates"][1]["after_causes"];
        assert_eq!((&after["outcome"], &after["removed"][0]), (&"cause".into(), &"quota".into()));
    }

    #[test]
    fn card_and_document_agree() {
        let found = finding(vec![measured("quota", 0.2, CandidateOutcome::Cause)]);
        let card = why_card(&found, &Terminal::plain(100), "");
        assert!(
            card.contains("renice -n 0 -p PID") && card.contains("0.20 [0.18, 0.22]"),
            "{card}"
        );
        let document: serde_json::Value = serde_json::from_str(&why_json(&found).unwrap()).unwrap();
        assert_eq!(document["candidates"][0]["outcome"], "cause");
        assert_eq!(document["outcome"], "causes");
    }
}
