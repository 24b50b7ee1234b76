//! What the times of many short pieces of work say: how fast it went while it went, and the gaps in between.

/// A piece counts as a gap from this many times the shortest one on: with pieces of ten microseconds an interrupt of five.
pub(super) const GAP_FACTOR: f64 = 1.5;

/// Pieces of one kind, alike in work.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Gaps {
    /// Nanoseconds of a piece that is not a gap, in the mean; 0 when there is none.
    pub(super) piece_ns: f64,
    /// Nanoseconds that gaps took beyond such a piece.
    pub(super) lost_ns: f64,
    /// How many there were.
    pub(super) count: u64,
    /// The longest, beyond a piece.
    pub(super) longest_ns: f64,
}

impl Gaps {
    /// Of these times; `reading_ns` of each went into reading the clock.
    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    pub(super) fn of(times_ns: impl Iterator<Item = u64> + Clone, reading_ns: u64) -> Self {
        let times = times_ns.map(|time| time.saturating_sub(reading_ns) as f64);
        let Some(shortest) = times.clone().min_by(f64::total_cmp) else { return Self::default() };
        let limit = GAP_FACTOR * shortest;
        let clean = times.clone().filter(|time| *time <= limit);
        let piece_ns = clean.clone().sum::<f64>() / clean.count().max(1) as f64;
        let gaps = times.filter(|time| *time > limit).map(|time| time - piece_ns);
        Self {
            piece_ns,
            lost_ns: gaps.clone().sum(),
            count: gaps.clone().count() as u64,
            longest_ns: gaps.fold(0.0, f64::max),
        }
    }

    /// Of two kinds of pieces in one stretch of time; the piece is that of the first.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            piece_ns: self.piece_ns,
            lost_ns: self.lost_ns + other.lost_ns,
            count: self.count + other.count,
            longest_ns: self.longest_ns.max(other.longest_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Gaps;

    #[test]
    fn gaps_are_what_pieces_take_beyond_their_like() {
        // Nine pieces of 10 µs, two of them a little longer, one gap of 50 ms; reading costs 30 ns.
        let mut times = vec![10_030; 7];
        times.extend([11_030, 11_030, 50_010_030]);
        let found = Gaps::of(times.into_iter(), 30);
        assert!((found.piece_ns - 92_000.0 / 9.0).abs() < 1e-6, "{found:?}");
        assert_eq!(found.count, 1);
        assert!((found.lost_ns - (50_010_000.0 - 92_000.0 / 9.0)).abs() < 1e-3, "{found:?}");
        assert!((found.longest_ns - found.lost_ns).abs() < 1e-9);
    }

    #[test]
    fn pieces_alike_lose_nothing_and_none_say_nothing() {
        let even = Gaps::of([10_000; 5].into_iter(), 0);
        assert_eq!((even.lost_ns, even.count, even.longest_ns), (0.0, 0, 0.0));
        assert_eq!(Gaps::of(std::iter::empty(), 0), Gaps::default());
        let one = Gaps { piece_ns: 1.0, lost_ns: 5.0, count: 2, longest_ns: 4.0 };
        let both = one.with(Gaps { piece_ns: 9.0, lost_ns: 7.0, count: 1, longest_ns: 7.0 });
        assert_eq!(both, Gaps { piece_ns: 1.0, lost_ns: 12.0, count: 3, longest_ns: 7.0 });
    }
}
