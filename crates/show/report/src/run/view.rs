//! The one view model: everything that any format shows, taken from a finding once.

use plumb_analysis::{
    BaselineSource, Comparison, Curve, Estimate, Finding, NoBaseline, PointComparison, RunFinding,
    Unsupported,
};
use plumb_model::{Better, FlagKind};
use plumb_text::counted;
use plumb_units::{Figure, percent, percent_figure, plain, quantity, whole_percent};

use crate::comparison::{other_build, pairs_text, settling, side_effects, verdict};
use crate::figure::figure;
use crate::run::bottleneck_text::bottleneck_text;
use crate::run::curves::CurveText;
use crate::run::header::ReportHeader;
use crate::run::implementation_table::ImplementationTable;
use crate::run::labels::{self, CROWDED};
use crate::run::ladder_text::ladder_text;
use crate::run::levels::{LevelsText, share_text};
use crate::run::ranking::ranking_text;

/// The view of a run that reports show.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// The finding that it shows.
    pub finding: &'a RunFinding,
    /// The heading above the results.
    pub header: ReportHeader,
    /// A row for every point and metric, in the plan's order.
    pub rows: Vec<ResultRow<'a>>,
    /// The rows by family, families in the order in which they first occur.
    pub families: Vec<Family>,
    /// The curves over parameters, then points behind links, then rankings of variants.
    pub curves: Vec<CurveText>,
    /// The tables of implementations of the same work, such as languages.
    pub implementations: Vec<ImplementationTable>,
    /// Every distinct flag with its evidence.
    pub flags: Vec<FlagNote>,
}

/// One point's metric.
#[derive(Debug, Clone)]
pub struct ResultRow<'a> {
    /// The findings of the analysis: the figures and how they came about.
    pub finding: &'a Finding,
    /// The point if its family is known: `copy libc`.
    pub label: String,
    /// The target, if there are several.
    pub target: Option<String>,
    /// The estimate with its interval and unit as text.
    pub figure: Figure,
    /// If there are two levels: what stands in place of the figure.
    pub levels: Option<LevelsText>,
    /// Invocations and samples of each: `12×20`.
    pub counts: String,
    /// Flags that not every row has.
    pub own_flags: Vec<FlagKind>,
    /// The share of one CPU during what the metric is of, if that is only a part of the sample, as a phase of bonnie is.
    pub own_cpu: Option<f64>,
    /// Of a limit: what holds up to it.
    pub goal: Option<String>,
    /// How the point compares with the plan's first.
    pub against_first: Option<&'a PointComparison>,
    /// How it compares with the point above it.
    pub against_above: Option<&'a PointComparison>,
}

/// Rows of one family.
#[derive(Debug, Clone)]
pub struct Family {
    /// The part of the workloads' ids before the dot.
    pub name: String,
    /// Indices of the rows.
    pub rows: Vec<usize>,
}

/// A flag, explained.
#[derive(Debug, Clone)]
pub struct FlagNote {
    /// Which reason to distrust it is.
    pub flag: FlagKind,
    /// Its meaning in words.
    pub meaning: &'static str,
    /// Whether every result carries it.
    pub everywhere: bool,
    /// The points that carry it, with the evidence of each.
    pub evidence: Vec<(String, String)>,
}

impl FlagNote {
    /// Its meaning, with the evidence.
    #[must_use]
    pub fn explained(&self) -> String {
        match self.meaning {
            "" => self.summary(),
            meaning => format!("{meaning} ({})", self.summary()),
        }
    }

    /// The evidence in a few words: the first point's, and how many more there are.
    #[must_use]
    pub fn summary(&self) -> String {
        let Some((point, why)) = self.evidence.first() else { return String::new() };
        let others = self.evidence.len() - 1;
        let alike = self.evidence.iter().all(|(_, other)| other == why);
        match (self.everywhere, alike, others) {
            (true, true, 1..) => why.clone(),
            (_, _, 0) => format!("{point}: {why}"),
            (_, true, _) => format!("{point} and {others} more: {why}"),
            (_, false, _) => format!("{point}: {why}; {others} more"),
        }
    }
}

impl ResultRow<'_> {
    /// The share of wall time on CPUs: of the metric's own part of the sample, or of the whole.
    #[must_use]
    pub fn cpu_share(&self) -> Option<f64> {
        self.own_cpu.or_else(|| self.finding.cpu.map(|cpu| cpu.total()))
    }

    /// ` on HOST`, if there are several targets.
    #[must_use]
    pub fn on_target(&self) -> String {
        self.target.as_ref().map_or_else(String::new, |name| format!(" on {name}"))
    }

    /// The figure with its interval, or both levels with theirs.
    #[must_use]
    pub fn result(&self) -> String {
        self.levels.as_ref().map_or_else(|| self.figure.to_string(), LevelsText::whole)
    }
}

