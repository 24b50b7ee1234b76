//! A quick check: text, and the document `plumb.quick-check/1`.

use std::collections::BTreeMap;

use plumb_analysis::{QuickCheckFinding, QuickResult, QuickState};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, counted};
use plumb_units::{length, percent};
use serde::Serialize;

use crate::json_parts::text::pretty;

/// Name of the document's form.
pub const QUICK_CHECK_SCHEMA: &str = "plumb.quick-check/1";

/// A result that may cost so many times as much as on healthy machines gets a remark.
const WIDE: f64 = 1.5;

/// The healthy runs that a quick check compares with.
#[derive(Debug, Clone, PartialEq)]
pub struct QuickBaseline {
    /// The name of the baseline.
    pub name: String,
    /// Its runs that count.
    pub runs: usize,
    /// Hosts that these were measured on.
    pub hosts: usize,
    /// Results with too few healthy runs, with their number.
    pub uncalibrated: Vec<(String, usize)>,
}

/// A quick check as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.quick-check/1"))]
pub struct QuickCheckDocument {
    /// Name of the schema: `plumb.quick-check/1`.
    #[cfg_attr(test, schemars(extend("const" = QUICK_CHECK_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the method that found the results.
    pub method: u32,
    /// The baseline's name.
    pub baseline: String,
    /// Its runs that count.
    pub baseline_runs: usize,
    /// Hosts that these were measured on.
    pub baseline_hosts: usize,
    /// Id of the run of the check.
    pub run: String,
    /// How long it took, in seconds; null if it has no end.
    pub took_s: Option<f64>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// The state of the machine: the most severe one of its results.
    #[cfg_attr(test, schemars(extend("enum" = ["slow", "failed", "unsupported", "undecided", "healthy"])))]
    pub outcome: &'static str,
    /// Every result: slow ones first, healthy ones last.
    pub results: Vec<QuickResultPart>,
    /// How many processes do not count by each rule about other activity.
    pub disturbed_by: BTreeMap<String, usize>,
    /// Results of the baseline with too few healthy runs.
    pub uncalibrated: Vec<String>,
}

/// One result of a quick check.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuickResultPart {
    /// Name of the point.
    pub name: String,
    /// What is known of it.
    #[cfg_attr(test, schemars(extend("enum" = ["slow", "failed", "unsupported", "undecided", "healthy"])))]
    pub state: &'static str,
    /// Cost over that of healthy machines; null before the second process.
    pub ratio: Option<f64>,
    /// The ratio is no lower than this.
    pub low: Option<f64>,
    /// The ratio is no higher than this.
    pub high: Option<f64>,
    /// The highest ratio that healthy machines reach.
    pub limit: f64,
    /// Processes that ended well.
    pub processes: usize,
    /// Processes that do not count because something else ran at the same time.
    pub disturbed: usize,
    /// Why the last process failed, or the point cannot be measured.
    pub trouble: Option<String>,
}

/// A quick check as a document.
#[must_use]
pub fn quick_check_document(
    finding: &QuickCheckFinding,
    baseline: &QuickBaseline,
) -> QuickCheckDocument {
    QuickCheckDocument {
        schema: QUICK_CHECK_SCHEMA,
        method: finding.method,
        baseline: baseline.name.clone(),
        baseline_runs: baseline.runs,
        baseline_hosts: baseline.hosts,
        run: finding.run.to_string(),
        took_s: finding.took_s,
        margin: finding.margin,
        outcome: finding.state().word(),
        results: finding.results.iter().map(result_part).collect(),
        disturbed_by: finding.disturbed_by.clone(),
        uncalibrated: baseline.uncalibrated.iter().map(|(name, _)| name.clone()).collect(),
    }
}

fn result_part(result: &QuickResult) -> QuickResultPart {
    QuickResultPart {
        name: result.name.clone(),
        state: result.state.word(),
        ratio: result.ratio.map(|ratio| ratio.estimate),
        low: result.ratio.map(|ratio| ratio.low),
        high: result.ratio.map(|ratio| ratio.high),
        limit: result.limit,
        processes: result.processes,
        disturbed: result.disturbed,
        trouble: result.trouble.clone(),
    }
}

/// A quick check as the text of its document.
///
/// # Errors
/// When it can't be written as JSON.
pub fn quick_check_json(
    finding: &QuickCheckFinding,
    baseline: &QuickBaseline,
) -> serde_json::Result<String> {
    pretty(&quick_check_document(finding, baseline))
}

