//! What the start of a command loads: the ELF files that its processes map, their relocations, and the loader's share.

use serde::{Deserialize, Serialize};

/// What the processes of a command mapped in one untimed run under ptrace, from start to exit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StartUp {
    /// Every ELF file that was mapped, in the order of its first mapping.
    pub files: Vec<MappedFile>,
    /// The loader's own figures.
    pub loader: LoaderFigures,
}

impl StartUp {
    /// Relocations in all files that could be counted.
    #[must_use]
    pub fn relocations(&self) -> u64 {
        let counted = self.files.iter().filter_map(|file| file.relocations);
        counted.map(RelocationCounts::total).sum()
    }
}

/// An ELF file that a process mapped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedFile {
    /// Its path, as the kernel reports it to plumb.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The relocations in its dynamic section; None if that section can't be read.
    pub relocations: Option<RelocationCounts>,
}

/// Relocations of one file, as its dynamic section declares them. A loader does all but the lazy ones at start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RelocationCounts {
    /// Those that only add the load address, packed ones (DT_RELR) included.
    pub relative: u64,
    /// The others of DT_RELA and DT_REL; most look up a symbol.
    pub symbolic: u64,
    /// Those of the procedure linkage table (DT_JMPREL), which a loader may leave until the first call.
    pub lazy: u64,
}

impl RelocationCounts {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.relative.saturating_add(self.symbolic).saturating_add(self.lazy)
    }
}

/// What glibc's loader reports of itself (LD_DEBUG=statistics), summed over the processes of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoaderFigures {
    /// What glibc reports.
    Measured {
        /// Time in the loader before the programs began, relative to the wall time of the run: the median of some runs.
        share: f64,
        /// Relocations that it had done when the programs began.
        at_start: u64,
        /// Relocations that it had done when they ended, those of dlopen included.
        at_end: u64,
    },
    /// Why there are none.
    Unsupported(String),
}

impl Default for LoaderFigures {
    fn default() -> Self {
        Self::Unsupported("not measured".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::{LoaderFigures, MappedFile, RelocationCounts, StartUp};

    #[test]
    fn files_that_could_not_be_counted_add_nothing() {
        let file = |relocations| MappedFile { path: "/lib/a.so".into(), bytes: 1, relocations };
        let counts = RelocationCounts { relative: 3, symbolic: 2, lazy: 1 };
        let found = StartUp {
            files: vec![file(Some(counts)), file(None)],
            loader: LoaderFigures::Measured { share: 0.25, at_start: 5, at_end: 6 },
        };
        assert_eq!(found.relocations(), 6);
        let text = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<StartUp>(&text).unwrap(), found);
    }
}
