//! Text by somebody who means harm.

use plumb_analysis::testing::fail;
use plumb_model::{Flag, FlagKind, RunRecord};

/// Puts a text wherever a plug-in, a command or another machine may put one.
pub fn poison(record: &mut RunRecord, text: &str) {
    record.plan.suite = Some(text.into());
    record.plan.dir = text.into();
    record.plan.labels.insert(text.into(), text.into());
    record.command = vec![text.into(); 2];
    record.plumb = text.into();
    for target in &mut record.targets {
        let facts = target.machine.facts.values_mut().chain(target.environment.facts.values_mut());
        facts.for_each(|value| *value = text.to_owned());
    }
    for point in &mut record.plan.points {
        point.point.key = text.into();
        point.point.workload = text.into();
        point.title = Some(text.into());
        point.capped = Some(text.into());
        point.description.metrics[0].unit = text.into();
        point.description.metrics[0].name = text.into();
    }
    for missing in &mut record.unsupported {
        missing.why = text.into();
        missing.fix = text.into();
    }
    for (i, invocation) in record.invocations.iter_mut().enumerate() {
        invocation.ready.notes = vec![text.into()];
        invocation.flags = vec![Flag::new(FlagKind::Other(text.into()), text)];
        if i % 7 == 0 {
            fail(invocation, text, text);
        }
    }
}
