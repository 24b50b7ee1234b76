//! The CSV of bonnie++: which field holds what, and a line in the newest form.
//!
//! A line is one process. The forms are distinguished by their number of fields: 1.03 has 27, 1.96 and 1.97 have 48, 1.98
//! and 2.00 have 50. Rates of the file are in KiB/s, others in operations per second; a latency is that of the one slowest
//! operation.

use crate::numbers::KIB;

use super::parameter::{
    CHUNK, CreatedLinks, DEFAULT_CHUNK, DEFAULT_FOLDERS, FILES, FILES_UNIT, FOLDERS, LARGEST,
    SEEKERS, SEEKS, SIZE, SMALLEST,
};
use super::pass::{ON_FILE, PHASES};

/// The settings of the phases on many files, in the order of their fields. plumb writes each file whole and has no
/// parameter for the last.
pub(crate) const FILES_SETTINGS: [&str; 5] = [FILES, LARGEST, SMALLEST, FOLDERS, "file_chunk"];

/// The positions of the fields in one form of a line.
#[derive(Debug)]
pub(crate) struct CsvLayout {
    /// Number of fields of a line, by which the form is recognised.
    pub fields: usize,
    /// First of the six pairs of rate and CPU share of the phases on the file.
    pub on_file: usize,
    /// Number of small files; four more settings follow, but in 1.03.
    pub files: usize,
    /// First of the six pairs of the phases on many files.
    pub on_many_files: usize,
    /// First of the twelve latencies, if the form has them.
    pub latencies: Option<usize>,
    /// Settings of the phases on the file, with the position of each.
    pub settings: &'static [(&'static str, usize)],
}

/// The form of 1.03.
pub(crate) const V27: CsvLayout = CsvLayout {
    fields: 27,
    on_file: 2,
    files: 14,
    on_many_files: 15,
    latencies: None,
    settings: &[(SIZE, 1)],
};

/// The form of 1.96 and 1.97.
pub(crate) const V48: CsvLayout = CsvLayout {
    fields: 48,
    on_file: 7,
    files: 19,
    on_many_files: 24,
    latencies: Some(36),
    settings: &[(SIZE, 5), (CHUNK, 6)],
};

/// The form of 1.98 and 2.00.
pub(crate) const V50: CsvLayout = CsvLayout {
    fields: 50,
    on_file: 9,
    files: 21,
    on_many_files: 26,
    latencies: Some(38),
    settings: &[(SIZE, 5), (CHUNK, 6), (SEEKS, 7), (SEEKERS, 8)],
};

impl CsvLayout {
    /// The field of the rate of a phase, by its index in [`PHASES`].
    pub(crate) fn rate(&self, phase: usize) -> usize {
        if phase < ON_FILE {
            self.on_file + 2 * phase
        } else {
            self.on_many_files + 2 * (phase - ON_FILE)
        }
    }

    /// The field of the CPU share of a phase, in percent.
    pub(crate) fn cpu(&self, phase: usize) -> usize {
        self.rate(phase) + 1
    }

    /// The field of the longest operation of a phase.
    pub(crate) fn latency(&self, phase: usize) -> Option<usize> {
        self.latencies.map(|first| first + phase)
    }
}

/// The figures of one phase, in SI units.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BonnieFigures {
    /// Bytes or operations per second; absent if the phase was not run.
    pub rate: Option<f64>,
    /// Share of one CPU.
    pub cpu: Option<f64>,
    /// The longest operation, in seconds.
    pub latency_s: Option<f64>,
}

/// The small files of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmallFiles {
    /// How many files are created, looked at and deleted.
    pub files: u64,
    /// Bytes of the largest.
    pub largest: u64,
    /// Bytes of the smallest.
    pub smallest: u64,
    /// Folders that they are spread over.
    pub folders: u64,
    /// The links that are created instead of files.
    pub links: CreatedLinks,
}

/// One pass, as a line of the newest form.
#[derive(Debug, Clone, PartialEq)]
pub struct PassLine<'a> {
    /// The version of the program that measured it.
    pub program: &'a str,
    /// The name of the machine.
    pub name: &'a str,
    /// The seed of the random numbers.
    pub seed: u64,
    /// Bytes of the large file.
    pub file_size: u64,
    /// Bytes of a block.
    pub chunk: u64,
    /// Random reads, over all threads.
    pub seeks: u64,
    /// Threads that seek.
    pub seekers: u64,
    /// The small files, if there are any.
    pub small_files: Option<SmallFiles>,
    /// The figures of each phase, in the order of [`PHASES`].
    pub figures: [BonnieFigures; PHASES.len()],
}

