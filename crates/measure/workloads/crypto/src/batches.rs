//! Batches of all cryptographic workloads: a team of threads, each with a primitive of its own.

use plumb_model::{Flag, FlagKind, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, now_ns};
use plumb_workload_kit::declare;
use plumb_workload_kit::threads::{self, Member, Team};

use crate::provider::Provider;

/// The shortest sample, in nanoseconds: the one message of each sample that is a witness, and may lie
/// in a colder cache, is then a small part of it.
const SHORTEST_SAMPLE_NS: u64 = 200_000;

/// A trial of a provider lasts so long at least, in nanoseconds.
const TRIAL_NS: u64 = 1_000_000;
/// If one iteration takes longer, there is no trial: it would last longer than the warm-up.
const LONGEST_NS: u64 = 5_000_000;
/// Trials of each provider, of which the fastest counts.
const TRIALS: usize = 5;
/// A provider that takes longer for this part of the work than another for all of it is not tried further.
const FIRST_PART: u64 = 16;
/// Another provider is faster if it takes less of the time than this: trials differ by a few percent.
const FASTER: f64 = 0.95;

/// As [`started_without_trial`], with a flag if another provider is faster here.
///
/// # Errors
/// If a thread can't be started, or a member can't be built.
pub(super) fn started<B>(
    start: &Start,
    provider: Provider,
    mut ready: Ready,
    amounts: &[(&str, u64)],
    build: B,
) -> Result<StartedWorkload, StartError>
where
    B: Fn(Provider, usize) -> Result<Box<dyn Member>, StartError> + Send + Sync + 'static,
{
    ready.flags.extend(faster_provider(provider, &build));
    started_without_trial(start, provider, ready, amounts, build)
}

/// Starts the threads that the parameters ask for; `amounts` is the work of one iteration of one thread. `build` makes the
/// member of a thread by a provider.
///
/// # Errors
/// If a thread can't be started, or a member can't be built.
pub(super) fn started_without_trial<B>(
    start: &Start,
    provider: Provider,
    mut ready: Ready,
    amounts: &[(&str, u64)],
    build: B,
) -> Result<StartedWorkload, StartError>
where
    B: Fn(Provider, usize) -> Result<Box<dyn Member>, StartError> + Send + Sync + 'static,
{
    let count = start.size("threads").max(1);
    let all: Vec<(&str, u64)> =
        amounts.iter().map(|(metric, amount)| (*metric, amount * count as u64)).collect();
    ready.work = declare::work(&all);
    threads::describe(count, start, &mut ready)?;
    let team = Team::placed(count, start, move |thread| build(provider, thread))?;
    Ok(StartedWorkload { instance: Box::new(Batches(team)), ready })
}

/// A flag if another provider does the same work faster here, by a short test before anything is timed. Those that lack
/// the algorithm do not count. The system's library has no such flag: it is never the default.
fn faster_provider(
    own: Provider,
    build: impl Fn(Provider, usize) -> Result<Box<dyn Member>, StartError>,
) -> Option<Flag> {
    let mut own_member = build(own, 0).ok()?;
    let mut iterations = 1;
    let mut took_ns = trial_ns(&mut own_member, iterations)?;
    while took_ns < TRIAL_NS {
        iterations *= 2;
        took_ns = trial_ns(&mut own_member, iterations)?;
    }
    if took_ns / iterations > LONGEST_NS {
        return None;
    }
    for other in own.others() {
        let Ok(mut other_member) = build(other, 0) else { continue };
        if trial_ns(&mut other_member, iterations.div_ceil(FIRST_PART))? > took_ns {
            continue;
        }
        let mut fastest_ns = [u64::MAX; 2];
        for _ in 0..TRIALS {
            for (fastest, member) in fastest_ns.iter_mut().zip([&mut own_member, &mut other_member])
            {
                *fastest = trial_ns(member, iterations)?.min(*fastest);
            }
        }
        let [own_ns, other_ns] = fastest_ns;
        #[expect(clippy::cast_precision_loss, reason = "trials last milliseconds")]
        if (other_ns as f64) < FASTER * own_ns as f64 {
            let names = format!("provider={},{}", own.name(), other.name());
            let why = format!("{} is faster here: compare with `{names}`", other.title());
            return Some(Flag::new(FlagKind::FasterProvider, why));
        }
    }
    None
}

/// Time of so many iterations; None if they fail.
fn trial_ns(member: &mut Box<dyn Member>, iterations: u64) -> Option<u64> {
    let begun = now_ns();
    member.run(iterations).ok()?;
    Some(now_ns() - begun)
}

/// A team whose samples last long enough for their witnesses.
struct Batches(Team<Box<dyn Member>>);

impl Instance for Batches {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.0.run(iterations)
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.0.verify()
    }

    fn checks_computation(&self) -> bool {
        true
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.0.shortest_sample_ns().max(SHORTEST_SAMPLE_NS)
    }
}

#[cfg(test)]
mod tests {
    use plumb_protocol::{Failure, StartError, now_ns};
    use plumb_workload_kit::threads::Member;

    use super::faster_provider;
    use crate::provider::Provider;

    /// Keeps a CPU busy for so many nanoseconds an iteration.
    struct BusyMember(u64);

    impl Member for BusyMember {
        fn run(&mut self, iterations: u64) -> Result<(), Failure> {
            let until = now_ns() + self.0 * iterations;
            while now_ns() < until {}
            Ok(())
        }

        fn verify(&mut self) -> Result<(), Failure> {
            Ok(())
        }
    }

    /// The flag of ring next to RustCrypto, whose iterations take so many nanoseconds.
    fn flag_of(ring_ns: u64, rustcrypto_ns: u64) -> Option<String> {
        let build = |provider: Provider, _: usize| match provider {
            Provider::Ring => Ok(Box::new(BusyMember(ring_ns)) as Box<dyn Member>),
            Provider::RustCrypto => Ok(Box::new(BusyMember(rustcrypto_ns)) as Box<dyn Member>),
            Provider::System(_) => Err(StartError::Failed("not of interest".into())),
        };
        faster_provider(Provider::Ring, build).map(|flag| flag.why)
    }

    #[test]
    fn a_provider_that_is_faster_here_is_named_with_the_comparison_to_type() {
        let why = flag_of(20_000, 10_000).unwrap();
        assert!(why.ends_with("is faster here: compare with `provider=ring,rustcrypto`"), "{why}");
        assert_eq!(flag_of(10_000, 20_000), None);
        let begun_ns = now_ns();
        assert_eq!(flag_of(10_000, 10_000_000), None);
        assert!(
            now_ns() - begun_ns < 1_000_000_000,
            "a slow provider is not tried with all of the work"
        );
        assert_eq!(flag_of(10_000_000, 1_000), None, "one iteration takes too long for a trial");
    }
}
