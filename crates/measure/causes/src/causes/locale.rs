//! A locale in which comparing and searching text is slow.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// The locale in the environment.
pub const CAUSE: Cause =
    Cause { name: "locale", summary: "the locale", manual: include_str!("locale.md"), suspect };

/// In the order in which setlocale(3) reads them.
const VARIABLES: [&str; 4] = ["LC_ALL", "LC_COLLATE", "LC_CTYPE", "LANG"];
/// Locales without rules of their own.
const PLAIN: [&str; 2] = ["C", "POSIX"];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.starts_programs() {
        return None;
    }
    let (name, value) = VARIABLES
        .iter()
        .find_map(|name| Some((*name, suspect.variable(name)?)))
        .filter(|(_, value)| !PLAIN.contains(value))?;
    Some(Suspicion {
        evidence: format!("the environment has {name}={value}"),
        is_common: true,
        ways: vec![Removal::Knobs(vec!["set-env.LC_ALL=C".to_owned()])],
        remedy: Remedy {
            text: "set LC_ALL=C for this command if bytes are enough".to_owned(),
            command: "export LC_ALL=C".to_owned(),
        },
    })
}
