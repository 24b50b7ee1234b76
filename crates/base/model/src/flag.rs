//! Flags: reasons to distrust a number.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The rule that found a reason to distrust a number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlagKind {
    /// Fewer bytes reached the device than the workload moved.
    Cached,
    /// Direct I/O was wanted and could not be had.
    NotDirect,
    /// Writes may still sit in the device's volatile cache: nobody flushed it.
    Unflushed,
    /// Something below the workload compresses its bytes: the device moves fewer.
    Compressed,
    /// Parts of a file are holes or were never written: there is nothing to read.
    Sparse,
    /// The target directory lies in memory.
    Tmpfs,
    /// Files were created on ext4 without a journal.
    NoJournal,
    /// A size was made smaller than a rule wanted; both are in the text.
    Capped,
    /// The samples drift or jump, so the interval may not cover.
    Noisy,
    /// No steady state was found.
    Unsteady,
    /// Warm-up of an invocation differed from the fixed discard.
    WarmUp,
    /// Only one process was sampled: layout and regime were not.
    SingleProcess,
    /// The client, not the thing measured, was the limit: it did not begin operations when they were due.
    ClientBound,
    /// The clients of a closed loop used most of their CPU time, so they may be the limit.
    GeneratorBusy,
    /// Part of the requests got no answer.
    Lossy,
    /// Other addresses of the same host give something else.
    OddAddress,
    /// A queue takes in what a short trial sends too much.
    Buffered,
    /// A counter never moved.
    ZeroCounter,
    /// TLS sessions were not resumed.
    NotResumed,
    /// Another library of this machine does the same work faster.
    FasterProvider,
    /// The installed `openssl speed` was measured, because a statically linked plumb cannot load libcrypto.
    OpensslSpeed,
    /// Address-space layout was frozen.
    LayoutFixed,
    /// The machine was suspended or its clock stepped.
    Suspended,
    /// Too little history for a verdict across runs.
    Uncalibrated,
    /// The process medians have two modes.
    Bimodal,
    /// A rate fell once and stayed down, as when a credit is spent.
    Burst,
    /// Reading the clock cost more than .1 % of a sample.
    Overhead,
    /// Something else ran at the same time.
    Interference,
    /// A background load ran at the same time, on purpose.
    WithLoad,
    /// The run was interrupted and resumed in between.
    Resumed,
    /// Kernel, governor, libraries or the like changed while the run was interrupted.
    EnvironmentChanged,
    /// More threads than CPUs.
    Oversubscribed,
    /// A search ended before it knew the limit as well as its goal wants.
    SearchIncomplete,
    /// The first run of a command did other work than those after it.
    WorkDiffers,
    /// Part of the files that a cold start reads stayed in memory.
    PartlyWarm,
    /// A distribution that an invocation reported can't be read, and is left out.
    Unreadable,
    /// Firmware counts from a cold start and not from the last restart.
    FirmwareGrows,
    /// The session is too short to know for how long its noise remembers: its interval speaks of its own seconds.
    Short,
    /// Another reason, named by a plug-in.
    #[serde(untagged)]
    Other(String),
}

impl FlagKind {
    /// Every kind that plumb itself finds.
    pub const ALL: [Self; 38] = [
        Self::Cached,
        Self::NotDirect,
        Self::Unflushed,
        Self::Compressed,
        Self::Sparse,
        Self::Tmpfs,
        Self::NoJournal,
        Self::Capped,
        Self::Noisy,
        Self::Unsteady,
        Self::WarmUp,
        Self::SingleProcess,
        Self::ClientBound,
        Self::GeneratorBusy,
        Self::Lossy,
        Self::OddAddress,
        Self::Buffered,
        Self::ZeroCounter,
        Self::NotResumed,
        Self::FasterProvider,
        Self::OpensslSpeed,
        Self::LayoutFixed,
        Self::Suspended,
        Self::Uncalibrated,
        Self::Bimodal,
        Self::Burst,
        Self::Overhead,
        Self::Interference,
        Self::WithLoad,
        Self::Resumed,
        Self::EnvironmentChanged,
        Self::Oversubscribed,
        Self::SearchIncomplete,
        Self::WorkDiffers,
        Self::PartlyWarm,
        Self::Unreadable,
        Self::FirmwareGrows,
        Self::Short,
    ];

