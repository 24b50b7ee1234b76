//! The text of a history, for every output format.

use std::collections::BTreeSet;

use plumb_analysis::{CycleFinding, HistoryFinding, HistoryStep, RecordedChange};
use plumb_model::{Better, SeriesInRun};
use plumb_text::{Style, counted};
use plumb_units::percent;

use crate::figure::figure;

/// An event between two runs, with its text and style.
pub struct HistoryEvent {
    /// What it says.
    pub text: String,
    /// How it is drawn.
    pub style: Style,
}

/// `memory.copy:method=libc/bandwidth, 37 runs on host web1, fp1:0123456789abcdef`.
pub(crate) fn title(finding: &HistoryFinding) -> String {
    let title = finding.title.as_ref().map(|title| format!("{title}: "));
    let runs = counted(finding.runs.len(), "run", "runs");
    let machines = match finding.machines.as_slice() {
        [one] => one.clone(),
        several => format!("{} machines", several.len()),
    };
    let known = finding.hosts.iter().filter(|host| host.known().is_some());
    let hosts = match known.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => format!("host {one}, "),
        several => format!("{} hosts, ", several.len()),
    };
    let series = typed_series(finding);
    format!("{}{series}, {runs} on {hosts}{machines}", title.unwrap_or_default())
}

/// The series with values as people type them.
pub fn typed_series(finding: &HistoryFinding) -> String {
    let series = &finding.series;
    finding.runs.last().map_or_else(|| series.clone(), |run| run.point.typed_series(series))
}

/// The keys of the labels that name runs: the one that is wanted, else those whose values differ.
pub fn label_keys<'a>(finding: &'a HistoryFinding, wanted: Option<&'a str>) -> Vec<&'a str> {
    if let Some(wanted) = wanted {
        return vec![wanted];
    }
    let all_keys =
        finding.runs.iter().flat_map(|run| run.run.labels.keys().chain(run.point.labels.keys()));
    let keys: BTreeSet<&str> = all_keys.map(String::as_str).collect();
    let first = |key: &str| finding.runs.first().and_then(|run| run.label(key));
    let differs = |key: &&str| finding.runs.iter().any(|run| run.label(key) != first(key));
    keys.into_iter().filter(differs).collect()
}

/// The value of one key, or `key=value` of several.
pub fn label_of(run: &SeriesInRun, keys: &[&str]) -> String {
    let found = keys.iter().filter_map(|key| Some((key, run.label(key)?)));
    match keys {
        [_] => found.map(|(_, value)| value.to_owned()).collect(),
        _ => found.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" "),
    }
}

/// The first digits of the run's identity.
pub fn short(run: &SeriesInRun) -> String {
    plumb_model::short_id(run.run.run)
}

/// What stands before the run of this index.
pub fn events_before(finding: &HistoryFinding, index: usize) -> Vec<HistoryEvent> {
    let splits = finding.splits.iter().filter(|split| split.at == index).map(split);
    let common = finding.common.get(index).filter(|shift| **shift != 0.0).map(moved_together);
    let steps = finding.steps.iter().flatten().filter(|step| step.at == index);
    splits.chain(common).chain(steps.map(|change| step(change, finding.better))).collect()
}

/// The common shift of all series of a run.
fn moved_together(shift: &f64) -> HistoryEvent {
    let shift = plumb_units::percent_change(*shift, 1);
    let text = format!("all series changed by {shift} in cost in this run: not counted as a step");
    HistoryEvent { text, style: Style::Muted }
}

fn split(split: &RecordedChange) -> HistoryEvent {
    let change = |(field, before, after): &(String, String, String)| {
        let (before, after) = differing(before, after);
        format!("{field} {before} → {after}")
    };
    let text = split.changes.iter().map(change).collect::<Vec<_>>().join(" · ");
    HistoryEvent { text, style: Style::Flag }
}

