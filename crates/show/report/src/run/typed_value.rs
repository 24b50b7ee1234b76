//! Values of parameters as people type them.

use plumb_analysis::{PointFacts, ShownParameter};
use plumb_model::{ParameterType, Value};

/// A value as a person types it: `37.5ms` for 37,500 µs, `1Mbit/s` for 125,000 B/s.
pub(crate) fn typed_value(point: &PointFacts, parameter: &ShownParameter) -> String {
    match (parameter.kind, point.settings.get(&parameter.name)) {
        (ParameterType::Time, Some(Value::Integer(nanos))) => time(*nanos),
        // A rate of bytes is the bandwidth of a network, which people give in bits.
        (ParameterType::Rate, Some(Value::Integer(rate))) if parameter.value.ends_with("B/s") => {
            bits(*rate)
        }
        _ => parameter.value.clone(),
    }
}

/// These parameters with their values as a person types them: `up=1Mbit/s,rtt=37.5ms`.
pub(crate) fn typed_settings(point: &PointFacts, parameters: &[String]) -> String {
    let shown = point.parameters.iter().filter(|shown| parameters.contains(&shown.name));
    let typed: Vec<String> =
        shown.map(|shown| format!("{}={}", shown.name, typed_value(point, shown))).collect();
    typed.join(",")
}

/// The largest unit of which there is at least one, with as many digits as the value has.
fn time(nanos: u64) -> String {
    let (factor, unit) = match nanos {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    format!("{}{unit}", decimal(nanos, factor))
}

fn bits(bytes_per_second: u64) -> String {
    let bits = bytes_per_second.saturating_mul(8);
    let (factor, unit) = match bits {
        0..1_000 => (1, "bit/s"),
        1_000..1_000_000 => (1_000, "kbit/s"),
        1_000_000..1_000_000_000 => (1_000_000, "Mbit/s"),
        _ => (1_000_000_000, "Gbit/s"),
    };
    format!("{}{unit}", decimal(bits, factor))
}

/// A number over a power of ten, exactly: 37,500 over 1,000 is `37.5`.
fn decimal(number: u64, factor: u64) -> String {
    let whole = number / factor;
    let digits = factor.ilog10() as usize;
    let fraction = format!("{:0digits$}", number % factor);
    match fraction.trim_end_matches('0') {
        "" => whole.to_string(),
        fraction => format!("{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{bits, time};

    #[test]
    fn values_are_written_as_people_type_them() {
        assert_eq!(time(37_500_000), "37.5ms");
        assert_eq!(time(2_000_000_000), "2s");
        assert_eq!(time(10_000), "10us");
        assert_eq!(time(999), "999ns");
        assert_eq!(bits(125_000), "1Mbit/s");
        assert_eq!(bits(1_250_000_000), "10Gbit/s");
        assert_eq!(bits(1_000), "8kbit/s");
    }
}
