//! What other programs read: a file a format, named after what reads it.
//!
//! All are made of the same [`View`](crate::View)s as the scorecard, in SI base units. Each is read
//! back by the real program in `tests/consumers.rs`.

mod bmf;
mod go_bench;
mod hyperfine;
mod junit;
mod openmetrics;
mod otava;
mod xlsx;
mod zip;

pub use bmf::bmf;
pub use go_bench::go_bench;
pub use hyperfine::hyperfine;
pub use junit::{check_junit, junit};
pub use openmetrics::openmetrics;
pub use otava::otava;
pub use xlsx::{XlsxError, xlsx};
