//! The family `scheduler`.

use plumb_protocol::Workload;

mod compile;
mod counters;
mod fairness;
mod hackbench;
mod latency;
mod messaging;
mod pipe;
mod source_tree;
mod switch;
mod task_mode;
mod timer;
mod wakeup;
mod weights;
mod r#yield;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[
    &messaging::Messaging,
    &pipe::Pipe,
    &switch::Switch,
    &r#yield::Yield,
    &wakeup::Wakeup,
    &timer::Timer,
    &fairness::Fairness,
    &compile::Compile,
];
