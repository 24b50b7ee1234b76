//! A program's own description of itself.

use std::time::Duration;

use plumb_keeper::{Keeper, SpawnOptions};
use plumb_model::{Description, Program};
use plumb_protocol::{Reply, Request};

use crate::conversation::{Conversation, unexpected};
use crate::refusal::LaunchRefusal;

/// Starts a program just to ask what it is.
///
/// # Errors
/// When it can't be started or answers wrongly.
pub fn describe(keeper: &mut Keeper, program: &Program) -> Result<Description, LaunchRefusal> {
    let timeout = Duration::from_secs(10);
    let mut conversation =
        Conversation::open(keeper, &program.argv, &SpawnOptions::default(), timeout)?;
    let description = match conversation.ask(Request::Describe, timeout) {
        Ok(Reply::Description { description }) => description,
        Ok(other) => {
            conversation.kill(keeper);
            return Err(unexpected("describe", &other));
        }
        Err(refusal) => {
            let refusal = conversation.explain(refusal);
            conversation.kill(keeper);
            return Err(refusal);
        }
    };
    conversation.stop(keeper)?;
    Ok(description)
}
