//! Results next to the figures of a reference. There is no verdict: a reference is of another machine, often of another
//! program, and measured at another time.

use plumb_model::{Better, Ends, Estimate, Role, SeriesInRun, Settings};

use crate::file::{Reference, ReferenceFigure};

/// Results next to the figures of a reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceComparison {
    /// A row per figure and result, in the order of the figures.
    pub compared: Vec<ComparedFigure>,
    /// Figures that nothing was compared with.
    pub not_compared: Vec<NotCompared>,
}

/// A result next to a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedFigure {
    /// The index of the figure.
    pub figure: usize,
    /// The name of the series.
    pub series: String,
    /// The result, in the unit of the figure.
    pub estimate: Estimate,
    /// Performance over that of the reference: 2 is twice as fast, whichever direction is good.
    pub performance: Estimate,
}

/// A figure that nothing was compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotCompared {
    /// The index of the figure.
    pub figure: usize,
    /// Why there is no result to compare.
    pub why: String,
}

/// Compares every figure with the results of these series that it may be compared with. `settings` gives the settings of a
/// figure as points have them: files may have them as people type them, `75ms`.
#[must_use]
pub fn compare(
    reference: &Reference,
    series: &[SeriesInRun],
    settings: &dyn Fn(&ReferenceFigure) -> Settings,
) -> ReferenceComparison {
    let mut compared = Vec::new();
    let mut not_compared = Vec::new();
    for (index, figure) in reference.figures.iter().enumerate() {
        if !figure.not_comparable.is_empty() {
            not_compared.push(NotCompared { figure: index, why: figure.not_comparable.clone() });
            continue;
        }
        let wanted = settings(figure);
        let (usual, unusual): (Vec<&SeriesInRun>, Vec<&SeriesInRun>) = series
            .iter()
            .filter(|result| is_of(figure, &wanted, result))
            .partition(|result| is_usual(result));
        let rows: Vec<ComparedFigure> =
            usual.iter().filter_map(|result| compared_figure(index, figure, result)).collect();
        if rows.is_empty() {
            let why = match unusual.first() {
                Some(result) => format!(
                    "{} was measured next to a load or with other settings of the machine",
                    result.name
                ),
                None => not_measured(figure),
            };
            not_compared.push(NotCompared { figure: index, why });
        }
        compared.extend(rows);
    }
    ReferenceComparison { compared, not_compared }
}

/// None for a metric without a good direction, and for results that are not positive.
fn compared_figure(
    index: usize,
    figure: &ReferenceFigure,
    result: &SeriesInRun,
) -> Option<ComparedFigure> {
    Some(ComparedFigure {
        figure: index,
        series: result.name.clone(),
        estimate: result.estimate.clone(),
        performance: performance(figure, result)?,
    })
}

/// Whether nothing was different on purpose: no knob was set for the point, and no load ran next to it.
pub(crate) fn is_usual(result: &SeriesInRun) -> bool {
    let has_load = result.run.companions.iter().any(|companion| companion.role == Role::Load);
    // What a point was measured under stands among its parameters, but is not a setting of its workload.
    let has_condition = result
        .point
        .parameters
        .iter()
        .any(|parameter| !result.point.settings.contains_key(&parameter.name));
    !result.is_side_of_knob && !has_load && !has_condition
}

fn is_of(figure: &ReferenceFigure, wanted: &Settings, result: &SeriesInRun) -> bool {
    let point = &result.point;
    figure.unit == result.unit
        && figure.metric == result.metric
        && figure.is_of(&point.workload, point.version, wanted, &point.settings)
}

/// `not measured: plumb run memory.copy -p method=libc`.
fn not_measured(figure: &ReferenceFigure) -> String {
    if !figure.measure.is_empty() {
        return format!("not measured: {}", figure.measure);
    }
    let settings: String = figure
        .settings
        .iter()
        .map(|(name, value)| format!(" -p {}", shell_word(&format!("{name}={value}"))))
        .collect();
    format!("not measured: plumb run {}{settings}", figure.workload)
}

/// A word of a command line, in quotation marks if a shell needs them.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "=.,:/@+-_".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// None for a metric without a good direction, and for results that are not positive.
fn performance(figure: &ReferenceFigure, result: &SeriesInRun) -> Option<Estimate> {
    let value = over_reference(result.estimate.value, figure, result.better)?;
    if !value.is_finite() || value <= 0.0 {
        return None;
    }
    let interval = match &result.estimate.interval {
        Ok(ends) => {
            let first = over_reference(ends.low, figure, result.better)?;
            let second = over_reference(ends.high, figure, result.better)?;
            Ok(Ends { low: first.min(second), high: first.max(second) })
        }
        Err(why) => Err(why.clone()),
    };
    Some(Estimate { value, interval })
}

/// Performance over that of the reference.
fn over_reference(value: f64, figure: &ReferenceFigure, better: Better) -> Option<f64> {
    match better {
        Better::Higher => Some(value / figure.value),
        Better::Lower => Some(figure.value / value),
        Better::Neither => None,
    }
}
