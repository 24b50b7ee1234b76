//! The layers of a medium.

use plumb_machine::Root;
use plumb_protocol::StartError;

use crate::building::Building;
use crate::needs::MissingNeed;

/// One layer of a medium: a file in `layers/` with its manual next to it.
#[derive(Debug)]
pub struct MediumLayer {
    /// The word for it in `medium=`.
    pub name: &'static str,
    /// Its summary in one line.
    pub summary: &'static str,
    /// The option that may follow after a colon.
    pub takes: LayerOption,
    /// Its manual page, in Markdown.
    pub manual: &'static str,
    /// The kind of thing that must lie below it.
    pub on: LayerBase,
    /// The kind of thing that it offers to layers above.
    pub gives: LayerSurface,
    /// The missing need of this machine for it.
    pub missing: fn(&Root) -> Option<MissingNeed>,
    /// Lays it on what was built so far, with its option.
    pub lay: fn(&mut Building<'_>, &str) -> Result<(), StartError>,
}

/// The option that may follow after the colon of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerOption {
    /// The layer has no option.
    Nothing,
    /// A size: `ram:1GiB`.
    Size,
    /// Options for `mount -o`: `ext4:data=journal`.
    MountOptions,
    /// The key size of AES, a word of [`AesKey`]: `dm-crypt:aes-128`.
    KeySize,
    /// An absolute path, which must be given: `folder:/var/tmp`.
    Path,
}

impl LayerOption {
    /// The words for it in lists and error messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Size => "a size (1GiB)",
            Self::MountOptions => "mount options",
            Self::KeySize => "aes-256 or aes-128",
            Self::Path => "an absolute path (/var/tmp)",
        }
    }
}

/// How long the key of AES is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AesKey {
    /// A key of 256 bits.
    #[default]
    Long,
    /// A key of 128 bits.
    Short,
}

impl AesKey {
    /// The key size of a layer's option; without an option, the longer one.
    #[must_use]
    pub fn of_option(option: &str) -> Option<Self> {
        match option {
            "" | "aes-256" => Some(Self::Long),
            "aes-128" => Some(Self::Short),
            _ => None,
        }
    }

    /// Bits of a key of AES-XTS, which consists of two.
    #[must_use]
    pub fn xts_bits(self) -> usize {
        match self {
            Self::Long => 512,
            Self::Short => 256,
        }
    }
}

/// The kind of thing below a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerBase {
    /// Nothing: it is the lowest.
    Nothing,
    /// A folder: that of the run, or one in a filesystem below.
    Folder,
    /// A block device.
    Device,
    /// The folder of this filesystem.
    Filesystem(&'static str),
}

/// The kind of thing that a layer offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerSurface {
    /// A folder in which files can be made.
    Folder,
    /// A block device.
    Device,
    /// A target on which nothing else lies.
    Target,
}
