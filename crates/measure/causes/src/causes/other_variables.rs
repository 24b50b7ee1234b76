//! Variables of the environment that no other cause is about.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};
use crate::causes::{allocator, crypto_settings, loader, module_path, proxy, runtime};

/// Everything in the environment that a program seldom needs: one of them may switch on a trace or name a far server.
pub const CAUSE: Cause = Cause {
    name: "other-variables",
    summary: "another environment variable",
    manual: include_str!("other_variables.md"),
    suspect,
};

/// What many programs need.
const NEEDED: [&str; 23] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOSTNAME",
    "KRB5CCNAME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "OLDPWD",
    "PWD",
    "SHELL",
    "SHLVL",
    "SSH_AUTH_SOCK",
    "TEMP",
    "TERM",
    "TMP",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];
/// The categories of a locale, and the options of plumb.
const PREFIXES: [&str; 2] = ["LC_", "PLUMB_"];
/// What other causes look at, next to their lists of variables.
const OF_OTHER_CAUSES: [&str; 7] =
    ["HOME", "NO_PROXY", "PATH", "RES_OPTIONS", "TMPDIR", "_", "no_proxy"];
/// So many are named; the rest is counted.
const NAMED: usize = 6;

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.starts_programs() {
        return None;
    }
    let others: Vec<&str> =
        suspect.variables.keys().map(String::as_str).filter(|name| !is_kept(name)).collect();
    if others.is_empty() {
        return None;
    }
    let mut listed = others.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if others.len() > NAMED {
        listed = format!("{listed} and {} more", others.len() - NAMED);
    }
    Some(Suspicion {
        evidence: format!("the environment has {listed}"),
        is_common: true,
        ways: vec![Removal::Knobs(others.iter().map(|name| format!("unset-env.{name}")).collect())],
        remedy: Remedy {
            text: format!(
                "unset half of {listed}, run it again, and continue with the half that makes a difference"
            ),
            command: String::new(),
        },
    })
}

/// Whether many programs need the variable, or another cause is about it.
fn is_kept(name: &str) -> bool {
    let of_causes: [&[&str]; 6] = [
        &allocator::VARIABLES,
        &crypto_settings::VARIABLES,
        &loader::VARIABLES,
        &module_path::VARIABLES,
        &proxy::VARIABLES,
        &runtime::VARIABLES,
    ];
    NEEDED.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || OF_OTHER_CAUSES.contains(&name)
        || of_causes.iter().any(|variables| variables.contains(&name))
}
