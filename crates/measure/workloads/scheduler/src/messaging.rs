//! `scheduler.messaging`: hackbench. Groups of senders and receivers, each sender writing to each
//! receiver of its group.

use std::fs;

use plumb_model::{AuditClass, Better, CurveKind, Description, Ready};
use plumb_protocol::{
    Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload, current_cpu,
};

use crate::hackbench::{HackbenchGroups, HackbenchShape, HackbenchTransport};
use crate::task_mode::TaskMode;
use plumb_workload_kit::declare::{
    between, bytes, choice, curve, integer, rate, reported, time, workload,
};
use plumb_workload_kit::limits::room_for_tasks;
use plumb_workload_kit::placement::{Placement, in_words, placement};
use plumb_workload_kit::switches::own_switches;

/// The workload `scheduler.messaging`: its parameters and metrics, and how it starts.
pub(crate) struct Messaging;

impl Workload for Messaging {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                curve(
                    CurveKind::Line,
                    between(
                        1,
                        10_000,
                        integer(
                            "groups",
                            "groups",
                            1,
                            "number of groups; hackbench's default is 10",
                        ),
                    ),
                ),
                between(
                    1,
                    10_000,
                    integer("fds", "tasks", 20, "senders per group, and as many receivers"),
                ),
                curve(
                    CurveKind::Line,
                    between(
                        1,
                        1 << 30,
                        integer(
                            "loops",
                            "messages",
                            100,
                            "messages from each sender to each receiver",
                        ),
                    ),
                ),
                curve(
                    CurveKind::Line,
                    between(1, 16 << 20, bytes("bytes", 100, "size of a message")),
                ),
                choice("transport", &["socket", "pipe"], "channel for the messages"),
                TaskMode::parameter("type of senders and receivers"),
                placement(),
            ],
            metrics: vec![
                time(
                    "time",
                    "time of one run, from the start signal until the last task has been reaped",
                ),
                rate(
                    "messages",
                    "messages/s",
                    "messages per second; a run has groups × fds² × loops",
                ),
                reported(
                    "switches",
                    "",
                    Better::Neither,
                    "context switches of all tasks per message, from their creation to their end",
                ),
            ],
            timeout_s: Some(1800),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("scheduler.messaging", "hackbench: many tasks exchange short messages")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("messaging.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let mut shape = HackbenchShape {
            groups: start.size("groups"),
            fds: start.size("fds"),
            loops: start.size("loops"),
            bytes: start.size("bytes"),
            transport: HackbenchTransport::of(start),
            mode: TaskMode::of(start),
            cpus: None,
        };
        check_limits(&shape, |what| soft_limit(&limits(), what), open_files())?;
        room_for_tasks(shape.tasks())?;
        let mut ready = Ready::default();
        ready.work.insert("messages".into(), shape.messages());
        let tasks = usize::try_from(shape.tasks()).unwrap_or(usize::MAX);
        shape.cpus = Placement::of(start)?.cpus(tasks, &start.facts)?;
        let place = shape.cpus.as_deref().map_or_else(|| "not pinned".into(), in_words);
        ready.notes.push(format!("{tasks} tasks, {place}"));
        Ok(StartedWorkload { instance: Box::new(HackbenchRuns { shape }), ready })
    }
}

fn limits() -> String {
    fs::read_to_string("/proc/self/limits").unwrap_or_default()
}

/// The soft limit on a line of /proc/self/limits; None when there is none.
fn soft_limit(limits: &str, what: &str) -> Option<u64> {
    limits.lines().find_map(|line| line.strip_prefix(what))?.split_whitespace().next()?.parse().ok()
}

fn open_files() -> u64 {
    fs::read_dir("/proc/self/fd").map_or(0, |folder| folder.count() as u64)
}

/// Refuses a shape for which this process may not open enough files.
fn check_limits(
    shape: &HackbenchShape,
    limit: impl Fn(&str) -> Option<u64>,
    open: u64,
) -> Result<(), StartError> {
    let files = shape.descriptors() + open;
    if limit("Max open files").is_some_and(|limit| limit < files) {
        return Err(StartError::unsupported(
            format!("needs {files} open files, more than `ulimit -n` allows"),
            format!("run `ulimit -n {files}`, or set fewer groups or fds, or mode=process"),
        ));
    }
    Ok(())
}

struct HackbenchRuns {
    shape: HackbenchShape,
}

impl Instance for HackbenchRuns {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        (0..iterations).try_for_each(|_| HackbenchGroups::assemble(&self.shape)?.work().map(drop))
    }

    fn value_names(&self) -> &'static [&'static str] {
        &["switches"]
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    /// Times each run itself, because hackbench does not count the making of its tasks.
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        for &k in iterations {
            let mut first_start = None;
            let mut sum = 0;
            // From the making of the tasks on: switches of children count here once they are reaped.
            let before = own_switches();
            for _ in 0..k {
                let run = HackbenchGroups::assemble(&self.shape)?.work()?;
                first_start.get_or_insert(run.start_ns);
                sum += run.elapsed_ns;
            }
            batch.record(first_start.unwrap_or(0), sum, k, current_cpu());
            let after = own_switches();
            let switches = after.0 - before.0 + after.1 - before.1;
            batch.record_values(&[switches as f64 / (k as f64 * self.shape.messages())]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use plumb_protocol::StartError;

    use super::{check_limits, soft_limit};
    use crate::hackbench::{HackbenchShape, HackbenchTransport};
    use crate::task_mode::TaskMode;

    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max open files            1024                 1048576              files
";

    #[test]
    fn shapes_beyond_the_limits_are_unsupported_and_say_what_would_do() {
        let limit = |what: &str| soft_limit(LIMITS, what);
        let mut shape = HackbenchShape {
            groups: 90,
            fds: 20,
            loops: 1,
            bytes: 1,
            transport: HackbenchTransport::Socket,
            mode: TaskMode::Process,
            cpus: None,
        };
        check_limits(&shape, limit, 10).unwrap();
        shape.mode = TaskMode::Thread;
        match check_limits(&shape, limit, 10).unwrap_err() {
            StartError::Unsupported { why, fix } => {
                assert!(why.contains("3614 open files"), "{why}");
                assert!(fix.contains("ulimit -n 3614"), "{fix}");
            }
            StartError::Failed(why) => panic!("{why}"),
        }
    }
}
