//! A plug-in's description, requested as every command does, and validated.

use std::time::Duration;

use plumb_keeper::{Keeper, SpawnOptions};
use plumb_launch::{Conversation, LaunchRefusal};
use plumb_model::{Description, Program};
use plumb_protocol::{PROTOCOL, Reply, Request};

use crate::check::checklist::{CheckOutcome, Checklist};
use crate::check::outcomes::{ended, note, wrong};
use crate::{rules, starting_hint};

/// Longest that a plug-in may take to say what it is, as when plumb lists it.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Holds what it says of itself against the rules.
pub fn judge(description: &Description, is_builtin: bool, list: &mut Checklist<'_>) {
    for rule in rules::judge(description, is_builtin) {
        list.judge(rule.name, rule.verdict);
    }
}

/// `hello`, `describe` and `stop`, as every command of plumb does it.
///
/// # Errors
/// Only signals, and plumb's own trouble.
pub fn describe(
    keeper: &mut Keeper,
    program: &Program,
    list: &mut Checklist,
) -> Result<Option<Description>, LaunchRefusal> {
    let mut conversation =
        match Conversation::open(keeper, &program.argv, &SpawnOptions::default(), DESCRIBE_TIMEOUT)
        {
            Ok(conversation) => conversation,
            Err(LaunchRefusal::Failed(why)) => {
                let told = match starting_hint(program) {
                    Some(hint) => format!("{why}; hint: {hint}"),
                    None => why,
                };
                list.add("hello", CheckOutcome::Failed, told);
                return Ok(None);
            }
            Err(refusal) => return note(list, "hello", &refusal).map(|()| None),
        };
    list.add("hello", CheckOutcome::Ok, format!("uses protocol {PROTOCOL}"));
    let described = conversation.ask(Request::Describe, DESCRIBE_TIMEOUT);
    let description = match described.map_err(|refusal| conversation.explain(refusal)) {
        Ok(Reply::Description { description }) => description,
        other => {
            conversation.kill(keeper);
            wrong(list, "describe", other)?;
            return Ok(None);
        }
    };
    list.add("describe", CheckOutcome::Ok, &*description.summary);
    let again = conversation.ask_with_unknown_field(Request::Describe, DESCRIBE_TIMEOUT);
    if unknown_field(list, again.map_err(|refusal| conversation.explain(refusal)), &description)? {
        ended(list, "exit", conversation.stop(keeper))?;
    } else {
        conversation.kill(keeper);
    }
    Ok(Some(description))
}

/// Whether it goes on after a field that it does not know.
fn unknown_field(
    list: &mut Checklist,
    again: Result<Reply, LaunchRefusal>,
    before: &Description,
) -> Result<bool, LaunchRefusal> {
    const NAME: &str = "unknown-fields";
    match again {
        Ok(Reply::Description { description }) if description == *before => {
            list.add(NAME, CheckOutcome::Ok, "ignored, so later versions can add fields");
            Ok(true)
        }
        Ok(Reply::Description { .. }) => {
            let why = "its description differs when requested again";
            list.add(NAME, CheckOutcome::Failed, why);
            Ok(true)
        }
        other => wrong(list, NAME, other).map(|()| false),
    }
}