impl PassLine<'_> {
    /// The line, without its end. A field at its default stays empty, as bonnie++ leaves it.
    #[must_use]
    pub fn text(&self) -> String {
        let layout = &V50;
        let mut fields = vec![String::new(); layout.fields];
        // The version of the format; that of the program is the next field.
        "1.98".clone_into(&mut fields[0]);
        self.program.clone_into(&mut fields[1]);
        // A comma would shift all fields after it: bonnie++ has no quotes.
        fields[2] = self.name.replace(',', "_");
        // The number of passes at a time, which is always one.
        "1".clone_into(&mut fields[3]);
        fields[4] = self.seed.to_string();
        for (setting, field) in layout.settings {
            fields[*field] = match *setting {
                SIZE => size_text(self.file_size),
                CHUNK if self.chunk == DEFAULT_CHUNK => String::new(),
                CHUNK => size_text(self.chunk),
                SEEKS => self.seeks.to_string(),
                _ => self.seekers.to_string(),
            };
        }
        if let Some(small_files) = self.small_files {
            for (offset, text) in small_files.texts().into_iter().enumerate() {
                fields[layout.files + offset] = text;
            }
        }
        for (index, (phase, figures)) in PHASES.iter().zip(&self.figures).enumerate() {
            let unit = if phase.counts_bytes { KIB } else { 1.0 };
            fields[layout.rate(index)] = rate_text(figures.rate.map(|rate| rate / unit));
            fields[layout.cpu(index)] = percent_text(figures.cpu);
            if let Some(field) = layout.latency(index) {
                fields[field] = latency_text(figures.latency_s);
            }
        }
        fields.join(",")
    }
}

impl SmallFiles {
    /// Their fields, in the order of [`FILES_SETTINGS`].
    #[expect(clippy::cast_precision_loss, reason = "at most some hundred thousand")]
    fn texts(self) -> [String; 5] {
        let largest = match self.links.size() {
            Some(size) => size.to_owned(),
            None => unless_default(self.largest, 0),
        };
        [
            (self.files as f64 / FILES_UNIT as f64).to_string(),
            largest,
            unless_default(self.smallest, 0),
            unless_default(self.folders, DEFAULT_FOLDERS),
            String::new(),
        ]
    }
}

fn unless_default(value: u64, default: u64) -> String {
    if value == default { String::new() } else { value.to_string() }
}

/// A size as bonnie++ writes it: `2G`, `256M`, `8k`, or bytes.
fn size_text(bytes: u64) -> String {
    // The largest unit that leaves a whole number: a rounded size would be another test.
    let units = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "k")];
    let unit = units.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, word)| format!("{}{word}", bytes / unit))
}

/// A rate with as many digits as bonnie++ has; empty if the phase was not run.
fn rate_text(rate: Option<f64>) -> String {
    rate.map_or_else(String::new, |rate| match rate {
        ..100.0 => format!("{rate:.3}"),
        ..10_000.0 => format!("{rate:.1}"),
        _ => format!("{rate:.0}"),
    })
}

/// A share as whole percents.
fn percent_text(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.0}", 100.0 * share))
}

/// A time as bonnie++ writes it: `2630us`, `140ms` or `12s`.
fn latency_text(seconds: Option<f64>) -> String {
    seconds.map_or_else(String::new, |seconds| match seconds {
        ..0.1 => format!("{:.0}us", seconds * 1e6),
        ..100.0 => format!("{:.0}ms", seconds * 1e3),
        _ => format!("{seconds:.0}s"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::parameter::CreatedLinks;
    use super::{
        BonnieFigures, PassLine, SmallFiles, V27, V48, V50, latency_text, percent_text, rate_text,
        size_text,
    };

    #[test]
    fn figures_are_written_as_bonnie_does() {
        let sizes = [256 << 20, 2 << 30, 8192, 1000, 3 << 19].map(size_text);
        assert_eq!(sizes, ["256M", "2G", "8k", "1000", "1536k"]);
        assert_eq!(
            [0.5, 142.7, 1_035_785.4].map(|rate| rate_text(Some(rate))),
            ["0.500", "142.7", "1035785"]
        );
        assert_eq!(
            [2.63e-3, 0.38, 120.0].map(|seconds| latency_text(Some(seconds))),
            ["2630us", "380ms", "120s"]
        );
        assert_eq!(
            (percent_text(Some(0.987)), percent_text(None), rate_text(None)),
            ("99".into(), String::new(), String::new())
        );
    }

    #[test]
    fn every_layout_ends_with_its_last_phase() {
        assert_eq!(V27.cpu(11) + 1, V27.fields);
        for layout in [V48, V50] {
            assert_eq!(layout.cpu(5) + 1, layout.files);
            assert_eq!(layout.files + 5, layout.on_many_files);
            assert_eq!(Some(layout.cpu(11) + 1), layout.latencies);
            assert_eq!(layout.latency(11), Some(layout.fields - 1));
        }
    }

    #[test]
    fn a_line_has_each_figure_in_its_field() {
        let figures = BonnieFigures { rate: Some(2048.0), cpu: Some(0.5), latency_s: Some(1e-3) };
        let mut line = PassLine {
            program: "plumb1",
            name: "a,b",
            seed: 7,
            file_size: 4 << 20,
            chunk: 8192,
            seeks: 64,
            seekers: 2,
            small_files: None,
            figures: [figures; 12],
        };
        line.figures[0] = BonnieFigures::default();
        assert_eq!(
            line.text(),
            "1.98,plumb1,a_b,1,7,4M,,64,2,,,2.000,50,2.000,50,2.000,50,2.000,50,2048.0,50,,,,,,2048.0,50,\
             2048.0,50,2048.0,50,2048.0,50,2048.0,50,2048.0,50,,1000us,1000us,1000us,1000us,1000us,1000us,1000us,\
             1000us,1000us,1000us,1000us"
        );
        line.small_files = Some(SmallFiles {
            files: 1536,
            largest: 0,
            smallest: 10,
            folders: 1,
            links: CreatedLinks::Hard,
        });
        assert_eq!(
            line.text().split(',').skip(21).take(5).collect::<Vec<_>>(),
            ["1.5", "-1", "10", "", ""]
        );
    }
}
