//! Samples as `plumb export --format samples-csv` writes them, to be compared over time.

use std::collections::{BTreeMap, BTreeSet};

use super::TestEnvironment;

/// Series, invocation, number.
type SampleKey = (String, String, usize);

/// All samples of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredSamples(BTreeMap<SampleKey, Sample>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Sample {
    /// `warm-up`, `steady`, `failed` or `unfinished`: it may change, what was measured may not.
    phase: String,
    /// Start, length, iterations, CPU and value, as written.
    measured: String,
}

impl StoredSamples {
    /// The samples of the last run that a reader sees now; None while there is none.
    pub fn visible(place: &TestEnvironment) -> Option<Self> {
        let ran = place.run("export last --format samples-csv").ok()?;
        (ran.code == Some(0)).then(|| Self::read(&ran.stdout))
    }

    fn read(csv: &str) -> Self {
        Self(csv.lines().skip(1).filter_map(sample).collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// From how many invocations they are.
    pub fn invocations(&self) -> usize {
        let all: BTreeSet<&String> = self.0.keys().map(|(_, invocation, _)| invocation).collect();
        all.len()
    }

    /// The first sample that is not in `later`, or is there with other figures.
    pub fn lost_in(&self, later: &Self) -> Option<String> {
        let same = |key, sample: &Sample| {
            later.0.get(key).is_some_and(|other| other.measured == sample.measured)
        };
        self.0.iter().find(|(key, sample)| !same(key, sample)).map(|(key, _)| format!("{key:?}"))
    }

    /// Whether a series has samples that count both from here and from invocations that only `later`
    /// has.
    pub fn is_continued_in(&self, later: &Self) -> bool {
        let counts = |(_, sample): &(&SampleKey, &Sample)| {
            matches!(sample.phase.as_str(), "steady" | "warm-up")
        };
        let ours = |invocation: &str| self.0.keys().any(|(_, known, _)| known == invocation);
        let old: Vec<&String> =
            self.0.iter().filter(counts).map(|((series, _, _), _)| series).collect();
        later
            .0
            .iter()
            .filter(counts)
            .any(|((series, invocation, _), _)| !ours(invocation) && old.contains(&series))
    }
}

fn sample(line: &str) -> Option<(SampleKey, Sample)> {
    let fields = fields(line);
    let field = |at: usize| fields.get(at).cloned();
    let key = (field(1)?, field(5)?, field(7)?.parse().ok()?);
    Some((key, Sample { phase: field(8)?, measured: fields.get(9..)?.join(",") }))
}

/// The fields of a line of CSV (RFC 4180) without line ends in them.
fn fields(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    for character in line.trim_end().chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}
