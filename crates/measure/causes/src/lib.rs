//! Why a result may be slow: a file for each possible cause.
//!
//! A cause looks at the machine and at what is measured. If it is suspicious, it says how plumb can remove it for the time of a
//! few invocations. Only such an experiment shows whether it is the reason: a suspicious fact alone proves nothing.

mod cause;
mod causes;
mod changed;

pub use cause::{Cause, Remedy, Removal, Suspect, Suspicion, uses_files};
pub use causes::{CAUSES, NAME_RESOLUTION, find};
pub use changed::knob_of_fact;
