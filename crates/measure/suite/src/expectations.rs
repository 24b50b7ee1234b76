//! What results should be, as suites and users state it.

use std::collections::BTreeMap;

use plumb_model::{Expectation, Metric, PlannedPoint};
use serde::Deserialize;

use crate::error::UsageError;
use crate::nearest::nearest;
use crate::quantity::figure;
use crate::suite::Suite;

/// What results should be: the suites' figures, then the user's, which win.
///
/// # Errors
/// When one is of nothing that is measured, or no figure in the metric's unit.
pub fn expectations(
    suites: &[Suite],
    points: &[PlannedPoint],
    typed: &[String],
) -> Result<Vec<Expectation>, UsageError> {
    let of_suites = suites.iter().flat_map(|suite| suite.expect.clone());
    let typed = typed.iter().map(|text| last_pair(text)).collect::<Result<Vec<_>, _>>()?;
    of_suites.chain(typed).map(|(of, text)| expectation(points, of, &text)).collect()
}

/// The figures of one machine: a file with the table `[expect]` of a suite and nothing else.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineExpectations {
    #[serde(default)]
    expect: BTreeMap<String, String>,
}

/// What results on this machine should be, from the text of a file of figures. Figures of what this run does not measure are left
/// out: the file is of all runs.
///
/// # Errors
/// When the text is malformed, or a figure is not in the unit of its metric.
pub fn expectations_of_machine(
    text: &str,
    points: &[PlannedPoint],
) -> Result<Vec<Expectation>, UsageError> {
    let file: MachineExpectations =
        toml::from_str(text).map_err(|error| UsageError::new(error.to_string().trim_end()))?;
    let mut measured = Vec::new();
    for (of, text) in file.expect {
        let expected = unknown_yet(of);
        if let Some(metric) = metric_of(points, &expected) {
            let value = figure(&text, &metric.unit).map_err(|error| UsageError {
                message: format!("{}: {}", expected.of, error.message),
                ..error
            })?;
            measured.push(Expectation { value, ..expected });
        }
    }
    Ok(measured)
}

/// An expectation of this series, point or workload, before its figure is known.
fn unknown_yet(of: String) -> Expectation {
    Expectation { of, value: 0.0, range: None, reference: None, in_cycles: false, limit: None }
}

/// The metric that an expectation is of, if these points have it.
fn metric_of<'p>(points: &'p [PlannedPoint], expected: &Expectation) -> Option<&'p Metric> {
    points.iter().find_map(|planned| {
        let metrics = planned.description.metrics.iter().enumerate();
        metrics
            .filter(|(index, metric)| expected.is_of(&planned.point, &metric.name, *index == 0))
            .map(|(_, metric)| metric)
            .next()
    })
}

/// `memory.copy:method=nt=9GB/s` taken apart: the figure stands after the last `=`.
fn last_pair(text: &str) -> Result<(String, String), UsageError> {
    match text.rsplit_once('=') {
        Some((of, _)) if of.ends_with(['<', '>']) => {
            Err(UsageError::new(format!("--expect {text}: `<` and `>` have no meaning here"))
                .hint("--expect SERIES=FIGURE    shows each result as a share of the figure"))
        }
        Some((of, figure)) if !of.is_empty() => Ok((of.trim().to_owned(), figure.to_owned())),
        _ => Err(UsageError::new(format!("--expect {text} is not SERIES=FIGURE"))
            .hint("--expect network.tcp=105MB/s")),
    }
}

fn expectation(points: &[PlannedPoint], of: String, text: &str) -> Result<Expectation, UsageError> {
    let expected = unknown_yet(of);
    let Some(metric) = metric_of(points, &expected) else {
        let of = &expected.of;
        let error =
            UsageError::new(format!("--expect names `{of}`, but this run does not measure it"));
        let mut names = Vec::new();
        for planned in points {
            let point = &planned.point;
            names.extend([point.workload.clone(), point.name()]);
            let metrics = planned.description.metrics.iter();
            names.extend(metrics.map(|metric| point.series(&metric.name)));
        }
        return Err(match nearest(of, &names) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("name a series, point or workload of this run"),
        });
    };
    Ok(Expectation { value: figure(text, &metric.unit)?, ..expected })
}
