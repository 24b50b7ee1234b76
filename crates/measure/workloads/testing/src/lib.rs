//! Workloads driven as the engine drives them: what the tests of all families share. Fails by panicking.

mod example;
mod point;
mod skip;
mod taking;
mod timing;

pub use example::example;
pub use point::{TestPoint, refusal, refused_settings, unsupported};
pub use skip::{Lack, skip, skip_part};
pub use taking::{has_flag, samples, take, values};
pub use timing::{TWICE, alone, assert_doubles, assert_growth, assert_ratio, fastest_ns};
