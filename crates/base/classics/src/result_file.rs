//! What a file of results holds: results, and what could not be read.

use std::collections::BTreeMap;

use crate::{Format, Import, ImportError};

/// The results of a file, and everything in it that plumb does not take over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultFile {
    /// The results; those of another machine, version or time are another run.
    pub imports: Vec<Import>,
    /// Results of the tool that are not among them.
    pub not_read: Vec<NotRead>,
}

/// Parts of a file that hold results which plumb does not take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRead {
    /// What they are, with the reason if it is not plain.
    pub what: String,
    /// How many there are.
    pub count: usize,
    /// The line of the first, from 1, if known.
    pub line: Option<usize>,
}

impl ResultFile {
    /// The import of this version and time, on a machine with these facts; a new one if there is none.
    pub(crate) fn import(
        &mut self,
        format: Format,
        version: Option<String>,
        started_unix_ns: Option<i64>,
        machine: BTreeMap<String, String>,
    ) -> &mut Import {
        let known = self.imports.iter().position(|import| {
            import.version == version
                && import.started_unix_ns == started_unix_ns
                && import.machine == machine
        });
        let index = known.unwrap_or_else(|| {
            self.imports.push(Import { version, started_unix_ns, machine, ..Import::new(format) });
            self.imports.len() - 1
        });
        &mut self.imports[index]
    }

    /// The import of text without version, date or machine.
    pub(crate) fn plain_import(&mut self, format: Format) -> &mut Import {
        self.import(format, None, None, BTreeMap::new())
    }

    /// Notes a part that is not read.
    pub(crate) fn not_read(&mut self, what: impl Into<String>, line: Option<usize>) {
        let what = what.into();
        match self.not_read.iter_mut().find(|known| known.what == what) {
            Some(known) => known.count += 1,
            None => self.not_read.push(NotRead { what, count: 1, line }),
        }
    }

    /// Notes an error of one result, so that the others of the file are read.
    ///
    /// # Errors
    /// If the file ends early: then the last figure that is there may be incomplete.
    pub(crate) fn not_read_because(
        &mut self,
        error: ImportError,
        line: Option<usize>,
    ) -> Result<(), ImportError> {
        match error {
            ImportError::Nothing { why, .. } => self.not_read(why, line),
            ImportError::Unreadable { why, line: at, .. } => self.not_read(why, at.or(line)),
            ImportError::Damaged { .. } | ImportError::Unknown => return Err(error),
        }
        Ok(())
    }

    /// Gives imports without a version that of the user. They may be one with others then.
    pub(crate) fn with_version(self, format: Format, version: Option<&str>) -> Self {
        let mut named = Self { imports: Vec::new(), not_read: self.not_read };
        for import in self.imports {
            let program = import.version.or_else(|| version.map(str::to_owned));
            let target = named.import(format, program, import.started_unix_ns, import.machine);
            for series in import.series {
                target.add(series);
            }
            target.missing.extend(import.missing);
        }
        named
    }
}

impl NotRead {
    /// One phrase: what, how many, and where the first is.
    #[must_use]
    pub fn sentence(&self) -> String {
        match (self.count, self.line) {
            (1, None) => self.what.clone(),
            (1, Some(line)) => format!("{} (line {line})", self.what),
            (count, None) => format!("{} ({count})", self.what),
            (count, Some(line)) => format!("{} ({count}, the first in line {line})", self.what),
        }
    }
}
