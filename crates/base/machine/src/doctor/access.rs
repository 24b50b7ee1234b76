//! What plumb may do here, and what it knows.

use plumb_model::Severity;

use crate::doctor::found::FoundSymptom;
use crate::fingerprint::container;
use crate::root::Root;

/// Bits of linux/capability.h that preparations and monitors need.
const NEEDED_CAPABILITIES: [(u32, &str); 3] =
    [(21, "SYS_ADMIN"), (23, "SYS_NICE"), (38, "PERFMON")];

pub fn check(root: &Root, audited: bool) -> Vec<FoundSymptom> {
    let unaudited = (!audited).then(|| {
        FoundSymptom::new("no-audit", Severity::Note, "the store has no audit of this machine")
    });
    [without_proc(root), inside(root), rights(root), unaudited].into_iter().flatten().collect()
}

fn without_proc(root: &Root) -> Option<FoundSymptom> {
    let is_mounted = root.path("/proc/stat").exists();
    (!is_mounted).then(|| FoundSymptom::new("no-proc", Severity::Major, "there is no /proc/stat"))
}

fn inside(root: &Root) -> Option<FoundSymptom> {
    let manager = container(root)?;
    Some(FoundSymptom::new("container", Severity::Note, format!("running in {manager}")))
}

fn rights(root: &Root) -> Option<FoundSymptom> {
    let status = root.text("/proc/self/status")?;
    let user = crate::root::field(&status, "Uid")?;
    let effective = user.split_whitespace().nth(1)?;
    if effective != "0" {
        let evidence = format!("user ID {effective}, from /proc/self/status");
        return Some(FoundSymptom::new("not-root", Severity::Note, evidence));
    }
    let held = u64::from_str_radix(&crate::root::field(&status, "CapEff")?, 16).ok()?;
    let lacking: Vec<&str> = NEEDED_CAPABILITIES
        .iter()
        .filter(|(bit, _)| held >> bit & 1 == 0)
        .map(|(_, name)| *name)
        .collect();
    let evidence = format!("root without {}, from /proc/self/status", lacking.join(", "));
    (!lacking.is_empty()).then(|| FoundSymptom::new("capabilities", Severity::Note, evidence))
}
