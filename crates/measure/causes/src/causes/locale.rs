//! A locale in which comparing and searching text is slow.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// The locale in the environment.
pub const CAUSE: Cause =
    Cause { name: "locale", summary: "the locale", manual: include_str!("locale.md"), suspect };

/// The categories that matter to text.
const CATEGORIES: [&str; 2] = ["LC_COLLATE", "LC_CTYPE"];
/// Locales without rules of their own.
const PLAIN: [&str; 2] = ["C", "POSIX"];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.starts_programs() {
        return None;
    }
    let mut locales = CATEGORIES.iter().filter_map(|category| of_category(suspect, category));
    let (name, value) = locales.find(|(_, value)| !PLAIN.contains(value))?;
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

/// The variable that decides a category, with its value (setlocale(3)).
fn of_category<'s>(suspect: &'s Suspect<'_>, category: &'s str) -> Option<(&'s str, &'s str)> {
    ["LC_ALL", category, "LANG"].into_iter().find_map(|name| Some((name, suspect.variable(name)?)))
}
