//! Which monitors a run wants, and how often each is read.

use crate::monitor::{Monitor, SLOW_HZ};
use crate::monitors::{ALL, find};

/// The fewest and the most readings per second that can be asked for.
pub const RATES_HZ: (f64, f64) = (0.1, 100.0);

/// A monitor with the rate at which it is to be read.
#[derive(Debug, Clone, Copy)]
pub struct PacedMonitor {
    /// The monitor that is read.
    pub monitor: &'static Monitor,
    /// Readings a second.
    pub hz: f64,
}

/// The monitors that these words ask for: `none`, or names with or without a rate (`stat=20`), which
/// are added to the default ones.
///
/// # Errors
/// The word that is wrong, and why.
pub fn wanted(words: &[String]) -> Result<Vec<PacedMonitor>, String> {
    let mut wanted: Vec<PacedMonitor> = Vec::new();
    if !words.iter().any(|word| word == "none") {
        let one =
            |&monitor: &&'static Monitor| Some(PacedMonitor { monitor, hz: monitor.default_hz? });
        wanted.extend(ALL.iter().filter_map(one));
    }
    for word in words.iter().filter(|word| *word != "none") {
        let (name, hz) = word.split_once('=').map_or((word.as_str(), None), |(n, r)| (n, Some(r)));
        let monitor = find(name).ok_or_else(|| format!("no monitor is called `{name}`"))?;
        let hz = hz.map_or(Ok(monitor.default_hz.unwrap_or(SLOW_HZ)), rate)?;
        wanted.retain(|paced| paced.monitor.name != name);
        wanted.push(PacedMonitor { monitor, hz });
    }
    Ok(wanted)
}

fn rate(text: &str) -> Result<f64, String> {
    let (least, most) = RATES_HZ;
    let hz: Option<f64> = text.trim_end_matches("Hz").parse().ok();
    hz.filter(|hz| (least..=most).contains(hz))
        .ok_or_else(|| format!("`{text}` is not a rate from {least} to {most} per second"))
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn words_add_to_the_default_ones_or_stand_alone() {
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            wanted(&words).map(|all| {
                all.iter().map(|paced| (paced.monitor.name, paced.hz)).collect::<Vec<_>>()
            })
        };
        let default = of(&[]).unwrap();
        assert!(
            default.contains(&("stat", 10.0)) && !default.iter().any(|(name, _)| *name == "perf")
        );
        assert_eq!(of(&["none"]).unwrap(), []);
        assert_eq!(of(&["none", "stat=0.5", "perf"]).unwrap(), [("stat", 0.5), ("perf", 1.0)]);
        assert_eq!(of(&["stat=20Hz"]).unwrap().len(), default.len());
        for wrong in ["nonesuch", "stat=", "stat=1000", "stat=-1", "stat=NaN"] {
            assert!(of(&[wrong]).is_err(), "{wrong}");
        }
    }
}
