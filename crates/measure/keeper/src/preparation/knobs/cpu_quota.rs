//! `--set cpu-quota`: CPU time per period, as containers and small cloud instances have it.

use crate::preparation::knob::{Knob, Lasts, Suffix, Unusable};
use crate::preparation::process::option;
use crate::spawn_options::SpawnOption;

/// A share of one CPU that a control group may use.
pub const KNOB: Knob = Knob {
    name: "cpu-quota",
    values: "a share of one CPU (20%, 150%)",
    example: "cpu-quota=20%",
    summary: "CPU time that the workload may use in each 100 ms, as a share of one CPU",
    manual: include_str!("cpu_quota.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, quota(value)?),
    now: |_| None,
};

/// Microseconds of a period of 100 ms that are one percent of a CPU, the least that the kernel takes.
const US_PER_PERCENT: f64 = 1000.0;
/// The most CPUs that a quota may allow.
const MOST_CPUS: f64 = 65_536.0;

fn quota(value: &str) -> Result<SpawnOption, Unusable> {
    let percent = value.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        Some(percent) if (1.0..=100.0 * MOST_CPUS).contains(&percent) => {
            Ok(SpawnOption::CpuQuota((percent * US_PER_PERCENT).round() as u64))
        }
        _ => Err(Unusable::not_taken(value, "a share of one CPU from 1% on, such as 20%")),
    }
}

#[cfg(test)]
mod tests {
    use super::quota;
    use crate::spawn_options::SpawnOption;

    #[test]
    fn a_share_is_microseconds_of_each_period() {
        assert_eq!(quota("20%"), Ok(SpawnOption::CpuQuota(20_000)));
        assert_eq!(quota("150 %"), Ok(SpawnOption::CpuQuota(150_000)));
        for odd in ["20", "0%", "-5%", "nan%", "0.5%", "1e30%"] {
            assert!(quota(odd).is_err(), "{odd}");
        }
    }
}