impl<'a> View<'a> {
    /// The view of a finding.
    #[must_use]
    pub fn new(finding: &'a RunFinding) -> Self {
        let labels = labels::labels(&finding.results);
        let flags = flag_notes(finding);
        let rows: Vec<ResultRow> = finding
            .results
            .iter()
            .zip(labels)
            .map(|(result, label)| {
                let label = label_of(result, label, &finding.results);
                row(result, label, &flags, finding)
            })
            .collect();
        let curves = finding
            .curves
            .iter()
            .map(|curve| CurveText::new(curve, has_several_metrics(curve, finding)))
            .chain(finding.links.iter().map(|fit| CurveText::of_link(fit, &finding.results)))
            .chain(finding.bottlenecks.iter().map(|found| bottleneck_text(found, &finding.results)))
            .chain(finding.rankings.iter().filter_map(ranking_text))
            .chain(finding.ladders.iter().map(|ladder| ladder_text(ladder, &finding.results)))
            .collect();
        Self {
            finding,
            header: ReportHeader::new(finding),
            families: families(&rows),
            rows,
            curves,
            implementations: finding.rankings.iter().filter_map(ImplementationTable::of).collect(),
            flags,
        }
    }

    /// The rows that scorecards show: one a point, with that of the metric that is compared, or every
    /// metric.
    pub fn shown(&self, family: &Family, every_metric: bool) -> Vec<&ResultRow<'a>> {
        let compared =
            self.finding.against_first.first().map(|comparison| comparison.metric.as_str());
        family
            .rows
            .iter()
            .filter_map(|&index| self.rows.get(index))
            .filter(|row| {
                row.finding.headline
                    || compared == Some(row.finding.metric.as_str())
                    || every_metric
            })
            .collect()
    }

    /// Whether results are so many that the brief scorecard keeps to a line for each.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.rows.len() > CROWDED
    }

    /// The rows of the brief scorecard. Among many, those that only show a ceiling are left out.
    pub fn brief_rows(&self) -> impl Iterator<Item = &ResultRow<'a>> {
        let hides_ceilings = self.is_crowded();
        self.rows.iter().filter(move |row| !(hides_ceilings && row.finding.point.is_ceiling))
    }

    /// Comparisons with the first point, whether or not they have a result row.
    #[must_use]
    pub fn comparisons(&self) -> &'a [PointComparison] {
        &self.finding.against_first
    }

    /// Comparisons with the point above.
    #[must_use]
    pub fn above(&self) -> &'a [PointComparison] {
        &self.finding.against_above
    }

    /// What the comparison with the point above says of the point of another one, in one line.
    #[must_use]
    pub fn above_text(&self, of: &PointComparison) -> Option<String> {
        let above = self.above().iter().find(|other| other.point.index == of.point.index)?;
        let name = above.first_name();
        let verdict = verdict(&above.found);
        Some(format!("against {name} above: {verdict}, {}", comparison_text(above)))
    }
}

/// With its metric, if the point has several rates as headlines: each is one of them.
fn label_of(result: &Finding, label: String, all: &[Finding]) -> String {
    let is_rate = result.primary && result.better == Better::Higher;
    let has_other_headlines = all
        .iter()
        .any(|other| other.headline && !other.primary && other.point.index == result.point.index);
    if is_rate && has_other_headlines {
        return format!("{label} {}", result.metric);
    }
    label
}

fn row<'a>(
    result: &'a Finding,
    label: String,
    notes: &[FlagNote],
    finding: &'a RunFinding,
) -> ResultRow<'a> {
    let several = finding.targets.len() > 1;
    let target = finding.targets.get(result.target).filter(|_| several);
    // A flag that every result has is said once, below: in each row it would hide those that tell rows apart.
    let own = result
        .flags
        .iter()
        .filter(|flag| !notes.iter().any(|note| note.everywhere && note.flag == flag.flag));
    ResultRow {
        finding: result,
        target: target.map(|target| target.name.clone()),
        label,
        figure: figure(&result.shown(), &result.unit),
        levels: result.levels.as_ref().map(|levels| LevelsText::new(levels, &result.unit)),
        counts: counts(result),
        own_flags: own.map(|flag| flag.flag.clone()).collect(),
        own_cpu: own_cpu(result, finding),
        goal: result.goal.as_ref().map(|goal| format!("the maximum with {goal}")),
        against_first: of_row(&finding.against_first, result),
        against_above: of_row(&finding.against_above, result),
    }
}

