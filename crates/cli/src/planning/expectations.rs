//! What results should be, as suites and users state it.

use plumb_model::Expectation;
use plumb_suite::{figure, nearest};

use crate::error::{CommandError, Result};
use crate::planning::points::Named;

/// What results should be: the suites' figures, then the user's, which win.
///
/// # Errors
/// When one is of nothing that is measured, or no figure in the metric's unit.
pub fn expectations(named: &Named, typed: &[String]) -> Result<Vec<Expectation>> {
    let of_suites = named.suites.iter().flat_map(|suite| suite.expect.clone());
    let typed = typed.iter().map(|text| last_pair(text)).collect::<Result<Vec<_>>>()?;
    of_suites.chain(typed).map(|(of, text)| expectation(named, of, &text)).collect()
}

/// `memory.copy:method=nt=9GB/s` taken apart: the figure stands after the last `=`.
fn last_pair(text: &str) -> Result<(String, String)> {
    match text.rsplit_once('=') {
        Some((of, figure)) if !of.is_empty() => Ok((of.trim().to_owned(), figure.to_owned())),
        _ => Err(CommandError::usage(format!("--expect {text} is not SERIES=FIGURE"))
            .hint("--expect network.tcp=105MB/s")),
    }
}

fn expectation(named: &Named, of: String, text: &str) -> Result<Expectation> {
    let expected = Expectation { of, value: 0.0 };
    let series = named.points.iter().flat_map(|planned| {
        let metrics = planned.description.metrics.iter().enumerate();
        metrics.map(move |(index, metric)| (planned, metric, index == 0))
    });
    let found = series
        .clone()
        .find(|(planned, metric, first)| expected.is_of(&planned.point, &metric.name, *first));
    let Some((_, metric, _)) = found else {
        let of = &expected.of;
        let error =
            CommandError::usage(format!("--expect names `{of}`, but this run does not measure it"));
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
