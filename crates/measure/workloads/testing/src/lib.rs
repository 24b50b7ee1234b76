//! Workloads driven as the engine drives them: what the tests of all families share. Fails by panicking.

mod helper_process;
mod point;
mod taking;
mod timing;

pub use helper_process::{example, helper_process};
pub use point::{TestPoint, refusal, unsupported};
pub use taking::{has_flag, samples, take, values};
pub use timing::{alone, assert_doubles, assert_ratio, fastest_ns};
