//! Knobs that do something once.

use plumb_machine::Root;

use crate::preparation::action::Action;
use crate::preparation::knob::{Resolved, Unusable};

/// An action that takes no value.
pub fn simple(root: &Root, value: &str, action: Action) -> Result<Resolved, Unusable> {
    match value.is_empty() {
        true => checked(root, action),
        false => Err(Unusable::Usage("it takes no value".into())),
    }
}

/// An action, if this machine and this user can do it.
pub fn checked(root: &Root, action: Action) -> Result<Resolved, Unusable> {
    action.check(root)?;
    Ok(Resolved::Action(action))
}
