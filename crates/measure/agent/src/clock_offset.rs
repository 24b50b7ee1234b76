//! How far the clock of another machine is ahead of this one, from exchanges of messages (Cristian 1989, RFC 5905 §8): the fastest
//! exchange has the least room for an error.

/// Exchanges for one offset. One of them is hardly ever delayed.
pub(crate) const EXCHANGES: u32 = 16;

/// An exchange: the request left, the other machine read its clock, and the answer came. In nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockExchange {
    /// When the request was sent, on the clock of this machine.
    pub(crate) sent_ns: u64,
    /// What the clock of the other machine showed.
    pub(crate) there_ns: u64,
    /// When the answer came, on the clock of this machine.
    pub(crate) answered_ns: u64,
}

/// How far a clock is ahead, and how wrong that can be, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockOffset {
    /// The other clock minus this one.
    pub(crate) ahead_ns: i64,
    /// The largest possible error: half of the round trip, because the other clock was read at any time within it.
    pub(crate) error_ns: u64,
}

/// The offset by the fastest exchange; None if there is none, or if the clocks are further apart than 292 years.
pub(crate) fn offset(exchanges: &[ClockExchange]) -> Option<ClockOffset> {
    let round_trip_ns =
        |exchange: &ClockExchange| exchange.answered_ns.saturating_sub(exchange.sent_ns);
    let fastest = exchanges.iter().min_by_key(|exchange| round_trip_ns(exchange))?;
    let half_ns = round_trip_ns(fastest).div_ceil(2);
    let middle_ns = fastest.sent_ns.saturating_add(half_ns);
    let ahead_ns = i128::from(fastest.there_ns) - i128::from(middle_ns);
    Some(ClockOffset { ahead_ns: i64::try_from(ahead_ns).ok()?, error_ns: half_ns })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::{ClockExchange, offset};

    proptest! {
        #[test]
        fn the_true_offset_is_within_the_error_however_the_way_is_divided(
            ahead_ns in -1_000_000_000_i64..1_000_000_000,
            ways in proptest::collection::vec((0_u64..10_000_000, 0_u64..10_000_000), 1..20),
        ) {
            let mut exchanges = Vec::new();
            let mut now_ns = 5_000_000_000_u64;
            for (there_ns, back_ns) in ways {
                let read_ns = now_ns + there_ns;
                exchanges.push(ClockExchange {
                    sent_ns: now_ns,
                    there_ns: read_ns.checked_add_signed(ahead_ns).unwrap(),
                    answered_ns: read_ns + back_ns,
                });
                now_ns = read_ns + back_ns;
            }
            let found = offset(&exchanges).unwrap();
            prop_assert!(found.ahead_ns.abs_diff(ahead_ns) <= found.error_ns);
        }
    }

    #[test]
    fn the_fastest_exchange_counts_and_impossible_clocks_have_no_offset() {
        let exchange =
            |sent_ns, there_ns, answered_ns| ClockExchange { sent_ns, there_ns, answered_ns };
        let found = offset(&[exchange(0, 5_000, 9_000), exchange(10_000, 15_100, 10_200)]).unwrap();
        assert_eq!((found.ahead_ns, found.error_ns), (5_000, 100));
        assert_eq!(offset(&[]), None);
        assert_eq!(offset(&[exchange(0, u64::MAX, 10)]), None);
    }
}
