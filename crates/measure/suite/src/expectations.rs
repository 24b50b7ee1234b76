//! What results should be, as suites and users state it.

use std::collections::BTreeMap;

use plumb_model::{
    Description, Expectation, Metric, ParameterType, PlannedPoint, Point, Settings, Value,
    is_same_name,
};
use serde::Deserialize;

use crate::error::UsageError;
use crate::nearest::nearest;
use crate::quantity::figure;
use crate::suite::Suite;

/// The number of threads of a point whose machine is not known.
const MOST_THREADS: u64 = 1 << 16;

/// How the names of points with knobs and loads of their own go on.
const CONDITIONS: [&str; 2] = ["set=", "with="];

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

/// What the file of one machine says.
#[derive(Debug)]
pub struct FiguresOfMachine {
    /// The figures of what this run measures. The file is of all runs, so the others are left out.
    pub expectations: Vec<Expectation>,
    /// What is wrong with names that no run can measure, a sentence each.
    pub mistakes: Vec<String>,
}

/// What results on this machine should be, from the text of a file of figures. `known` are the workloads that plumb has.
///
/// # Errors
/// When the text is malformed, or a figure is not in the unit of its metric.
pub fn expectations_of_machine(
    text: &str,
    points: &[PlannedPoint],
    known: &[Description],
) -> Result<FiguresOfMachine, UsageError> {
    let file: MachineExpectations =
        toml::from_str(text).map_err(|error| UsageError::new(error.to_string().trim_end()))?;
    let mut found = FiguresOfMachine { expectations: Vec::new(), mistakes: Vec::new() };
    for (of, text) in file.expect {
        let expected = unknown_yet(of);
        match metric_of(points, &expected) {
            Some(metric) => {
                let value = figure(&text, &metric.unit).map_err(|error| UsageError {
                    message: format!("{}: {}", expected.of, error.message),
                    ..error
                })?;
                found.expectations.push(Expectation { value, ..expected });
            }
            None => found.mistakes.extend(mistake(&expected.of, known)),
        }
    }
    Ok(found)
}

/// Why no run can measure the series, point or workload of this name; None if one may.
fn mistake(of: &str, known: &[Description]) -> Option<String> {
    let id = of.split([':', '/']).next().unwrap_or(of);
    let Some(description) = known.iter().find(|description| description.id == id) else {
        // It may be of a plug-in.
        let ids: Vec<String> = known.iter().map(|description| description.id.clone()).collect();
        return nearest(id, &ids).map(|near| format!("no workload `{id}`; did you mean `{near}`?"));
    };
    let rest = &of[id.len()..];
    let (key, metric) = match rest.rsplit_once('/') {
        // A slash may also stand in the value of a parameter.
        Some((key, metric)) if !metric.contains('=') => (key, Some(metric)),
        _ => (rest, None),
    };
    if let Some(metric) = metric.filter(|metric| description.metric(metric).is_none()) {
        let names: Vec<&str> =
            description.metrics.iter().map(|metric| metric.name.as_str()).collect();
        return Some(format!("{id} has no metric `{metric}`; it has {}", names.join(", ")));
    }
    let key = key.strip_prefix(':').unwrap_or_default();
    let is_under_conditions = CONDITIONS.iter().any(|condition| key.contains(condition));
    // Lists contain commas, and conditions are not parameters.
    if key.is_empty() || key.contains('[') || is_under_conditions {
        return None;
    }
    let mut settings = Settings::new();
    for setting in key.split(',') {
        let Some((name, value)) = setting.split_once('=') else {
            return Some(format!("`{of}`: `{setting}` is not PARAMETER=VALUE"));
        };
        let of_threads = description.parameter(name).filter(|of| of.kind == ParameterType::Threads);
        if of_threads.is_some() && value == "all" {
            return Some(format!("`{of}`: write the number of threads instead of `all`"));
        }
        settings.insert(name.to_owned(), Value::Text(value.to_owned()));
    }
    match Point::new(description, &settings, MOST_THREADS) {
        Err(error) => Some(format!("`{of}`: {error}")),
        Ok(point) if !is_same_name(&point.key, key) => {
            Some(format!("`{of}` is never measured by this name; write `{}`", point.name()))
        }
        Ok(_) => None,
    }
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

#[cfg(test)]
mod tests {
    use plumb_model::{Better, Description, Metric, MetricSource, Parameter, ParameterType, Value};

    use super::{expectations_of_machine, mistake};

    fn copy() -> Description {
        let mut copy = Description::new("memory.copy", "");
        let method = Value::Text("libc".to_owned());
        for (name, kind, default) in [
            ("method", ParameterType::Text, method),
            ("size", ParameterType::Bytes, Value::Integer(8 << 20)),
            ("threads", ParameterType::Threads, Value::Integer(1)),
        ] {
            copy.parameters.push(Parameter::new(name.to_owned(), kind, default, String::new()));
        }
        copy.metrics.push(Metric::new("bandwidth", "B/s", Better::Higher, MetricSource::Rate, ""));
        copy
    }

    #[test]
    fn names_that_no_run_measures_are_mistakes() {
        let known = [copy()];
        let of = |name: &str| mistake(name, &known);
        for right in [
            "memory.copy",
            "memory.copy/bandwidth",
            "memory.copy:method=nt",
            "memory.copy:method=nt,size=1MiB/bandwidth",
            "memory.copy:set=thp=always",
            // It may be of a plug-in.
            "frobnicate.all:a=b",
        ] {
            assert_eq!(of(right), None, "{right}");
        }
        let near = "no workload `memory.cpoy`; did you mean `memory.copy`?";
        assert_eq!(of("memory.cpoy:method=nt").unwrap(), near);
        let metric = "memory.copy has no metric `speed`; it has bandwidth";
        assert_eq!(of("memory.copy:method=nt/speed").unwrap(), metric);
        let order = of("memory.copy:size=1MiB,method=nt").unwrap();
        assert!(order.ends_with("write `memory.copy:method=nt,size=1MiB`"), "{order}");
        let usual = of("memory.copy:size=8MiB").unwrap();
        assert!(usual.ends_with("write `memory.copy`"), "{usual}");
        // The number of threads of another machine must not be proposed.
        let all = of("memory.copy:threads=all").unwrap();
        assert!(all.ends_with("write the number of threads instead of `all`"), "{all}");
        assert!(of("memory.copy:methd=nt").unwrap().contains("methd"));
        assert!(of("memory.copy:nt").unwrap().ends_with("`nt` is not PARAMETER=VALUE"));
        let text = "[expect]\n'memory.cpoy' = '9GB/s'\n";
        let found = expectations_of_machine(text, &[], &known).unwrap();
        assert_eq!((found.expectations.len(), found.mistakes), (0, vec![near.to_owned()]));
    }
}
