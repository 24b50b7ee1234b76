//! A burst that ended, which stands next to a median that mixes both of its parts.

use plumb_analysis::{Burst, Finding};
use plumb_units::{Figure, quantity};
use serde::Serialize;

use crate::figure::figure;
use crate::json_parts::estimate::{EstimatePart, estimate};

/// `3.1 [3.0, 3.2] k ops/s for 30 s (93 k ops), then 500 [498, 503] ops/s`; None if nothing ended.
#[must_use]
pub fn burst_text(finding: &Finding) -> Option<String> {
    let burst = finding.burst.as_ref()?;
    let [before, after] =
        [&burst.before, &burst.after].map(|estimate| whole(&figure(estimate, &finding.unit)));
    let work = finding.unit.strip_suffix("/s").unwrap_or_default();
    let seconds = quantity(burst.seconds, "s");
    let volume = quantity(burst.volume, work);
    Some(format!("{before} for {seconds} ({volume}), then {after}"))
}

// An estimate without an interval has no brackets: one blank is enough then.
fn whole(figure: &Figure) -> String {
    format!("{} {} {}", figure.estimate, figure.brackets(), figure.unit).replace("  ", " ")
}

/// A burst that ended in a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BurstPart {
    /// From the first sample to the fall, in seconds.
    pub seconds: f64,
    /// The work until then, in the metric's unit without its `/s`.
    pub volume: f64,
    /// The median until then.
    pub before: EstimatePart,
    /// The median from then on.
    pub after: EstimatePart,
}

pub(crate) fn burst_part(burst: &Burst) -> BurstPart {
    let Burst { seconds, volume, ref before, ref after } = *burst;
    BurstPart { seconds, volume, before: estimate(before), after: estimate(after) }
}
