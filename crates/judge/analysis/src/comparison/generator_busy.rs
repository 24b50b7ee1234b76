//! Clients that were busy rather than waiting for their server.

use plumb_model::{FlagKind, InvocationRecord};

/// Whether the clients of most of these invocations were busy.
pub(crate) fn is_generator_busy<'r>(
    invocations: impl IntoIterator<Item = &'r InvocationRecord>,
) -> bool {
    let mut all = 0;
    let mut busy = 0;
    for invocation in invocations {
        all += 1;
        if invocation.flags.iter().any(|flag| flag.flag == FlagKind::GeneratorBusy) {
            busy += 1;
        }
    }
    2 * busy > all
}
