//! The strategies: they choose the next invocations from the data so far.

mod choose;
mod decide;
mod rules;
mod soak;
mod verdict;

pub use choose::for_plan;
pub use decide::{FAILURES_TO_GIVE_UP, Round, Strategy};
pub use rules::Rules;
pub use soak::Soak;
pub use verdict::Verdict;
