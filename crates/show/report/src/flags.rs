//! What each reason to distrust means.

use plumb_model::FlagKind;

/// What a flag means for the number that carries it, in one line; empty for a plug-in's own word,
/// whose evidence must speak for itself.
#[must_use]
pub fn meaning(flag: &FlagKind) -> &'static str {
    match flag {
        FlagKind::Cached => {
            "fewer bytes reached the device than were moved: memory was measured too"
        }
        FlagKind::Tmpfs => "the target directory lies in memory: no device was measured",
        FlagKind::Capped => "a size is smaller than the rule wants: caches may play a part",
        FlagKind::Noisy => "the samples are too unsteady for the precision that was wanted",
        FlagKind::Unsteady => "no steady state was found: the median mixes different regimes",
        FlagKind::WarmUp => "an invocation warmed up longer than the others",
        FlagKind::SingleProcess => {
            "another process may settle elsewhere, however narrow the interval"
        }
        FlagKind::ClientBound => "the client was the limit, not what it measures",
        FlagKind::ZeroCounter => "a counter never moved: it may not work here",
        FlagKind::NotResumed => {
            "TLS sessions were not resumed: every connection paid a full handshake"
        }
        FlagKind::LayoutFixed => {
            "address-space layout was frozen: one layout was measured, not its spread"
        }
        FlagKind::Suspended => "the machine slept or its clock was set meanwhile",
        FlagKind::Uncalibrated => {
            "too little history on this machine to judge a change between runs"
        }
        FlagKind::Bimodal => "processes fall into two groups: a median describes neither",
        FlagKind::Overhead => "reading the clock costs a visible part of each sample",
        FlagKind::Interference => {
            "something else ran beside: part of what was measured is its doing"
        }
        FlagKind::WithLoad => "a load ran beside on purpose: not comparable with a quiet machine",
        FlagKind::Resumed => "the run was interrupted between its samples",
        FlagKind::EnvironmentChanged => {
            "kernel, settings or libraries were not the same for all samples"
        }
        FlagKind::Other(_) => "",
    }
}
