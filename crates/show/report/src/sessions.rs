//! A comparison that was repeated in sessions or with other builds: text and document.

use plumb_analysis::{Estimate, OuterUnit, RepeatedComparison, SessionNoise, SessionsFinding};
use plumb_model::{Verdict, short_id};
use plumb_text::time::{date, rfc3339};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, counted};
use plumb_units::percent;
use serde::Serialize;

use crate::figure::figure;
use crate::json_parts::text::pretty;

/// Name of the document's form.
pub const SESSIONS_SCHEMA: &str = "plumb.sessions/1";

/// A repeated comparison as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.sessions/1"))]
pub struct SessionsDocument {
    /// Name of the schema: `plumb.sessions/1`.
    #[cfg_attr(test, schemars(extend("const" = SESSIONS_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// What differs between the runs: `session` or `build`. The intervals hold over these.
    #[cfg_attr(test, schemars(extend("enum" = ["session", "build"])))]
    pub unit: &'static str,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Level of the intervals of all sides together.
    pub confidence: f64,
    /// Each later side against the first.
    pub comparisons: Vec<RepeatedPart>,
}

/// A side compared with the first in every session, or build by build.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepeatedPart {
    /// The name of the first side.
    pub first: String,
    /// The name of the later side.
    pub side: String,
    /// Cost over the first's cost, over all sessions.
    pub ratio: Option<f64>,
    /// Lower end of its interval; null if too few sessions show how much sessions differ.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The verdict; null without an interval.
    #[cfg_attr(test, schemars(extend("enum" = ["faster", "slower", "equivalent", "inconclusive", null])))]
    pub verdict: Option<&'static str>,
    /// The relative deviation between sessions that the interval allows for, if earlier sessions of this host were needed.
    pub session_sd: Option<f64>,
    /// What each session, or each build, found.
    pub sessions: Vec<SessionPart>,
}

/// What one session, or one build of each side, found from its pairs alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionPart {
    /// Id of its run.
    pub run: String,
    /// When it began (RFC 3339).
    pub started: String,
    /// Cost over the first's cost.
    pub ratio: Option<f64>,
    /// Lower end of its interval, which knows nothing of other sessions.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// The verdict of these pairs.
    pub verdict: Option<&'static str>,
    /// Pairs that it rests on.
    pub pairs: usize,
}

/// The repeated comparison as a document.
#[must_use]
pub fn sessions_document(finding: &SessionsFinding) -> SessionsDocument {
    SessionsDocument {
        schema: SESSIONS_SCHEMA,
        method: finding.method,
        unit: finding.unit.word(),
        margin: finding.margin,
        confidence: finding.confidence,
        comparisons: finding.comparisons.iter().map(part).collect(),
    }
}

fn part(comparison: &RepeatedComparison) -> RepeatedPart {
    let sessions = comparison.sessions.iter().map(|session| SessionPart {
        run: session.run.to_string(),
        started: rfc3339(session.started_unix_ns),
        ratio: session.ratio.as_ref().map(|ratio| ratio.value),
        low: session.ratio.as_ref().and_then(Estimate::low),
        high: session.ratio.as_ref().and_then(Estimate::high),
        verdict: session.verdict.map(Verdict::word),
        pairs: session.pairs,
    });
    RepeatedPart {
        first: comparison.first.clone(),
        side: comparison.side.clone(),
        ratio: comparison.ratio.as_ref().map(|ratio| ratio.value),
        low: comparison.ratio.as_ref().and_then(Estimate::low),
        high: comparison.ratio.as_ref().and_then(Estimate::high),
        verdict: comparison.verdict.map(Verdict::word),
        session_sd: match comparison.noise {
            Some(SessionNoise::WithEarlier { sd, .. }) => Some(sd.exp_m1()),
            Some(SessionNoise::Sessions) | None => None,
        },
        sessions: sessions.collect(),
    }
}

/// The document as text.
///
/// # Errors
/// When it can't be written as JSON.
pub fn sessions_json(finding: &SessionsFinding) -> serde_json::Result<String> {
    pretty(&sessions_document(finding))
}

/// The repeated comparison in lines of a terminal's width.
#[must_use]
pub fn sessions_card(finding: &SessionsFinding, terminal: &Terminal) -> String {
    let mut out = String::new();
    for comparison in &finding.comparisons {
        let title = format!(
            "{} compared with {}, over {}s",
            comparison.side,
            comparison.first,
            finding.unit.word()
        );
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Heading, &title)));
        out.push_str(&terminal.table(&table(comparison)));
        let line = TextLine::new(Style::Plain, &conclusion(comparison, finding));
        out.push_str(&terminal.lines(0, &line));
    }
    terminal.signs(out)
}

fn table(comparison: &RepeatedComparison) -> Table {
    let mut table = Table::new(vec![
        TableColumn::left("began"),
        TableColumn::left("run"),
        TableColumn::right("pairs"),
        TableColumn::right("× cost"),
        TableColumn::left("from its pairs alone"),
    ])
    .indented(2);
    for session in &comparison.sessions {
        let ratio = session.ratio.as_ref().map_or_else(|| "–".to_owned(), ratio_text);
        let verdict = session.verdict.map_or("no verdict", Verdict::word);
        table.row(vec![
            TextLine::new(Style::Plain, &date(session.started_unix_ns)),
            TextLine::new(Style::Muted, &short_id(session.run)),
            TextLine::new(Style::Plain, &session.pairs.to_string()),
            TextLine::new(Style::Estimate, &ratio),
            TextLine::new(Style::Plain, verdict),
        ]);
    }
    table
}

fn ratio_text(ratio: &Estimate) -> String {
    let shown = figure(ratio, "");
    format!("{} {}", shown.estimate, shown.brackets())
}

/// The answer over all sessions, with what it rests on.
fn conclusion(comparison: &RepeatedComparison, finding: &SessionsFinding) -> String {
    let units = match finding.unit {
        OuterUnit::Session => counted(comparison.sessions.len(), "session", "sessions"),
        OuterUnit::Build => counted(comparison.sessions.len(), "build", "builds"),
    };
    let Some(ratio) = &comparison.ratio else { return format!("no ratio in {units}") };
    let shown = ratio_text(ratio);
    let margin = percent(finding.margin);
    match (comparison.verdict, comparison.noise) {
        (Some(verdict), Some(SessionNoise::WithEarlier { sessions: seen, sd })) => format!(
            "{}: {shown} × cost over {units}, margin {margin}; sessions differ by {} ({seen} sessions of this host show it)",
            verdict.word(),
            percent(sd.exp_m1())
        ),
        (Some(verdict), _) => {
            format!("{}: {shown} × cost over {units}, margin {margin}", verdict.word())
        }
        (None, _) if let Some(why) = comparison.no_verdict => {
            format!("no verdict: {shown} × cost over {units}; in a {}, {why}", finding.unit.word())
        }
        (None, _) => {
            let needed = match finding.unit {
                OuterUnit::Session => {
                    "it takes six, or earlier --sessions of this host, to know how much sessions differ"
                }
                OuterUnit::Build => "it takes six to know how much builds differ",
            };
            format!("uncalibrated: {shown} × cost over {units}; {needed}")
        }
    }
}
