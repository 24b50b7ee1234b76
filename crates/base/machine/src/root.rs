//! Where the kernel's files are read: `/`, or a captured tree in tests.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder under which `/proc`, `/sys` and `/etc` are read.
#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Self(PathBuf::from("/"))
    }
}

impl Root {
    /// `/`, or the captured tree that `PLUMB_ROOT` names, for tests.
    #[must_use]
    pub fn from_environment() -> Self {
        std::env::var_os("PLUMB_ROOT").map_or_else(Self::default, |tree| Self(PathBuf::from(tree)))
    }

    /// A captured tree.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path below the root.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// The trimmed text of a file; None when it can't be read or is empty.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        let whole = fs::read_to_string(self.path(path)).ok()?;
        // Files of the device tree end in NUL.
        let text = whole.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The number in a file.
    #[must_use]
    pub fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The value behind `key:` (or `key` and white space) in a file of such lines.
    #[must_use]
    pub fn field(&self, path: &str, key: &str) -> Option<String> {
        field(&self.text(path)?, key)
    }

    /// The names in a folder, sorted.
    #[must_use]
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        // A folder lists its entries in any order, and facts that are joined from them must not change with it.
        names.sort();
        names
    }

    /// Whether this is the running system.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }
}

/// The value of the first line that starts with `key` and a colon or white space.
pub fn field(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?.trim_start();
        let value = rest.strip_prefix(':').unwrap_or(rest).trim();
        Some(value.to_owned())
    })
}

/// A captured tree of these files, for tests.
#[cfg(test)]
pub fn plant(files: &[(&str, &str)]) -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    let root = Root::at(tree.path());
    for (path, text) in files {
        let path = root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    tree
}
