//! The formats, and how each is recognised by what it contains.

use crate::{Error, Import, bonnie, fio, hyperfine, iperf3, mbw, openssl, sysbench};

/// What wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The CSV of bonnie++: 27 fields (1.03), 48 (1.96, 1.97) or 50 (1.98, 2.00).
    Bonnie,
    /// fio's JSON (`--output-format=json`).
    Fio,
    /// iperf3's JSON (`-J`).
    Iperf3,
    /// hyperfine's JSON (`--export-json`).
    Hyperfine,
    /// mbw's lines.
    Mbw,
    /// `openssl speed -mr`.
    Openssl,
    /// The report of sysbench.
    Sysbench,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Fio,
        Self::Iperf3,
        Self::Hyperfine,
        Self::Sysbench,
        Self::Mbw,
        Self::Openssl,
        Self::Bonnie,
    ];

    /// The word that people type.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bonnie => "bonnie",
            Self::Fio => "fio",
            Self::Iperf3 => "iperf3",
            Self::Hyperfine => "hyperfine",
            Self::Mbw => "mbw",
            Self::Openssl => "openssl",
            Self::Sysbench => "sysbench",
        }
    }

    /// What it is, for sentences.
    #[must_use]
    pub fn described(self) -> &'static str {
        match self {
            Self::Bonnie => "the CSV of bonnie++",
            Self::Fio => "the JSON of fio",
            Self::Iperf3 => "the JSON of iperf3",
            Self::Hyperfine => "the JSON of hyperfine",
            Self::Mbw => "the lines of mbw",
            Self::Openssl => "the lines of `openssl speed -mr`",
            Self::Sysbench => "the report of sysbench",
        }
    }

    /// Whether a text looks like this, also when its end is missing.
    fn fits(self, text: &str) -> bool {
        let has = |part: &str| text.contains(part);
        let line = |start: &str| text.lines().any(|line| line.starts_with(start));
        match self {
            Self::Fio => has("\"fio version\""),
            Self::Iperf3 => has("\"iperf 3") || (has("\"test_start\"") && has("\"intervals\"")),
            Self::Hyperfine => has("\"results\"") && has("\"command\"") && has("\"mean\""),
            Self::Sysbench => line("sysbench "),
            Self::Mbw => has("\tMethod: ") && has("\tElapsed: "),
            Self::Openssl => line("+H:") || line("+F:") || line("+F2:"),
            Self::Bonnie => text.lines().any(bonnie::fits),
        }
    }

    fn parse(self, text: &str, version: Option<&str>) -> Result<Vec<Import>, Error> {
        match self {
            Self::Bonnie => bonnie::parse(text),
            Self::Fio => fio::parse(text),
            Self::Iperf3 => iperf3::parse(text),
            Self::Hyperfine => hyperfine::parse(text),
            Self::Mbw => mbw::parse(text, version),
            Self::Openssl => openssl::parse(text),
            Self::Sysbench => sysbench::parse(text),
        }
    }
}

/// The results in a file; several where it holds those of several machines. Without a format it is
/// recognised by its content. `version` is the tool's, for files that do not tell it.
///
/// # Errors
/// When nothing knows it, or it is damaged, or nothing was measured: then nothing of it is given.
pub fn read(
    text: &str,
    format: Option<Format>,
    version: Option<&str>,
) -> Result<Vec<Import>, Error> {
    let fitting = || Format::ALL.into_iter().find(|format| format.fits(text));
    let format = format.or_else(fitting).ok_or(Error::Unknown)?;
    let mut imports = format.parse(text, version)?;
    for import in &mut imports {
        if import.version.is_none() {
            import.version = version.map(str::to_owned);
        }
    }
    if imports.iter().all(|import| import.series.is_empty()) {
        return Err(Error::nothing(format, "it has no figures"));
    }
    Ok(imports)
}
