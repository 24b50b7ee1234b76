//! Points: a workload with one setting of all its parameters.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::value::{Settings, Value};
use crate::workload::{Description, Parameter, ParameterType};

/// One setting of all parameters of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The workload's id.
    pub workload: String,
    /// Every parameter with its value, defaults included.
    pub settings: Settings,
    /// What tells this point from others: `name=value` joined by `,`, without defaults and paths, so
    /// that a new parameter does not cut history. Empty for the default point.
    pub key: String,
    /// Its conditions besides those of its run: `with=process.fork`, `set=nice=1`. They are part of its key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
}

/// A setting that the workload does not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointError {
    /// The workload's id.
    pub workload: String,
    /// The parameter's name as it was given.
    pub parameter: String,
    /// The error, and the allowed values.
    pub why: String,
    /// The wrong input: the parameter's name or its value.
    pub given: String,
    /// The valid alternatives, if they can be listed.
    pub known: Vec<String>,
}

impl fmt::Display for PointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: parameter `{}`: {}", self.workload, self.parameter, self.why)
    }
}

impl std::error::Error for PointError {}

impl Point {
    /// The point of `description` with these settings, the rest at their defaults. `all_threads` is
    /// what `all` stands for in a parameter of type `threads`.
    ///
    /// # Errors
    /// A parameter that the workload does not have, or a value that it does not take.
    pub fn new(
        description: &Description,
        given: &Settings,
        all_threads: u64,
    ) -> Result<Self, PointError> {
        for name in given.keys() {
            if description.parameter(name).is_none() {
                return Err(unknown(description, name));
            }
        }
        let mut settings = Settings::new();
        let mut key = Vec::new();
        for parameter in &description.parameters {
            let wanted = given.get(&parameter.name).unwrap_or(&parameter.default);
            let wanted = in_datagrams(description, given, parameter, wanted);
            let value = accept(description, parameter, &wanted, all_threads)?;
            let default = accept(description, parameter, &parameter.default, all_threads)?;
            if value != default && parameter.tells_points_apart() {
                key.push(format!("{}={}", parameter.name, parameter.in_key(&value)));
            }
            settings.insert(parameter.name.clone(), value);
        }
        let workload = description.id.clone();
        let key = key.join(",");
        Ok(Self { workload, settings, key, conditions: Vec::new() })
    }

    /// The point under these conditions, which tell it from the same point without them.
    #[must_use]
    pub fn under(mut self, conditions: &[String]) -> Self {
        for condition in conditions {
            let comma = if self.key.is_empty() { "" } else { "," };
            self.key = format!("{}{comma}{condition}", self.key);
        }
        self.conditions.extend_from_slice(conditions);
        self
    }

    /// How a person writes the point: `network.tcp:path=veth,rtt=37.5ms`. Its key has the same parameters and
    /// conditions, but exact values that no person types (`37500us`).
    #[must_use]
    pub fn typed_name(&self, description: &Description) -> String {
        let mut conditions = self.key.as_str();
        let mut settings = Vec::new();
        for parameter in &description.parameters {
            let Some(value) = self.settings.get(&parameter.name) else { continue };
            let in_key = format!("{}={}", parameter.name, parameter.in_key(value));
            let Some(rest) = conditions.strip_prefix(&in_key) else { continue };
            if !rest.is_empty() && !rest.starts_with(',') {
                continue;
            }
            conditions = rest.trim_start_matches(',');
            settings.push(format!("{}={}", parameter.name, parameter.show(value)));
        }
        settings.extend((!conditions.is_empty()).then(|| conditions.to_owned()));
        match settings.is_empty() {
            true => self.workload.clone(),
            false => format!("{}:{}", self.workload, settings.join(",")),
        }
    }

    /// The workload with the key, which the point's series are named after: `memory.copy:method=libc`.
    #[must_use]
    pub fn name(&self) -> String {
        if self.key.is_empty() {
            self.workload.clone()
        } else {
            format!("{}:{}", self.workload, self.key)
        }
    }

