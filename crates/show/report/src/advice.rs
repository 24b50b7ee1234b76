//! Which settings would make something faster: text and document.

use plumb_analysis::{
    CandidateExperiment, CandidateFinding, CandidateOutcome, LEAST_EFFECT, WhyFinding,
};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine};
use plumb_units::percent;
use serde::Serialize;

use crate::figure::in_brackets;
use crate::json_parts::estimate::{EstimatePart, estimate};
use crate::json_parts::text::pretty;
use crate::why::experiment_text;

/// Name of the document's form.
const ADVICE_SCHEMA: &str = "plumb.advice/1";

/// Which settings would make something faster, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.advice/1"))]
pub struct AdviceDocument {
    /// Name of the schema: `plumb.advice/1`.
    #[cfg_attr(test, schemars(extend("const" = ADVICE_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// What is to be faster.
    pub subject: String,
    /// The metric that was compared.
    pub metric: String,
    /// The unit of the metric.
    pub unit: String,
    /// The result with the present settings.
    pub result: Option<EstimatePart>,
    /// The ids of the runs that it rests on.
    pub runs: Vec<String>,
    /// The smallest relative gain that counts.
    pub least_effect: f64,
    /// The settings that were to be tried.
    pub settings: Vec<AdvicePart>,
    /// Cost with all settings that help over the cost without them; null if there are not several.
    pub together: Option<EstimatePart>,
}

/// A setting that was to be tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AdvicePart {
    /// The setting, as `--set` takes it.
    pub setting: String,
    /// What it is now.
    pub now: String,
    /// Whether it makes the work faster by more than `least_effect`, confirmed on fresh pairs.
    pub helps: bool,
    /// What came of it, in words.
    pub outcome: String,
    /// Cost with it over the cost without it.
    pub ratio: Option<EstimatePart>,
    /// The command that sets it; empty if it was not tried.
    pub set: String,
    /// The command that undoes this; may be empty.
    pub undo: String,
}

/// Which settings would make something faster, as the text of a document.
///
/// # Errors
/// When it can't be written as JSON.
pub fn advice_json(finding: &WhyFinding) -> serde_json::Result<String> {
    pretty(&AdviceDocument {
        schema: ADVICE_SCHEMA,
        method: finding.method,
        subject: finding.subject.clone(),
        metric: finding.metric.clone(),
        unit: finding.unit.clone(),
        result: finding.result.as_ref().map(estimate),
        runs: finding.runs.iter().map(ToString::to_string).collect(),
        least_effect: LEAST_EFFECT,
        settings: finding.candidates.iter().map(|tried| part(finding, tried)).collect(),
        together: finding.together.as_ref().map(estimate),
    })
}

fn part(finding: &WhyFinding, tried: &CandidateFinding) -> AdvicePart {
    let ratio = match &tried.experiment {
        CandidateExperiment::Measured { ratio, .. } => ratio.as_ref(),
        _ => None,
    };
    AdvicePart {
        setting: tried.cause.clone(),
        now: tried.evidence.clone(),
        helps: finding.causes().iter().any(|(cause, _)| *cause == tried),
        outcome: outcome(&tried.experiment).1,
        ratio: ratio.map(estimate),
        set: tried.command.clone(),
        undo: tried.remedy.clone(),
    }
}

/// The cost with a setting over the cost without it, and what came of it.
fn outcome(experiment: &CandidateExperiment) -> (String, String) {
    let (ratio, words) = experiment_text(experiment);
    match experiment {
        CandidateExperiment::Measured { outcome: CandidateOutcome::Cause, .. } => {
            (ratio, "helps".to_owned())
        }
        _ => (ratio, words),
    }
}

/// Which settings would make something faster, in lines of a terminal's width.
#[must_use]
pub fn advice_card(finding: &WhyFinding, terminal: &Terminal) -> String {
    let mut out = String::new();
    let title = format!("settings for {}", finding.subject);
    out.push_str(&terminal.lines(0, &TextLine::new(Style::Heading, &title)));
    if let Some(result) = &finding.result {
        out.push_str(&plain(
            terminal,
            &format!("now: {} {}", finding.metric, in_brackets(result, &finding.unit)),
        ));
    }
    for sentence in answer(finding) {
        out.push_str(&plain(terminal, &sentence));
    }
    if !finding.candidates.is_empty() {
        out.push('\n');
        out.push_str(&terminal.table(&table(finding)));
    }
    for (helpful, _) in finding.causes() {
        out.push_str(&plain(terminal, &format!("{}: {}", helpful.cause, helpful.command)));
        if !helpful.remedy.is_empty() {
            out.push_str(
                &terminal
                    .lines(2, &TextLine::new(Style::Muted, &format!("undo: {}", helpful.remedy))),
            );
        }
    }
    terminal.signs(out)
}