/// A quick check in lines of a terminal's width: the answer, and every result.
#[must_use]
pub fn quick_check_card(
    finding: &QuickCheckFinding,
    baseline: &QuickBaseline,
    terminal: &Terminal,
) -> String {
    let mut out = terminal.lines(0, &TextLine::new(Style::Heading, &answer(finding)));
    let remarks = [
        Some(compared_with(baseline)),
        disturbed(finding),
        wide_limits(finding),
        uncalibrated(baseline),
    ];
    for remark in remarks.into_iter().flatten() {
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, &remark)));
    }
    let mut table = Table::new(vec![
        TableColumn::left("").wrapping(),
        TableColumn::right("× cost"),
        TableColumn::right("limit"),
        TableColumn::right("processes"),
        TableColumn::left(""),
    ])
    .indented(2);
    for result in &finding.results {
        table.row(cells(result));
        if let (QuickState::Failed | QuickState::Unsupported, Some(trouble)) =
            (result.state, &result.trouble)
        {
            table.across(4, TextLine::default(), TextLine::new(Style::Muted, trouble));
        }
    }
    out.push_str(&terminal.table(&table));
    terminal.signs(out)
}

fn cells(result: &QuickResult) -> Vec<TextLine> {
    let ratio = result.ratio.map_or_else(String::new, |ratio| {
        format!("{} [{}, {}]", two(ratio.estimate), two(ratio.low), two(ratio.high))
    });
    let style = match result.state {
        QuickState::Slow | QuickState::Failed => Style::Bad,
        QuickState::Unsupported | QuickState::Undecided => Style::Flag,
        QuickState::Healthy => Style::Good,
    };
    vec![
        TextLine::new(Style::Name, &result.name),
        TextLine::new(Style::Estimate, &ratio),
        TextLine::new(Style::Plain, &two(result.limit)),
        TextLine::new(Style::Plain, &result.processes.to_string()),
        TextLine::new(style, result.state.word()),
    ]
}

/// A ratio with two decimal places.
fn two(ratio: f64) -> String {
    format!("{ratio:.2}")
}

/// The answer in one sentence.
pub(super) fn answer(finding: &QuickCheckFinding) -> String {
    let after =
        finding.took_s.map_or_else(String::new, |took_s| format!(" after {}", length(took_s)));
    let all = counted(finding.results.len(), "result", "results");
    let state = finding.state();
    let concerned = finding.in_state(state).count();
    match state {
        QuickState::Slow => {
            let slow = finding.in_state(state).next();
            let found = slow.and_then(|result| {
                let cost = two(result.ratio?.estimate);
                let limit = two(result.limit);
                Some(format!(
                    ": {} costs {cost} times as much as on healthy machines (limit {limit})",
                    result.name
                ))
            });
            format!("Slow{after}{}", found.unwrap_or_default())
        }
        QuickState::Healthy => {
            let count = finding.results.len();
            let below =
                counted(count, "result is below its limit", "results are below their limits");
            format!("Healthy{after}: {below}")
        }
        QuickState::Failed => format!("Failed{after}: {concerned} of {all}"),
        QuickState::Unsupported => format!("Not measured{after}: {concerned} of {all}"),
        QuickState::Undecided => {
            format!("Undecided{after}: {concerned} of {all} may be healthy or slow")
        }
    }
}

fn compared_with(baseline: &QuickBaseline) -> String {
    let runs = counted(baseline.runs, "healthy run", "healthy runs");
    let hosts = counted(baseline.hosts, "host", "hosts");
    format!("Compared with {} ({runs} of {hosts}).", baseline.name)
}

/// The share of processes that do not count, if there are any.
fn disturbed(finding: &QuickCheckFinding) -> Option<String> {
    let disturbed: usize = finding.results.iter().map(|result| result.disturbed).sum();
    let all: usize =
        finding.results.iter().map(|result| result.processes).sum::<usize>() + disturbed;
    (disturbed > 0).then(|| {
        let share = percent(disturbed as f64 / all.max(1) as f64);
        let rules: Vec<String> =
            finding.disturbed_by.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
        format!(
            "{disturbed} of {all} processes ({share}) were disturbed and do not count: {}.",
            rules.join(", ")
        )
    })
}

/// The results in which only a large slow-down would show.
fn wide_limits(finding: &QuickCheckFinding) -> Option<String> {
    let names: Vec<String> = finding
        .results
        .iter()
        .filter(|result| result.limit > WIDE)
        .map(|result| format!("{} ({})", result.name, two(result.limit)))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "The healthy runs differ so much that smaller slow-downs than these would not be noticed: {}.",
            names.join(", ")
        )
    })
}

