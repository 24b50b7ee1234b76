//! What each reason to distrust means.

use plumb_model::FlagKind;

/// What a flag means for the number that carries it, in one line; empty for a plug-in's own word,
/// whose evidence must speak for itself.
#[must_use]
pub fn meaning(flag: &FlagKind) -> &'static str {
    match flag {
        FlagKind::Cached => {
            "fewer bytes reached the device than the workload moved: this measures memory as well"
        }
        FlagKind::Unflushed => "what was written may still be in the device's volatile cache",
        FlagKind::NotDirect => "the page cache stood between the workload and the device",
        FlagKind::Compressed => "the filesystem compresses what is moved: the device moves less",
        FlagKind::Sparse => {
            "parts of the file were never written: no device moves what is read there"
        }
        FlagKind::Tmpfs => "the target directory is in memory: no device was measured",
        FlagKind::Capped => "a size is smaller than recommended: caches may affect the result",
        FlagKind::Noisy => "the samples vary too much for the requested precision",
        FlagKind::Unsteady => "plumb found no steady state: the median mixes different phases",
        FlagKind::WarmUp => "one invocation took longer to warm up than the others",
        FlagKind::SingleProcess => {
            "another process may give a different result, however narrow the interval"
        }
        FlagKind::ClientBound => "the client was the bottleneck, not the system that it measures",
        FlagKind::ZeroCounter => "a counter stayed at zero: it may not work on this machine",
        FlagKind::NotResumed => {
            "TLS sessions were not resumed: every connection needed a full handshake"
        }
        FlagKind::LayoutFixed => {
            "the address-space layout was fixed: the result holds for one layout only"
        }
        FlagKind::Suspended => "the machine was suspended, or its clock was set, during the run",
        FlagKind::Uncalibrated => {
            "too little history on this machine to judge a change between runs"
        }
        FlagKind::Unreadable => "distributions that can't be read are left out",
        FlagKind::Short => "the interval speaks of these seconds, not of the machine",
        FlagKind::Bimodal => "there are two levels: a median between them describes neither",
        FlagKind::Burst => "a burst ended: what was measured before does not last",
        FlagKind::Overhead => "reading the clock takes a noticeable part of each sample",
        FlagKind::Interference => "other activity on the machine affected the result",
        FlagKind::WithLoad => {
            "a load ran alongside on purpose: do not compare with a quiet machine"
        }
        FlagKind::Resumed => "the run was interrupted and resumed between samples",
        FlagKind::EnvironmentChanged => "the kernel, settings or libraries changed between samples",
        FlagKind::Oversubscribed => {
            "threads had to share CPUs: this does not show how the work scales"
        }
        FlagKind::SearchIncomplete => "the limit is known less well than its goal wants",
        FlagKind::WorkDiffers => "the first run did other work than those after it",
        FlagKind::Other(_) => "",
    }
}
