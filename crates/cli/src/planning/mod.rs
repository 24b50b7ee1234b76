//! From what was typed to a plan: names, suites, plug-ins, preparations.

pub mod catalogue;
pub mod plan;
pub mod plugins;
pub mod prepare;
pub mod suite;
