//! How wide the registers are that a kernel works in: chosen once at start, named in the notes, refused if the CPU lacks
//! them.

use plumb_model::Parameter;
use plumb_protocol::{Start, StartError};

use crate::declare::choice;

/// The name of the parameter.
const PARAMETER: &str = "width";

/// The width of vector registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// Plain code: what the compiler makes for the oldest CPU of this architecture, on x86-64 SSE2 at 128 bits.
    Bits128,
    /// AVX2 with FMA.
    Bits256,
    /// AVX-512 (F, BW, DQ and VL).
    Bits512,
}

impl Width {
    /// All, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Bits128, Self::Bits256, Self::Bits512];

    /// Its number of bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Bits128 => 128,
            Self::Bits256 => 256,
            Self::Bits512 => 512,
        }
    }

    /// The CPU features that it needs.
    #[must_use]
    pub fn instructions(self) -> &'static str {
        match self {
            Self::Bits128 if cfg!(target_arch = "x86_64") => "SSE2",
            Self::Bits128 => "portable code",
            Self::Bits256 => "AVX2 and FMA",
            Self::Bits512 => "AVX-512 (F, BW, DQ, VL)",
        }
    }

    /// Whether this CPU, its kernel and this build have it.
    #[must_use]
    pub fn is_here(self) -> bool {
        match self {
            Self::Bits128 => true,
            #[cfg(target_arch = "x86_64")]
            Self::Bits256 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Bits512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Self::Bits256 | Self::Bits512 => false,
        }
    }

    /// The widest that is here.
    #[must_use]
    pub fn widest() -> Self {
        Self::ALL.into_iter().rev().find(|width| width.is_here()).unwrap_or(Self::Bits128)
    }

    /// The requested settings.
    ///
    /// # Errors
    /// Unsupported if this CPU does not have it.
    pub fn of(start: &Start) -> Result<Self, StartError> {
        let wanted = match start.text(PARAMETER) {
            "128" => Self::Bits128,
            "256" => Self::Bits256,
            "512" => Self::Bits512,
            _ => return Ok(Self::widest()),
        };
        if wanted.is_here() {
            return Ok(wanted);
        }
        let why = format!("this CPU has no {}", wanted.instructions());
        let fix = format!("{PARAMETER}={} or auto", Self::widest().bits());
        Err(StartError::unsupported(why, fix))
    }

    /// For the notes: `registers of 256 bits (AVX2 and FMA)`.
    #[must_use]
    pub fn note(self) -> String {
        format!("registers of {} bits ({})", self.bits(), self.instructions())
    }
}

/// The parameter that chooses the width of vectors.
#[must_use]
pub fn width() -> Parameter {
    choice(
        PARAMETER,
        &["auto", "128", "256", "512"],
        "bits of the vector registers; auto: the widest of this CPU",
    )
}

#[cfg(test)]
mod tests {
    use super::Width;

    #[test]
    fn narrower_ones_are_here_where_wider_ones_are() {
        assert!(Width::Bits128.is_here() && Width::widest().is_here());
        let here = Width::ALL.map(Width::is_here);
        assert!(here.is_sorted_by(|narrow, wide| narrow >= wide), "{here:?}");
        assert_eq!(Width::Bits256.note(), "registers of 256 bits (AVX2 and FMA)");
    }
}