/// A workload that measures parts of a sample reports the share of one CPU of each next to its rate: `read_block_cpu` is of
/// `read_block`.
fn own_cpu(result: &Finding, finding: &RunFinding) -> Option<f64> {
    let name = format!("{}_cpu", result.metric);
    let of_same_point = finding.results.iter().filter(|other| other.point == result.point);
    let found = of_same_point.filter(|other| other.target == result.target);
    found
        .into_iter()
        .find(|other| {
            other.metric == name && plumb_units::is_same_unit(&other.unit, plumb_units::SHARE)
        })
        .map(|other| other.estimate.value)
}

fn of_row<'a>(all: &'a [PointComparison], result: &Finding) -> Option<&'a PointComparison> {
    all.iter()
        .find(|other| other.point.index == result.point.index && other.metric == result.metric)
}

/// `12×20`: invocations and samples of each; `12×~19` if they differ.
fn counts(finding: &Finding) -> String {
    let invocations = finding.invocations;
    let samples = finding.samples;
    if invocations == 0 {
        return "0".to_owned();
    }
    // Invocations may differ in their number of samples; the mean is then marked with `~`.
    let about = if samples.is_multiple_of(invocations) { "" } else { "~" };
    format!("{invocations}×{about}{}", (samples + invocations / 2) / invocations)
}

fn families(rows: &[ResultRow]) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let name = labels::family(&row.finding.point.workload);
        match families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.rows.push(index),
            None => families.push(Family { name: name.to_owned(), rows: vec![index] }),
        }
    }
    families
}

fn flag_notes(finding: &RunFinding) -> Vec<FlagNote> {
    let mut notes: Vec<FlagNote> = Vec::new();
    for result in &finding.results {
        for flag in &result.flags {
            let evidence = (result.point.name.clone(), flag.why.clone());
            match notes.iter_mut().find(|note| note.flag == flag.flag) {
                // All metrics of a point carry its flags: the evidence counts once.
                Some(note) if note.evidence.contains(&evidence) => {}
                Some(note) => note.evidence.push(evidence),
                None => notes.push(FlagNote {
                    flag: flag.flag.clone(),
                    meaning: flag.flag.meaning(),
                    everywhere: false,
                    evidence: vec![evidence],
                }),
            }
        }
    }
    // Of a single result, "everywhere" says less than its name.
    let many = finding.results.len() > 1;
    for note in &mut notes {
        note.everywhere = many
            && finding
                .results
                .iter()
                .all(|result| result.flags.iter().any(|flag| flag.flag == note.flag));
    }
    if finding.results.is_empty() {
        notes.extend(finding.flags.iter().map(|flag| FlagNote {
            flag: flag.flag.clone(),
            meaning: flag.flag.meaning(),
            everywhere: true,
            evidence: vec![("the run".to_owned(), flag.why.clone())],
        }));
    }
    notes.sort_by(|a, b| (!a.everywhere, &a.flag).cmp(&(!b.everywhere, &b.flag)));
    notes
}

/// `81 % [78, 84] of the expected 105 MB/s`; of a point that nobody asked for, why it was measured.
#[must_use]
pub fn baseline_text(finding: &Finding) -> Option<String> {
    let of = match &finding.of_baseline {
        Ok(of) => of,
        Err(why @ NoBaseline::OfOthers) if finding.primary => return Some(no_baseline_text(why)),
        Err(_) => return None,
    };
    let share = share_text(&of.share);
    let value = quantity(of.value, &finding.unit);
    Some(match &of.source {
        BaselineSource::Expectation => format!("{share} of the expected {value}"),
        BaselineSource::Reference(name) if of.worst.total_cmp(&of.value).is_eq() => {
            format!("{share} of {value} (reference {name})")
        }
        BaselineSource::Reference(name) => {
            let worst = quantity(of.worst, &finding.unit);
            format!("{share} of {value} (reference {name}, whose worst run is {worst})")
        }
        BaselineSource::Ceiling { setting, .. } => {
            format!("{share} of this machine's ceiling ({value} with {setting})")
        }
        BaselineSource::Rung { name, .. } => {
            format!("{share} of this machine's ceiling ({value}, {name})")
        }
        BaselineSource::Limit { name } => format!("{share} of the {value} of {name}"),
        BaselineSource::Hardware { core, cycles, clock_hz } => {
            let worst = quantity(of.worst, &finding.unit);
            let clock = quantity(*clock_hz, "Hz");
            let cycles = plain(*cycles);
            match finding.unit.strip_suffix("/s") {
                Some(work) => format!(
                    "{share} of {value} ({core}: {cycles} cycles/{work} at {clock}; as expected down to {worst})"
                ),
                None => format!(
                    "{share} of {value} ({core}: {cycles} cycles at {clock}; as expected up to {worst})"
                ),
            }
        }
        BaselineSource::EarlierRuns { runs, lowest, highest, .. } => {
            let range = Figure::new(of.value, Ok((*lowest, *highest)), &finding.unit).brackets();
            // Without the interval, which is that of the result.
            let share = whole_percent(of.share.value);
            format!("{share} of the usual {value} ({runs} runs within {range})")
        }
    })
}

