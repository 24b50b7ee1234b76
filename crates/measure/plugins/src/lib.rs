//! What a third party's workload may say of itself ([`rules`]), and what it said, kept ([`cache`]).

pub mod cache;
pub mod rules;
