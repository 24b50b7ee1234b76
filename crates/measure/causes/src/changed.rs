//! Facts of the environment that changed since a run, and the knobs that bring back their former values.

use plumb_machine::chosen;

/// The knob with which a run has this value of a fact again; None if plumb has none for it.
#[must_use]
pub fn knob_of_fact(fact: &str, value: &str) -> Option<String> {
    // A name with a point is a sysctl.
    if fact.contains('.') {
        return Some(format!("sysctl.{fact}={value}"));
    }
    let is_one_word = !value.contains([' ', ',']);
    match fact {
        "governor" if is_one_word => Some(format!("governor={value}")),
        "huge_pages" => Some(format!("thp={}", chosen(value))),
        "huge_pages_defrag" => Some(format!("thp-defrag={}", chosen(value))),
        "no_turbo" => Some(format!("turbo={}", if value == "0" { "on" } else { "off" })),
        "boost" => Some(format!("turbo={}", if value == "1" { "on" } else { "off" })),
        "smt" if ["on", "off"].contains(&value) => Some(format!("smt={value}")),
        "swappiness" => Some(format!("sysctl.vm.swappiness={value}")),
        "autogroup" => Some(format!("sysctl.kernel.sched_autogroup_enabled={value}")),
        "congestion_control" => Some(format!("sysctl.net.ipv4.tcp_congestion_control={value}")),
        "address_randomisation" => Some(format!("sysctl.kernel.randomize_va_space={value}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::knob_of_fact;

    #[test]
    fn facts_that_knobs_change_have_their_knob() {
        for (fact, value, knob) in [
            ("huge_pages", "always [madvise] never", "thp=madvise"),
            ("huge_pages", "always", "thp=always"),
            ("no_turbo", "0", "turbo=on"),
            ("boost", "0", "turbo=off"),
            ("governor", "performance", "governor=performance"),
            ("net.core.rmem_max", "212992", "sysctl.net.core.rmem_max=212992"),
            ("swappiness", "60", "sysctl.vm.swappiness=60"),
        ] {
            assert_eq!(knob_of_fact(fact, value).as_deref(), Some(knob));
        }
        assert_eq!(knob_of_fact("kernel", "6.1"), None);
        assert_eq!(knob_of_fact("governor", "performance, powersave"), None);
    }
}