    /// The name of the series that a metric of this point belongs to on one machine:
    /// `memory.copy:method=libc/bandwidth`.
    #[must_use]
    pub fn series(&self, metric: &str) -> String {
        format!("{}/{metric}", self.name())
    }
}

/// Whether two names are of the same point or series, however their values are written:
/// `network.tcp:rtt=37.5ms/throughput` and `network.tcp:rtt=37500us/throughput`.
#[must_use]
pub fn is_same_name(one: &str, other: &str) -> bool {
    let ones: Vec<&str> = one.split(',').collect();
    let others: Vec<&str> = other.split(',').collect();
    one == other
        || ones.len() == others.len()
            && ones.iter().zip(&others).all(|(one, other)| is_same_setting(one, other))
}

fn is_same_setting(one: &str, other: &str) -> bool {
    match (one.split_once('='), other.split_once('=')) {
        (Some((one_name, one)), Some((other_name, other))) => {
            one_name == other_name && is_same_with_metric(one, other)
        }
        _ => one == other,
    }
}

/// The last value of a series' name is followed by the metric: `37.5ms/throughput`. A rate has a slash of its own.
fn is_same_with_metric(one: &str, other: &str) -> bool {
    let of_series = match (one.rsplit_once('/'), other.rsplit_once('/')) {
        (Some((one, one_metric)), Some((other, other_metric))) => {
            one_metric == other_metric && plumb_units::is_same_value(one, other)
        }
        _ => false,
    };
    of_series || plumb_units::is_same_value(one, other)
}

/// A rate of datagrams that was typed in bits or bytes of payload, as iperf3 takes it: with `bytes=1250`, `100Mbit/s` is
/// 10000/s. Any other value as it is.
fn in_datagrams(
    description: &Description,
    given: &Settings,
    parameter: &Parameter,
    value: &Value,
) -> Value {
    let is_of_datagrams = parameter.kind == ParameterType::Rate && parameter.unit == "datagrams";
    let Value::Text(text) = value else { return value.clone() };
    if !is_of_datagrams || plumb_units::parse_rate(text, false).is_ok() {
        return value.clone();
    }
    let size = description.parameter("bytes").and_then(|bytes| {
        let size = given.get("bytes").unwrap_or(&bytes.default);
        accept(description, bytes, size, 1).ok()?.integer()
    });
    match (plumb_units::parse_rate(text, true), size) {
        (Ok(per_second), Some(size @ 1..)) => {
            Value::Integer(per_second.saturating_add(size / 2) / size)
        }
        _ => value.clone(),
    }
}

fn unknown(description: &Description, name: &str) -> PointError {
    let known: Vec<_> = description.parameters.iter().map(|p| p.name.clone()).collect();
    let why = if known.is_empty() {
        "the workload has no parameters".to_owned()
    } else {
        format!("unknown; valid names: {}", known.join(", "))
    };
    let workload = description.id.clone();
    let parameter = name.to_owned();
    PointError { workload, given: parameter.clone(), parameter, why, known }
}

fn accept(
    description: &Description,
    parameter: &Parameter,
    value: &Value,
    all_threads: u64,
) -> Result<Value, PointError> {
    let error = |why: String, given: String, known: Vec<String>| PointError {
        workload: description.id.clone(),
        parameter: parameter.name.clone(),
        why,
        given,
        known,
    };
    if parameter.is_searched_by(value) {
        return Ok(value.clone());
    }
    let value = convert(parameter, value, all_threads)
        .map_err(|why| error(why, value.to_string(), Vec::new()))?;
    if let Some(why) = parameter.out_of_range(&value) {
        return Err(error(why, value.to_string(), Vec::new()));
    }
    // The words that a rate may be besides numbers.
    let is_number = parameter.kind == ParameterType::Rate && value.integer().is_some();
    if is_number || parameter.allowed.is_empty() || parameter.allowed.contains(&value) {
        return Ok(value);
    }
    let allowed: Vec<_> = parameter.allowed.iter().map(|v| parameter.show(v)).collect();
    let given = parameter.show(&value);
    Err(error(format!("`{given}` is not one of {}", allowed.join(", ")), given, allowed))
}

