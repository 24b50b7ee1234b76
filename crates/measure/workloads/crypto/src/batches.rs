//! Batches of all cryptographic workloads: a team of threads, each with a primitive of its own.

use plumb_model::Ready;
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload};
use plumb_workload_kit::declare;
use plumb_workload_kit::threads::{self, Member, Team};

/// The shortest sample, in nanoseconds: the one message of each sample that is a witness, and may lie
/// in a colder cache, is then a small part of it.
const SHORTEST_SAMPLE_NS: u64 = 200_000;

/// Starts the threads that the parameters ask for; `amounts` is the work of one iteration of one thread.
///
/// # Errors
/// If a thread can't be started, or a member can't be built.
pub(super) fn started<B>(
    start: &Start,
    mut ready: Ready,
    amounts: &[(&str, u64)],
    build: B,
) -> Result<StartedWorkload, StartError>
where
    B: Fn(usize) -> Result<Box<dyn Member>, StartError> + Send + Sync + 'static,
{
    let count = start.size("threads").max(1);
    let all: Vec<(&str, u64)> =
        amounts.iter().map(|(metric, amount)| (*metric, amount * count as u64)).collect();
    ready.work = declare::work(&all);
    threads::describe(count, start, &mut ready)?;
    let team = Team::placed(count, start, build)?;
    Ok(StartedWorkload { instance: Box::new(Batches(team)), ready })
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

    fn shortest_sample_ns(&self) -> u64 {
        self.0.shortest_sample_ns().max(SHORTEST_SAMPLE_NS)
    }
}
