//! Why a run could not begin or go on, as people are told.

use plumb_engine::EngineError;
use plumb_launch::Refusal;

use crate::error::CommandError;

/// Why a run could not go on.
pub fn ended_early(error: EngineError) -> CommandError {
    match error {
        EngineError::Sink(why) => CommandError::file(why)
            .hint("plumb show last            shows what is stored so far")
            .hint("plumb run --resume         completes the run once there is room"),
        EngineError::Fatal(why) => CommandError::bug(why)
            .hint("plumb show last            shows what is stored so far")
            .hint("plumb run --resume goes on from there"),
        EngineError::Companion(why) => CommandError::failed(why),
        EngineError::Unsupported { why, fix } => {
            let error = CommandError::nothing(why);
            if fix.is_empty() { error } else { error.hint(fix) }
        }
    }
}

/// Why the machine can't be prepared as the user wants it.
pub fn unprepared(refusal: Refusal) -> CommandError {
    match refusal {
        Refusal::Unsupported { why, fix } if fix.is_empty() => CommandError::nothing(why),
        Refusal::Unsupported { why, fix } => CommandError::nothing(why).hint(fix),
        Refusal::Failed(why) => CommandError::failed(why),
        Refusal::Interrupted => CommandError::interrupted("interrupted while preparing"),
        Refusal::Fatal(why) => CommandError::bug(why),
    }
}