fn convert(parameter: &Parameter, value: &Value, all_threads: u64) -> Result<Value, String> {
    let text = value.to_string();
    match parameter.kind {
        ParameterType::Integer => match text.parse() {
            Ok(n) => Ok(Value::Integer(n)),
            Err(_) => Err(format!("`{text}` is not a whole number")),
        },
        ParameterType::Bytes => {
            plumb_units::parse_bytes(&text).map(Value::Integer).map_err(|error| error.to_string())
        }
        ParameterType::Threads => match (text.as_str(), text.parse()) {
            ("all", _) => Ok(Value::Integer(all_threads)),
            (_, Ok(n)) if n > 0 => Ok(Value::Integer(n)),
            _ => Err(format!("`{text}` is not a number of threads; try 1, 2 or all")),
        },
        ParameterType::Rate if parameter.allowed.contains(value) => Ok(value.clone()),
        ParameterType::Rate => rate(parameter, value, &text),
        ParameterType::Time => match value {
            Value::Integer(nanos) => Ok(Value::Integer(*nanos)),
            _ => plumb_units::parse_time(&text)
                .map(Value::Integer)
                .map_err(|error| error.to_string()),
        },
        ParameterType::Share => match value {
            Value::Integer(share @ 0..=1_000_000) => Ok(Value::Integer(*share)),
            _ => plumb_units::parse_share(&text)
                .map(Value::Integer)
                .map_err(|error| error.to_string()),
        },
        ParameterType::Secret => match text.split_once(':') {
            _ if text.is_empty() => Ok(Value::Text(text)),
            Some(("env" | "file", place)) if !place.is_empty() => Ok(Value::Text(text)),
            // Nobody should read again what may be the secret itself.
            _ => Err(
                "don't put a secret on the command line; give its location: env:NAME or file:PATH"
                    .into(),
            ),
        },
        ParameterType::Choice | ParameterType::Text | ParameterType::Path => Ok(Value::Text(text)),
        ParameterType::Switch => match text.as_str() {
            "yes" | "true" | "on" => Ok(Value::Switch(true)),
            "no" | "false" | "off" => Ok(Value::Switch(false)),
            _ => Err(format!("`{text}` is not yes or no")),
        },
    }
}

