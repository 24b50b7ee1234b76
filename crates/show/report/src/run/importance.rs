//! Which flags come first if there is room for few.

use plumb_model::FlagKind;

/// How a flag affects a figure; the first is the most consequential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlagWeight {
    /// Something else was measured than the name says.
    OtherSubject,
    /// The figure stands for several states, or for one of many.
    OtherLevel,
    /// The figure is less certain than its interval says, or than was wanted.
    LessCertain,
}

impl FlagWeight {
    /// The weight of a flag.
    #[must_use]
    pub fn of(flag: &FlagKind) -> Self {
        // Every kind is named: whoever adds one decides here whether it may be left out of a short list.
        match flag {
            FlagKind::Cached
            | FlagKind::NotDirect
            | FlagKind::Unflushed
            | FlagKind::Compressed
            | FlagKind::Sparse
            | FlagKind::Tmpfs
            | FlagKind::NoJournal
            | FlagKind::Capped
            | FlagKind::ClientBound
            | FlagKind::GeneratorBusy
            | FlagKind::Lossy
            | FlagKind::Buffered
            | FlagKind::NotResumed
            | FlagKind::OpensslSpeed
            | FlagKind::Oversubscribed
            | FlagKind::WithLoad
            | FlagKind::WorkDiffers
            | FlagKind::PartlyWarm
            | FlagKind::Suspended
            | FlagKind::FirmwareGrows
            | FlagKind::EnvironmentChanged => Self::OtherSubject,
            FlagKind::Bimodal
            | FlagKind::Burst
            | FlagKind::Unsteady
            | FlagKind::SingleProcess
            | FlagKind::LayoutFixed
            | FlagKind::OddAddress
            | FlagKind::SearchIncomplete
            | FlagKind::ZeroCounter
            | FlagKind::Unreadable
            | FlagKind::Overhead
            | FlagKind::Other(_) => Self::OtherLevel,
            FlagKind::Noisy
            | FlagKind::FasterProvider
            | FlagKind::WarmUp
            | FlagKind::Uncalibrated
            | FlagKind::Interference
            | FlagKind::Resumed
            | FlagKind::Short => Self::LessCertain,
        }
    }

    /// Whether a flag of this weight changes how a figure is read, and not only how much it is trusted.
    #[must_use]
    pub fn changes_reading(self) -> bool {
        self != Self::LessCertain
    }
}

/// Flags by weight, each once; those of one weight keep the order of their kinds.
pub(crate) fn by_importance<'f>(
    flags: impl IntoIterator<Item = &'f FlagKind>,
) -> Vec<&'f FlagKind> {
    let mut sorted: Vec<&FlagKind> = flags.into_iter().collect();
    sorted.sort_by_key(|flag| (FlagWeight::of(flag), *flag));
    // Several of one kind stand for several reasons, which a word does not distinguish.
    sorted.dedup_by_key(|flag| flag.word());
    sorted
}
