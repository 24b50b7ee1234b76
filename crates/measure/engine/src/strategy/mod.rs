//! The strategies: they choose the next invocations from the data so far.

mod choose;
#[expect(clippy::module_inception, reason = "the trait itself")]
mod strategy;
mod until_health_is_known;
mod until_precise;
mod until_time_is_over;
mod until_verdict;

pub use choose::for_plan;
pub use strategy::{FAILURES_TO_GIVE_UP, Round, Strategy};
pub use until_health_is_known::UntilHealthIsKnown;
pub use until_precise::UntilRules;
pub use until_time_is_over::Soak;
pub use until_verdict::UntilVerdict;
