//! How the processes of a point ended, if failures are accepted.

use plumb_model::{CommandEnd, CommandEnds, ENDED, InvocationRecord, SeriesInRun};

/// How the processes of steady samples ended; empty if failures are not accepted.
pub(crate) fn ends<'r>(invocations: impl IntoIterator<Item = &'r InvocationRecord>) -> CommandEnds {
    let mut found = CommandEnds::default();
    for invocation in invocations {
        let codes = invocation.samples.values.get(ENDED);
        for code in codes.into_iter().flatten().skip(invocation.steady_start()) {
            found.add(CommandEnd::of_code(*code), 1);
        }
    }
    found
}

/// How the processes of a series ended in all of these runs.
pub(crate) fn ends_of_runs(in_runs: &[&SeriesInRun]) -> CommandEnds {
    let mut all = CommandEnds::default();
    in_runs.iter().for_each(|in_run| all.extend(&in_run.ends));
    all
}
