//! What results should be, as suites and users state it.

use plumb_model::{Expectation, PlannedPoint};

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
    let expected = Expectation { of, value: 0.0, range: None, reference: None };
    let series = points.iter().flat_map(|planned| {
        let metrics = planned.description.metrics.iter().enumerate();
        metrics.map(move |(index, metric)| (planned, metric, index == 0))
    });
    let found = series
        .clone()
        .find(|(planned, metric, first)| expected.is_of(&planned.point, &metric.name, *first));
    let Some((_, metric, _)) = found else {
        let of = &expected.of;
        let error =
            UsageError::new(format!("--expect names `{of}`, but this run does not measure it"));
        let names: Vec<String> = series
            .flat_map(|(planned, metric, _)| {
                let point = &planned.point;
                [point.workload.clone(), point.name(), point.series(&metric.name)]
            })
            .collect();
        return Err(match nearest(of, &names) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("name a series, point or workload of this run"),
        });
    };
    Ok(Expectation { value: figure(text, &metric.unit)?, ..expected })
}
