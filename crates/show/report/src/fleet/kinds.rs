//! The machines of a fleet by kind: text and document.

use plumb_analysis::{KindFinding, RatioOfMachine, SeriesOfKind};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, clean, counted};
use plumb_units::{Figure, percent};
use serde::Serialize;

use crate::figure::figure;

/// So many slow machines have a line; the rest is counted.
const MOST_SLOW: usize = 5;
/// So many results of a slow machine are named; the rest is counted.
const MOST_RESULTS: usize = 3;

/// The machines of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KindPart {
    /// The fingerprint of the kind of machine; null if the runs do not say where they were measured.
    pub fingerprint: Option<String>,
    /// The model of its CPU.
    pub cpu: Option<String>,
    /// The names of the machines.
    pub machines: Vec<String>,
    /// The first metric of each point.
    pub series: Vec<SeriesOfKindPart>,
}

/// One result of the machines of a kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesOfKindPart {
    /// Name of the series.
    pub series: String,
    /// Unit of the values.
    pub unit: String,
    /// `lower`, `higher` or `neither`.
    #[cfg_attr(test, schemars(extend("enum" = ["higher", "lower", "neither"])))]
    pub better: &'static str,
    /// The median of the machines.
    pub median: f64,
    /// The value of each machine, in the order of `machines`; null if it has none.
    pub values: Vec<Option<f64>>,
    /// The standard deviation between machines, as a share, beyond the errors of their own results; null with fewer than eight
    /// machines.
    pub spread: Option<f64>,
    /// The machines that are slow for their kind; null with fewer than eight machines.
    pub slow: Option<Vec<SlowMachinePart>>,
}

/// A machine that is slow for its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SlowMachinePart {
    /// The name of the machine.
    pub machine: String,
    /// Its cost over the usual cost of its kind.
    pub ratio: f64,
    /// Lower end of the 95 % interval of the ratio; null without one.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of the ratio; null without one.
    pub high: Option<f64>,
    /// Whether three fresh runs of the machine confirm it; null without them (`--confirm`).
    pub confirmed: Option<bool>,
}

/// A kind as a part of a document.
pub(super) fn kind_part(kind: &KindFinding) -> KindPart {
    let machine = kind.machine.as_ref();
    KindPart {
        fingerprint: machine.map(|machine| machine.fingerprint.clone()),
        cpu: machine.and_then(|machine| machine.facts.get("cpu").cloned()),
        machines: kind.machines.iter().map(|machine| machine.name.clone()).collect(),
        series: kind.series.iter().map(|series| series_part(kind, series)).collect(),
    }
}

fn series_part(kind: &KindFinding, series: &SeriesOfKind) -> SeriesOfKindPart {
    let slow = series.usual.as_ref().map(|_| {
        slow_in(kind, series)
            .map(|(machine, found)| SlowMachinePart {
                machine: machine.to_owned(),
                ratio: found.ratio.value,
                low: found.ratio.low(),
                high: found.ratio.high(),
                confirmed: found.is_confirmed,
            })
            .collect()
    });
    SeriesOfKindPart {
        series: series.name.clone(),
        unit: series.unit.clone(),
        better: series.better.word(),
        median: series.median,
        values: series.values.clone(),
        spread: series.usual.as_ref().map(|usual| usual.spread),
        slow,
    }
}

/// The machines that are slow for their kind in one series, with their ratios.
fn slow_in<'k>(
    kind: &'k KindFinding,
    series: &'k SeriesOfKind,
) -> impl Iterator<Item = (&'k str, &'k RatioOfMachine)> {
    let machines = kind.machines.iter().enumerate();
    machines.filter_map(|(index, machine)| Some((machine.name.as_str(), series.slow_ratio(index)?)))
}

/// The kind of machine and how many there are: `Intel Xeon 6338 (12 machines)`.
#[must_use]
pub fn kind_title(kind: &KindFinding) -> String {
    let cpu = kind.machine.as_ref().and_then(|machine| machine.facts.get("cpu"));
    let cpu = cpu.map_or_else(|| "unknown kind of machine".to_owned(), |cpu| clean(cpu));
    format!("{cpu} ({})", counted(kind.machines.len(), "machine", "machines"))
}

/// Which machines are slow for their kind, a line for each, the slowest first, all of them if `full`; that none is, if that can be
/// told. Empty if no kind has enough machines.
#[must_use]
pub fn slow_machines(kinds: &[KindFinding], full: bool) -> Vec<String> {
    let mut slow: Vec<SlowMachine<'_>> = kinds.iter().flat_map(slow_of_kind).collect();
    if slow.is_empty() {
        return none_is_slow(kinds).into_iter().collect();
    }
    slow.sort_by(|one, two| two.largest().total_cmp(&one.largest()));
    let shown = if full { slow.len() } else { MOST_SLOW };
    let mut lines: Vec<String> = slow.iter().take(shown).map(SlowMachine::line).collect();
    let hidden = slow.len().saturating_sub(shown);
    if hidden > 0 {
        let one = "more machine is slow for its kind";
        lines.push(counted(hidden, one, "more machines are slow for their kind"));
    }
    lines
}

/// A machine with results that are slow for its kind.
struct SlowMachine<'k> {
    name: &'k str,
    /// The results with their ratios, the slowest first.
    results: Vec<(&'k SeriesOfKind, &'k RatioOfMachine)>,
}

