//! Distributions of a batch: values that a workload takes many of in a sample (the latency of each operation).

use plumb_model::Histogram;

use crate::failure::Failure;

/// The shortest sample of a workload with distributions, in nanoseconds: a histogram of every millisecond would be
/// larger than all else that is stored.
pub(crate) const SHORTEST_SAMPLE_NS: u64 = 10_000_000;

/// The values of a metric of kind histogram over a batch, cut into samples.
///
/// Recording is a store into memory that was touched before: `make bench` shows its cost, under 20 ns a value.
/// Histograms are made after the batch, of three digits (HdrHistogram's V2 encoding).
#[derive(Debug)]
pub struct Distribution {
    name: &'static str,
    values: Vec<u64>,
    /// Where each sample ends.
    ends: Vec<usize>,
    /// Values for which there was no room.
    lost: u64,
}

impl Distribution {
    /// Nothing yet of the metric of this name.
    #[must_use]
    pub fn of(name: &'static str) -> Self {
        Self { name, values: Vec::new(), ends: Vec::new(), lost: 0 }
    }

    /// Name of the metric that it holds values of.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Forgets the last batch and makes room for one of so many samples with so many values together.
    pub fn make_room(&mut self, samples: usize, values: u64) {
        self.values.clear();
        self.values.resize(usize::try_from(values).unwrap_or(0), 1);
        self.values.clear();
        self.ends.clear();
        self.ends.reserve(samples);
        self.lost = 0;
    }

    /// Adds a value, in nanoseconds if the metric's unit is seconds.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if self.values.len() < self.values.capacity() {
            self.values.push(value);
        } else {
            self.lost += 1;
        }
    }

    /// Ends the sample: what was recorded since the last one is its own.
    pub fn end_sample(&mut self) {
        self.ends.push(self.values.len());
    }

    /// All values of the batch so far, in the order in which they came.
    #[must_use]
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// The values of a sample, in any order; none if there is no such sample.
    pub fn sample(&mut self, index: usize) -> &mut [u64] {
        let end_before = index.checked_sub(1).and_then(|before| self.ends.get(before));
        let begin = end_before.copied().unwrap_or(0);
        let end = self.ends.get(index).copied().unwrap_or(begin);
        &mut self.values[begin..end]
    }

    /// The histograms of the batch, one a sample.
    ///
    /// # Errors
    /// When more values came than room was made for.
    pub(crate) fn histograms(&mut self) -> Result<Vec<Histogram>, Failure> {
        if self.lost > 0 {
            return Err(Failure(format!("{} values of `{}` did not fit", self.lost, self.name)));
        }
        Ok((0..self.ends.len()).map(|at| Histogram::of(self.sample(at).iter().copied())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Distribution;

    #[test]
    fn each_sample_has_its_own_histogram() {
        let mut latency = Distribution::of("latency");
        latency.make_room(3, 4);
        [5, 5, 9].iter().for_each(|value| latency.record(*value));
        latency.end_sample();
        latency.end_sample();
        latency.record(1_000_000);
        latency.end_sample();
        let counts: Vec<_> = latency
            .histograms()
            .unwrap()
            .iter()
            .map(|histogram| histogram.counts().unwrap())
            .collect();
        assert_eq!((&counts[0], counts[1].len()), (&vec![(5, 2), (9, 1)], 0));
        assert!(counts[2][0].0.abs_diff(1_000_000) < 1000 && counts[2].len() == 1);
        latency.make_room(1, 1);
        latency.record(2);
        latency.end_sample();
        assert_eq!(latency.histograms().unwrap()[0].counts(), Some(vec![(2, 1)]));
    }

    #[test]
    fn what_finds_no_room_is_told() {
        let mut latency = Distribution::of("latency");
        latency.make_room(1, 8);
        (0..9).for_each(|value| latency.record(value));
        latency.end_sample();
        assert_eq!(latency.histograms().unwrap_err().0, "1 values of `latency` did not fit");
    }
}