    /// What it means for the number that carries it, in one line; empty for a plug-in's own word,
    /// whose evidence must speak for itself.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        match self {
            Self::Cached => {
                "fewer bytes reached the device than the workload moved: this measures memory as well"
            }
            Self::Unflushed => "written data may still be in the device's volatile cache",
            Self::NotDirect => "I/O went through the page cache, not straight to the device",
            Self::Compressed => "the filesystem compresses the data: the device moves less",
            Self::Sparse => {
                "parts of the file were never written, so reading them does not reach the device"
            }
            Self::Tmpfs => "the target directory is in memory: no device was measured",
            Self::NoJournal => "recent deletions on this filesystem make creating files slower",
            Self::Capped => "a size is smaller than recommended: caches may affect the result",
            Self::Noisy => "the samples vary too much for the requested precision",
            Self::Unsteady => "plumb found no steady state: the median mixes different phases",
            Self::WarmUp => "one invocation took longer to warm up than the others",
            Self::SingleProcess => {
                "another process may give a different result, however narrow the interval"
            }
            Self::ClientBound => "the client was the bottleneck, not the system that it measures",
            Self::GeneratorBusy => {
                "the clients used most of their CPU time and may limit the result: the server may be able to do more"
            }
            Self::Lossy => {
                "some requests got no answer: they were lost on the way, or a limit dropped them"
            }
            Self::OddAddress => "it differs from most other addresses of the same host",
            Self::Buffered => {
                "a queue absorbs the excess load of a trial, so the limit is too high"
            }
            Self::ZeroCounter => "a counter stayed at zero: it may not work on this machine",
            Self::NotResumed => {
                "TLS sessions were not resumed: every connection needed a full handshake"
            }
            Self::FasterProvider => "another library on this machine does the same work faster",
            Self::OpensslSpeed => {
                "`openssl speed` was measured: a statically linked plumb cannot load libcrypto"
            }
            Self::LayoutFixed => {
                "the address-space layout was fixed: the result holds for one layout only"
            }
            Self::Suspended => "the machine was suspended, or its clock was set, during the run",
            Self::Uncalibrated => {
                "too little history on this machine to judge a change between runs"
            }
            Self::Unreadable => "unreadable distributions are ignored",
            Self::FirmwareGrows => {
                "the firmware's clock was not reset when the machine restarted: its time is too long"
            }
            Self::Short => "the interval covers only the time of this measurement",
            Self::Bimodal => "there are two levels: a median between them describes neither",
            Self::Burst => "a burst ended: the initial speed does not last",
            Self::Overhead => "reading the clock takes a noticeable part of each sample",
            Self::Interference => "other activity on the machine affected the result",
            Self::WithLoad => {
                "a load ran alongside on purpose: do not compare with a quiet machine"
            }
            Self::Resumed => "the run was interrupted and resumed between samples",
            Self::EnvironmentChanged => "the kernel, settings or libraries changed between samples",
            Self::Oversubscribed => {
                "threads had to share CPUs: this does not show how the work scales"
            }
            Self::SearchIncomplete => "the limit is less precise than its goal requires",
            Self::WorkDiffers => "the first run did different work from the later ones",
            Self::PartlyWarm => {
                "other processes kept part of the files in memory: a start after a reboot takes longer"
            }
            Self::Other(_) => "",
        }
    }

    /// The word that is shown and stored.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Cached => "cached",
            Self::NotDirect => "not-direct",
            Self::Unflushed => "unflushed",
            Self::Compressed => "compressed",
            Self::Sparse => "sparse",
            Self::Tmpfs => "tmpfs",
            Self::NoJournal => "no-journal",
            Self::Capped => "capped",
            Self::Noisy => "noisy",
            Self::Unsteady => "unsteady",
            Self::WarmUp => "warm-up",
            Self::SingleProcess => "single-process",
            Self::ClientBound => "client-bound",
            Self::GeneratorBusy => "generator-busy",
            Self::Lossy => "lossy",
            Self::OddAddress => "odd-address",
            Self::Buffered => "buffered",
            Self::ZeroCounter => "zero-counter",
            Self::NotResumed => "not-resumed",
            Self::FasterProvider => "faster-provider",
            Self::OpensslSpeed => "openssl-speed",
            Self::LayoutFixed => "layout-fixed",
            Self::Suspended => "suspended",
            Self::Uncalibrated => "uncalibrated",
            Self::Bimodal => "bimodal",
            Self::Burst => "burst",
            Self::Overhead => "overhead",
            Self::Interference => "interference",
            Self::WithLoad => "with-load",
            Self::Resumed => "resumed",
            Self::EnvironmentChanged => "environment-changed",
            Self::Oversubscribed => "oversubscribed",
            Self::SearchIncomplete => "search-incomplete",
            Self::WorkDiffers => "work-differs",
            Self::PartlyWarm => "partly-warm",
            Self::Unreadable => "unreadable",
            Self::FirmwareGrows => "firmware-grows",
            Self::Short => "short",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for FlagKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A reason to distrust a number, with its evidence. Shown, never hidden.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flag {
    /// The rule that raised the flag.
    pub flag: FlagKind,
    /// The evidence in one line.
    pub why: String,
}

impl Flag {
    /// A flag with its evidence.
    #[must_use]
    pub fn new(flag: FlagKind, why: impl Into<String>) -> Self {
        Self { flag, why: why.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::FlagKind;

    #[test]
    fn the_stored_word_is_the_shown_word() {
        for flag in FlagKind::ALL {
            assert!(!flag.meaning().is_empty(), "{flag}");
            assert_eq!(serde_json::to_string(&flag).unwrap(), format!("\"{flag}\""));
        }
        let other: FlagKind = serde_json::from_str("\"my-own\"").unwrap();
        assert_eq!(other, FlagKind::Other("my-own".into()));
    }
}
