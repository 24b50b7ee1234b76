//! The worth of a nice level: the kernel's weights, the shares that follow, and how far threads were from them.
#![expect(unsafe_code, reason = "sched_getscheduler has no safe form in std or rustix")]

use std::collections::BTreeMap;

use plumb_protocol::{Failure, StartError};

/// The kernel's weight of each nice level from -20 to 19 (`sched_prio_to_weight`): 1024 at 0, and each step 1.25.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// The share that a thread should get.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Claim {
    level: i32,
    /// Threads of one group share CPUs: all those of one CPU, or all if nobody is pinned.
    group: usize,
    /// The share of its group's CPU time.
    share: f64,
}

fn weight(level: i32) -> u32 {
    WEIGHTS[usize::try_from(level.clamp(-20, 19) + 20).unwrap_or(0)]
}

/// Refuses scheduling classes that know no weights.
pub(crate) fn check_class() -> Result<(), StartError> {
    // SAFETY: a system call with a number, which touches no memory of ours.
    let class = unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK;
    if class == libc::SCHED_OTHER || class == libc::SCHED_BATCH {
        return Ok(());
    }
    Err(StartError::unsupported(
        "threads of this scheduling class have no weights",
        "leave out `--set sched`, or set it to other or batch",
    ))
}

/// The nice level of each thread, from levels above that of the worker.
pub(crate) fn levels(typed: &str, threads: usize, base: i32) -> Result<Vec<i32>, StartError> {
    let named: Vec<i32> =
        typed.split(',').map(|word| level(word, base)).collect::<Result<_, _>>()?;
    match named.as_slice() {
        [one] => {
            let mut levels = vec![*one; threads];
            levels[..threads / 2].fill(base);
            Ok(levels)
        }
        all if all.len() == threads => Ok(named),
        all => Err(StartError::Failed(format!(
            "`nice` has {} levels for {threads} threads; give one for each, or one for the second half",
            all.len()
        ))),
    }
}

/// One level as it was typed, above that of the worker; the kernel has none beyond -20 and 19.
fn level(word: &str, base: i32) -> Result<i32, StartError> {
    match word.trim().parse::<i32>() {
        Ok(level @ -20..=19) => Ok((base + level).clamp(-20, 19)),
        _ => Err(StartError::Failed(format!(
            "`{word}` is not a nice level, a number from -20 to 19"
        ))),
    }
}

/// The share that each thread should get, on its CPU, or of so many CPUs together if none is pinned.
pub(crate) fn claims(levels: &[i32], placed: Option<&[usize]>, cpus: usize) -> Vec<Claim> {
    let Some(placed) = placed else {
        let shares = shares(levels, cpus.max(1));
        return levels
            .iter()
            .zip(shares)
            .map(|(level, share)| Claim { level: *level, group: 0, share })
            .collect();
    };
    let mut groups: BTreeMap<usize, Vec<i32>> = BTreeMap::new();
    for (cpu, level) in placed.iter().zip(levels) {
        groups.entry(*cpu).or_default().push(*level);
    }
    let mut claims = Vec::with_capacity(levels.len());
    for (cpu, level) in placed.iter().zip(levels) {
        let sum: f64 = groups[cpu].iter().map(|level| f64::from(weight(*level))).sum();
        let share = f64::from(weight(*level)) / sum;
        claims.push(Claim { level: *level, group: *cpu, share });
    }
    claims
}

/// Shares of several CPUs by weight, if no thread can have more than one CPU: who would, has one, and the others
/// share the rest.
#[expect(clippy::cast_precision_loss, reason = "numbers of CPUs and threads are small")]
fn shares(levels: &[i32], cpus: usize) -> Vec<f64> {
    let weights: Vec<f64> = levels.iter().map(|level| f64::from(weight(*level))).collect();
    let busy = cpus.min(levels.len()) as f64;
    let mut capped = vec![false; levels.len()];
    loop {
        // A thread has one CPU at most, whatever its weight: each pass caps one and shares the rest again.
        let open = capped.iter().zip(&weights).filter(|(capped, _)| !**capped);
        let sum: f64 = open.map(|(_, weight)| weight).sum();
        let rest = busy - capped.iter().filter(|capped| **capped).count() as f64;
        let all: Vec<f64> = capped
            .iter()
            .zip(&weights)
            .map(|(capped, weight)| if *capped { 1.0 } else { rest * weight / sum })
            .collect();
        let Some(over) = all.iter().position(|share| *share > 1.0 + 1e-9) else {
            return all.iter().map(|share| share / busy).collect();
        };
        capped[over] = true;
    }
}

