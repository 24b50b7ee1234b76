//! Where plug-ins are ([`manifest`]), what a third party's workload may say of itself ([`rules`]), what it said, kept ([`cache`]), and whether it does
//! as it says ([`check`]).

pub mod cache;
pub mod check;
pub mod manifest;
pub mod rules;
mod starting;

pub use starting::starting_hint;
