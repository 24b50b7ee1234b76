//! The parameters of a pass: their names in plumb, and what bonnie++ 2.00a takes if an option is left out.

/// Size of the large file, in bytes (`-s`).
pub const SIZE: &str = "size";
/// Size of a block, in bytes (second part of `-s`).
pub const CHUNK: &str = "chunk";
/// Bytes that are moved one by one (`-f`).
pub const BYTE_SIZE: &str = "byte_size";
/// Number of random reads (third part of `-s`).
pub const SEEKS: &str = "seeks";
/// Number of threads that seek (fourth part of `-s`).
pub const SEEKERS: &str = "seekers";
/// Number of small files (`-n`, which counts them in units of [`FILES_UNIT`]).
pub const FILES: &str = "files";
/// Size of the largest small file, in bytes (second part of `-n`).
pub const LARGEST: &str = "largest";
/// Size of the smallest small file, in bytes (third part of `-n`).
pub const SMALLEST: &str = "smallest";
/// Number of folders that the small files are spread over (fourth part of `-n`).
pub const FOLDERS: &str = "folders";
/// Whether links are made in place of small files: a word of [`CreatedLinks`].
pub const LINKS: &str = "links";
/// Which changes are synced: a word of [`Sync`].
pub const SYNC: &str = "sync";
/// The user that does the work if plumb is root (`-u`).
pub const USER: &str = "user";

/// Bytes of a block, both of 2.00a and of plumb.
pub const DEFAULT_CHUNK: u64 = 8192;
/// Bytes that 2.00a moves one by one.
pub const DEFAULT_BYTE_SIZE: u64 = 3 << 20;
/// Random reads, over all threads.
pub const DEFAULT_SEEKS: u64 = 8192;
/// Threads that seek.
pub const DEFAULT_SEEKERS: u64 = 5;
/// Small files that are created.
pub const DEFAULT_FILES: u64 = 16 * FILES_UNIT;
/// Folders of the small files.
pub const DEFAULT_FOLDERS: u64 = 1;

/// bonnie++ counts small files in units of this many.
pub const FILES_UNIT: u64 = 1024;

/// The links that are created instead of small files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreatedLinks {
    /// No links: regular files are created.
    None,
    /// Hard links to one file.
    Hard,
    /// Symbolic links to one file.
    Symbolic,
}

impl CreatedLinks {
    /// All values, the default first.
    // The order is that of the help text.
    pub const ALL: [Self; 3] = [Self::None, Self::Hard, Self::Symbolic];

    /// The word that users type for [`LINKS`].
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hard => "hard",
            Self::Symbolic => "symbolic",
        }
    }

    /// The negative size of the largest file by which bonnie++ asks for links.
    #[must_use]
    pub const fn size(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Hard => Some("-1"),
            Self::Symbolic => Some("-2"),
        }
    }

    /// The links that a word stands for; no links if the word is not known.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|links| links.word() == word).unwrap_or(Self::None)
    }

    /// The links that a size of the largest file stands for.
    #[must_use]
    pub fn of_size(size: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|links| links.size() == Some(size))
    }
}

/// Which changes are written through to the device at once (`-b`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// No change by itself; each phase still ends with a sync of all that it wrote.
    None,
    /// Each change of small files, and each block that a seek changes.
    Each,
}

impl Sync {
    /// All values, the default first.
    pub const ALL: [Self; 2] = [Self::None, Self::Each];

    /// The word that users type for [`SYNC`].
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Each => "each",
        }
    }

    /// The value that a word stands for; [`Sync::None`] if the word is not known.
    #[must_use]
    pub fn of_word(word: &str) -> Self {
        Self::ALL.into_iter().find(|sync| sync.word() == word).unwrap_or(Self::None)
    }
}
