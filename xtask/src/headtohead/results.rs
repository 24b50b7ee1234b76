//! The measurements, one line of JSON each.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::lines;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordLine {
    /// A part begins: a call of the chore.
    Part(Part),
    /// Two sides were compared by every tool.
    Comparison(ToolComparison),
}

/// Where and with what a part was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Gives order and coins; the same in all parts.
    pub seed: u64,
    pub date: String,
    pub machine: String,
    /// Version and commit.
    pub plumb: String,
    pub hyperfine: String,
    pub criterion: String,
    pub tango: String,
    pub programs: Vec<Calibrated>,
    /// What its bars follow from; parts of older chores have none.
    #[serde(default)]
    pub pilots: Vec<Pilot>,
}

/// Null pairs of a program, which are measured before any comparison of its part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pilot {
    pub program: String,
    pub neighbour: bool,
    pub pairs: u32,
    /// How far pairs differ, as a relative deviation; none if all are alike.
    pub pair_sd: Option<f64>,
    pub wall_s: f64,
}

/// A program with the rounds that make it as slow as it should be; settled once on every machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    pub name: String,
    /// Time of no rounds, in seconds.
    pub start_up_s: f64,
    /// Time of the rounds of side A, in seconds.
    pub total_s: f64,
    /// Rounds of every effect, in the order of `EFFECTS`.
    pub rounds: [u64; 4],
    /// Instructions in user space of every effect, if the machine counts them.
    pub instructions: Option<[u64; 4]>,
    /// Instructions of a copy that is linked again, with the rounds of side A.
    #[serde(default)]
    pub relinked_instructions: Option<u64>,
}

/// One comparison by every tool; ratios and verdicts are of B over A, however they were presented.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolComparison {
    pub number: usize,
    /// Where it was measured: the index of its part.
    pub part: usize,
    pub program: String,
    /// By how many percent B is slower.
    pub effect: u32,
    pub neighbour: bool,
    /// B is a copy of A that is linked again: it may really differ, so no verdict on it is wrong.
    #[serde(default)]
    pub relinked: bool,
    /// B was presented as the first side.
    pub swapped: bool,
    pub plumb: Plumb,
    pub hyperfine: Hyperfine,
    pub criterion: PeerVerdict,
    pub tango: PeerVerdict,
}

/// A tool's verdict on B; tools without equivalence give `Inconclusive` if they find no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolVerdict {
    Slower,
    Faster,
    Equivalent,
    Inconclusive,
}

impl ToolVerdict {
    /// The verdict when the sides change places.
    pub fn mirrored(self) -> Self {
        match self {
            Self::Slower => Self::Faster,
            Self::Faster => Self::Slower,
            same => same,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plumb {
    pub verdict: ToolVerdict,
    pub ratio: f64,
    /// The interval of the ratio.
    #[serde(default)]
    pub ends: Option<[f64; 2]>,
    pub pairs: u32,
    /// How far pairs differ, as a relative deviation; none if all are alike or too few.
    pub pair_sd: Option<f64>,
    pub wall_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hyperfine {
    /// By its summary: the spread of the ratio excludes 1.
    pub summary: ToolVerdict,
    /// By its script: Welch's test at 5 %.
    pub welch: ToolVerdict,
    pub ratio: f64,
    /// Of each side.
    pub runs: usize,
    pub wall_s: f64,
}

/// A tool with its own verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerVerdict {
    pub verdict: ToolVerdict,
    pub ratio: f64,
    /// The interval of the ratio, if the tool gives one.
    #[serde(default)]
    pub ends: Option<[f64; 2]>,
    /// Of both sides, warm-up included.
    pub runs: usize,
    pub wall_s: f64,
}

/// The file, and what it holds.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    pub parts: Vec<Part>,
    pub comparisons: Vec<ToolComparison>,
}

impl Results {
    /// Reads what is there.
    ///
    /// # Errors
    /// When the file can't be read, or a whole line is none of ours.
    pub fn open(path: &Path) -> Result<Self, String> {
        let mut results = Self { path: path.into(), parts: Vec::new(), comparisons: Vec::new() };
        for line in lines::read(path)? {
            results.keep(line);
        }
        Ok(results)
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.comparisons.is_empty()
    }

    /// Adds a line to the file.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn append(&mut self, line: RecordLine) -> Result<(), String> {
        lines::append(&self.path, &line)?;
        self.keep(line);
        Ok(())
    }

    fn keep(&mut self, line: RecordLine) {
        match line {
            RecordLine::Part(part) => self.parts.push(part),
            RecordLine::Comparison(comparison) => self.comparisons.push(comparison),
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::path::Path;

    use super::{Hyperfine, Part, PeerVerdict, Pilot, Plumb, Results, ToolComparison, ToolVerdict};

    /// A comparison that every tool gets right, for tests to spoil.
    pub fn comparison(number: usize, effect: u32) -> ToolComparison {
        let (verdict, none) = match effect {
            0 => (ToolVerdict::Equivalent, ToolVerdict::Inconclusive),
            _ => (ToolVerdict::Slower, ToolVerdict::Slower),
        };
        let ratio = 1.0 + f64::from(effect) / 100.0;
        let wall_s = 4.0;
        ToolComparison {
            number,
            part: 0,
            program: "integer".into(),
            effect,
            neighbour: false,
            relinked: false,
            swapped: false,
            plumb: Plumb { verdict, ratio, ends: None, pairs: 12, pair_sd: Some(0.01), wall_s },
            hyperfine: Hyperfine { summary: none, welch: none, ratio, runs: 60, wall_s },
            criterion: PeerVerdict { verdict: none, ratio, ends: None, runs: 90, wall_s },
            tango: PeerVerdict { verdict: none, ratio, ends: None, runs: 80, wall_s },
        }
    }

    /// A part of one program, without pilots.
    pub fn part() -> Part {
        Part {
            seed: 1,
            date: "2026-01-01".into(),
            machine: "one".into(),
            plumb: "plumb 0".into(),
            hyperfine: "hyperfine 1".into(),
            criterion: "criterion 0".into(),
            tango: "tango 0".into(),
            programs: Vec::new(),
            pilots: Vec::new(),
        }
    }

    /// A pilot of the program of [`comparison`]: 40 pairs take 4 s.
    pub fn pilot(pair_sd: f64) -> Pilot {
        Pilot {
            program: "integer".into(),
            neighbour: false,
            pairs: 40,
            pair_sd: Some(pair_sd),
            wall_s: 4.0,
        }
    }

    #[test]
    fn the_stored_results_of_an_older_chore_are_read() {
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/head-to-head.jsonl");
        let results = Results::open(&stored).unwrap();
        assert!(results.comparisons.len() > 100);
    }
}