/// Why there is no figure for what a result should be: `--ceilings measures other values of method`.
#[must_use]
pub fn no_baseline_text(why: &NoBaseline) -> String {
    match why {
        NoBaseline::Unknown => {
            "no figure is known: set one with --expect, or add a reference".to_owned()
        }
        NoBaseline::NotMeasured(what) => format!("not measured: --ceilings measures {what}"),
        NoBaseline::Best(parameter) => {
            format!("no other {parameter} measured in this run was faster")
        }
        NoBaseline::NoResult(what) => format!("no result for comparison: {what}"),
        NoBaseline::NotBelow(name) => format!("not below {name}"),
        NoBaseline::AsGoodAs(setting) => {
            format!("not distinguishable from the fastest in this run, {setting}")
        }
        NoBaseline::OfOthers => "measured for comparison with other results".to_owned(),
        NoBaseline::Undirected => "neither higher nor lower is better".to_owned(),
        NoBaseline::NotPositive => "no share: a figure is zero or negative".to_owned(),
    }
}

/// The results without a figure for what they should be, by the reason; none if no result of the run has such a figure.
#[must_use]
pub fn without_baseline(view: &View) -> Vec<(String, Vec<String>)> {
    let primary: Vec<&ResultRow> = view.rows.iter().filter(|row| row.finding.primary).collect();
    let has_baseline = primary.iter().any(|row| match &row.finding.of_baseline {
        Ok(of) => !matches!(of.source, BaselineSource::EarlierRuns { .. }),
        Err(_) => false,
    });
    if !has_baseline {
        return Vec::new();
    }
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for row in primary {
        let Err(why) = &row.finding.of_baseline else { continue };
        // That stands next to each of them.
        if *why == NoBaseline::OfOthers {
            continue;
        }
        let text = no_baseline_text(why);
        let name = row.finding.point.name.clone();
        match reasons.iter_mut().find(|(reason, _)| *reason == text) {
            Some((_, names)) => names.push(name),
            None => reasons.push((text, vec![name])),
        }
    }
    reasons
}

/// The name of a point that cannot be measured, with what it was to show if nobody asked for it.
#[must_use]
pub fn unsupported_name(missing: &Unsupported) -> String {
    match missing.point.is_ceiling {
        true => format!("{} (for comparison)", missing.point.name),
        false => missing.point.name.clone(),
    }
}

/// By how much values exceed the other point's: `+3.1 [2.9, 3.3] ms`; times also in per cent: `+4.29 [4.2, 4.4] s,
/// +78 % [76, 81]`.
#[must_use]
pub fn difference_text(of: &PointComparison) -> Option<String> {
    let difference = of.difference.as_ref()?;
    let sign = if difference.value > 0.0 { "+" } else { "" };
    let shown = figure(difference, &of.unit);
    let brackets = shown.brackets();
    let parts = [format!("{sign}{}", shown.estimate), brackets, shown.unit];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    Some(match change_in_percent(of) {
        Some(percent) => format!("{text}, {percent}"),
        None => text,
    })
}

/// The relative change of a time: `+78 % [76, 81]`. Of rates there is none, because a ratio compares costs.
fn change_in_percent(of: &PointComparison) -> Option<String> {
    let ratio =
        of.found.ratio.as_ref().filter(|ratio| of.unit == "s" && ratio.value.is_finite())?;
    let change = ratio.value - 1.0;
    let sign = if change > 0.0 { "+" } else { "" };
    Some(match &ratio.interval {
        Ok(ends) => {
            format!("{sign}{}", percent_figure(change, Ok((ends.low - 1.0, ends.high - 1.0))))
        }
        Err(_) => format!("{sign}{}", percent(change)),
    })
}

