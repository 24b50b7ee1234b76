//! The arithmetic of arriving numbered datagrams.

use serde::{Deserialize, Serialize};

/// The arrivals among a sample's datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Arrived {
    /// Datagrams, each once.
    pub received: u64,
    /// Datagrams that had come before.
    pub duplicates: u64,
    /// Datagrams that came after one with a higher number (RFC 4737).
    pub reordered: u64,
    /// Delay variation at the end of the sample, in nanoseconds (interarrival jitter, RFC 3550 6.4.1).
    pub jitter_ns: f64,
}

/// Counts the datagrams of a batch.
#[derive(Debug, Default)]
pub(crate) struct DatagramTally {
    /// The number of the first.
    first: u64,
    /// Where each sample ends, counted from the first.
    ends: Vec<u64>,
    samples: Vec<Arrived>,
    /// A bit for each number that came.
    seen: Vec<u64>,
    /// Of each sender; in a sample they take numbers in turn.
    flows: Vec<SenderTotals>,
    jitter_ns: f64,
    came: u64,
}

/// The outcome of one sender.
#[derive(Debug, Clone, Copy, Default)]
struct SenderTotals {
    /// After the highest number that came, counted from the first.
    next: u64,
    last_transit_ns: Option<i64>,
}

impl DatagramTally {
    /// Of samples with so many datagrams each, by so many senders.
    pub(crate) fn new(first: u64, counts: &[u64], senders: usize) -> Self {
        let ends: Vec<u64> = counts
            .iter()
            .scan(0, |end, count| {
                *end += count;
                Some(*end)
            })
            .collect();
        let all = ends.last().copied().unwrap_or(0);
        let samples = vec![Arrived::default(); ends.len()];
        let seen = vec![0; usize::try_from(all.div_ceil(64)).unwrap_or(0)];
        let flows = vec![SenderTotals::default(); senders.max(1)];
        Self { first, ends, samples, seen, flows, ..Self::default() }
    }

    /// A datagram of this number came at `now_ns`, which was sent at `sent_ns`, if that is known. One of another batch does not
    /// count.
    #[expect(clippy::cast_precision_loss, reason = "transit times differ by far less than 2^53 ns")]
    pub(crate) fn came(&mut self, number: u64, now_ns: u64, sent_ns: Option<u64>) {
        let Some(at) = number.checked_sub(self.first) else { return };
        let sample = self.ends.partition_point(|end| *end <= at);
        let Some(arrived) = self.samples.get_mut(sample) else { return };
        self.came += 1;
        let word = (at / 64) as usize;
        let bit = 1 << (at % 64);
        if self.seen[word] & bit != 0 {
            arrived.duplicates += 1;
            return;
        }
        self.seen[word] |= bit;
        arrived.received += 1;
        let begin = if sample == 0 { 0 } else { self.ends[sample - 1] };
        let senders = self.flows.len() as u64;
        let flow = &mut self.flows[((at - begin) % senders) as usize];
        if at < flow.next {
            arrived.reordered += 1;
        } else {
            flow.next = at + 1;
        }
        if let Some(sent_ns) = sent_ns {
            let transit = now_ns.wrapping_sub(sent_ns).cast_signed();
            if let Some(last) = flow.last_transit_ns.replace(transit) {
                self.jitter_ns += ((transit - last).abs() as f64 - self.jitter_ns) / 16.0;
            }
            arrived.jitter_ns = self.jitter_ns;
        }
    }

    /// Datagrams that came, those that came twice included.
    pub(crate) fn count(&self) -> u64 {
        self.came
    }

    /// The arrivals of each sample.
    pub(crate) fn samples(&self) -> &[Arrived] {
        &self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrived, DatagramTally};

    #[test]
    fn each_datagram_counts_once_in_its_sample() {
        let mut tally = DatagramTally::new(100, &[3, 2], 1);
        // 102 before 101; 103 is lost; 104 comes twice; others are of other batches.
        for number in [99, 100, 102, 101, 104, 104, 105] {
            tally.came(number, 0, None);
        }
        let first = Arrived { received: 3, reordered: 1, ..Arrived::default() };
        let second = Arrived { received: 1, duplicates: 1, ..Arrived::default() };
        assert_eq!(tally.samples(), [first, second]);
        assert_eq!(tally.count(), 5);
    }

    #[test]
    fn each_sender_has_an_order_of_its_own() {
        // Of two senders the second is late with 1, and 3 comes before it.
        let mut tally = DatagramTally::new(0, &[4, 3], 2);
        for number in [0, 2, 3, 1, 5, 4, 6] {
            tally.came(number, 0, None);
        }
        let first = Arrived { received: 4, reordered: 1, ..Arrived::default() };
        assert_eq!(tally.samples(), [first, Arrived { received: 3, ..Arrived::default() }]);
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut tally = DatagramTally::new(0, &[1000], 1);
        // Transit times of 5 and 6 µs in turn: each differs from the last by 1 µs, which the jitter approaches.
        for number in 0..1000 {
            let sent = number * 100_000;
            tally.came(number, sent + 5000 + 1000 * (number % 2), Some(sent));
        }
        let jitter = tally.samples()[0].jitter_ns;
        assert!((999.0..=1000.0).contains(&jitter), "{jitter}");
    }
}
