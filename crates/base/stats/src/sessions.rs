//! A comparison that was repeated in fresh sessions: docs/method.md, *Sessions*.
//!
//! Pairs of one session share whatever holds for the session: the placement of memory, the neighbours, the temperature. So
//! the unit is the session, with the centre of its pairs as its value. From six sessions on they decide by themselves, from
//! eight on by the exact signed-rank law (Wilcoxon 1945), before that by Student's t. With fewer, the variance between sessions is taken from them and from
//! earlier comparisons that were repeated on the same host, all drawn together as far as they are alike (Smyth 2004).

use crate::describe::{finite, variance_of};
use crate::distribution::two_sided_t;
use crate::pairs::{hodges_lehmann, signed_rank_interval};
use crate::regression_gate::Prior;
use crate::{Interval, NoInterval};

/// Fewer sessions, earlier ones included, do not show how much sessions differ.
pub const FEWEST_SESSIONS: usize = 6;

/// What the interval over sessions rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SessionNoise {
    /// The sessions themselves, enough of them.
    Sessions,
    /// The sessions and earlier ones of this host.
    WithEarlier {
        /// Sessions that show how much sessions differ, with these.
        sessions: usize,
        /// The standard deviation between sessions, in log units.
        sd: f64,
    },
}

/// Sessions of one comparison, together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionsCompared {
    /// The log ratio of costs with its interval.
    pub interval: Interval,
    /// What the interval rests on.
    pub noise: SessionNoise,
}

/// The centre of the log ratios of sessions with its interval at `level`. `earlier` are the log ratios of other comparisons
/// on this host, each of two or more sessions.
///
/// # Errors
/// [`NoInterval::TooFewSamples`] for no sessions; [`NoInterval::TooFewProcesses`] if fewer than [`FEWEST_SESSIONS`], with
/// earlier ones, show how much sessions differ; [`NoInterval::NotFinite`].
pub fn compare_sessions(
    sessions: &[f64],
    earlier: &[Vec<f64>],
    level: f64,
) -> Result<SessionsCompared, NoInterval> {
    finite(sessions)?;
    if sessions.len() >= FEWEST_SESSIONS
        && let Ok(interval) = signed_rank_interval(sessions, level)
    {
        return Ok(SessionsCompared { interval, noise: SessionNoise::Sessions });
    }
    let estimate = hodges_lehmann(sessions).ok_or(NoInterval::TooFewSamples)?;
    // Enough sessions need no others, which may have been noisier or calmer.
    let earlier = if sessions.len() >= FEWEST_SESSIONS { &[] } else { earlier };
    let groups: Vec<&[f64]> = earlier
        .iter()
        .map(Vec::as_slice)
        .chain([sessions])
        .filter(|group| group.len() > 1)
        .collect();
    let seen: usize = groups.iter().map(|group| group.len()).sum();
    if seen < FEWEST_SESSIONS {
        return Err(NoInterval::TooFewProcesses { have: seen, need: FEWEST_SESSIONS });
    }
    let mut variances = Vec::with_capacity(groups.len());
    for group in &groups {
        finite(group)?;
        variances.push((variance_of(group), (group.len() - 1) as f64));
    }
    let own = if sessions.len() > 1 {
        (variance_of(sessions), (sessions.len() - 1) as f64)
    } else {
        (0.0, 0.0)
    };
    let (variance, df) = drawn_together(&variances, own);
    let half = two_sided_t(level, df) * (variance / sessions.len() as f64).sqrt();
    let interval = Interval { estimate, low: estimate - half, high: estimate + half };
    let noise = if sessions.len() >= FEWEST_SESSIONS {
        SessionNoise::Sessions
    } else {
        SessionNoise::WithEarlier { sessions: seen, sd: variance.sqrt() }
    };
    Ok(SessionsCompared { interval, noise })
}

/// The variance between sessions of a comparison and its degrees of freedom, from its own and those of all.
fn drawn_together(all: &[(f64, f64)], own: (f64, f64)) -> (f64, f64) {
    let total: f64 = all.iter().map(|(_, df)| df).sum();
    let pooled = all.iter().map(|(variance, df)| variance * df).sum::<f64>() / total;
    let prior = Prior::of(all);
    // A few variances that look alike may do so by chance: no more degrees of freedom than all of them have.
    let prior = if prior.df == 0.0 {
        Prior { variance: pooled, df: if all.len() == 1 { 0.0 } else { 1.0 } }
    } else {
        Prior { variance: prior.variance.max(pooled), df: prior.df.min(total) }
    };
    if prior.df + own.1 == 0.0 {
        // A single earlier comparison is all that is known.
        return (pooled, total);
    }
    let df = prior.df + own.1;
    ((prior.df * prior.variance + own.1 * own.0) / df, df.min(total))
}

#[cfg(test)]
mod tests {
    use super::{FEWEST_SESSIONS, SessionNoise, compare_sessions};
    use crate::NoInterval;

    #[test]
    fn six_sessions_decide_by_themselves() {
        let sessions = [0.031, 0.028, 0.033, 0.030, 0.027, 0.035];
        let found = compare_sessions(&sessions, &[], 0.95).unwrap();
        assert_eq!(found.noise, SessionNoise::Sessions);
        // The mean and t of .95 with five degrees of freedom times the standard error.
        let half = 2.570_581_8 * (8.8e-6f64 / 6.0).sqrt();
        assert!((found.interval.high - found.interval.estimate - half).abs() < 2e-4, "{found:?}");
        let eight = [0.031, 0.028, 0.033, 0.030, 0.027, 0.035, 0.029, 0.032];
        assert!(compare_sessions(&eight, &[vec![0.5, -0.5]], 0.95).unwrap().interval.low > 0.025);
    }

    #[test]
    fn fewer_sessions_need_earlier_ones() {
        let sessions = [0.031, 0.028, 0.033];
        let few = compare_sessions(&sessions, &[], 0.95);
        assert_eq!(few, Err(NoInterval::TooFewProcesses { have: 3, need: FEWEST_SESSIONS }));
        let earlier = vec![vec![0.0, 0.01, -0.01, 0.005]];
        let found = compare_sessions(&sessions, &earlier, 0.95).unwrap();
        let SessionNoise::WithEarlier { sessions: seen, sd } = found.noise else { panic!() };
        assert!(seen == 7 && (0.002..0.01).contains(&sd), "{found:?}");
        // One session alone rests on earlier ones wholly.
        let alone = compare_sessions(&[0.03], &[vec![0.0, 0.01, -0.01, 0.005, 0.0, 0.01]], 0.95);
        assert!(alone.unwrap().interval.contains(0.03));
    }

    #[test]
    fn nothing_and_what_is_no_number_is_refused() {
        assert_eq!(compare_sessions(&[], &[], 0.95), Err(NoInterval::TooFewSamples));
        assert_eq!(compare_sessions(&[f64::NAN; 6], &[], 0.95), Err(NoInterval::NotFinite));
    }
}