/// `, 95 % confidence over all 3 verdicts`; nothing for one comparison.
pub(crate) fn shared_confidence(of: &PointComparison) -> String {
    match of.comparisons {
        0 | 1 => String::new(),
        all => format!(", {} confidence over all {all} verdicts", percent(of.confidence)),
    }
}

/// The comparison with another point, in one line.
#[must_use]
pub fn comparison_text(of: &PointComparison) -> String {
    let comparison = &of.found;
    let Some(ratio) = &comparison.ratio else {
        let why = comparison.verdict.err().map(|why| why.to_string());
        return why.unwrap_or_else(|| "no round contains values of both".to_owned());
    };
    let shown = figure(ratio, "");
    let times = format!("{}× the cost {}", shown.estimate, shown.brackets());
    // "4× as fast" is read at once, "0.25× the cost" is not; near 1 both are equally clear.
    let clearly = ratio.value < 0.9 && ratio.value > 0.0;
    let as_fast = clearly.then(|| format!("{}× as fast", quantity(1.0 / ratio.value, "")));
    let pairs = comparison.by_pairs().map(pairs_text);
    let parts = [Some(times.trim_end().to_owned()), as_fast, difference_text(of), pairs];
    parts
        .into_iter()
        .flatten()
        .chain(comparison.remarks.iter().map(ToString::to_string))
        .chain(settling(comparison))
        .chain(comparison.verdict.err().map(|why| why.to_string()))
        .chain(comparison.by_pairs().and_then(side_effects))
        .chain(comparison.by_pairs().and_then(|pairs| pairs.other_build).map(other_build))
        .collect::<Vec<_>>()
        .join(", ")
}

/// So many looks before the last are shown.
const LOOKS_SHOWN: usize = 4;

/// What was seen at the looks before the last: `8 pairs 1.02 [0.97, 1.07]`; None if there was none.
#[must_use]
pub fn looks_text(comparison: &Comparison) -> Option<String> {
    let pairs = comparison.by_pairs()?;
    let (_, before) = pairs.looks.split_last()?;
    // The newest looks show whether the ratio has settled.
    let left_out = before.len().saturating_sub(LOOKS_SHOWN);
    let earlier = (left_out > 0).then(|| "…".to_owned());
    let looks: Vec<String> = earlier
        .into_iter()
        .chain(before[left_out..].iter().map(|look| {
            let ratio = figure(&look.ratio, "");
            format!(
                "{} {} {}",
                counted(look.pairs, "pair", "pairs"),
                ratio.estimate,
                ratio.brackets()
            )
        }))
        .collect();
    let path = (!looks.is_empty()).then(|| looks.join(" · "));
    let broken = pairs.rederived == Some(false);
    let warning = "the stored looks do not match the stored samples";
    if broken {
        Some(path.map_or(warning.to_owned(), |path| format!("{path}; {warning}")))
    } else {
        path
    }
}

/// Up to which speed of the device encryption costs nothing: `encryption is not a bottleneck below 82.1 MB/s [80.3,
/// 84.0]`; None if it is not what is compared.
#[must_use]
pub fn encryption_text(compared: &PointComparison) -> Option<String> {
    let shown = figure(compared.encrypted.as_ref()?, "B/s");
    let speed = &shown.estimate;
    let unit = &shown.unit;
    let brackets = shown.brackets();
    let words = format!("encryption is not a bottleneck below {speed} {unit} {brackets}");
    Some(words.trim_end().to_owned())
}

/// What a knob does to the spread: `processes differ 0.6× [0.4, 0.9] as much from each other, samples of one process
/// 1.02× [0.98, 1.06] as much`; None if no knob is compared.
#[must_use]
pub fn spread_text(compared: &PointComparison) -> Option<String> {
    let spread = &compared.found.by_pairs().filter(|_| compared.of_knob)?.spread;
    let between = spread
        .between
        .as_ref()
        .map(|ratio| format!("processes differ {} as much from each other", times(ratio)));
    let within = spread
        .within
        .as_ref()
        .map(|ratio| format!("samples of one process differ {} as much", times(ratio)));
    let parts: Vec<String> = between.into_iter().chain(within).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A ratio: `1.02× [0.98, 1.06]`; without brackets if it has no interval.
fn times(ratio: &Estimate) -> String {
    let shown = figure(ratio, "");
    format!("{}× {}", shown.estimate, shown.brackets()).trim_end().to_owned()
}

/// Whether other metrics of the same points have a curve, too.
fn has_several_metrics(curve: &Curve, finding: &RunFinding) -> bool {
    finding.curves.iter().any(|other| {
        other.of == curve.of
            && other.parameter.name == curve.parameter.name
            && other.metric != curve.metric
    })
}