fn uncalibrated(baseline: &QuickBaseline) -> Option<String> {
    let names: Vec<String> = baseline
        .uncalibrated
        .iter()
        .map(|(name, runs)| format!("{name} ({})", counted(*runs, "run", "runs")))
        .collect();
    (!names.is_empty())
        .then(|| format!("Not compared, too few healthy runs: {}.", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use insta::assert_snapshot;
    use plumb_analysis::{CostRatio, QuickCheckFinding, QuickResult, QuickState};
    use plumb_model::Id;
    use plumb_text::Terminal;

    use super::{QuickBaseline, quick_check_card};

    fn result(name: &str, state: QuickState, estimate: Option<f64>) -> QuickResult {
        QuickResult {
            name: name.to_owned(),
            state,
            ratio: estimate.map(|estimate| CostRatio {
                estimate,
                low: estimate / 1.1,
                high: estimate * 1.1,
            }),
            limit: if name == "process.fork" { 1.72 } else { 1.21 },
            processes: 4,
            disturbed: 0,
            trouble: None,
        }
    }

    fn card(results: Vec<QuickResult>, disturbed_by: BTreeMap<String, usize>) -> String {
        let finding = QuickCheckFinding {
            method: 1,
            run: Id::from_u128(1),
            took_s: Some(31.2),
            margin: 0.05,
            results,
            disturbed_by,
        };
        let baseline = QuickBaseline {
            name: "good".to_owned(),
            runs: 8,
            hosts: 1,
            uncalibrated: vec![("boot.startup".to_owned(), 2)],
        };
        quick_check_card(&finding, &baseline, &Terminal::plain(100))
    }

    #[test]
    fn a_slow_result_is_the_answer() {
        let mut fork = result("process.fork", QuickState::Undecided, None);
        fork.processes = 3;
        fork.disturbed = 2;
        let results = vec![
            result("memory.copy:method=libc", QuickState::Slow, Some(1.52)),
            fork,
            result("cpu.sieve", QuickState::Healthy, Some(1.01)),
        ];
        assert_snapshot!(card(results, BTreeMap::from([("waited".to_owned(), 2)])), @"
        Slow after 31 s: memory.copy:method=libc costs 1.52 times as much as on healthy machines (limit
        1.21)
        Compared with good (8 healthy runs of 1 host).
        2 of 13 processes (15 %) were disturbed and do not count: waited 2.
        The healthy runs differ so much that smaller slow-downs than these would not be noticed:
        process.fork (1.72).
        Not compared, too few healthy runs: boot.startup (2 runs).
                                              × cost  limit  processes
          memory.copy:method=libc  1.52 [1.38, 1.67]   1.21          4  slow
          process.fork                                 1.72          3  undecided
          cpu.sieve                1.01 [0.92, 1.11]   1.21          4  healthy
        ");
    }

    #[test]
    fn healthy_failed_and_undecided_machines_have_their_sentences() {
        let healthy = vec![result("cpu.sieve", QuickState::Healthy, Some(1.01))];
        assert_snapshot!(card(healthy, BTreeMap::new()), @"
        Healthy after 31 s: 1 result is below its limit
        Compared with good (8 healthy runs of 1 host).
        Not compared, too few healthy runs: boot.startup (2 runs).
                                × cost  limit  processes
          cpu.sieve  1.01 [0.92, 1.11]   1.21          4  healthy
        ");
        let failed = QuickResult {
            trouble: Some("exit code 3".to_owned()),
            ..result("process.command", QuickState::Failed, None)
        };
        let undecided = result("cpu.sieve", QuickState::Undecided, Some(1.2));
        assert_snapshot!(card(vec![failed, undecided.clone()], BTreeMap::new()), @"
        Failed after 31 s: 1 of 2 results
        Compared with good (8 healthy runs of 1 host).
        Not compared, too few healthy runs: boot.startup (2 runs).
                                      × cost  limit  processes
          process.command                      1.21          4  failed
              exit code 3
          cpu.sieve        1.20 [1.09, 1.32]   1.21          4  undecided
        ");
        let undecided = card(vec![undecided], BTreeMap::new());
        assert!(
            undecided.starts_with("Undecided after 31 s: 1 of 1 result may be healthy or slow\n"),
            "{undecided}"
        );
    }
}
