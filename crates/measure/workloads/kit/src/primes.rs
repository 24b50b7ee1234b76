//! How many primes there are up to a limit, found in another way than the workloads'.

/// Published counts of primes up to powers of ten (OEIS A006880).
const KNOWN: [(u32, usize); 7] = [
    (1_000, 168),
    (10_000, 1_229),
    (100_000, 9_592),
    (1_000_000, 78_498),
    (10_000_000, 664_579),
    (100_000_000, 5_761_455),
    (1_000_000_000, 50_847_534),
];

/// Numbers per segment: one flag a number, in the first-level cache.
const SEGMENT: usize = 32_768;

/// The number of primes up to and including `limit`: published, or counted.
pub fn count_primes(limit: u32) -> usize {
    let known = KNOWN.iter().find(|(n, _)| *n == limit);
    known.map_or_else(|| count_by_segments(limit), |(_, count)| *count)
}

/// Counts with a segmented sieve over all numbers, even ones too: slower than the workload's and
/// unlike it in every step.
fn count_by_segments(limit: u32) -> usize {
    let limit = limit as usize;
    let root = limit.isqrt();
    let small: Vec<usize> = (2..=root).filter(|&n| is_prime(n)).collect();
    let mut flags = vec![true; SEGMENT];
    let mut count = 0;
    for low in (2..=limit).step_by(SEGMENT) {
        flags.fill(true);
        for &prime in &small {
            let first = (prime * prime).max(low.next_multiple_of(prime)) - low;
            for index in (first..SEGMENT).step_by(prime) {
                flags[index] = false;
            }
        }
        count += flags.iter().take(limit - low + 1).filter(|&&flag| flag).count();
    }
    count
}

fn is_prime(n: usize) -> bool {
    (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, count_by_segments, is_prime};

    #[test]
    fn counting_agrees_with_the_published_table() {
        for (limit, count) in &KNOWN[..5] {
            assert_eq!(count_by_segments(*limit), *count, "{limit}");
        }
    }

    #[test]
    fn counting_agrees_with_trial_division_around_segments_and_squares() {
        for limit in [2_u32, 3, 4, 24, 25, 26, 32_767, 32_768, 32_769, 32_770, 65_537, 66_049] {
            let plain = (2..=limit as usize).filter(|&n| is_prime(n)).count();
            assert_eq!(count_by_segments(limit), plain, "{limit}");
        }
    }
}
