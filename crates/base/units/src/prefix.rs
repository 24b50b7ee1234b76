//! The prefixes of each unit.

use crate::base::SHARE;

/// A unit with a prefix.
pub struct Prefix {
    /// How much one of it is in the bare unit.
    pub factor: f64,
    /// The unit with the prefix, as it is written after a number.
    pub unit: String,
}

/// The prefixes that a unit takes, the smallest first.
pub fn prefixes(unit: &str) -> Vec<Prefix> {
    match unit {
        "s" => decimal(unit, "", &[(-9, "n"), (-6, "µ"), (-3, "m"), (0, "")]),
        "B" => binary(),
        "B/s" | "bit/s" => decimal(unit, "", &[(0, ""), (3, "k"), (6, "M"), (9, "G"), (12, "T")]),
        "J" | "W" => decimal(unit, "", &[(-6, "µ"), (-3, "m"), (0, ""), (3, "k"), (6, "M")]),
        "Hz" => decimal(unit, "", &[(0, ""), (3, "k"), (6, "M"), (9, "G")]),
        "" | "°C" => decimal(unit, "", &[(0, "")]),
        // A cost per byte, such as CPU time: nobody reads 1e-9 seconds per byte.
        "s/B" => vec![Prefix { factor: 1e-9, unit: "s/GB".to_owned() }],
        "J/B" => vec![Prefix { factor: 1e-9, unit: "J/GB".to_owned() }],
        // Energy per operation: `µJ/op`.
        _ if unit.starts_with("J/") => {
            decimal(unit, "", &[(-9, "n"), (-6, "µ"), (-3, "m"), (0, ""), (3, "k")])
        }
        // Time per time is a share, too.
        SHARE | "s/s" => vec![Prefix { factor: 0.01, unit: "%".to_owned() }],
        // `M ops/s`: a prefix in front of a word needs a blank.
        _ => decimal(unit, " ", &[(0, ""), (3, "k"), (6, "M"), (9, "G")]),
    }
}

/// The index of the largest prefix that leaves a number of 1 or more, or of the smallest one.
pub fn largest_that_fits(prefixes: &[Prefix], size: f64) -> usize {
    prefixes.iter().rposition(|prefix| size.abs() >= prefix.factor).unwrap_or(0)
}

/// Powers of ten with their names, and what stands between a name and the unit.
fn decimal(unit: &str, blank: &str, names: &[(i32, &str)]) -> Vec<Prefix> {
    let mut prefixes = Vec::new();
    for &(exponent, name) in names {
        let factor = 10_f64.powi(exponent);
        let unit = if name.is_empty() { unit.to_owned() } else { format!("{name}{blank}{unit}") };
        prefixes.push(Prefix { factor, unit });
    }
    prefixes
}

/// Powers of 1024, for sizes in bytes.
fn binary() -> Vec<Prefix> {
    let mut prefixes = Vec::new();
    for (unit, power) in ["B", "KiB", "MiB", "GiB", "TiB"].into_iter().zip(0..) {
        prefixes.push(Prefix { factor: 1024_f64.powi(power), unit: unit.to_owned() });
    }
    prefixes
}