fn plain(terminal: &Terminal, text: &str) -> String {
    terminal.lines(0, &TextLine::new(Style::Plain, text))
}

/// The answer, a sentence a line.
fn answer(finding: &WhyFinding) -> Vec<String> {
    let least = percent(LEAST_EFFECT);
    let helpful = finding.causes();
    if finding.candidates.is_empty() {
        return vec!["No setting to try: all have these values already.".to_owned()];
    }
    if !helpful.is_empty() {
        let parts: Vec<String> = helpful
            .iter()
            .map(|(setting, ratio)| format!("{}: {}×", setting.cause, in_brackets(ratio, "")))
            .collect();
        let all = finding.together.as_ref().map(|all| {
            format!("With all of them, the work takes {}× as long.", in_brackets(all, ""))
        });
        let first = format!("These settings help, by the time with each: {}.", parts.join("; "));
        return std::iter::once(first).chain(all).collect();
    }
    let first = if finding.is_unsettled() {
        format!(
            "Undecided: too little time to find a gain of {least}. --budget {:.0}s gives it three times as long.",
            3.0 * finding.budget_s
        )
    } else {
        format!("None of the settings that could be tried gains more than {least}.")
    };
    let untested = finding.untested();
    let rest = (untested > 0).then(|| {
        format!("{untested} of {} settings could not be tried.", finding.candidates.len())
    });
    std::iter::once(first).chain(rest).collect()
}

fn table(finding: &WhyFinding) -> Table {
    let mut table = Table::new(vec![
        TableColumn::left("setting"),
        TableColumn::left("now"),
        TableColumn::right("× cost with it"),
        TableColumn::left("outcome"),
    ]);
    for tried in &finding.candidates {
        let (ratio, words) = outcome(&tried.experiment);
        table.row(vec![
            TextLine::new(Style::Plain, &tried.cause),
            TextLine::new(Style::Muted, &tried.evidence),
            TextLine::new(Style::Estimate, &ratio),
            TextLine::new(Style::Plain, &words),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use plumb_analysis::{
        CandidateExperiment, CandidateFinding, CandidateOutcome, Ends, Estimate, WhyFinding,
    };
    use plumb_text::Terminal;

    use super::{advice_card, advice_json, answer};

    fn finding(value: f64, outcome: CandidateOutcome) -> WhyFinding {
        let ratio = Estimate { value, interval: Ok(Ends { low: value * 0.9, high: value * 1.1 }) };
        let tried = CandidateFinding {
            cause: "thp=always".into(),
            summary: "transparent huge pages".into(),
            evidence: "madvise".into(),
            way: vec!["thp=always".into()],
            remedy: "echo madvise > /sys/thp".into(),
            command: "echo always > /sys/thp".into(),
            experiment: CandidateExperiment::Measured { ratio: Some(ratio), outcome },
            after_causes: None,
        };
        WhyFinding {
            method: 1,
            subject: "memory.latency".into(),
            metric: "latency".into(),
            unit: "s".into(),
            result: None,
            since: None,
            budget_s: 60.0,
            runs: Vec::new(),
            candidates: vec![tried],
            together: None,
            ladder: None,
        }
    }

    #[test]
    fn a_setting_that_helps_is_shown_with_the_commands_that_set_and_undo_it() {
        let helps = finding(0.5, CandidateOutcome::Cause);
        let card = advice_card(&helps, &Terminal::plain(100));
        for part in [
            "These settings help, by the time with each: thp=always: 0.50 [0.45, 0.55]×.",
            "thp=always: echo always > /sys/thp",
            "undo: echo madvise > /sys/thp",
        ] {
            assert!(card.contains(part), "{part}: {card}");
        }
        let document: serde_json::Value =
            serde_json::from_str(&advice_json(&helps).unwrap()).unwrap();
        assert_eq!(document["settings"][0]["helps"], true);
        assert_eq!(document["settings"][0]["outcome"], "helps");
        let useless = finding(1.0, CandidateOutcome::NoEffect);
        assert_eq!(
            answer(&useless),
            ["None of the settings that could be tried gains more than 5 %."]
        );
        let unknown = finding(0.9, CandidateOutcome::Undecided);
        assert!(answer(&unknown)[0].starts_with("Undecided"));
    }
}