fn slow_of_kind(kind: &KindFinding) -> Vec<SlowMachine<'_>> {
    let mut slow = Vec::new();
    for (index, machine) in kind.machines.iter().enumerate() {
        let mut results: Vec<(&SeriesOfKind, &RatioOfMachine)> = kind
            .series
            .iter()
            .filter_map(|series| Some((series, series.slow_ratio(index)?)))
            .collect();
        results.sort_by(|one, two| two.1.ratio.value.total_cmp(&one.1.ratio.value));
        if !results.is_empty() {
            slow.push(SlowMachine { name: &machine.name, results });
        }
    }
    slow
}

impl SlowMachine<'_> {
    fn largest(&self) -> f64 {
        self.results.first().map_or(0.0, |(_, ratio)| ratio.ratio.value)
    }

    fn line(&self) -> String {
        let shown = self.results.iter().take(MOST_RESULTS);
        let mut texts: Vec<String> =
            shown.map(|(series, ratio)| result_text(series, ratio)).collect();
        let hidden = self.results.len().saturating_sub(MOST_RESULTS);
        if hidden > 0 {
            texts.push(counted(hidden, "more result", "more results"));
        }
        format!("{} is slow for its kind: {}", clean(self.name), texts.join("; "))
    }
}

/// That no machine is slow for its kind; None if no kind has enough machines. With a wide spread, only much slower machines can be
/// found, so that stands next to it.
fn none_is_slow(kinds: &[KindFinding]) -> Option<String> {
    let is_judged = |kind: &&KindFinding| kind.series.iter().any(|series| series.usual.is_some());
    let judged: Vec<&KindFinding> = kinds.iter().filter(is_judged).collect();
    let usual =
        judged.iter().flat_map(|kind| &kind.series).filter_map(|series| series.usual.as_ref());
    let spreads: Vec<f64> = usual.map(|usual| usual.spread).collect();
    let least = spreads.iter().copied().reduce(f64::min)?;
    let most = spreads.iter().copied().reduce(f64::max)?;
    let all: usize = kinds.iter().map(|kind| kind.machines.len()).sum();
    let of_judged: usize = judged.iter().map(|kind| kind.machines.len()).sum();
    let mut text = format!(
        "no machine is slow for its kind; the spread between machines is {} to {} (standard deviation)",
        percent(least),
        percent(most)
    );
    if all > of_judged {
        let others = counted(all - of_judged, "machine", "machines");
        text += &format!("; {others} not judged: too few comparable results");
    }
    Some(text)
}

/// `memory.copy:method=libc 1.14× the median cost [1.09, 1.19]`.
fn result_text(series: &SeriesOfKind, ratio: &RatioOfMachine) -> String {
    let shown = figure(&ratio.ratio, "");
    let times = format!("{}× the median cost {}", shown.estimate, shown.brackets());
    let fresh = match ratio.is_confirmed {
        Some(true) => ", confirmed in fresh runs",
        Some(false) => ", not confirmed in fresh runs",
        None => "",
    };
    format!("{} {}{fresh}", clean(&series.point.name), times.trim_end())
}

/// A row per result: its median over the machines, their spread, and the machines at both ends.
pub(super) fn kind_table(kind: &KindFinding, terminal: &Terminal) -> String {
    let mut table = Table::new(vec![
        TableColumn::left(""),
        TableColumn::right("median"),
        TableColumn::left("unit").gap(1),
        TableColumn::right("spread"),
        TableColumn::left("fastest"),
        TableColumn::left("slowest"),
    ]);
    for series in &kind.series {
        let median = Figure::new(series.median, Err(""), &series.unit);
        let spread = series.usual.as_ref().map(|usual| percent(usual.spread));
        let is_slow = slow_in(kind, series).next().is_some();
        table.row(vec![
            TextLine::new(Style::Name, &clean(&series.point.name)),
            TextLine::new(Style::Estimate, &median.estimate),
            TextLine::new(Style::Muted, &median.unit),
            TextLine::new(Style::Plain, &spread.unwrap_or_default()),
            TextLine::new(Style::Plain, &fastest_text(kind, series)),
            TextLine::new(
                if is_slow { Style::Flag } else { Style::Plain },
                &slowest_text(kind, series),
            ),
        ]);
    }
    let title = TextLine::new(Style::Heading, &kind_title(kind));
    terminal.lines(0, &title) + &terminal.table(&table)
}

/// The machine with the lowest cost, and that over the median's: `web07 0.93×`.
#[must_use]
pub fn fastest_text(kind: &KindFinding, series: &SeriesOfKind) -> String {
    cost_ratios(kind, series)
        .min_by(|one, two| one.1.total_cmp(&two.1))
        .map_or_else(String::new, ratio_text)
}

/// The machine with the highest cost, and that over the median's: `web07 1.14×`.
#[must_use]
pub fn slowest_text(kind: &KindFinding, series: &SeriesOfKind) -> String {
    cost_ratios(kind, series)
        .max_by(|one, two| one.1.total_cmp(&two.1))
        .map_or_else(String::new, ratio_text)
}

/// The cost of each machine that has a value over the median's.
fn cost_ratios<'k>(
    kind: &'k KindFinding,
    series: &'k SeriesOfKind,
) -> impl Iterator<Item = (&'k str, f64)> {
    kind.machines
        .iter()
        .zip(&series.values)
        .filter_map(|(machine, value)| Some((machine.name.as_str(), series.cost_ratio((*value)?))))
}

fn ratio_text((name, ratio): (&str, f64)) -> String {
    format!("{} {ratio:.2}×", clean(name))
}
