//! The lines of a point measured without pause (`--stream`), one per second, as iperf3 and vmstat print them.

use std::collections::BTreeMap;

use plumb_model::{Event, Id, Plan, QuantityKind, Role, Sampling};
use plumb_units::{quantity, seconds_to};

/// The most metrics in a line.
const MOST: usize = 4;

/// The lines of a plan's streams.
#[derive(Debug)]
pub struct SecondLines {
    plan: Plan,
    current: Option<Current>,
}

/// The invocation under way.
#[derive(Debug)]
struct Current {
    invocation: Id,
    point: usize,
    /// The work of an iteration, by metric.
    work: BTreeMap<String, f64>,
    /// When its first sample began.
    begun_ns: Option<u64>,
}

impl SecondLines {
    /// No line yet, for the streams of this plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self { plan: plan.clone(), current: None }
    }

    /// The lines of an event, one for each sample of a stream: `  3 s  throughput 3.44 GB/s  …`.
    pub fn take(&mut self, event: &Event) -> Vec<String> {
        match event {
            Event::InvocationStarted { invocation, point, role: Role::Workload, ready, .. } => {
                let planned = self.plan.points.get(*point);
                let is_stream = planned
                    .is_some_and(|point| matches!(point.sampling, Some(Sampling::Stream { .. })));
                self.current = is_stream.then(|| Current {
                    invocation: *invocation,
                    point: *point,
                    work: ready.work.clone(),
                    begun_ns: None,
                });
                Vec::new()
            }
            Event::Batch { invocation, samples, .. } => {
                // Background loads have batches, too.
                let Some(current) =
                    self.current.as_mut().filter(|current| current.invocation == *invocation)
                else {
                    return Vec::new();
                };
                let Some(planned) = self.plan.points.get(current.point) else { return Vec::new() };
                let columns: Vec<_> = planned
                    .description
                    .metrics
                    .iter()
                    .filter(|metric| metric.kind != QuantityKind::Histogram)
                    .filter_map(|metric| {
                        let work = current.work.get(&metric.name).copied().unwrap_or(1.0);
                        let values = samples.metric(metric, work)?;
                        Some((metric.name.clone(), metric.unit.clone(), values))
                    })
                    .take(MOST)
                    .collect();
                samples
                    .start_ns
                    .iter()
                    .zip(&samples.elapsed_ns)
                    .enumerate()
                    .map(|(index, (start_ns, elapsed_ns))| {
                        // Time counts from the first sample: what came before was set-up.
                        let begun_ns = *current.begun_ns.get_or_insert(*start_ns);
                        let ends_ns = start_ns.saturating_add(*elapsed_ns);
                        #[expect(
                            clippy::cast_precision_loss,
                            reason = "times stay far below 2^53 ns"
                        )]
                        let at_s = ends_ns.saturating_sub(begun_ns) as f64 * 1e-9;
                        let shown: Vec<String> = columns
                            .iter()
                            .filter_map(|(name, unit, values)| {
                                Some(format!("{name} {}", quantity(*values.get(index)?, unit)))
                            })
                            .collect();
                        format!("{:>7}  {}", seconds_to(at_s, 1), shown.join("  "))
                    })
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_analysis::testing::{events, first_look};
    use plumb_model::{Event, Sampling};

    use super::SecondLines;

    #[test]
    fn a_stream_has_a_line_for_each_sample_and_nothing_else_has() {
        let record = first_look();
        let all = events(&record, false);
        let lines = |plan: &plumb_model::Plan| -> Vec<String> {
            let mut lines = SecondLines::of(plan);
            all.iter().flat_map(|stored| lines.take(&stored.event)).collect()
        };
        assert!(lines(&record.plan).is_empty());
        let mut plan = record.plan.clone();
        plan.points[0].sampling = Some(Sampling::Stream { length_ns: 10_000_000_000 });
        let told = lines(&plan);
        let samples: usize =
            record.good_invocations(0).map(|invocation| invocation.samples.len()).sum();
        assert!(told.len() == samples && samples > 0, "{} {samples}", told.len());
        assert!(
            told[0].contains(" s  ")
                && told[0].contains(&plan.points[0].description.metrics[0].name),
            "{}",
            told[0]
        );
        assert!(matches!(all[0].event, Event::RunStarted { .. }));
    }
}
