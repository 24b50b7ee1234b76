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
}

impl LayerOption {
    /// The words for it in lists and error messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Size => "a size (1GiB)",
            Self::MountOptions => "mount options",
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