/// What was typed, or stands in a plan as a number already.
fn rate(parameter: &Parameter, value: &Value, text: &str) -> Result<Value, String> {
    let per_second = match value {
        Value::Integer(number) => Ok(*number),
        _ => plumb_units::parse_rate(text, parameter.in_bytes()),
    };
    let words = |error: String| match parameter.allowed.as_slice() {
        [] => error,
        words => {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            format!("{error}, or {}", words.join(", "))
        }
    };
    match per_second {
        Ok(0) => {
            let tries = if parameter.in_bytes() { "100MB/s" } else { "100/s" };
            Err(words(format!("a rate of 0 does nothing; try {tries}")))
        }
        Ok(number) => Ok(Value::Integer(number)),
        Err(error) => Err(words(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::{Point, is_same_name};
    use crate::{
        Better, Description, Metric, MetricSource, Parameter, ParameterType, Settings, Value,
    };

    #[test]
    fn a_name_has_values_as_people_type_them_and_a_key_does_not() {
        let mut description = description();
        description.parameters.push(Parameter {
            unit: "bytes".into(),
            ..Parameter::new("up", ParameterType::Rate, Value::Integer(1), "")
        });
        description.parameters.push(Parameter::new(
            "rtt",
            ParameterType::Time,
            Value::Integer(0),
            "",
        ));
        let settings = [("up", "1Mbit/s"), ("rtt", "37.5ms")];
        let settings: Settings = settings
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Value::Text(value.to_owned())))
            .collect();
        let condition = "with=memory.copy:rtt=37500us".to_owned();
        let point = Point::new(&description, &settings, 2).unwrap().under(&[condition]);
        assert_eq!(point.key, "up=125kB/s,rtt=37500us,with=memory.copy:rtt=37500us");
        let typed = "memory.copy:up=1Mbit/s,rtt=37.5ms,with=memory.copy:rtt=37500us";
        assert_eq!(point.typed_name(&description), typed);
        assert!(is_same_name(typed, &point.name()));
        assert!(is_same_name(&format!("{typed}/rate"), &point.series("rate")));
        assert!(!is_same_name(&format!("{typed}/rate"), &point.series("time")));
        assert!(!is_same_name(typed, "memory.copy:up=1Mbit/s,rtt=37.5ms"));
        let plain = Point::new(&description, &Settings::new(), 2).unwrap();
        assert_eq!(plain.typed_name(&description), "memory.copy");
    }

    #[test]
    fn a_rate_of_datagrams_may_be_typed_in_bits() {
        let mut description = description();
        description.parameters.push(Parameter {
            unit: "datagrams".into(),
            ..Parameter::new("rate", ParameterType::Rate, Value::Integer(100), "")
        });
        let bytes = Parameter::new("bytes", ParameterType::Bytes, Value::Integer(1250), "");
        description.parameters.push(Parameter { range: Some((1, 9000)), ..bytes });
        let rate = |given: &[(&str, &str)]| {
            let given: Settings = given
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned())))
                .collect();
            Point::new(&description, &given, 1).map(|point| point.settings["rate"].clone())
        };
        assert_eq!(rate(&[("rate", "100Mbit/s")]), Ok(Value::Integer(10_000)));
        assert_eq!(rate(&[("rate", "1MB/s"), ("bytes", "100")]), Ok(Value::Integer(10_000)));
        assert_eq!(rate(&[("rate", "5k/s")]), Ok(Value::Integer(5000)));
        assert!(rate(&[("rate", "fast")]).is_err());
        let why = rate(&[("bytes", "10000")]).unwrap_err().to_string();
        assert!(why.ends_with("`10000B` is not 1B to 9000B"), "{why}");
    }

    fn description() -> Description {
        let parameter = |name: &str, kind, default| Parameter::new(name, kind, default, "");
        Description {
            parameters: vec![
                parameter("size", ParameterType::Bytes, Value::Integer(1 << 20)),
                parameter("threads", ParameterType::Threads, Value::Integer(1)),
                parameter("file", ParameterType::Path, Value::Text(String::new())),
            ],
            metrics: vec![Metric::new("bandwidth", "B/s", Better::Higher, MetricSource::Rate, "")],
            ..Description::new("memory.copy", "")
        }
    }

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), Value::Text((*v).to_owned()))).collect()
    }

    #[test]
    fn a_key_leaves_out_defaults_and_paths() {
        let point =
            Point::new(&description(), &settings(&[("size", "1MiB"), ("file", "/x")]), 4).unwrap();
        assert_eq!(point.key, "");
        assert_eq!(point.series("bandwidth"), "memory.copy/bandwidth");
        let point = Point::new(&description(), &settings(&[("size", "8m"), ("threads", "all")]), 4)
            .unwrap();
        assert_eq!(point.name(), "memory.copy:size=8MiB,threads=4");
    }

    #[test]
    fn unknown_parameters_and_bad_values_say_what_is_allowed() {
        let error = Point::new(&description(), &settings(&[("sise", "1")]), 4).unwrap_err();
        assert!(error.to_string().contains("valid names: size, threads, file"), "{error}");
        let error = Point::new(&description(), &settings(&[("threads", "0")]), 4).unwrap_err();
        assert!(error.to_string().contains("not a number of threads"), "{error}");
    }
}
