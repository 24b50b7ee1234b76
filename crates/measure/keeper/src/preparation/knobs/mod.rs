//! The knobs, a file each with its manual next to it, listed by hand in the order in which people see them.

mod aslr;
mod cooldown;
mod cpu_latency;
mod cpu_quota;
mod cpuset;
mod disk_queue;
mod drop_caches;
mod energy;
mod env_size;
mod governor;
mod icmp_limit;
mod io_limit;
mod irq;
mod medium;
mod memory_limit;
mod nice;
mod pin;
mod sched;
mod set_env;
mod smt;
mod stop_service;
mod swap_reset;
mod sysctl;
mod thp;
mod thp_defrag;
mod timers;
mod tracer;
mod turbo;
mod unset_env;

use crate::preparation::knob::Knob;

/// All knobs; what is not listed does not exist.
pub const KNOBS: &[&Knob] = &[
    &governor::KNOB,
    &turbo::KNOB,
    &smt::KNOB,
    &cpu_latency::KNOB,
    &thp::KNOB,
    &thp_defrag::KNOB,
    &icmp_limit::KNOB,
    &irq::KNOB,
    &timers::KNOB,
    &stop_service::KNOB,
    &sysctl::KNOB,
    &disk_queue::KNOB,
    &swap_reset::KNOB,
    &drop_caches::KNOB,
    &medium::KNOB,
    &cooldown::KNOB,
    &energy::KNOB,
    &nice::KNOB,
    &sched::KNOB,
    &pin::KNOB,
    &cpuset::KNOB,
    &cpu_quota::KNOB,
    &memory_limit::KNOB,
    &io_limit::KNOB,
    &env_size::KNOB,
    &unset_env::KNOB,
    &set_env::KNOB,
    &aslr::KNOB,
    &tracer::KNOB,
];

#[cfg(test)]
mod tests {
    use super::KNOBS;
    use crate::preparation::resolve::parse;

    #[test]
    fn every_knob_has_a_name_of_its_own_and_a_manual_that_says_what_people_need() {
        for (index, knob) in KNOBS.iter().enumerate() {
            assert!(KNOBS[..index].iter().all(|other| other.name != knob.name), "{}", knob.name);
            assert!(knob.manual.starts_with(&format!("# knob.{}\n", knob.name)), "{}", knob.name);
            for part in ["Sets", "Needs", "Afterwards", "Risk"] {
                assert!(knob.manual.contains(&format!("\n**{part}** ")), "{}: {part}", knob.name);
            }
            assert!(knob.manual.contains(&format!("--set {} ", knob.example)), "{}", knob.name);
            assert!(parse(knob.example).is_ok(), "{}: {}", knob.name, knob.example);
        }
    }
}
