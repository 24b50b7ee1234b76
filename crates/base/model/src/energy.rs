//! What the energy counters of a machine said while it was idle.

use std::fmt;
use std::str::FromStr;

/// The knob that measures it, before a run or before each round.
pub const ENERGY_KNOB: &str = "energy";
/// The words before the counters.
const OF: &str = "sum of ";

/// The power of an idle machine, as a preparation stores it: `3.120 W for 5.00 s, updates every 0.98 ms, sum of
/// intel-rapl:0-package-0`.
#[derive(Debug, Clone, PartialEq)]
pub struct IdlePower {
    /// Mean power, in watts.
    pub watts: f64,
    /// How long it was measured, in seconds.
    pub length_s: f64,
    /// Time between two updates of the counters, in seconds.
    pub update_s: f64,
    /// The counters that are added, none of which contains another.
    pub counters: Vec<String>,
}

impl fmt::Display for IdlePower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.3} W for {:.2} s, updates every {:.2} ms, {OF}{}",
            self.watts,
            self.length_s,
            self.update_s * 1e3,
            self.counters.join(" ")
        )
    }
}

/// A text that is no [`IdlePower`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoIdlePower;

/// The number before a unit.
fn number(text: &str, unit: &str) -> Result<f64, NoIdlePower> {
    let digits = text.strip_suffix(unit).ok_or(NoIdlePower)?;
    digits.trim_end().parse().map_err(|_| NoIdlePower)
}

impl FromStr for IdlePower {
    type Err = NoIdlePower;

    fn from_str(text: &str) -> Result<Self, NoIdlePower> {
        let mut parts = text.splitn(3, ", ");
        let power = parts.next().and_then(|part| part.split_once(" for ")).ok_or(NoIdlePower)?;
        let updates = parts.next().and_then(|part| part.strip_prefix("updates every "));
        let counters = parts.next().and_then(|part| part.strip_prefix(OF)).ok_or(NoIdlePower)?;
        Ok(Self {
            watts: number(power.0, "W")?,
            length_s: number(power.1, "s")?,
            update_s: number(updates.ok_or(NoIdlePower)?, "ms")? * 1e-3,
            counters: counters.split(' ').map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{IdlePower, NoIdlePower};

    #[test]
    fn what_is_written_is_read_again() {
        let idle = IdlePower {
            watts: 3.125,
            length_s: 5.0,
            update_s: 0.00098,
            counters: vec!["intel-rapl:0-package-0".into(), "intel-rapl:1-package-1".into()],
        };
        let text = idle.to_string();
        assert_eq!(
            text,
            "3.125 W for 5.00 s, updates every 0.98 ms, sum of intel-rapl:0-package-0 \
             intel-rapl:1-package-1"
        );
        assert_eq!(text.parse(), Ok(idle));
        for wrong in ["", "5.0 s", "3 W for 5 s", "x W for 5 s, updates every 1 ms, sum of a"] {
            assert_eq!(wrong.parse::<IdlePower>(), Err(NoIdlePower), "{wrong}");
        }
    }
}
