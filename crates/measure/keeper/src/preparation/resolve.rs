//! From what `--set` names to what it comes to on a machine.

use plumb_machine::Root;
use plumb_model::{Preparation, PreparationSlot};

use crate::preparation::control_group::{GroupLimit, control_group};
use crate::preparation::knob::{Knob, Lasts, Resolved, Suffix, Unusable};
use crate::preparation::knobs::KNOBS;
use crate::unchanged::Unchanged;

/// The knob of this name, with what stands behind its dot: `sysctl.vm.swappiness` is `sysctl`, set for
/// `vm.swappiness`.
#[must_use]
pub fn named(name: &str) -> Option<(&'static Knob, &str)> {
    let (head, rest) = name.split_once('.').unwrap_or((name, ""));
    let knob = KNOBS.iter().find(|knob| knob.name == head)?;
    (rest.is_empty() || knob.suffix != Suffix::None).then_some((knob, rest))
}

/// What stands before the slot, and the slot; None without one.
#[must_use]
pub fn slotted(text: &str) -> Option<(&str, PreparationSlot)> {
    let slots = [
        ("@run", PreparationSlot::Run),
        ("@round", PreparationSlot::Round),
        ("@invocation", PreparationSlot::Invocation),
    ];
    slots.iter().find_map(|(end, slot)| Some((text.strip_suffix(end)?, *slot)))
}

/// Takes `KNOB[=VALUE][@SLOT]` apart.
///
/// # Errors
/// The error, for people.
pub fn parse(text: &str) -> Result<Preparation, String> {
    let slotted = slotted(text);
    let (setting, slot) = slotted.unwrap_or((text, PreparationSlot::Run));
    let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
    let Some((knob, _)) = named(name) else {
        return Err(unknown(name));
    };
    let holds = match knob.lasts {
        Lasts::Process => Some("a process"),
        Lasts::Run => Some("the run"),
        Lasts::Undone | Lasts::Done => None,
    };
    if let (Some(holds), Some(_)) = (holds, slotted) {
        return Err(format!("`{name}` applies to {holds}; it takes no @slot"));
    }
    if value.is_empty() && !knob.values.is_empty() {
        return Err(format!("`{name}` needs a value: {}", knob.values));
    }
    Ok(Preparation { knob: name.to_owned(), value: value.to_owned(), slot, optional: false })
}

/// Why no knob has this name: perhaps only its slot is wrong.
fn unknown(name: &str) -> String {
    match name.rsplit_once('@') {
        Some((knob, slot)) if named(knob).is_some() => {
            format!("`{slot}` is not a slot; use @run, @round or @invocation")
        }
        _ => format!("no knob is called `{name}`"),
    }
}

/// The settings of a preparation on this machine.
///
/// # Errors
/// When its value means nothing, or this machine can't have it.
pub fn resolve(root: &Root, preparation: &Preparation) -> Result<Resolved, Unusable> {
    let name = &preparation.knob;
    match named(name) {
        Some((knob, rest)) => (knob.resolve)(root, rest, &preparation.value),
        None => Err(Unusable::Usage(unknown(name))),
    }
}

/// Whether this user, too, may have what a preparation comes to; nothing is changed.
///
/// # Errors
/// Why not.
pub fn check(root: &Root, resolved: &Resolved) -> Result<(), Unchanged> {
    match resolved {
        // The files of one knob belong to one driver, so the permission of the first stands for all.
        Resolved::Settings(assignments) => match assignments.first() {
            Some(first) => first.setting.may_be_written(root),
            None => Ok(()),
        },
        Resolved::Action(action) => action.check(root),
        Resolved::Spawn(_, option) => match GroupLimit::of(option, "0") {
            Some(limit) => control_group(root, "plumb", &limit).map(|_| ()),
            None => Ok(()),
        },
        Resolved::Medium => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use plumb_machine::doctor::SYMPTOMS;

    use super::parse;
    use crate::testing::why;
    use plumb_machine::Root;

    #[test]
    fn the_knobs_that_mend_symptoms_can_be_typed() {
        for kind in SYMPTOMS {
            for set in kind.fix.split("--set ").skip(1) {
                let set = set.split([' ', ',']).next().unwrap();
                assert!(parse(set).is_ok(), "{}: {set}: {:?}", kind.name, parse(set));
            }
        }
    }

    #[test]
    fn what_is_typed_is_taken_apart() {
        let typed = parse("drop-caches@invocation").unwrap();
        assert_eq!(typed.name(), "drop-caches@invocation");
        assert_eq!(parse("nice.monitor=5").unwrap().knob, "nice.monitor");
        for (text, why) in [
            ("thq=always", "no knob"),
            ("drop-caches@never", "`never` is not a slot"),
            ("thp", "needs a value"),
            ("nice=5@round", "takes no @slot"),
            ("medium=ram+ext4@round", "takes no @slot"),
            ("thp.x=always", "no knob"),
        ] {
            assert!(parse(text).unwrap_err().contains(why), "{text}");
        }
        let root = Root::default();
        for text in
            ["nice=20", "nice.server=1", "sched=fifo:0", "pin=3-1", "aslr=maybe", "cooldown=soon"]
        {
            assert!(why(&root, text).starts_with("usage: "), "{text}");
        }
    }
}
