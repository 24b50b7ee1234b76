//! `--set io-limit`: disk throughput, as containers and small cloud instances have it.

use crate::preparation::knob::{Knob, Lasts, Suffix, Unusable};
use crate::preparation::process::option;
use crate::spawn_options::SpawnOption;

/// The throughput of each disk that a control group may use.
pub const KNOB: Knob = Knob {
    name: "io-limit",
    values: "a rate (50MB/s), or off",
    example: "io-limit=50MB/s",
    summary: "limit the workload's read and write throughput on each disk",
    manual: include_str!("io_limit.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, limit(value)?),
    now: |_| None,
};

const OFF: &str = "off";

fn limit(value: &str) -> Result<SpawnOption, Unusable> {
    if value == OFF {
        return Ok(SpawnOption::IoLimit(None));
    }
    match plumb_units::parse_rate(value, true) {
        Ok(rate) if rate > 0 => Ok(SpawnOption::IoLimit(Some(rate))),
        _ => Err(Unusable::not_taken(value, "a rate, such as 50MB/s, or off")),
    }
}

#[cfg(test)]
mod tests {
    use super::limit;
    use crate::spawn_options::SpawnOption;

    #[test]
    fn a_limit_is_a_rate_or_off() {
        assert_eq!(limit("50MB/s"), Ok(SpawnOption::IoLimit(Some(50_000_000))));
        assert_eq!(limit("off"), Ok(SpawnOption::IoLimit(None)));
        assert!(limit("0MB/s").is_err() && limit("much").is_err());
    }
}