/// Who is to get what, for the reader: `2 at nice 0 (weight 1024), 38.6 % each; 2 at nice 5 …`.
pub(crate) fn in_words(claims: &[Claim]) -> String {
    let mut kinds: Vec<(&Claim, usize)> = Vec::new();
    for claim in claims {
        let alike = kinds.iter_mut().find(|(other, _)| {
            other.level == claim.level && (other.share - claim.share).abs() < 1e-9
        });
        match alike {
            Some((_, count)) => *count += 1,
            None => kinds.push((claim, 1)),
        }
    }
    let mut parts = Vec::with_capacity(kinds.len());
    for (Claim { level, share, .. }, count) in kinds {
        let share = share * 100.0;
        parts.push(format!(
            "{count} at nice {level} (weight {}), {share:.1} % each",
            weight(*level)
        ));
    }
    format!("shares by weight: {}", parts.join("; "))
}

/// How far what threads used is from their claims: the largest relative difference, Jain's index of the quotients,
/// the smallest and the largest quotient.
///
/// # Errors
/// When the threads of a group got no CPU time at all.
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
pub(crate) fn judge(used: &[u64], claims: &[Claim]) -> Result<[f64; 4], Failure> {
    let mut sum = 0.0;
    let mut squares = 0.0;
    let mut least = f64::MAX;
    let mut most = 0.0_f64;
    for (own, claim) in used.iter().zip(claims) {
        let group = claims.iter().zip(used).filter(|(other, _)| other.group == claim.group);
        let together: u64 = group.map(|(_, used)| used).sum();
        if together == 0 {
            return Err(Failure("the threads of a CPU got no CPU time".into()));
        }
        let quotient = *own as f64 / (together as f64 * claim.share);
        sum += quotient;
        squares += quotient * quotient;
        least = least.min(quotient);
        most = most.max(quotient);
    }
    let fairness = sum * sum / (used.len() as f64 * squares);
    Ok([(most - 1.0).max(1.0 - least), fairness, least, most])
}

#[cfg(test)]
mod tests {
    use super::{WEIGHTS, claims, in_words, judge, levels};
    use plumb_protocol::StartError;

    #[test]
    fn each_step_is_a_quarter() {
        assert_eq!(WEIGHTS[20], 1024);
        for two in WEIGHTS.windows(2) {
            let step = f64::from(two[0]) / f64::from(two[1]);
            assert!((1.15..1.35).contains(&step), "{two:?}");
        }
    }

    #[test]
    fn levels_are_one_for_each_or_one_for_half() {
        assert_eq!(levels("5", 4, 0).unwrap(), [0, 0, 5, 5]);
        assert_eq!(levels("5", 1, 0).unwrap(), [5]);
        assert_eq!(levels("0, 3,-1", 3, 2).unwrap(), [2, 5, 1]);
        for (typed, why) in [
            ("1,2", "2 levels for 3 threads"),
            ("x", "not a nice level"),
            ("20", "not a nice level"),
        ] {
            let Err(StartError::Failed(said)) = levels(typed, 3, 0) else { panic!("{typed}") };
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn shares_follow_weights_on_a_cpu_and_over_several() {
        let shares = |levels: &[i32], placed: Option<&[usize]>, cpus| -> Vec<f64> {
            claims(levels, placed, cpus)
                .iter()
                .map(|claim| (claim.share * 1000.0).round())
                .collect()
        };
        assert_eq!(shares(&[0, 5], Some(&[1, 1]), 2), [753.0, 247.0]);
        assert_eq!(shares(&[0, 0, 5], Some(&[1, 0, 1]), 2), [753.0, 1000.0, 247.0]);
        // Nobody has more than a CPU: by weight alone the first would have 1.6 of two.
        assert_eq!(shares(&[-20, 0, 0], None, 2), [500.0, 250.0, 250.0]);
        assert_eq!(shares(&[0, 0], None, 8), [500.0, 500.0]);
        let said = in_words(&claims(&[0, 0, 5], Some(&[1, 1, 1]), 2));
        assert_eq!(
            said,
            "shares by weight: 2 at nice 0 (weight 1024), 43.0 % each; 1 at nice 5 (weight 335), 14.1 % each"
        );
    }

    #[test]
    fn what_threads_got_is_judged_by_their_claims() {
        let claims = claims(&[0, 0], Some(&[1, 1]), 2);
        let [deviation, fairness, least, most] = judge(&[30, 10], &claims).unwrap();
        assert!((deviation - 0.5).abs() < 1e-9 && (fairness - 0.8).abs() < 1e-9);
        assert!((least - 0.5).abs() < 1e-9 && (most - 1.5).abs() < 1e-9);
        assert!(judge(&[0, 0], &claims).is_err());
    }
}
