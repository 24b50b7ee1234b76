//! Presets: sets of preparations for `--prepare`.
//!
//! None of them changes what is measured (huge pages, SMT, mitigations) or switches off the
//! randomisation of address spaces: layouts are sampled, not frozen.

use plumb_model::{Preparation, PreparationSlot};

/// The presets with what each holds, as `--set` would take it.
pub const PRESETS: &[(&str, &[&str])] = &[
    ("none", &[]),
    ("gentle", &["env-size=random"]),
    (
        "lab",
        &[
            "env-size=random",
            "governor=performance",
            "turbo=off",
            "cpu-latency=10",
            "timers=off",
            "icmp-limit=off",
            "nice=-10",
            "cooldown=2s",
        ],
    ),
];

/// The preparations of a preset; None for an unknown name.
#[must_use]
pub fn preset(name: &str) -> Option<Vec<Preparation>> {
    let (_, texts) = PRESETS.iter().find(|(known, _)| *known == name)?;
    Some(texts.iter().map(|text| optional(text)).collect())
}

/// The preparation that a preset's text names. It is optional: a preset must work on machines that lack some of its
/// knobs.
fn optional(text: &str) -> Preparation {
    let (knob, value) = text.split_once('=').unwrap_or((text, ""));
    Preparation {
        knob: knob.to_owned(),
        value: value.to_owned(),
        slot: PreparationSlot::Run,
        optional: true,
    }
}

#[cfg(test)]
mod tests {
    use super::{PRESETS, preset};
    use crate::preparation::knob::Unusable;
    use crate::preparation::resolve::{parse, resolve};
    use plumb_machine::Root;

    #[test]
    fn all_that_presets_hold_can_be_set() {
        for (name, texts) in PRESETS {
            let held = preset(name).unwrap();
            for (text, preparation) in texts.iter().zip(held) {
                let typed = parse(text).unwrap();
                assert_eq!((&typed.knob, &typed.value), (&preparation.knob, &preparation.value));
                let resolved = resolve(&Root::default(), &preparation);
                assert!(!matches!(resolved, Err(Unusable::Usage(_))), "{text}: {resolved:?}");
                assert_ne!(typed.knob, "aslr");
            }
        }
        assert!(preset("wild").is_none());
    }
}
