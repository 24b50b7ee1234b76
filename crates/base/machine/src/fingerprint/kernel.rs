//! The kernel: its version, how it was built, how it was started.

use crate::fingerprint::recorded::RecordedFacts;
use crate::hash::of_bytes;
use crate::root::Root;

pub fn read(root: &Root, facts: &mut RecordedFacts) {
    let config = config(root);
    facts.put_file(root, "kernel", "/proc/sys/kernel/osrelease");
    facts.put_file(root, "kernel_build", "/proc/sys/kernel/version");
    facts.put_file(root, "command_line", "/proc/cmdline");
    facts.put("kernel_config", config.as_deref().map(|text| of_bytes("config", text.as_bytes())));
    facts.put("preemption", preemption(root, config.as_deref()));
    facts.put("timer_frequency", timer_frequency(config.as_deref()));
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    facts.put_file(root, "clock_source", clock);
    facts.put("security", security(root));
}

/// The options that the kernel was built with.
pub fn config(root: &Root) -> Option<String> {
    if let Ok(packed) = std::fs::read(root.path("/proc/config.gz")) {
        return unpack(&packed);
    }
    let release = root.text("/proc/sys/kernel/osrelease")?;
    root.text(&format!("/boot/config-{release}"))
}

/// Length of a gzip header without optional fields, as the kernel's build writes it (RFC 1952).
const GZIP_HEADER: usize = 10;
/// No configuration is larger.
const LARGEST_CONFIG: usize = 4 << 20;

fn unpack(gzip: &[u8]) -> Option<String> {
    let (header, deflated) = gzip.split_at_checked(GZIP_HEADER)?;
    // The last byte says that no optional fields follow (the kernel packs with `gzip -n`), so the header has a fixed
    // length.
    if !header.starts_with(&[0x1f, 0x8b, 8, 0]) {
        return None;
    }
    let text = miniz_oxide::inflate::decompress_to_vec_with_limit(deflated, LARGEST_CONFIG).ok()?;
    String::from_utf8(text).ok()
}

/// Whether an option is built in.
pub fn has(config: &str, option: &str) -> bool {
    config.lines().any(|line| line.strip_prefix(option).is_some_and(|rest| rest == "=y"))
}

/// Where the kernel may be preempted: what was asked for at boot, else how it was built.
fn preemption(root: &Root, config: Option<&str>) -> Option<String> {
    let line = root.text("/proc/cmdline").unwrap_or_default();
    // A kernel with dynamic preemption follows this word, whatever model it was built with.
    let asked = line.split_whitespace().find_map(|word| word.strip_prefix("preempt="));
    if let Some(asked) = asked {
        return Some(format!("{asked}, asked for at boot"));
    }
    let built = [
        // First, because a real-time kernel may set one of the other models as well.
        ("CONFIG_PREEMPT_RT", "real-time"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_NONE", "none"),
        ("CONFIG_PREEMPT", "full"),
    ];
    if let Some(config) = config {
        let set = built.iter().find(|(option, _)| has(config, option));
        if let Some((_, name)) = set {
            return Some((*name).to_owned());
        }
    }
    let version = root.text("/proc/sys/kernel/version")?;
    let word = version.split_whitespace().find(|word| word.starts_with("PREEMPT"))?;
    Some(word.to_owned())
}

fn timer_frequency(config: Option<&str>) -> Option<String> {
    let hz = config?.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?;
    Some(format!("{hz} Hz"))
}

/// The security modules, whether SELinux enforces, and the profile of AppArmor that plumb runs under.
fn security(root: &Root) -> Option<String> {
    let modules = root.text("/sys/kernel/security/lsm").map(|all| all.replace(',', ", "));
    // Inside a container the list is not mounted.
    let armed =
        root.text("/sys/module/apparmor/parameters/enabled").filter(|enabled| enabled == "Y");
    let modules = modules.or(armed.map(|_| "apparmor".to_owned()));
    let profile = root
        .text("/proc/self/attr/apparmor/current")
        .map(|profile| format!("AppArmor profile {profile}"));
    let enforces = root.number("/sys/fs/selinux/enforce").map(|number| {
        if number == 0 { "SELinux permissive".into() } else { "SELinux enforcing".into() }
    });
    let parts: Vec<String> = [modules, enforces, profile].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::{config, has};
    use crate::root::Root;

    #[test]
    fn a_packed_configuration_is_read() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(tree.path().join("proc")).unwrap();
        let text = b"CONFIG_HZ=250\nCONFIG_PREEMPT=y\n# CONFIG_KASAN is not set\n";
        let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3];
        packed.extend(miniz_oxide::deflate::compress_to_vec(text, 6));
        packed.extend([0; 8]);
        std::fs::write(tree.path().join("proc/config.gz"), &packed).unwrap();
        let config = config(&Root::at(tree.path())).unwrap();
        assert_eq!(config.as_bytes(), text);
        assert!(has(&config, "CONFIG_PREEMPT") && !has(&config, "CONFIG_KASAN"));
        assert!(!has(&config, "CONFIG_PREEM"));
        std::fs::write(tree.path().join("proc/config.gz"), &packed[..20]).unwrap();
        assert_eq!(super::config(&Root::at(tree.path())), None);
    }
}