/// Two long texts without the words that they have in common at either end.
fn differing(before: &str, after: &str) -> (String, String) {
    let (one, other): (Vec<&str>, Vec<&str>) =
        (before.split(' ').collect(), after.split(' ').collect());
    let most = one.len().min(other.len()) - 1;
    let head = one.iter().zip(&other).take(most).take_while(|(a, b)| a == b).count();
    let rest = one.iter().rev().zip(other.iter().rev()).take(most - head);
    let tail = rest.take_while(|(a, b)| a == b).count();
    let part = |words: &[&str]| {
        let mark = |is: bool| if is { "…" } else { "" };
        let middle = words[head..words.len() - tail].join(" ");
        format!("{}{middle}{}", mark(head > 0), mark(tail > 0))
    };
    (part(&one), part(&other))
}

/// The text of a step, and its style.
pub fn step(step: &HistoryStep, better: Better) -> HistoryEvent {
    let dearer = step.ratio.value > 1.0;
    let (word, style) = match (better, dearer) {
        (Better::Neither, true) => ("more", Style::Flag),
        (Better::Neither, false) => ("less", Style::Flag),
        (_, true) => ("slower", Style::Bad),
        (_, false) => ("faster", Style::Good),
    };
    let shown = figure(&step.ratio, "");
    let ratio = format!("{}× {}", shown.estimate, shown.brackets());
    let sure = if step.certain { "certain" } else { "suspected; measure it again in pairs" };
    HistoryEvent { text: format!("{word} from here: {} the cost, {sure}", ratio.trim_end()), style }
}

/// The text below the runs.
pub fn closing(finding: &HistoryFinding) -> Vec<String> {
    let mut lines = vec![match &finding.steps {
        Err(why) => format!("plumb cannot look for steps: {why}"),
        Ok(steps) if steps.is_empty() => "no steps".to_owned(),
        Ok(steps) => {
            let certain = steps.iter().filter(|step| step.certain).count();
            let margin = percent(finding.margin);
            format!(
                "{}, {certain} certain (under 1 in 1000 by chance, and beyond the margin of {margin})",
                counted(steps.len(), "step", "steps")
            )
        }
    }];
    if !finding.splits.is_empty() {
        let splits = counted(finding.splits.len(), "recorded change", "recorded changes");
        lines.push(format!("{splits}: plumb makes no comparison across a change"));
    }
    lines.extend(finding.cycles.iter().map(cycle));
    lines.extend(hosts(finding));
    if finding.other_units > 0 {
        let left = counted(finding.other_units, "run", "runs");
        lines.push(format!("left out: {left} in another unit"));
    }
    lines
}

/// What is to be known of the hosts: those that are mixed, and those that are left out.
fn hosts(finding: &HistoryFinding) -> Vec<String> {
    let unknown = finding.runs.iter().filter(|run| run.run.host().known().is_none()).count();
    let is_mixed = finding.hosts.len() > 1 && unknown > 0;
    let mixed = is_mixed.then(|| {
        let runs = counted(unknown, "run", "runs");
        format!(
            "{runs} on an unknown host: from an older version of plumb, or without a machine id"
        )
    });
    let others = finding.other_hosts;
    let left_out = (others.runs > 0).then(|| {
        let runs = counted(others.runs, "run", "runs");
        let hosts = counted(others.hosts, "other host", "other hosts");
        let series = typed_series(finding);
        format!(
            "left out: {runs} on {hosts} of this kind; plumb history '{series}' --by kind shows all"
        )
    });
    mixed.into_iter().chain(left_out).collect()
}

fn cycle(cycle: &CycleFinding) -> String {
    let shown = figure(&cycle.ratio, "");
    let found = format!("{}× {}", shown.estimate, shown.brackets());
    let of = format!("{} of {} moments", cycle.moments, cycle.moments + cycle.others);
    let words = cycle.cycle.words();
    let part = cycle.part;
    if cycle.differs {
        format!("{words} (UTC) matters: {part} costs {found} as much as the rest, {of}")
    } else {
        format!("{words} (UTC): no difference found; the largest is {part}, {found} the cost, {of}")
    }
}
