//! A comparison that was repeated, in fresh sessions or with other builds: docs/method.md, *Sessions* and *Builds*.

use plumb_model::{Id, Verdict};
use plumb_stats::sessions::{SessionNoise, compare_sessions};
use plumb_stats::verdict::judge;

use crate::comparison::pairs::PointComparison;
use crate::comparison::verdict::NoVerdict;
use crate::estimate::{Estimate, estimate};
use crate::method::METHOD_VERSION;
use crate::one_run::finding::RunFinding;

/// The label that all sessions of a repeated comparison have in common.
pub const SESSIONS_LABEL: &str = "sessions";

/// The label that the runs of all builds of a comparison have in common.
pub const BUILDS_LABEL: &str = "builds";

/// The difference between the runs of a repeated comparison, over which it is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OuterUnit {
    /// Each run is a session of its own.
    Session,
    /// Each run compares a fresh build of one side with one of the other.
    Build,
}

impl OuterUnit {
    /// Its name in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Build => "build",
        }
    }
}

/// What a repeated comparison found.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionsFinding {
    /// Version of the method that found it.
    pub method: u32,
    /// The unit over which the intervals hold.
    pub unit: OuterUnit,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Level of the intervals of all sides together.
    pub confidence: f64,
    /// Each later side against the first.
    pub comparisons: Vec<RepeatedComparison>,
}

/// A side compared with the first in every session.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedComparison {
    /// The name of the first side.
    pub first: String,
    /// The name of the later side.
    pub side: String,
    /// What each session found, in order.
    pub sessions: Vec<SessionResult>,
    /// Cost over the first's cost, over all sessions that have one.
    pub ratio: Option<Estimate>,
    /// What the interval rests on; None without one.
    pub noise: Option<SessionNoise>,
    /// The verdict; None if too few sessions show how much sessions differ, or a session gives a reason against it.
    pub verdict: Option<Verdict>,
    /// Why there is no verdict, if a session gives the reason: its sides ended differently, or busy clients may hide a
    /// difference.
    pub no_verdict: Option<NoVerdict>,
}

/// What one session found.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionResult {
    /// Id of its run.
    pub run: Id,
    /// When that began, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Cost over the first's cost, from its pairs alone.
    pub ratio: Option<Estimate>,
    /// The verdict of its pairs.
    pub verdict: Option<Verdict>,
    /// Pairs that it measured.
    pub pairs: usize,
}

/// The log ratios of the later sides of a session, those that it has, in the order of the sides.
#[must_use]
pub fn session_log_ratios(finding: &RunFinding) -> Vec<f64> {
    finding.against_first.iter().filter_map(log_ratio).collect()
}

fn log_ratio(comparison: &PointComparison) -> Option<f64> {
    comparison.found.ratio.as_ref().map(|ratio| ratio.value.ln())
}

/// Sessions of one comparison, taken together. `earlier` are the log ratios of other repeated comparisons on this host, a
/// list of sessions for each.
#[must_use]
pub fn over_sessions(sessions: &[RunFinding], earlier: &[Vec<f64>]) -> SessionsFinding {
    over_units(OuterUnit::Session, sessions, earlier)
}

/// Runs that compare one build of each side, taken together. Other programs' builds say nothing of how much these differ.
#[must_use]
pub fn over_builds(runs: &[RunFinding]) -> SessionsFinding {
    over_units(OuterUnit::Build, runs, &[])
}

fn over_units(unit: OuterUnit, sessions: &[RunFinding], earlier: &[Vec<f64>]) -> SessionsFinding {
    let first = sessions.iter().max_by_key(|session| session.against_first.len());
    let sides = first.map_or(&[][..], |session| &session.against_first);
    let comparisons = sides.iter().enumerate();
    SessionsFinding {
        method: METHOD_VERSION,
        unit,
        margin: sides.first().map_or(plumb_model::MARGIN, |side| side.margin),
        confidence: sides.first().map_or(crate::method::CONFIDENCE, |side| side.confidence),
        comparisons: comparisons
            .map(|(index, side)| repeated(sessions, index, side, earlier))
            .collect(),
    }
}

fn repeated(
    sessions: &[RunFinding],
    index: usize,
    side: &PointComparison,
    earlier: &[Vec<f64>],
) -> RepeatedComparison {
    let found: Vec<(&RunFinding, &PointComparison)> = sessions
        .iter()
        .filter_map(|session| Some((session, session.against_first.get(index)?)))
        .collect();
    let logs: Vec<f64> = found.iter().filter_map(|(_, comparison)| log_ratio(comparison)).collect();
    // All sides share the chance of a false verdict.
    let level = 1.0 - (1.0 - side.confidence) / side.comparisons.max(1) as f64;
    let compared = compare_sessions(&logs, earlier, level);
    let centre = plumb_stats::pairs::hodges_lehmann(&logs);
    let judged = compared.ok().map(|compared| judge(&compared.interval, 0, side.margin).verdict);
    let ended_differently = found.iter().find_map(|(_, comparison)| {
        let reason = comparison.found.verdict.err()?;
        matches!(reason, NoVerdict::EndedDifferently { .. }).then_some(reason)
    });
    let busy_clients = found.iter().any(|(_, comparison)| comparison.busy_clients);
    let is_hidden = busy_clients && judged == Some(Verdict::Equivalent);
    let no_verdict = ended_differently.or(is_hidden.then_some(NoVerdict::GeneratorBusy));
    let interval = compared.map(|compared| compared.interval.map(f64::exp));
    RepeatedComparison {
        first: side.first.name.clone(),
        side: side.point.name.clone(),
        sessions: found
            .into_iter()
            .map(|(session, comparison)| result(session, comparison))
            .collect(),
        ratio: centre.map(|centre| estimate(centre.exp(), interval)),
        noise: compared.ok().map(|compared| compared.noise),
        verdict: judged.filter(|_| no_verdict.is_none()),
        no_verdict,
    }
}

fn result(session: &RunFinding, comparison: &PointComparison) -> SessionResult {
    SessionResult {
        run: session.run.id,
        started_unix_ns: session.run.started_unix_ns,
        ratio: comparison.found.ratio.clone(),
        verdict: comparison.found.verdict.ok(),
        pairs: comparison.found.by_pairs().map_or(0, |pairs| pairs.pairs),
    }
}
